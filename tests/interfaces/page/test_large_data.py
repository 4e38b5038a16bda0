"""The page with much on it: 500 documents, one of 2,000 pages, a chat of 200 turns, an answer with code, a table and
formulas, two tabs, a server that is started anew or stands still."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from localcrag.app.assembly import Assembly
from localcrag.interfaces.page.chat.chat import TURNS_SHOWN
from localcrag.records.events import RunFinished
from localcrag.records.ingest import Upload
from localcrag.records.run import Run, TurnState
from localcrag.settings import load
from localcrag.storage.schema import DATABASE_NAME
from tests.support.app_process import free_port, process_at, readers_standing_still, running_app
from tests.support.documents import make_pdf
from tests.support.first_start import started_before
from tests.support.page_driver import (
    EVENTS,
    PATIENCE,
    answered,
    ask,
    drop,
    dropped,
    go,
    loaded_anew,
    open_side,
    opened,
    question_box,
    reload,
    turn,
    wait_until,
    whole,
)

pytestmark = pytest.mark.browser

PAGES, DOCUMENTS, TURNS, TABS, MORE_THAN_CONNECTIONS = 2000, 499, 200, 9, 8
WITH_TEXT = 50
QUESTION = "Which berth has the ferry to Skarvoy?"
RICH_QUESTION = "How long is a crossing?"
RICH_ANSWER = """\
A crossing takes $t = \\frac{s}{v}$ hours, at a speed of at most 12 knots, says the timetable of the harbour [1]:

$$v = \\sqrt{\\frac{g \\lambda}{2 \\pi}} \\cdot \\tanh{\\left(\\frac{2 \\pi d}{\\lambda}\\right)}$$

| ferry | berth | miles | speed in knots | hours, by the timetable of the summer | hours, by that of the winter |
| --- | --- | ---: | ---: | ---: | ---: |
| Skarvoy | 7 | 24 | 12 | 2 | 2.5 |
| Ytterholm | 12 | 6 | 8 | 0.75 | 1 |

