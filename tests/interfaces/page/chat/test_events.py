"""What a tab is told of a chat, whenever it looks: with the real app behind, and no browser before it."""

from __future__ import annotations

import asyncio
import gc
import re
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from gradio.state_holder import SessionState

from localcrag.app.assembly import Assembly
from localcrag.app.tasks import Job
from localcrag.interfaces.page.chat.chat import TURNS_SHOWN, View
from localcrag.interfaces.page.chat.events import chat_number
from localcrag.interfaces.page.handlers import MAX_TABS, Tabs
from localcrag.interfaces.page.page import App, build
from localcrag.records.enums import Preset
from localcrag.records.errors import QuestionError
from localcrag.records.run import TurnState
from localcrag.settings import load
from tests.support.first_start import started_before

pytestmark = pytest.mark.process

QUESTION = "Is anything here?"
WHERE, LOG, LIVE = 0, 1, 2


@pytest.fixture
def assembly(tmp_path: Path) -> Iterator[Assembly]:
    made = Assembly(load(data_dir=started_before(tmp_path)))
    yield made
    made.close()


@pytest.fixture
def app(assembly: Assembly) -> Iterator[App]:
    async def made() -> App:
        return build(assembly)

    # Within a loop of events: Gradio would make one, and leave it open.
    app = asyncio.run(made())
    yield app
    app.close()


def request(tab: str) -> gr.Request:
    return gr.Request(session_hash=tab)


def the(**said: object) -> gr.EventData:
    return gr.EventData(None, said)


