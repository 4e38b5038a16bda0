"""On the page: what an answer rests on is said where all there is was asked for, and all of it is read with a click."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.app_process import running_app
from tests.support.page_driver import ask, dropped, idle, opened, turn

pytestmark = pytest.mark.browser

INSPECTORS = ("Abel", "Berg", "Cole", "Dahl", "Ende", "Fink")


def reports(folder: Path) -> list[Path]:
    """Return small reports, each with an inspector."""
    files = []
    for number, name in enumerate(INSPECTORS, start=1):
        file = folder / f"report-{number}.md"
        file.write_text(f"# Report {number}\n\nInspector {name} found pump {number} in order.\n", encoding="utf-8")
        files.append(file)
    return files


@pytest.mark.everyday
def test_all_passages_are_read_with_a_click(chromium: Browser, tmp_path: Path, screens: Path) -> None:
    files = reports(tmp_path)
    # Of six passages three are found.
    settings = {"LOCALCRAG_K": "3", "LOCALCRAG_RERANKED": "3"}
    with running_app(tmp_path / "data", **settings) as address, opened(chromium, address) as page:
        dropped(page, *files)
        ask(page, "List all inspectors.")
        said = turn(page).locator(".lc-unread")
        expect(said).to_contain_text("This is based on 3 of 6 passages.")
        expect(page.locator(".lc-searched")).to_have_text("searched: all 6 documents; 3 of 6 passages read")
        page.screenshot(path=screens / "read-all-offer.png")
        first = turn(page).get_attribute("data-run") or ""
        said.get_by_role("button", name="Read all of them").click()
        expect(turn(page)).not_to_have_attribute("data-run", first)
        idle(page)
        expect(page.locator("#lc-log .lc-turn")).to_have_count(1)
        for name in INSPECTORS:
            expect(turn(page).locator(".lc-text")).to_contain_text(name)
        expect(turn(page).locator("[data-do=all]")).to_have_count(0)
        expect(page.locator(".lc-searched")).to_have_text("searched: all 6 documents; 6 of 6 passages read")
        page.screenshot(path=screens / "read-all.png")
        # A summary is of all there is anyhow; nothing of it has a score.
        ask(page, "Summarise my documents.")
        expect(turn(page).locator("[data-do=all]")).to_have_count(0)
        expect(page.locator("#lc-panel .lc-card .lc-score").first).to_have_text("not scored")
        page.screenshot(path=screens / "summary.png")
        # Of what one passage can answer, the offer is a small button.
        ask(page, "Who inspected pump 2?")
        expect(turn(page).get_by_role("button", name="Read all 6 passages for it")).to_be_visible()
