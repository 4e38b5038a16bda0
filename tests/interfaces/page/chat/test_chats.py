"""The list of chats on the page: kept, renamed, searched, saved as files and deleted."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.page_driver import (
    ask,
    each_under_way,
    opened,
    reload,
    turn,
)

pytestmark = pytest.mark.browser


def in_menu(page: Page, button: str) -> Locator:
    """Open the menu of the newest chat, and return one of its buttons."""
    chat = page.locator("#lc-chats li").first
    chat.locator("summary").click()
    return chat.get_by_role("button", name=button)


def rename(page: Page, name: str) -> None:
    """Rename the newest chat."""
    page.once("dialog", lambda dialog: dialog.accept(name))
    in_menu(page, "Rename").click()
    expect(page.locator("#lc-chats")).to_contain_text(name)


def test_a_chat_is_there_after_a_reload_and_each_of_its_turns_can_be_opened(
    chromium: Browser, with_handbook: str
) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "Who keeps the handbook?")
        ask(page, "How are rental cars booked?")
        reload(page)
        expect(page.locator("#lc-log .lc-turn")).to_have_count(2)
        expect(page.locator("#lc-panel .lc-question")).to_have_text("How are rental cars booked?")
        turn(page, 0).locator("[data-do=open]").first.click()
        expect(page.locator("#lc-panel .lc-question")).to_have_text("Who keeps the handbook?")


def test_a_chat_is_renamed_found_by_its_name_and_opened_at_its_address(chromium: Browser, with_handbook: str) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "Who keeps the handbook?")
        ask(page, "How are rental cars booked?")
        kept_at = page.url
        rename(page, "Of the keeper")
        page.locator("#lc-new").click()
        expect(page.locator("#lc-chat")).to_contain_text("Ask your documents")
        ask(page, "What does the company pay per kilometre for one's own car?")
        chats = page.locator("#lc-chats")
        chats.get_by_label("Search chats").fill("OF THE KEEPER")
        expect(chats.locator("li")).to_have_count(1)
        chats.get_by_role("button", name="Of the keeper", exact=True).click()
        expect(page.locator("#lc-log .lc-turn")).to_have_count(2)
        expect(page).to_have_url(kept_at)
        page.go_back()
        expect(page.locator("#lc-log .lc-turn")).to_have_count(1)


def test_a_chat_is_saved_in_each_form_as_often_as_it_is_asked_for(
    chromium: Browser, with_handbook: str, screens: Path
) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "Who keeps the handbook?")
        rename(page, "Of the chef")
        # One of them twice running, as when the file was lost.
        markdown = ("Markdown", "# Of the chef")
        for form, beginning in (markdown, markdown, ("JSON", "{"), ("HTML", "<!")):
            save = in_menu(page, f"Save as {form}")
            if form == "Markdown":
                page.screenshot(path=screens / "chat-menu.png")
            with page.expect_download() as download:
                save.click()
            assert download.value.path().read_text("utf-8").lstrip().startswith(beginning)


def test_a_deleted_chat_is_gone_from_the_list(chromium: Browser, with_handbook: str) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "Who keeps the handbook?")
        rename(page, "Of no use")
        page.once("dialog", lambda dialog: dialog.accept())
        in_menu(page, "Delete").click()
        expect(page.locator("#lc-chats")).not_to_contain_text("Of no use")


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
