"""The page as axe-core sees it, which knows the rules of WCAG: every screen, light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.support.app_process import running_app
from tests.support.page_driver import (
    PATIENCE,
    answered,
    ask,
    close_settings,
    drop_named,
    dropped,
    loaded_at,
    open_settings,
    open_side,
    opened,
    turn,
)

pytestmark = pytest.mark.browser

COUNTS = {"serious", "critical"}
SCREENS = ((1280, "light"), (1280, "dark"), (400, "light"), (400, "dark"))
OF_COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules that colours are for; the others look at what is there, and where."""
TABS = ("Answers", "Web", "Models", "Data", "Questions", "Feedback")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, chromium: Browser, handbook: Path) -> Iterator[str]:
    with running_app(tmp_path_factory.mktemp("accessible")) as url:
        with opened(chromium, url) as page:
            assert problems(page, "empty") == []
            dropped(page, handbook)
        yield url


def problems(page: Page, state: str, *, within: str = "html", dark: bool = False) -> list[str]:
    """Return what is in the way of somebody who does not see, or does not use a mouse.

    `within` is a part of the page, where the rest was looked at as it is. `dark`: it was looked at in light as well,
    and differs in its colours alone.
    """
    if not page.evaluate("'axe' in window"):  # Half a megabyte, to be compiled.
        page.evaluate(Axe().axe_script)
    options = {"resultTypes": ["violations"], **({"runOnly": OF_COLOURS} if dark else {})}
    found = page.evaluate("([within, options]) => axe.run(within, options)", [within, options])["violations"]
    return [
        f"{state}: {one['id']} ({one['impact']}): {node['html'][:200]}\n    {node['failureSummary']}"
        for one in found
        if one["impact"] in COUNTS
        for node in one["nodes"]
    ]


def test_what_was_computed_on_a_table_is_shown_with_its_rows(chromium: Browser, address: str) -> None:
    rows = [f"<i>Tool</i> {number},{number}.50 €" for number in range(1, 31)]
    with opened(chromium, address, width=400) as page:
        drop_named(page, {"tools.csv": "\n".join(["Tool,Price", *rows]).encode()})
        expect(page.locator("#lc-documents")).to_contain_text("tools.csv", timeout=PATIENCE)
        ask(page, "Which tools cost more than 28 euros?")
        expect(turn(page)).to_contain_text("3 rows where Price is more than 28 euros")
        expect(turn(page).locator("table")).to_have_count(1)
        open_side(page, "right")
        card = page.locator("#lc-panel .lc-computation")
        for said in ("tools.csv", "30 rows", "rows that match", "Price is more than 28 euros", "3 rows"):
            expect(card).to_contain_text(said)
        expect(card.locator("tbody tr")).to_have_count(3)
        expect(card.locator("tbody td").nth(0)).to_have_text("29")
        expect(card.locator("tbody td").nth(1)).to_have_text("<i>Tool</i> 28")
        assert problems(page, "computed") == []
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 400


def test_nothing_is_in_the_way_on_any_screen(chromium: Browser, address: str) -> None:
    with opened(chromium, address) as page:
        ask(page, "What does the hotel in London cost per night at most?")
        ask(page, "Which colour has the lighthouse?")
        found = []
        for width, scheme in SCREENS:
            loaded_at(page, width, scheme)
            answered(page, 2)
            found += [f"{width} {scheme} {one}" for one in everywhere(page, width, dark=scheme == "dark")]
    assert found == [], "\n".join(found)


def everywhere(page: Page, width: int, *, dark: bool) -> list[str]:
    """Return what is in the way of somebody on a screen, wherever they go."""
    found = problems(page, "answered", dark=dark)
    for side in ("left", "right"):
        open_side(page, side)
        if width < 1180:  # Else it was there before.
            found += problems(page, side, dark=dark)
            page.keyboard.press("Escape")
    turn(page, 0).locator(".lc-cite").first.click()
    page.locator("#lc-source img").wait_for()
    found += problems(page, "source", dark=dark)
    page.keyboard.press("Escape")
    if width < 1180:
        page.keyboard.press("Escape")
    for tab in TABS:
        open_settings(page, tab)
        found += problems(page, tab, within="html" if tab == TABS[0] else "#lc-settings", dark=dark)
    close_settings(page)
    page.locator("[data-does=keys]").click()
    return found + problems(page, "shortcuts", dark=dark)
