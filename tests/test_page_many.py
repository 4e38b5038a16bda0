"""The page with much on it: 500 documents, one of 2,000 pages, a chat of 200 turns, two tabs, a server started anew."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from localcrag.assemble import Assembly
from localcrag.chats import TurnState
from localcrag.events import RunFinished
from localcrag.ingest import Upload
from localcrag.settings import load
from tests.app_process import free_port, running_app
from tests.documents import make_pdf
from tests.page_driver import answered, ask, go, opened, question_box, turn

pytestmark = pytest.mark.browser
PAGES, DOCUMENTS, TURNS = 2000, 499, 200
QUESTION = "Which berth has the ferry to Skarvoy?"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with all that in it."""
    folder = tmp_path_factory.mktemp("many")
    large = folder / "timetable.pdf"
    make_pdf(large, [f"Line {number} leaves from berth {number % 40 + 1}." for number in range(1, PAGES + 1)])
    uploads = [Upload(large, large.name)]
    for number in range(DOCUMENTS):
        path = folder / f"note-{number:03}.txt"
        path.write_text("The ferry to Skarvoy has berth 7." if number == 250 else f"Note {number} is about buoys.")
        uploads.append(Upload(path, path.name))
    assembly = Assembly(load(data_dir=folder / "data"))
    for _ in assembly.ingest(uploads):
        pass
    (finished,) = [event for event in assembly.ask(QUESTION) if isinstance(event, RunFinished)]
    chat = assembly.chats.begin("default")
    for number in range(TURNS):
        run = dataclasses.replace(finished.run, run_id=f"{finished.run.run_id}-{number}")
        assembly.runs.save(run)
        asked = assembly.chats.ask(chat.id, f"{QUESTION} ({number})")
        assembly.chats.put(
            chat.id, dataclasses.replace(asked, answer=run.answer, run_id=run.run_id, state=TurnState.ANSWERED)
        )
    assembly.close()
    return folder / "data"


@pytest.fixture(scope="module")
def address(data: Path) -> Iterator[str]:
    with running_app(data) as url:
        yield url


def test_500_documents_are_listed_searched_and_one_of_2000_pages_is_shown(
    chromium: Browser, address: str, screens: Path
) -> None:
    with opened(chromium, address) as page:
        documents = page.locator("#lc-documents")
        expect(documents).to_contain_text("500 documents")
        page.screenshot(path=screens / "many-documents.png")
        documents.get_by_label("Search documents").fill("timetable")
        expect(documents.locator("li:visible")).to_have_count(1)
        expect(documents.locator("li:visible")).to_contain_text("2000 pages")
        documents.locator("li:visible .lc-name").click()
        source = page.locator("#lc-source")
        expect(source).to_contain_text("page 1 of 2000")
        source.get_by_role("button", name="Next page").click()
        expect(source).to_contain_text("page 2 of 2000")


def test_a_chat_of_200_turns_is_opened_and_goes_on(chromium: Browser, address: str, screens: Path) -> None:
    with opened(chromium, address) as page:
        page.locator("#lc-chats .lc-chat-title").first.click()
        expect(page.locator("#lc-log .lc-turn")).to_have_count(TURNS)
        expect(turn(page)).to_be_in_viewport()
        ask(page, "What is note 12 about?")
        expect(turn(page)).to_be_in_viewport()
        page.screenshot(path=screens / "many-turns.png")


def test_two_tabs_see_the_same_chat_and_each_goes_its_own_way(chromium: Browser, address: str) -> None:
    with opened(chromium, address) as one, opened(chromium, address) as two:
        ask(one, QUESTION)
        one_address = one.url
        go(two, one_address)
        answered(two, 1)
        question_box(two).fill("What is note 3 about?")
        two.locator("#lc-send").click()
        one.locator("#lc-new").click()
        expect(one.locator("#lc-log .lc-turn")).to_have_count(0)
        ask(one, "What is note 4 about?")
        answered(two, 2)
        assert one.url != one_address
        expect(two.locator("#lc-log .lc-asked p").last).to_have_text("What is note 3 about?")


def test_a_page_goes_on_when_the_server_was_started_anew(chromium: Browser, data: Path, tmp_path: Path) -> None:
    port = free_port()
    with running_app(tmp_path, port=port) as url:
        context = chromium.new_context()
        page = context.new_page()
        go(page, url)
        ask(page, "What is there?")
    with running_app(tmp_path, port=port):
        # The tab was not loaded again: it asks in the chat that it shows.
        expect(page.locator("#lc-log .lc-turn")).to_have_count(1)
        ask(page, "And now?")
        answered(page, 2)
    context.close()
