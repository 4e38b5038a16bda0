"""On the page: a folder is followed, new and changed files are found, and what is gone is asked about."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Dialog, Page, expect

from tests.support.app_process import running_app
from tests.support.first_start import started_before
from tests.support.page_driver import answered, ask, opened

SOON = 60_000
"""Milliseconds: the system tells of a change, models are loaded, and a file is read."""


def follow(page: Page, folder: Path) -> str:
    """Watch a folder on the page; return what was asked before."""
    said: list[str] = []

    def agree(dialog: Dialog) -> None:
        said.append(dialog.message)
        dialog.accept()

    page.get_by_label("Folder on this computer").fill(str(folder))
    page.once("dialog", agree)
    page.get_by_role("button", name="Watch", exact=True).click()
    expect(page.locator("#lc-following li[data-id]")).to_have_count(1, timeout=SOON)
    return said[0]


def refused(page: Page, folder: Path) -> None:
    """Try to follow a folder that is not there: what was typed stays, to be mended."""
    page.locator("#lc-following .lc-follow summary").click()
    field = page.get_by_label("Folder on this computer")
    field.fill(str(folder))
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Watch", exact=True).click()
    expect(page.locator(".toast-body")).to_contain_text(str(folder))
    page.locator(".toast-close").click()
    expect(page.locator(".toast-body")).to_have_count(0)
    expect(field).to_have_value(str(folder))


def test_a_folder_is_followed_from_the_page_and_what_is_gone_is_asked_about(chromium: Browser, tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    shed = papers / "shed.md"
    shed.write_text("The deposit for the bicycle shed is 80 euros.")
    (papers / "torn.pdf").write_bytes(b"%PDF-1.7 and no more")
    with running_app(started_before(tmp_path / "data")) as address, opened(chromium, address) as page:
        nowhere = tmp_path / "nowhere"
        refused(page, nowhere)
        assert str(papers) in follow(page, papers)
        folder = page.locator("#lc-following li[data-id]")
        expect(folder).to_contain_text("up to date since", timeout=SOON)
        expect(folder).to_contain_text("1 file was not read")
        expect(page.locator("#lc-documents li[data-name]")).to_have_count(1, timeout=SOON)
        shed.write_text("The deposit for the bicycle shed is 95 euros.")
        (papers / "boiler.txt").write_text("The boiler was installed in 1998 by Hansen.")
        expect(page.locator('#lc-documents li[data-name="boiler.txt"]')).to_be_visible(timeout=SOON)
        ask(page, "How much is the deposit for the bicycle shed?")
        answered(page, 1)
        expect(page.locator("#lc-chat")).to_contain_text("95 euros")
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
        papers.rename(tmp_path / "away")
        expect(folder).to_contain_text("unavailable since", timeout=SOON)
        (tmp_path / "away").rename(papers)
        expect(folder).to_contain_text("up to date since", timeout=SOON)
        folder.get_by_role("button", name="Pause").click()
        expect(folder).to_contain_text("paused")
        page.once("dialog", lambda dialog: dialog.accept())
        folder.get_by_role("button", name="Stop watching papers").click()
        expect(folder).to_have_count(0)
        expect(page.locator("#lc-documents li[data-name]")).to_have_count(1)
