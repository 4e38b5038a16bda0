"""The first start: an empty page that says what to do, samples, and the first question that they answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.app_process import running_app
from tests.support.page_driver import (
    answered,
    ask,
    opened,
)

pytestmark = [pytest.mark.browser, pytest.mark.everyday]


def test_the_first_screen_names_the_server_that_questions_go_to(chromium: Browser, tmp_path: Path) -> None:
    server = "192.168.1.5:8080"
    chosen = {"LOCALCRAG_LLM": f"http://{server}/v1#large", "LOCALCRAG_AGREED_SERVERS": f'["{server}"]'}
    with running_app(tmp_path, LOCALCRAG_LANGUAGE="de", **chosen) as url, opened(chromium, url) as page:
        expect(page.locator("#lc-chat")).to_contain_text(f"Fragen und Auszüge gehen an {server}")
        expect(page.locator("#lc-chat")).not_to_contain_text("Alles bleibt auf diesem Rechner")


def test_an_empty_page_says_what_to_do_and_offers_samples(chromium: Browser, tmp_path: Path, screens: Path) -> None:
    with running_app(tmp_path) as url, opened(chromium, url) as page:
        expect(page.locator("#lc-documents")).to_contain_text("No documents yet")
        expect(page.locator("#lc-chat")).to_contain_text("Ask your documents")
        expect(page.locator("#lc-chat")).to_contain_text("Everything stays on this computer.")
        expect(page.locator("#lc-panel")).to_contain_text("Here you will see which passages were found")
        page.screenshot(path=screens / "empty.png")
        ask(page, "What is the hotel limit?")
        expect(page.locator("#lc-chat")).to_contain_text("There is nothing in the collection")
        page.locator("#lc-new").click()
        page.get_by_role("button", name="Add the samples").click()
        expect(page.locator("#lc-uploads")).to_contain_text("10 files were added.")
        expect(page.locator("#lc-documents")).to_contain_text("10 documents")
        expect(page.locator("#lc-collection input")).to_have_value("samples")
        page.screenshot(path=screens / "samples.png")
        page.locator("[data-ask]").first.click()
        answered(page, 1)
        expect(page.locator("#lc-panel .lc-badge")).to_have_text("CORRECT")
        expect(page.locator("#lc-panel")).to_contain_text("bruma-kx30-quick-guide.md")
