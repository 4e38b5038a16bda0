"""The list of chats on the page: kept, renamed, searched, saved as files and deleted."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.page_driver import (
    ask,
    each_under_way,
    opened,
    reload,
    turn,
)

pytestmark = pytest.mark.browser


def test_a_chat_is_kept_over_a_reload_renamed_found_saved_and_deleted(
    chromium: Browser, with_handbook: str, screens: Path
) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "Who keeps the handbook?")
        ask(page, "How are rental cars booked?")
        kept_at = page.url
        reload(page)
        expect(page.locator("#lc-log .lc-turn")).to_have_count(2)
        expect(page.locator("#lc-panel .lc-question")).to_have_text("How are rental cars booked?")
        turn(page, 0).locator("[data-do=open]").first.click()
        expect(page.locator("#lc-panel .lc-question")).to_have_text("Who keeps the handbook?")
        chats = page.locator("#lc-chats")
        own = chats.locator("li").first
        own.locator("summary").click()
        page.once("dialog", lambda dialog: dialog.accept("Of the keeper"))
        own.get_by_role("button", name="Rename").click()
        expect(chats).to_contain_text("Of the keeper")
        page.locator("#lc-new").click()
        expect(page.locator("#lc-chat")).to_contain_text("Ask your documents")
        ask(page, "What does the company pay per kilometre for one's own car?")
        chats.get_by_label("Search chats").fill("KEEPER")
        expect(chats.locator("li")).to_have_count(1)
        chats.get_by_role("button", name="Of the keeper", exact=True).click()
        expect(page.locator("#lc-log .lc-turn")).to_have_count(2)
        expect(page).to_have_url(kept_at)
        page.go_back()
        expect(page.locator("#lc-log .lc-turn")).to_have_count(1)
        # One of them twice running, as when the file was lost.
        markdown = ("Markdown", "# Of the keeper")
        for form, beginning in (markdown, markdown, ("JSON", "{"), ("HTML", "<!")):
            own.locator("summary").click()
            if form == "Markdown":
                page.screenshot(path=screens / "chat-menu.png")
            with page.expect_download() as download:
                own.get_by_role("button", name=f"Save as {form}").click()
            assert download.value.path().read_text("utf-8").lstrip().startswith(beginning)
        own.locator("summary").click()
        page.once("dialog", lambda dialog: dialog.accept())
        own.get_by_role("button", name="Delete").click()
        expect(chats).not_to_contain_text("Of the keeper")


def test_each_click_counts_also_while_another_is_under_way(chromium: Browser, with_handbook: str) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "Who keeps the handbook?")
        ask(page, "How are rental cars booked?")
        page.locator("#lc-new").click()
        expect(page.locator("#lc-chat")).to_contain_text("Ask your documents")
        ask(page, "What does the company pay per kilometre for one's own car?")
        newer, older = (page.locator("#lc-chats .lc-chat-title").nth(at) for at in (0, 1))
        each_under_way(page, [newer.click, older.click])
        expect(page.locator("#lc-log .lc-turn")).to_have_count(2)
        panel = page.locator("#lc-panel .lc-question")
        each_under_way(page, [turn(page, at).locator("[data-do=open]").first.click for at in (1, 0)])
        expect(panel).to_have_text("Who keeps the handbook?")
        good = "[data-do=good]"
        each_under_way(page, [turn(page, at).locator(good).click for at in (0, 1)])
        expect(page.locator(f"#lc-log {good}[aria-pressed=true]")).to_have_count(2)
        expect(panel).to_have_text("How are rental cars booked?")
        # Of what is typed letter by letter, all of it is sought.
        search = page.locator("#lc-chats").get_by_label("Search chats")
        each_under_way(page, [partial(search.press_sequentially, letter) for letter in "keepers of nothing"])
        expect(page.locator("#lc-chats li")).to_have_count(0)
