"""A scan dropped into the page: what is read of it is found, said to be read, and marked on its picture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support import scans
from tests.support.app_process import running_app
from tests.support.page_driver import ask, drop, opened, turn

pytestmark = [pytest.mark.browser, pytest.mark.search]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_app(tmp_path_factory.mktemp("page")) as url:
        yield url


def test_a_scan_and_a_photo_are_read_behind_the_page_and_quoted_where_they_say_it(
    address: str, chromium: Browser, tmp_path: Path
) -> None:
    cover = "Cover sheet: the lease of the flat was sent on 3 March."
    lease = scans.make_scan(tmp_path / "Lease.pdf", cover, scans.picture(scans.LEASE))
    receipt = ["Tidewheel Bicycles", "New chain 38.50 euros", "Guarantee: one year on the chain."]
    scans.picture(receipt, size=(900, 500), turn=2).save(tmp_path / "Receipt.jpg")
    with opened(chromium, address) as page:
        drop(page, lease, tmp_path / "Receipt.jpg")
        listed = page.locator("#lc-documents li")
        expect(listed.filter(has_text="Receipt.jpg")).to_contain_text("JPEG")
        for name in ("Lease.pdf", "Receipt.jpg"):
            expect(listed.filter(has_text=name)).to_contain_text("read by OCR")
        uploads = page.locator("#lc-uploads")
        expect(uploads).to_contain_text("text in scans and pictures was recognised")
        expect(uploads).to_contain_text("1 page was read by text recognition, confidence")
        for question, said, where in (
            ("How much is the deposit of the flat?", "2,070 euros", "Lease.pdf, page 2"),
            ("How long is the guarantee on the chain?", "one year", "Receipt.jpg, page 1"),
        ):
            ask(page, question)
            expect(turn(page).locator(".lc-text")).to_contain_text(said)
            card = page.locator("#lc-panel .lc-card").first
            expect(card.locator(".lc-ocr")).to_contain_text("read by OCR, ")
            cited = turn(page).locator(".lc-cite").first
            expect(cited).to_have_attribute(
                "aria-label", re.compile(rf"Source 1: {where}.* · read by OCR, (0\.9\d|1\.00)")
            )
            cited.click()
            expect(page.locator("#lc-source .lc-box").first).to_be_in_viewport()
            page.keyboard.press("Escape")