def told(views: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Return what changes something."""
    return [view for view in views if any(value != gr.skip() for value in view)]


def test_what_is_clicked_twice_is_done_in_that_order(app: App) -> None:
    """Two at once would end in any order; the page goes on showing what ended last."""
    clicks = [
        event
        for event in app.page.fns.values()
        if (event.trigger_mode, event.trigger_after) == ("multiple", None) and event.concurrency_limit is not None
    ]
    assert {"rate_answer", "open", "label", "unpin", "tag"} <= {event.name for event in clicks}
    assert {event.name for event in clicks if event.concurrency_limit != 1} == set()


def test_what_follows_an_event_is_never_dropped(app: App) -> None:
    """By default, what follows a second click while it still runs for the first is dropped; the page stays behind."""
    following = [event for event in app.page.fns.values() if event.trigger_after is not None]
    assert {"log", "listed", "follow", "status_line"} <= {event.name for event in following}
    assert {event.name for event in following if event.trigger_mode == "once" and event.fn} == set()


@pytest.mark.parametrize("chat", ["²", "9" * 5000, "one", ""])
def test_a_chat_that_no_number_names_is_none(app: App, chat: str) -> None:
    assert app.chats.open(the(chat=chat), request("one"))[WHERE] == ""
    assert chat_number(chat) is None


def test_an_answer_that_ends_between_a_look_and_the_next_is_shown(app: App, assembly: Assembly) -> None:
    chat = assembly.chats.begin("default").id
    app.chats.ask_again({app.chats.ui.column.where: str(chat)}, the(turn=0, question=QUESTION), request("one"))
    shown = app.chats.open(the(chat=chat), request("two"))
    assert "lc-busy" in shown[LIVE]
    # By another tab's look to the end the answer has come to its own.
    *_, last = app.chats.follow(request("one"))
    assert "lc-turn" in last[LOG]
    *_, whole = app.chats.follow(request("two"))
    assert whole[LOG] == last[LOG]
    assert whole[LIVE] == ""


def test_a_tab_that_was_told_an_answer_keeps_nothing_of_what_led_to_it(app: App, assembly: Assembly) -> None:
    kept: list[weakref.ref[object]] = []
    for number in range(2):
        chat = assembly.chats.begin("default").id
        tab = request(f"tab {number}")
        app.chats.ask_again({app.chats.ui.column.where: str(chat)}, the(turn=0, question=QUESTION), tab)
        kept += [weakref.ref(one) for one in gc.get_objects() if type(one) is Job and one.running]
        list(app.chats.follow(tab))
    gc.collect()
    assert [one() for one in kept[:1]] == [None]


def test_a_tab_that_shows_another_chat_by_now_is_told_no_more_of_the_first(app: App, assembly: Assembly) -> None:
    chat = assembly.chats.begin("default").id
    app.chats.ask_again({app.chats.ui.column.where: str(chat)}, the(turn=0, question=QUESTION), request("one"))
    views = app.chats.follow(request("one"))
    next(views)
    app.chats.new_chat(request("one"))
    # Gradio says the last value of an event once more at its end.
    (last,) = views
    assert all(value == gr.skip() for value in last)


def test_a_chat_opened_while_word_of_the_one_before_is_on_its_way_stays_open(app: App, assembly: Assembly) -> None:
    chats = [assembly.chats.begin("default").id for _ in range(2)]
    ask_in = {app.chats.ui.column.where: str(chats[0])}
    app.chats.ask_again(ask_in, the(turn=0, question=QUESTION), request("one"))
    views = app.chats.follow(request("one"))
    of_the_first = told([next(views), next(views)])
    assert [view[WHERE] for view in of_the_first] == [str(chats[0])]
    # Both are sent, and the page may get them in either order.
    app.chats.open(the(chat=chats[1]), request("one"))
    assert [view[WHERE] for view in views] == [str(chats[1])]


def test_earlier_turns_of_a_chat_that_was_left_do_not_bring_it_back(app: App, assembly: Assembly) -> None:
    chats = [assembly.chats.begin("default").id for _ in range(2)]
    app.chats.open(the(chat=chats[1]), request("one"))
    assert app.chats.show_earlier(str(chats[0]), request("one")) == gr.skip()
    assert "lc-" in app.chats.show_earlier(str(chats[1]), request("one"))


def test_a_chat_without_an_answer_under_way_is_left_as_it_is(app: App, assembly: Assembly) -> None:
    app.chats.open(the(chat=assembly.chats.begin("default").id), request("one"))
    (only,) = app.chats.follow(request("one"))
    assert all(value == gr.skip() for value in only)


def test_what_a_tab_holds_does_not_grow_with_what_it_is_told(app: App) -> None:
    outputs = app.chats.ui.column.outputs(app.chats.ui.panel)
    event = next(one for one in app.page.fns.values() if one.name == "follow" and list(one.outputs) == outputs)
    tab = SessionState(app.page)
    held = set(tab.config_values)

    async def told(log: str | None) -> None:
        await app.page.postprocess_data(event, list(View(chat_id=1, log=log).values()), tab)

    async def answers() -> None:
        for number in range(20):
            await told(None)
            await told(f"answer {number}")

    asyncio.run(answers())
    assert set(tab.config_values) == held
    assert set(tab.blocks_config.blocks) == set(app.page.default_config.blocks)
    assert tab.config_values[app.chats.ui.column.log._id]["props"]["value"] == "answer 19"


def test_what_gradio_counts_of_events_neither_grows_nor_takes_time(app: App) -> None:
    queue: Any = app.page._queue
    queue.events_recorded = 100_000
    event = {"time": 0.0, "status": "success", "process_time": 0.1, "function": "follow", "session_hash": "tab"}
    assert queue.compute_analytics_summary([event]) == {"functions": {}}, "summed up anew"
    assert queue.ANALYTICS_MAX_EVENTS == 1


def test_a_long_chat_shows_its_newest_turns_and_the_earlier_ones_to_the_tab_that_asks(
    app: App, assembly: Assembly
) -> None:
    chat = assembly.chats.begin("default").id
    for number in range(TURNS_SHOWN + 3):
        asked = assembly.chats.ask(chat, f"question {number}")
        assembly.chats.put(chat, replace(asked, answer="an answer", state=TurnState.ANSWERED))

    def shown(log: str) -> list[int]:
        return [int(number) for number in re.findall(r"<p>question (\d+)</p>", log)]

    everything, newest = list(range(TURNS_SHOWN + 3)), list(range(3, TURNS_SHOWN + 3))
    log = app.chats.open(the(chat=chat), request("one"))[LOG]
    assert shown(log) == newest
    assert "Show 3 earlier questions" in log
    log = app.chats.show_earlier(str(chat), request("one"))
    assert shown(log) == everything
    assert "earlier" not in log
    assert shown(app.chats.open(the(chat=chat), request("one"))[LOG]) == everything
    assert shown(app.chats.open(the(chat=chat), request("two"))[LOG]) == newest
    app.chats.new_chat(request("one"))
    assert shown(app.chats.open(the(chat=chat), request("one"))[LOG]) == newest


def test_a_chat_that_another_tab_began_is_opened_with_what_that_one_chose(app: App, assembly: Assembly) -> None:
    assembly.collections.new("attic")
    known = assembly.chats.begin("attic", preset=Preset.FAST).id
    gone = assembly.chats.begin("cellar", llm="a-model-that-was-deleted").id
    for chat, chosen in ((known, ("attic", "fast", "")), (gone, ("cellar", "", "a-model-that-was-deleted"))):
        collection, preset, llm = app.chats.open(the(chat=chat), request("one"))[-5:-2]
        assert (collection["value"], preset, llm["value"]) == chosen
        assert collection["value"] in collection["choices"]
        assert llm["value"] in [value for _, value in llm["choices"]]
        assert "attic" in collection["choices"]
    # Without a chat: what is chosen stays, among all that there is.
    collection, preset, llm = app.chats.open(the(chat=""), request("one"))[-5:-2]
    assert "attic" in collection["choices"]
    assert [*collection, *preset, *llm].count("value") == 0


@pytest.mark.parametrize("made_by", ["change_collection", "add_samples", "import_file"])
def test_a_collection_that_is_made_deleted_or_imported_is_chosen(app: App, made_by: str) -> None:
    # Of the events that are handled by a function of this name, the one that sets the list of collections.
    (makes,) = (one for one in app.page.fns.values() if one.name == made_by and app.chats.ui.collection in one.outputs)
    then = [one for one in app.page.fns.values() if one.trigger_after == makes._id and one.trigger_only_on_success]
    assert [one.name for one in then] == ["choose_collection"]


def test_choosing_another_collection_begins_a_new_chat_and_the_shown_one_keeps_its_own(
    app: App, assembly: Assembly
) -> None:
    assembly.collections.new("attic")
    chat = assembly.chats.begin("default")
    asked_and_answered(assembly, chat.id, "Where is the anchor?")
    app.chats.open(the(chat=chat.id), request("one"))
    shown = app.chats.choose_collection(str(chat.id), "attic", request("one"))
    assert shown[WHERE] == ""
    assert "anchor" not in shown[LOG]
    assert assembly.chats.chat(chat.id).collection == "default"
    listed = app.chats.listed("attic")
    assert listed.index("In other collections: 1") < listed.index("Where is the anchor?")
    assert "In other collections" not in app.chats.listed("default")


def test_choosing_the_collection_of_the_shown_chat_changes_nothing(app: App, assembly: Assembly) -> None:
    """Gradio reports the value of a list also when the list loses the focus."""
    chat = assembly.chats.begin("default")
    assert told([app.chats.choose_collection(str(chat.id), "default", request("one"))]) == []
    app.chats.choose_options(str(chat.id), "", "")
    assert assembly.chats.chat(chat.id) == chat


def test_a_question_asked_right_after_another_collection_was_chosen_begins_a_chat_there(
    app: App, assembly: Assembly
) -> None:
    assembly.collections.new("attic")
    chat = assembly.chats.begin("default").id
    at = app.chats.ui
    said = {at.column.where: str(chat), at.collection: "attic", at.column.preset: "", at.column.llm: "",
            at.column.scope.chosen: "", at.column.question: QUESTION}  # fmt: skip
    shown = app.chats.ask(said, request("one"))
    assert shown[WHERE] != str(chat)
    assert assembly.chats.chat(int(shown[WHERE])).collection == "attic"
    assert assembly.chats.turns(chat) == []


def test_an_earlier_turn_that_is_asked_once_more_searches_the_collection_of_its_chat(
    app: App, assembly: Assembly
) -> None:
    assembly.collections.new("attic")
    chat = assembly.chats.begin("default").id
    asked_and_answered(assembly, chat, QUESTION)
    at = app.chats.ui
    app.chats.ask_again({at.column.where: str(chat), at.collection: "attic"}, the(turn=1, question=""), request("one"))
    list(app.chats.follow(request("one")))
    (turn,) = assembly.chats.turns(chat)
    assert assembly.runs.get(turn.run_id or "").collection == "default"


def test_a_version_that_is_chosen_is_shown_with_the_turns_that_follow_it(app: App, assembly: Assembly) -> None:
    chat = assembly.chats.begin("default").id
    for question in ("One?", "Two?"):
        asked_and_answered(assembly, chat, question)
    edited = asked_and_answered(assembly, chat, "Eins?", instead_of=1)
    log = app.chats.open(the(chat=chat), request("one"))[LOG]
    assert re.findall(r"<p>(\w+\?)</p>", log) == ["Eins?"]
    assert "Version 2 of 2" in log
    log, _ = app.chats.show_version(str(chat), the(turn=1), request("one"))
    assert re.findall(r"<p>(\w+\?)</p>", log) == ["One?", "Two?"]
    assert f'data-show="{edited}"' in log
    with pytest.raises(QuestionError, match="Load the page again"):
        app.chats.show_version(str(chat), the(turn=7), request("one"))


def test_an_earlier_turn_that_is_being_answered_once_more_is_shown_in_its_place(app: App, assembly: Assembly) -> None:
    chat = assembly.chats.begin("default").id
    for question in ("One?", "Two?", "Three?"):
        asked_and_answered(assembly, chat, question)
    shown = app.chats.ask_again({app.chats.ui.column.where: str(chat)}, the(turn=2, question=""), request("one"))
    assert re.findall(r"<p>(\w+\?)</p>", shown[LOG]) == ["One?"]
    assert "Two?" in shown[LIVE]
    *_, last = app.chats.follow(request("one"))
    assert re.findall(r"<p>(\w+\?)</p>", last[LOG]) == ["One?", "Two?"]


def asked_and_answered(assembly: Assembly, chat: int, question: str, *, instead_of: int | None = None) -> int:
    """Ask a question in a chat and answer it; return the number of its turn."""
    asked = assembly.chats.ask(chat, question, instead_of=instead_of)
    assembly.chats.put(chat, replace(asked, answer="an answer", state=TurnState.ANSWERED))
    return asked.number


def test_files_handed_in_go_to_a_collection_as_soon_as_it_is_made(app: App, assembly: Assembly, tmp_path: Path) -> None:
    """The tab says so a moment later that it shows it; until then they went to the one before."""
    (tmp_path / "third.md").write_text("# The third\n\nThe tug is called Bruma.\n", "utf-8")
    app.documents.change_collection("default", the(what="new", name="ships"), request("one"))
    app.documents.add_originals([tmp_path / "third.md"], "default")
    list(app.documents.follow("ships", request("one")))
    assert [document.name for document in assembly.collections.documents("ships")] == ["third.md"]


def test_what_was_being_answered_when_the_server_ended_is_shown_as_stopped(
    assembly: Assembly, request: pytest.FixtureRequest
) -> None:
    chat = assembly.chats.begin("default").id
    assembly.chats.ask(chat, QUESTION)
    app: App = request.getfixturevalue("app")
    assert "Stopped." in app.chats.open(the(chat=chat), gr.Request(session_hash="one"))[LOG]


def test_the_tabs_that_were_used_last_are_remembered() -> None:
    tabs: Tabs[int] = Tabs()
    for number in range(MAX_TABS):
        tabs.put(str(number), number)
    tabs.put("0", 0)
    tabs.put("new", -1)
    assert (tabs.get("0"), tabs.get("1"), tabs.get("2"), tabs.get("new")) == (0, None, 2, -1)
