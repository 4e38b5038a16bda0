"""The app on a desktop: one window, which a later start brings to the front with its files."""

from __future__ import annotations

import json
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, Playwright, expect

from tests.support.desktop_screen import Desktop, desktop, until
from tests.support.first_start import started_before

pytestmark = pytest.mark.browser


@dataclass(frozen=True, slots=True)
class Running:
    """localcrag, started with a file, and its page."""

    screen: Desktop
    process: subprocess.Popen[bytes]
    page: Page
    data: Path
    folder: Path

    @property
    def place(self) -> Path:
        return self.data / "running" / "page.json"

    def document(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path


@pytest.fixture(scope="module")
def running(playwright: Playwright, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder, data = tmp_path_factory.mktemp("desktop"), started_before(tmp_path_factory.mktemp("data"))
    (folder / "first.md").write_text("# The first\n\nThe ferry sails at nine.\n")
    with desktop(folder) as screen:
        process = screen.localcrag("desktop", "open", "first.md", "--data-dir", data, cwd=folder)
        try:
            until(screen.window, "a window")
            browser = playwright.chromium.connect_over_cdp(screen.browser)
            yield Running(screen, process, browser.contexts[0].pages[0], data, folder)
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait()


def test_files_of_the_first_start_are_added(running: Running) -> None:
    expect(running.page.locator("#lc-documents")).to_contain_text("first.md", timeout=300_000)


def test_only_this_user_can_read_where_it_answers(running: Running) -> None:
    assert stat.S_IMODE(running.place.stat().st_mode) == 0o600
    assert stat.S_IMODE(running.place.parent.stat().st_mode) == 0o700


def test_a_later_start_hands_its_files_to_the_window_and_brings_it_to_the_front(
    running: Running, screens: Path
) -> None:
    window = running.screen.window()
    assert window
    running.screen.tool("xdotool", "windowminimize", window)
    until(lambda: not running.screen.window(), "minimising")
    running.document("second.md", "# The second\n\nThe lighthouse was built in 1871.\n")
    later = running.screen.localcrag("desktop", "open", "second.md", "--data-dir", running.data, cwd=running.folder)
    assert later.wait() == 0
    until(lambda: running.screen.active(window), "coming to the front")
    expect(running.page.locator("#lc-documents")).to_contain_text("second.md", timeout=300_000)
    assert (running.folder / "second.md").exists()
    running.screen.picture(screens / "desktop-window.png")


def test_its_files_go_to_the_collection_that_is_shown(running: Running) -> None:
    page = running.page
    page.once("dialog", lambda dialog: dialog.accept("ships"))
    page.locator('#lc-documents [data-what="new"]').click()
    expect(page.locator("#lc-collection input")).to_have_value("ships")
    path = running.document("third.md", "# The third\n\nThe tug is called Bruma.\n")
    assert running.screen.localcrag("desktop", "open", path, "--data-dir", running.data, cwd=running.folder).wait() == 0
    expect(page.locator("#lc-documents")).to_contain_text("third.md", timeout=300_000)
    expect(page.locator("#lc-documents")).not_to_contain_text("second.md")


def test_nobody_hands_in_files_without_the_token(running: Running) -> None:
    place = json.loads(running.place.read_text())
    address, said = f"http://127.0.0.1:{place['port']}/localcrag/open", {"files": ["/etc/hostname"], "quit": False}
    token = {"authorization": f"Bearer {place['token']}"}
    assert httpx.post(address, json=said).status_code == 403
    assert httpx.post(address, json=said, headers={"authorization": "Bearer another"}).status_code == 403
    # Who can read the file may; a page of another site could not, if it knew.
    assert httpx.post(address, json=said, headers=token | {"origin": "http://example.org"}).status_code == 403
    assert httpx.post(address, json=[], headers=token).status_code == 400
    assert httpx.get(address, headers=token).status_code == 404
    expect(running.page.locator("#lc-uploads")).not_to_contain_text("hostname")


def test_with_its_window_it_ends_and_leaves_no_address(running: Running) -> None:
    window = running.screen.window()
    assert window
    running.screen.tool("xdotool", "windowactivate", "--sync", window, "key", "alt+F4")
    assert running.process.wait(timeout=300) == 0
    assert not running.place.exists()
