"""On the page: a collection is copied, and merged with another one."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, expect

from tests.support.app_process import running_app
from tests.support.first_start import started_before
from tests.support.page_driver import listed, opened
from tests.support.stored_documents import put

pytestmark = pytest.mark.browser


@pytest.mark.everyday
def test_a_collection_is_copied_and_merged_with_another(chromium: Browser, tmp_path: Path) -> None:
    data = started_before(tmp_path / "data")
    put(data, "default", lease="The rent is 900 euros.", ferry="The ferry leaves at nine.")
    put(data, "old house", lease="The rent is 700 euros.")
    with running_app(data) as address, opened(chromium, address) as page:
        expect(page.locator("#lc-documents li[data-name]")).to_have_count(2)
        page.once("dialog", lambda dialog: dialog.accept("second"))
        page.get_by_role("button", name="Copy this collection").click()
        expect(page.locator("#lc-collection input")).to_have_value("second")
        listed(page, "ferry.txt", "lease.txt")
        asked: list[str] = []

        def agree(dialog: Dialog) -> None:
            asked.append(dialog.message)
            dialog.accept()

        page.once("dialog", agree)
        page.get_by_label("Merge this collection into another").select_option("old house")
        expect(page.locator("#lc-collection input")).to_have_value("old house")
        assert "“second” to “old house”" in asked[0]
        listed(page, "ferry.txt", "lease (second).txt", "lease.txt")
