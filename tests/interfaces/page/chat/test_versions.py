"""On the page: an earlier question is edited and the turns before are a click away; a chat keeps its collection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.app_process import running_app, standing_still
from tests.support.page_driver import PATIENCE, answered, ask, choose, dropped, loaded_at, opened, question_box, turn

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("harbour")
    (folder / "harbour.md").write_text(
        "# Harbour\n\nThe anchor is kept in the loft of the boathouse.\n\nThe lamp burns rapeseed oil every night.\n\n"
        "The ferry leaves at six in the morning.\n",
        "utf-8",
    )
    with running_app(tmp_path_factory.mktemp("versions")) as url:
        with opened(chromium, url) as page:
            dropped(page, folder / "harbour.md")
        yield url


def questions(page: Page) -> list[str]:
    return page.locator("#lc-log .lc-asked p").all_text_contents()


def edit(page: Page, number: int, words: str) -> None:
    """Ask a turn's question in other words."""
    turn(page, number).get_by_role("button", name="Edit this question and ask again").click()
    box = turn(page, number).get_by_label("Your question")
    box.fill(words)
    box.press("Enter")


@pytest.mark.everyday
def test_an_edited_question_keeps_the_turns_that_followed_it(chromium: Browser, address: str, screens: Path) -> None:
    with opened(chromium, address) as page:
        for question in ("Where is the anchor kept?", "What does the lamp burn?", "When does the ferry leave?"):
            ask(page, question)
        before = questions(page)
        edit(page, 1, "Which oil does the lamp burn?")
        answered(page, 2)
        edited = ["Where is the anchor kept?", "Which oil does the lamp burn?"]
        assert questions(page) == edited
        versions = turn(page, 1).get_by_role("group", name="Versions of this question")
        expect(versions).to_contain_text("2/2")
        expect(versions.get_by_role("button", name="Next version")).to_be_disabled()
        # With the keyboard, back to the first version: the later turn is there again.
        versions.get_by_role("button", name="Previous version").press("Enter")
        expect(page.locator("#lc-log .lc-turn")).to_have_count(3)
        assert questions(page) == before
        expect(versions).to_contain_text("1/2")
        expect(page.locator("#lc-say")).to_have_text("Version 1 of 2")
        expect(page.locator("#lc-panel .lc-question")).to_have_text("What does the lamp burn?")
        expect(versions.get_by_role("button", name="Next version")).to_be_focused()
        for scheme in ("light", "dark"):
            loaded_at(page, 1280, scheme)
            expect(page.locator("#lc-log .lc-turn")).to_have_count(3)
            page.screenshot(path=screens / f"versions-{scheme}.png")
        versions.get_by_role("button", name="Next version").click()
        expect(page.locator("#lc-log .lc-turn")).to_have_count(2)
        assert questions(page) == edited


def test_an_answer_once_more_that_is_stopped_leaves_the_one_before(
    chromium: Browser, address: str, screens: Path
) -> None:
    with opened(chromium, address) as page:
        ask(page, "Where is the anchor kept?")
        ask(page, "When does the ferry leave?")
        text = turn(page, 0).locator(".lc-text").inner_text()
        turn(page, 0).get_by_role("button", name="Answer once more").click()
        expect(page.locator("#lc-stop")).to_be_visible()
        # The server stands still meanwhile: the answer could be there before the click.
        with standing_still(address):
            page.locator("#lc-stop").click(no_wait_after=True)
        answered(page, 2)
        expect(turn(page, 0).locator(".lc-text")).to_have_text(text, use_inner_text=True)
        expect(turn(page, 0).locator(".lc-versions")).to_contain_text("The newest version was stopped.")
        # The panel is about the answer that is shown, not about the one that was stopped.
        shown = turn(page, 0).get_attribute("data-run") or ""
        expect(page.locator("#lc-panel .lc-panel")).to_have_attribute("data-run", shown)
        page.screenshot(path=screens / "version-stopped.png")


def test_a_chat_keeps_its_collection_when_another_one_is_chosen(chromium: Browser, address: str, screens: Path) -> None:
    with opened(chromium, address) as page:
        ask(page, "Where is the anchor kept?")
        chat = page.url
        page.once("dialog", lambda dialog: dialog.accept("attic"))
        page.get_by_role("button", name="New collection").click()
        expect(page.locator("#lc-collection input")).to_have_value("attic")
        # A new chat has begun, and the list has the chats of this collection first: there are none.
        expect(page.locator("#lc-log .lc-turn")).to_have_count(0)
        chats = page.locator("#lc-chats")
        expect(chats).to_contain_text("No chats in this collection yet.")
        page.screenshot(path=screens / "other-collection.png")
        chats.locator(".lc-others > summary").click()
        chats.locator(".lc-chat-title").first.click()
        expect(page.locator("#lc-collection input")).to_have_value("default")
        expect(page).to_have_url(chat)
        ask(page, "When does the ferry leave?")
        expect(page.locator("#lc-panel")).to_contain_text("harbour.md", timeout=PATIENCE)
        choose(page, "#lc-collection", "attic")
        expect(page.locator("#lc-log .lc-turn")).to_have_count(0)
        expect(question_box(page)).to_be_visible()