```python
def hours(miles: float, knots: float, delay_in_minutes: float = 0.0, waiting_time_at_the_lock_in_minutes: float = 0.0):
    return miles / knots + (delay_in_minutes + waiting_time_at_the_lock_in_minutes) / 60
```
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with all that in it."""
    folder = tmp_path_factory.mktemp("many")
    large = folder / "timetable.pdf"
    lines = [f"Line {number} leaves from berth {number % 40 + 1}." for number in range(1, PAGES + 1)]
    # What the pages say is not looked at here, and embedding it took longest.
    make_pdf(large, [line if number < WITH_TEXT else "" for number, line in enumerate(lines)])
    uploads = [Upload(large, large.name)]
    for number in range(DOCUMENTS):
        path = folder / f"note-{number:03}.txt"
        path.write_text("The ferry to Skarvoy has berth 7." if number == 250 else f"Note {number} is about buoys.")
        uploads.append(Upload(path, path.name))
    assembly = Assembly(load(data_dir=started_before(folder / "data")))
    for _ in assembly.ingest(uploads):
        pass
    (finished,) = [event for event in assembly.ask(QUESTION) if isinstance(event, RunFinished)]
    _turn(assembly, RICH_QUESTION, dataclasses.replace(finished.run, run_id="rich", answer=RICH_ANSWER))
    chat = assembly.chats.begin("default").id
    for number in range(TURNS):
        run = dataclasses.replace(finished.run, run_id=f"{finished.run.run_id}-{number}")
        _turn(assembly, f"{QUESTION} ({number})", run, chat)
    assembly.close()
    return folder / "data"


def _turn(assembly: Assembly, question: str, run: Run, chat: int | None = None) -> None:
    """Put down a turn that a run answered, in a chat or in one of its own."""
    chat = chat or assembly.chats.begin("default").id
    assembly.runs.save(run)
    asked = assembly.chats.ask(chat, question)
    answered = dataclasses.replace(asked, answer=run.answer, run_id=run.run_id, state=TurnState.ANSWERED)
    assembly.chats.put(chat, answered)


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
        turns, earlier = page.locator("#lc-log .lc-turn"), page.locator("[data-earlier]")
        expect(turns).to_have_count(TURNS_SHOWN)
        expect(turn(page)).to_be_in_viewport()
        ask(page, "What is note 12 about?")
        expect(turns).to_have_count(TURNS_SHOWN)
        expect(turn(page)).to_be_in_viewport()
        page.screenshot(path=screens / "many-turns.png")
        first = turn(page, 0).get_attribute("data-turn")
        earlier.scroll_into_view_if_needed()
        page.screenshot(path=screens / "many-turns-earlier.png")
        expect(earlier).to_have_text(f"Show {TURNS + 1 - TURNS_SHOWN} earlier questions")
        earlier.click()
        expect(turns).to_have_count(TURNS + 1)
        # What was read stays where it is, and the keyboard goes on from there.
        shown = page.locator(f"#lc-log .lc-turn[data-turn='{first}']")
        expect(shown).to_be_in_viewport()
        expect(shown).to_be_focused()
        ask(page, "What is note 13 about?")
        expect(turns).to_have_count(TURNS + 2)


@pytest.mark.parametrize("width", [1280, 400])
def test_an_answer_with_code_a_table_and_formulas_is_whole(
    chromium: Browser, address: str, screens: Path, width: int
) -> None:
    with opened(chromium, address, width=width) as page:
        open_side(page, "left")
        page.locator("#lc-chats .lc-chat-title", has_text=RICH_QUESTION).click()
        answer = page.locator("#lc-log .lc-text")
        expect(answer.locator("pre code")).to_contain_text("def hours")
        expect(answer.locator("td", has_text="Ytterholm")).to_be_visible()
        expect(answer.locator("math mfrac")).to_have_count(3)
        # A wide table is scrolled within itself; no word of it is broken.
        assert answer.locator("td", has_text="Ytterholm").evaluate("cell => cell.clientHeight < 60")
        answer.locator(".lc-cite").hover()
        tip = answer.locator(".lc-tip")
        expect(tip).to_be_visible()
        inside = "tip => tip.getBoundingClientRect().right <= document.getElementById('lc-chat').clientWidth + {}"
        left = page.locator("#lc-chat").bounding_box()
        assert left
        assert tip.evaluate(inside.format(left["x"]))
        page.screenshot(path=screens / f"rich-answer-{width}.png")
        whole(page, width)


def test_more_tabs_than_a_browser_has_connections_see_files_go_in_and_are_all_served(
    chromium: Browser, address: str, tmp_path: Path
) -> None:
    # A browser has six connections to an address, all its tabs together: no tab may keep one while nothing goes on, and
    # few may while files go in.
    pier, harbour = tmp_path / "pier.txt", tmp_path / "harbour.txt"
    pier.write_text("The pier is open in summer.")
    harbour.write_text("The harbour is open all year.")
    with chromium.new_context() as context:
        tabs = [context.new_page() for _ in range(TABS)]
        first, last = tabs[0], tabs[MORE_THAN_CONNECTIONS - 1]
        go(first, address)
        dropped(first, pier)
        with readers_standing_still(address):
            drop(first, harbour)
            expect(first.locator("#lc-uploads progress")).to_be_visible(timeout=PATIENCE)
            for tab in tabs[1:MORE_THAN_CONNECTIONS]:
                go(tab, address)
            expect(last.locator("#lc-uploads progress")).to_be_visible(timeout=PATIENCE)
        expect(last.locator("#lc-documents")).to_contain_text(harbour.name, timeout=PATIENCE)
        # The first tab was told no more, until somebody looks at it.
        expect(first.locator("#lc-uploads progress")).to_be_visible()
        first.evaluate("window.dispatchEvent(new Event('focus'))")
        expect(first.locator("#lc-documents")).to_contain_text(harbour.name, timeout=PATIENCE)
        expect(first.locator("#lc-uploads progress")).to_have_count(0)
        for tab in tabs[MORE_THAN_CONNECTIONS:]:
            go(tab, address)
        for tab in (first, tabs[-1]):
            ask(tab, QUESTION)


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


def test_a_question_asked_before_a_page_shows_its_chat_goes_to_that_chat(chromium: Browser, address: str) -> None:
    with opened(chromium, address) as page:
        ask(page, QUESTION)
        chat = page.url
        held: list[Route] = []

        def hold(route: Route) -> None:
            opens = "chat" in ((route.request.post_data_json or {}).get("event_data") or {})
            held.append(route) if opens else route.continue_()

        page.route(EVENTS, hold)
        page.reload()
        expect(page.locator("#lc-chats .lc-chats")).to_have_count(1)
        wait_until(lambda: bool(held))
        question_box(page).fill("What is note 3 about?")
        page.locator("#lc-send").click()
        answered(page, 2)
        assert page.url == chat
        for route in held:
            route.continue_()
        page.unroute(EVENTS)
        loaded_anew(page)
        answered(page, 2)


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
        question_box(page).fill("And now?")
        page.evaluate("window.before = true")
        page.locator("#lc-send").click()
        # Gradio may have noticed first, and loaded the page anew: then the question is in the box, to be sent again.
        asked_or_there_again = (
            "document.querySelectorAll('#lc-log .lc-turn').length > 1 || "
            "(!window.before && document.querySelector('#lc-question textarea')?.value)"
        )
        page.wait_for_function(asked_or_there_again, timeout=PATIENCE)
        if page.locator("#lc-log .lc-turn").count() < 2 and question_box(page).input_value():
            page.locator("#lc-send").click()
        expect(question_box(page)).to_have_value("", timeout=PATIENCE)
        answered(page, 2)
    context.close()


def test_what_is_typed_and_not_yet_asked_is_there_when_the_page_is_loaded_anew(
    chromium: Browser, data: Path, address: str
) -> None:
    def arrived() -> bool:
        with closing(sqlite3.connect(data / DATABASE_NAME)) as database:
            (times,) = database.execute("SELECT count(*) FROM chat_turns WHERE question = 'Did it arrive?'").fetchone()
        return bool(times)

    with opened(chromium, address) as page:
        question_box(page).fill("Is this\nkept?")
        reload(page)
        expect(question_box(page)).to_have_value("Is this\nkept?")
        page.locator("#lc-send").click()
        answered(page, 1)
        reload(page)
        expect(page.locator("#lc-log .lc-turn")).to_have_count(1)
        expect(question_box(page)).to_have_value("")
        # The question arrives, and the tab does not hear of it.
        page.route("**/gradio_api/queue/data*", lambda route: None)
        question_box(page).fill("Did it arrive?")
        page.locator("#lc-send").click()
        wait_until(arrived)
        page.unroute("**/gradio_api/queue/data*")
        reload(page)
        answered(page, 2)
        expect(question_box(page)).to_have_value("")


def test_a_machine_that_stands_still_is_waited_for_and_the_page_says_how_long(
    chromium: Browser, address: str, screens: Path
) -> None:
    with opened(chromium, address) as page:
        ask(page, "What is there?")
        process = process_at(address)
        question_box(page).fill("And what else is there?")
        page.locator("#lc-send").click()
        expect(page.locator("#lc-live .lc-busy")).to_be_visible()
        os.kill(process, signal.SIGSTOP)
        try:
            expect(page.locator("#lc-live .lc-waited")).to_have_text(re.compile(r"^([6-9]|\d\d+) s$"))
            expect(page.locator("#lc-live .lc-spinner")).to_have_css("border-top-width", "2px")
            question_box(page).fill("What is typed meanwhile stays.")
            page.screenshot(path=screens / "slow.png")
        finally:
            os.kill(process, signal.SIGCONT)
        answered(page, 2)
        expect(question_box(page)).to_have_value("What is typed meanwhile stays.")
