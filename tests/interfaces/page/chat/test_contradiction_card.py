"""A contradiction on the real page: both sides, what differs, what was done, on wide and narrow screens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.app_process import running_app
from tests.support.contradiction import BOTH_SIDES, PAGE, QUESTION, reply
from tests.support.documents import make_dated_pdf
from tests.support.page_driver import ask, choose, close_settings, dropped, loaded_at, open_settings, open_side, opened
from tests.support.search_servers import scripted_search

pytestmark = pytest.mark.browser


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
        with opened(chromium, url) as page:
            dropped(page, path)
        yield url


def test_a_contradiction_is_a_card_with_two_sides(chromium: Browser, address: str, screens: Path) -> None:
    with opened(chromium, address) as page:
        ask(page, QUESTION)
        two_sides(page, screens, 1280, "light")
        for scheme in ("light", "dark"):
            loaded_at(page, 400, scheme)
            two_sides(page, screens, 400, scheme)


def two_sides(page: Page, screens: Path, width: int, scheme: str) -> None:
    open_side(page, "right")
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


def choose_rule(page: Page, label: str) -> None:
    open_settings(page, "Answers")
    choose(page, "#lc-conflict-rule", label)
    close_settings(page)


def test_the_rule_is_chosen_on_the_page_and_the_losing_side_is_marked(
    chromium: Browser, address: str, screens: Path
) -> None:
    with opened(chromium, address) as page:
        choose_rule(page, "the newer")
        try:
            ask(page, QUESTION)
            card = page.locator("#lc-panel .lc-conflict")
            expect(card.locator(".lc-lost")).to_contain_text("left out")
            expect(card.locator(".lc-lost")).to_contain_text("195 euros")
            expect(card).to_contain_text("the newer source takes precedence, 2026-03-01 against 2019-05-02")
            expect(page.locator("#lc-panel .lc-sources li")).to_have_count(1)
            expect(page.locator("#lc-chat")).not_to_contain_text("disagree")
            page.screenshot(path=screens / "conflict-newer.png")
        finally:
            choose_rule(page, "both")
