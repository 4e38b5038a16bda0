"""What left this computer, on the page: the line below the chats, and the list in the settings."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from localcrag.privacy import egress_log
from tests.support import ROOT
from tests.support.app_process import running_app
from tests.support.page_driver import ask, close_settings, open_settings, open_side, opened, reload

pytestmark = [pytest.mark.browser, pytest.mark.search]
FOREIGN = "192.0.2.1"
NOTHING = "0 connections to other machines"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def address(data: Path, searx: str) -> Iterator[str]:
    with running_app(data, LOCALCRAG_SEARXNG_URL=searx, LOCALCRAG_WEB="always") as url:
        yield url


def wants_to_leave(data: Path) -> None:
    """Have a worker of this data folder try it."""
    code = "\n".join((
        "import localcrag, socket", "localcrag.guard()", "try:", f"    socket.create_connection(('{FOREIGN}', 443))",
        "except OSError: pass",
    ))  # fmt: skip
    environment = {**os.environ, egress_log.FOLDER_VARIABLE: str(data / egress_log.FOLDER_NAME)}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)


@pytest.mark.everyday
@pytest.mark.refused(f"{FOREIGN}:443")
def test_the_line_follows_a_search_and_the_settings_list_it(
    chromium: Browser, address: str, data: Path, searx: str, screens: Path
) -> None:
    place = searx.removeprefix("http://")
    with opened(chromium, address) as page:
        line = page.locator("#lc-gone")
        expect(line).to_have_text(NOTHING)
        ask(page, "How high is Mount Everest above the sea?")
        expect(line).to_have_text(f"{NOTHING}; 1 search through {place}")
        page.screenshot(path=screens / "left.png")
        wants_to_leave(data)
        screen = open_settings(page, "Data")
        listed = screen.locator(".lc-attempts li")
        expect(listed).to_have_count(2)
        expect(listed.nth(0)).to_contain_text(f"connection, {FOREIGN}:443, refused")
        expect(listed.nth(1)).to_contain_text(f"web search, {place}, allowed, a query of")
        page.screenshot(path=screens / "left-listed.png", mask=[screen.locator("code")])
        close_settings(page)
        reload(page)
        expect(line).to_have_text(f"{NOTHING}; 1 search through {place}; 1 attempt refused")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_line_is_quiet_and_fits_a_narrow_screen(
    chromium: Browser, address: str, screens: Path, scheme: str
) -> None:
    with opened(chromium, address, width=400, scheme=scheme) as page:
        open_side(page, "left")
        line = page.locator("#lc-gone p")
        expect(line).to_contain_text(NOTHING)
        line.scroll_into_view_if_needed()
        box = line.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 400
        assert line.evaluate("line => line.scrollWidth <= line.clientWidth")
        page.screenshot(path=screens / f"left-{scheme}.png")


def test_the_first_start_of_a_user_leaves_nothing_beside_the_data_folder_and_has_nothing_refused(
    chromium: Browser, tmp_path: Path
) -> None:
    folders = {name: str(tmp_path / name.lower()) for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    with running_app(tmp_path / "data", HOME=str(tmp_path), **folders) as url, opened(chromium, url) as page:
        ask(page, "How high is Mount Everest above the sea?")
        reload(page)
        expect(page.locator("#lc-gone")).to_have_text(NOTHING)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
