"""The settings of the data folder on the page: copied, restored and deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.app_process import running_app
from tests.support.page_driver import (
    close_settings,
    dropped,
    loaded_anew,
    open_settings,
    opened,
)

pytestmark = pytest.mark.browser


def test_data_is_copied_restored_and_deleted_on_the_page(chromium: Browser, tmp_path: Path, screens: Path) -> None:
    (tmp_path / "tarn.txt").write_text("The quillwort grows in the tarn above the village.")
    with running_app(tmp_path / "data") as url, opened(chromium, url) as page:
        dropped(page, tmp_path / "tarn.txt")
        screen = open_settings(page, "Data")
        # A file is in the way of the folder.
        (tmp_path / "data" / "backups").write_text("")
        screen.get_by_role("button", name="Make a backup").click()
        expect(page.locator(".toast-body")).to_be_visible()
        page.locator(".toast-close").click()
        (tmp_path / "data" / "backups").unlink()
        screen.get_by_role("button", name="Make a backup").click()
        expect(screen.locator(".lc-storage")).to_contain_text("Everything was backed up to")
        # No path of the machine that it is taken on.
        page.screenshot(path=screens / "data.png", mask=[screen.locator("code")])
        close_settings(page)
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete tarn.txt").click()
        expect(page.locator("#lc-documents")).to_contain_text("No documents yet")
        open_settings(page, "Data")
        page.once("dialog", lambda dialog: dialog.accept())
        screen.get_by_role("button", name="Restore").click()
        expect(screen).to_be_hidden()
        expect(page.locator("#lc-documents")).to_contain_text("tarn.txt")
        loaded_anew(page)
        open_settings(page, "Data")
        page.once("dialog", lambda dialog: dialog.accept())
        screen.get_by_role("button", name="Delete everything").click()
        expect(screen).to_be_hidden()
        expect(page.locator("#lc-documents")).to_contain_text("No documents yet")
        loaded_anew(page)
