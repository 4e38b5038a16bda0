"""A contradiction on the real page: both sides, what differs, what was done, on wide and narrow screens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.app_process import running_app, start_chromium, watch
from tests.documents import make_dated_pdf
from tests.search_servers import scripted_search
from tests.test_page import PATIENCE, ask, drop
from tests.test_reconcile_real import BOTH_SIDES, PAGE, QUESTION, reply

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = start_chromium(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[str]:
    """The app over a document of 2019 and a web page of 2026 that contradict each other."""
    folder = tmp_path_factory.mktemp("conflicts")
    path = make_dated_pdf(folder / "rules.pdf", PAGE, created="20190502120000", modified="20190502120000")
    with (
        scripted_search(*(reply() for _ in range(9))) as server,
        running_app(
            folder / "data", LOCALCRAG_SEARXNG_URL=server.url, LOCALCRAG_WEB="always", LOCALCRAG_UPPER=BOTH_SIDES
        ) as url,
    ):
        page = chromium.new_page()
        page.goto(url)
        drop(page, path)
        expect(page.locator("#lc-documents")).to_contain_text("rules.pdf", timeout=PATIENCE)
        page.close()
        yield url


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (400, "light"), (400, "dark")], ids=["wide", "narrow", "narrow dark"]
)
def test_a_contradiction_is_a_card_with_two_sides(
    chromium: Browser, address: str, screens: Path, width: int, scheme: str
) -> None:
    with chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
    ) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        watched = watch(page)
        page.goto(address)
        ask(page, QUESTION)
        card = page.locator("#lc-panel .lc-conflict")
        expect(card).to_have_count(1)
        expect(card.locator(".lc-side").nth(0)).to_contain_text("Your documents")
        expect(card.locator(".lc-side").nth(0)).to_contain_text("2019-05-02")
        expect(card.locator(".lc-side").nth(1)).to_contain_text("2026-03-01")
        expect(card.locator("mark")).to_have_text(["195 euros", "210 euros"])
        expect(card).to_contain_text("both sides are shown")
        expect(page.locator("#lc-chat")).to_contain_text("Your documents and the web disagree here.")
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        card.scroll_into_view_if_needed()
        page.screenshot(path=screens / f"conflict-{scheme}-{width}.png")
        card.screenshot(path=screens / f"conflict-card-{scheme}-{width}.png")
        assert watched.problems == []
        assert watched.foreign == []


def choose_rule(page: Page, label: str) -> None:
    page.locator("#lc-conflict-rule input").click()
    page.get_by_role("option", name=label, exact=True).click()


def test_the_rule_is_chosen_on_the_page_and_the_losing_side_is_marked(
    chromium: Browser, address: str, screens: Path
) -> None:
    with chromium.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        choose_rule(page, "the newer")
        try:
            ask(page, QUESTION)
            card = page.locator("#lc-panel .lc-conflict")
            expect(card.locator(".lc-lost")).to_contain_text("left out")
            expect(card.locator(".lc-lost")).to_contain_text("195 euros")
            expect(card).to_contain_text("the newer counts, 2026-03-01 against 2019-05-02")
            expect(page.locator("#lc-panel .lc-sources li")).to_have_count(1)
            expect(page.locator("#lc-chat")).not_to_contain_text("disagree")
            page.screenshot(path=screens / "conflict-newer.png")
        finally:
            choose_rule(page, "both")
