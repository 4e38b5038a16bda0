"""On the page: a folder is followed, new and changed files are found, and what is gone is asked about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, expect

from tests.support.app_process import running_app
from tests.support.first_start import started_before
from tests.support.page_driver import answered, ask, opened

pytestmark = pytest.mark.browser

SOON = 60_000
"""Milliseconds: the system tells of a change, models are loaded, and a file is read."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_app(started_before(tmp_path_factory.mktemp("folders"))) as url:
        yield url


@contextmanager
def followed(browser: Browser, address: str, folder: Path) -> Iterator[tuple[Page, Locator]]:
    """Give the page and the row of a folder that it follows; in the end nothing of the folder is left."""
    with opened(browser, address) as page:
        assert str(folder) in follow(page, folder)
        row = page.locator("#lc-following li[data-id]")
        yield page, row
        let_go(page, row, folder.name)
        documents = page.locator("#lc-documents li[data-name]")
        for name in [one.get_attribute("data-name") for one in documents.all()]:
            page.once("dialog", lambda dialog: dialog.accept())
            page.get_by_role("button", name=f"Delete {name}").click()
            expect(page.locator(f'#lc-documents li[data-name="{name}"]')).to_have_count(0)


def let_go(page: Page, row: Locator, name: str) -> None:
    """Follow a folder no longer."""
    page.once("dialog", lambda dialog: dialog.accept())
    row.get_by_role("button", name=f"Stop watching {name}").click()
    expect(row).to_have_count(0)


def follow(page: Page, folder: Path) -> str:
    """Follow a folder on the page; return what was asked before."""
    said: list[str] = []

    def agree(dialog: Dialog) -> None:
        said.append(dialog.message)
        dialog.accept()

    field = page.get_by_label("Folder on this computer")
    if not field.is_visible():
        page.locator("#lc-following .lc-follow summary").click()
    field.fill(str(folder))
    page.once("dialog", agree)
    page.get_by_role("button", name="Watch", exact=True).click()
    expect(page.locator("#lc-following li[data-id]")).to_have_count(1, timeout=SOON)
    return said[0]


def test_a_folder_that_is_not_there_is_refused_and_what_was_typed_stays(
    chromium: Browser, address: str, tmp_path: Path
) -> None:
    folder = tmp_path / "nowhere"
    with opened(chromium, address) as page:
        page.locator("#lc-following .lc-follow summary").click()
        field = page.get_by_label("Folder on this computer")
        field.fill(str(folder))
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Watch", exact=True).click()
        expect(page.locator(".toast-body")).to_contain_text(str(folder))
        page.locator(".toast-close").click()
        expect(page.locator(".toast-body")).to_have_count(0)
        expect(field).to_have_value(str(folder))


def test_new_and_changed_files_of_a_followed_folder_are_found_and_asked(
    chromium: Browser, address: str, tmp_path: Path
) -> None:
    shed = tmp_path / "shed.md"
    shed.write_text("The deposit for the bicycle shed is 80 euros.")
    (tmp_path / "torn.pdf").write_bytes(b"%PDF-1.7 and no more")
    with followed(chromium, address, tmp_path) as (page, folder):
        expect(folder).to_contain_text("up to date since", timeout=SOON)
        expect(folder).to_contain_text("1 file was not read")
        expect(page.locator("#lc-documents li[data-name]")).to_have_count(1, timeout=SOON)
        shed.write_text("The deposit for the bicycle shed is 95 euros.")
        (tmp_path / "boiler.txt").write_text("The boiler was installed in 1998 by Hansen.")
        expect(page.locator('#lc-documents li[data-name="boiler.txt"]')).to_be_visible(timeout=SOON)
        ask(page, "How much is the deposit for the bicycle shed?")
        answered(page, 1)
        expect(page.locator("#lc-chat")).to_contain_text("95 euros")


def test_a_file_that_is_gone_is_asked_about_and_its_document_removed(
    chromium: Browser, address: str, tmp_path: Path
) -> None:
    shed = tmp_path / "shed.md"
    shed.write_text("The deposit for the bicycle shed is 80 euros.")
    (tmp_path / "boiler.txt").write_text("The boiler was installed in 1998 by Hansen.")
    with followed(chromium, address, tmp_path) as (page, folder):
        expect(page.locator("#lc-documents li[data-name]")).to_have_count(2, timeout=SOON)
        shed.unlink()
        expect(folder).to_contain_text("1 file is gone", timeout=SOON)
        asked = folder.locator(".lc-gone-files")
        above, below = asked.get_by_text("1 file is gone").bounding_box(), asked.get_by_text("Keep").bounding_box()
        assert above
        assert below
        assert above["y"] + above["height"] <= below["y"], "The question stands above its answers."
        page.once("dialog", lambda dialog: dialog.accept())
        folder.get_by_role("button", name="Remove", exact=True).click()
        expect(page.locator("#lc-documents li[data-name]")).to_have_count(1, timeout=SOON)


def test_a_folder_that_is_away_is_waited_for_and_its_documents_stay_when_it_is_let_go(
    chromium: Browser, address: str, tmp_path: Path
) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "boiler.txt").write_text("The boiler was installed in 1998 by Hansen.")
    with followed(chromium, address, papers) as (page, folder):
        expect(page.locator("#lc-documents li[data-name]")).to_have_count(1, timeout=SOON)
        papers.rename(tmp_path / "away")
        expect(folder).to_contain_text("unavailable since", timeout=SOON)
        (tmp_path / "away").rename(papers)
        expect(folder).to_contain_text("up to date since", timeout=SOON)
        folder.get_by_role("button", name="Pause").click()
        expect(folder).to_contain_text("paused")
        let_go(page, folder, "papers")
        expect(page.locator("#lc-documents li[data-name]")).to_have_count(1)
        assert str(papers) in follow(page, papers)
