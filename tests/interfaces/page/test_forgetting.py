"""On the page: a document is deleted, and what quotes it is removed with it when somebody says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.app_process import running_app
from tests.support.first_start import started_before
from tests.support.page_driver import ask, dropped, opened

pytestmark = pytest.mark.browser


def test_after_a_delete_the_answers_that_quote_the_document_can_be_removed_too(
    chromium: Browser, tmp_path: Path
) -> None:
    lease = tmp_path / "lease.md"
    lease.write_text("The deposit for the bicycle shed is 80 euros.")
    with running_app(started_before(tmp_path / "data")) as address, opened(chromium, address) as page:
        dropped(page, lease)
        ask(page, "How much is the deposit for the bicycle shed?")
        page.locator('#lc-documents li[data-name="lease.md"]').hover()
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete lease.md").click()
        said = page.locator("#lc-uploads .lc-result").first
        expect(said).to_contain_text("lease.md was deleted. Answers and questions that quote it are kept.")
        said.get_by_role("button", name="Remove these, too").click()
        expect(said).to_contain_text("1 question that quoted it was removed.")
        expect(said).to_contain_text("every byte was searched")
        expect(page.locator("#lc-uploads").get_by_role("button", name="Remove these, too")).to_have_count(0)
