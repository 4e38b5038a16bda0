"""How a query leaves: what may stop, change or delay it, over the real search client and a server that counts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from localcrag.app.chats import WaitingConsent
from localcrag.app.web_search import SlidingMinuteLimit
from localcrag.crag.context import Parts
from localcrag.crag.web import CONSENT_IMPOSSIBLE, EDITED_QUERY_FORBIDDEN, QUERY_TOO_SHORT, TERMS_REMOVED
from localcrag.pipeline import answer
from localcrag.records.enums import NotAsked
from localcrag.records.errors import ConsentMissing, ForbiddenTerm
from localcrag.records.events import Event, QueryProposed, RunFinished, SearchBegun, StepStarted
from localcrag.records.run import Run, WebUse
from localcrag.runs import recording
from localcrag.search import SearXNG
from localcrag.settings import load
from localcrag.storage.database import Database
from localcrag.storage.egress import WebAnswerCache
from tests.support.desk import ANSWERABLE, DOCUMENT, UNANSWERABLE, Desk
from tests.support.fakes import FakeLanguageModel
from tests.support.search_servers import Reply, ScriptedSearch, answer_reply, scripted_search

MOON = {"title": "Moon", "url": "http://example.org/moon", "content": "The moon orbits the earth in 27 days."}
GOOD = answer_reply(results=[MOON])
WRITTEN = "orbits moon"
"""What the language model makes of the question that nobody's documents answer."""


class Time:
    """Passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class WebDesk:
    """The flow over a scripted search server, with everything between."""

    def __init__(self, folder: Path, stack: ExitStack, replies: list[Reply]) -> None:
        self.desk = Desk(folder, *DOCUMENT)
        self.server: ScriptedSearch = stack.enter_context(scripted_search(*replies))
        self.time = Time()
        self.rate_limit = SlidingMinuteLimit(now=lambda: self.time.now, sleep=self.time.sleep)
        self.stack = stack
        self.database = stack.enter_context(closing(Database(folder / "web.sqlite3")))

    def parts(self, **settings: Any) -> Parts:
        # No second look at the documents: the language model's first words are then the web query.
        chosen = load(data_dir=self.desk.settings.data_dir, searxng_url=self.server.url, retry=False, **settings)
        self.desk.settings = chosen
        client = self.stack.enter_context(
            closing(SearXNG(self.server.url, timeout=30, results=5, forbidden=chosen.web_never_terms))
        )
        cache = WebAnswerCache(self.database, endpoint=client.address, parameters={}, hours=chosen.web_cache_hours)
        parts = self.desk.parts()
        return Parts(
            embedder=parts.embedder, scorer=parts.scorer, llm=parts.llm, index=parts.index, store=parts.store,
            runs=parts.runs, web=client, web_cache=cache, rate_limit=self.rate_limit,
        )  # fmt: skip

    def ask(self, question: str = UNANSWERABLE, *, written: str = WRITTEN, consent: Any = None, **settings: Any
            ) -> tuple[list[Event], Run]:  # fmt: skip
        self.desk.llm = FakeLanguageModel(written, "The moon orbits the earth [1].")
        parts = self.parts(**settings)
        events = list(answer(question, parts=parts, settings=self.desk.settings, consent=consent))
        assert isinstance(events[-1], RunFinished)
        return events, events[-1].run

    @property
    def sent(self) -> list[str]:
        return [request.query["q"] for request in self.server.requests]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., WebDesk]]:
    with ExitStack() as stack:
        yield lambda *replies: WebDesk(tmp_path, stack, list(replies) or [GOOD] * 3)


class Person:
    """Says the same to every query, and remembers them."""

    def __init__(self, says: Callable[[str], str | None]) -> None:
        self.says = says
        self.shown: list[str] = []

    def __call__(self, query: str) -> str | None:
        self.shown.append(query)
        return self.says(query)


def test_by_default_the_exact_query_is_shown_and_leaves_when_it_is_allowed(opened: Callable[..., WebDesk]) -> None:
    desk, person = opened(), Person(lambda query: query)
    events, run = desk.ask(consent=person)
    assert person.shown == desk.sent == [WRITTEN]
    assert QueryProposed(WRITTEN) in events
    assert (run.web.used, run.web.query, run.web.not_asked) == (True, WRITTEN, None)
    assert run.answer == "The moon orbits the earth [1]."


@pytest.mark.parametrize(
    ("says", "sent", "not_asked", "in_the_answer"),
    [
        pytest.param(lambda _: None, [], NotAsked.DECLINED, "because you did not allow it", id="refused"),
        pytest.param(lambda _: "  \n", [], NotAsked.DECLINED, "because you did not allow it", id="emptied"),
        pytest.param(lambda _: "who orbits\tthe moon", ["who orbits the moon"], None, "orbits", id="edited"),
        pytest.param(
            lambda _: "Blue-Herons moon", [], NotAsked.FORBIDDEN_TERM, "never be sent", id="edited to hold a term"
        ),
    ],
)
def test_what_the_person_says_is_done(
    opened: Callable[..., WebDesk],
    says: Callable[[str], str | None],
    sent: list[str],
    not_asked: NotAsked | None,
    in_the_answer: str,
) -> None:
    desk = opened()
    _, run = desk.ask(consent=Person(says), web_never_terms=["blue heron"])
    assert desk.sent == sent
    assert run.web.not_asked is not_asked
    assert run.web.query == (sent[0] if sent else WRITTEN)
    assert run.web.used is bool(sent)
    assert in_the_answer in run.answer
    assert (EDITED_QUERY_FORBIDDEN in run.warnings) is (not_asked is NotAsked.FORBIDDEN_TERM)


def test_with_nobody_to_ask_nothing_leaves_and_the_run_says_how_to_allow_it(opened: Callable[..., WebDesk]) -> None:
    desk = opened()
    _, run = desk.ask()
    assert desk.sent == []
    assert run.web == WebUse(query=WRITTEN, not_asked=NotAsked.NO_ONE_TO_ASK)
    assert CONSENT_IMPOSSIBLE in run.warnings
    assert "--web always" in CONSENT_IMPOSSIBLE
    assert "there was nobody to ask" in run.answer


@pytest.mark.parametrize(
    ("end", "says"),
    [
        pytest.param(lambda consent: None, "0 minutes nobody said", id="nobody answers in time"),
        pytest.param(lambda consent: consent.end(), "was stopped before", id="stopped"),
    ],
)
def test_a_wait_that_ends_without_an_answer_is_a_refusal_and_says_so(
    opened: Callable[..., WebDesk], end: Callable[[WaitingConsent], None], says: str
) -> None:
    desk, consent = opened(), WaitingConsent(seconds=0)
    end(consent)
    _, run = desk.ask(consent=consent)
    assert desk.sent == []
    assert run.web.not_asked is NotAsked.UNANSWERED
    assert any(says in warning for warning in run.warnings)
    assert "because nobody answered" in run.answer


def test_the_page_gives_what_was_said_to_the_thread_that_waits() -> None:
    consent = WaitingConsent(seconds=60)
    said: list[str | None] = []
    thread = threading.Thread(target=lambda: said.append(consent("moon")))
    thread.start()
    consent.decide("the moon")
    thread.join()
    assert said == ["the moon"]
    consent.end()
    assert consent("moon") == "the moon", "what was said counts, also when Stop follows"
    with pytest.raises(ConsentMissing):
        WaitingConsent(seconds=0)("moon")


def test_the_time_that_the_person_thinks_is_not_the_steps(
    opened: Callable[..., WebDesk], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("localcrag.crag.context.time.perf_counter", lambda: now[0])

    def thinks(query: str) -> str:
        now[0] += 250
        return query

    _, run = opened().ask(consent=thinks)
    assert {step.name: step.seconds for step in run.steps}["search"] == 0.0


@pytest.mark.parametrize(
    ("written", "terms", "sent", "warning"),
    [
        pytest.param("orbits moon", ["heron"], ["orbits moon"], None, id="holds none"),
        pytest.param("orbits moon", ["orbit"], ["moon"], TERMS_REMOVED, id="one word goes"),
        pytest.param("orbits moon", ["OR-BITS", "Moon"], [], QUERY_TOO_SHORT, id="nothing is left"),
        pytest.param("orbits the moon?", ["orbits moon"], ["orbits the moon?"], None, id="in another order"),
        pytest.param(
            "nonsense", ["moon"], ["Who orbits the"], TERMS_REMOVED, id="the question itself, as the fallback"
        ),
    ],
)
def test_forbidden_terms_never_reach_the_server(
    opened: Callable[..., WebDesk], written: str, terms: list[str], sent: list[str], warning: str | None
) -> None:
    desk = opened()
    _, run = desk.ask(written=written, web="always", web_never_terms=terms)
    assert desk.sent == sent
    assert run.warnings == (() if warning is None else (warning,))
    if not sent:
        assert run.web == WebUse(not_asked=NotAsked.FORBIDDEN_TERM)
        assert "a term that you said may never be sent" in run.answer
    stored = json.dumps(recording.to_json(run)["warnings"])
    assert not any(term.lower() in stored.lower() for term in terms), "the warning need not repeat the term"


def test_a_term_is_not_cut_in_two_by_the_longest_query(opened: Callable[..., WebDesk]) -> None:
    desk = opened()
    question = f"Who orbits {'x' * 383} blueheron?"  # The 400th character is in the middle of the term.
    desk.ask(question, written="", web="always", web_never_terms=["blueheron"])
    assert desk.sent == [f"Who orbits {'x' * 383}"]


@pytest.mark.parametrize("speculative", [False, True])
def test_no_way_of_asking_lets_a_term_through(opened: Callable[..., WebDesk], speculative: bool) -> None:
    """Also where the flow would have forgotten it: the client itself refuses, as the last to see the query."""
    desk = opened()
    desk.desk.llm = FakeLanguageModel("orbits moon")
    parts = desk.parts(web="always", web_never_terms=["moon"], web_speculative=speculative)
    forgetful = load(**{**desk.desk.settings.model_dump(), "web_never_terms": ()})
    *_, finished = answer(UNANSWERABLE, parts=parts, settings=forgetful)
    assert isinstance(finished, RunFinished)
    assert finished.run.web.not_asked is NotAsked.FORBIDDEN_TERM
    assert any("contains a term" in warning for warning in finished.run.warnings)
    assert parts.web is not None
    for query in ("moon", "MO-ON shine", "honey moons", "m\u200boon"):
        with pytest.raises(ForbiddenTerm):
            parts.web.search(query)
    assert desk.sent == []


def test_the_test_of_the_server_does_not_send_a_term_either() -> None:
    with scripted_search(GOOD) as server, closing(
        SearXNG(server.url, timeout=30, results=5, forbidden=["wikipedia"])
    ) as client:  # fmt: skip
        assert "a term that may never be sent" in str(client.check().error)
    assert server.requests == []


def test_the_same_query_leaves_once_and_what_is_kept_needs_no_consent(opened: Callable[..., WebDesk]) -> None:
    desk, person = opened(), Person(lambda query: query)
    _, first = desk.ask(consent=person)
    events, again = desk.ask(consent=None)
    assert len(desk.sent) == len(person.shown) == 1
    assert first.web.cached_at is None
    assert again.web.cached_at is not None
    assert (again.web.used, again.web.results) == (True, first.web.results)
    assert not any(isinstance(event, QueryProposed) for event in events)
    assert again.answer == first.answer


def test_a_query_edited_into_one_that_is_known_does_not_leave_again(opened: Callable[..., WebDesk]) -> None:
    desk = opened()
    desk.ask(web="always")
    _, run = desk.ask(written="moon orbits", consent=Person(lambda _: WRITTEN))
    assert len(desk.sent) == 1
    assert run.web.query == WRITTEN
    assert run.web.cached_at


@pytest.mark.parametrize(
    ("reply", "settings"),
    [
        pytest.param(Reply(status=403), {}, id="an error is not kept"),
        pytest.param(answer_reply(), {}, id="nor is an answer without results"),
        pytest.param(GOOD, {"web_cache_hours": 0}, id="nor anything when the cache is off"),
    ],
)
def test_what_is_not_kept_is_asked_again(
    opened: Callable[..., WebDesk], reply: Reply, settings: dict[str, Any]
) -> None:
    desk = opened(reply, GOOD)
    desk.ask(web="always", **settings)
    _, run = desk.ask(web="always", **settings)
    assert len(desk.sent) == 2
    assert run.web.results
    assert run.web.cached_at is None


def test_a_query_too_many_waits_and_is_seen_to_wait(opened: Callable[..., WebDesk]) -> None:
    desk = opened()
    desk.ask(web="always", web_per_minute=1, web_cache_hours=0)
    events, run = desk.ask(web="always", web_per_minute=1, web_cache_hours=0)
    waits = [event.detail for event in events if isinstance(event, StepStarted) and "waiting" in event.detail]
    assert waits[0] == "waiting 60 s: at most 1 search per minute"
    assert waits[-1].startswith("waiting 1 s")
    assert len(waits) == 60
    assert max(desk.time.slept) <= 1.0, "Stop is heard once a second"
    assert run.web.used
    assert len(desk.sent) == 2


def test_a_run_that_is_stopped_while_it_waits_sends_nothing(opened: Callable[..., WebDesk]) -> None:
    desk = opened()
    desk.rate_limit.claim(1)
    parts = desk.parts(web="always", web_per_minute=1)
    events = answer(UNANSWERABLE, parts=parts, settings=desk.desk.settings)
    for event in events:
        if isinstance(event, StepStarted) and "waiting" in event.detail:
            break
    events.close()
    assert desk.sent == []
    assert desk.desk.runs.runs[0].stopped


SPECULATIVE: dict[str, Any] = {"web": "always", "web_speculative": True}


def test_a_search_ahead_uses_the_question_itself_and_no_model_call(opened: Callable[..., WebDesk]) -> None:
    desk = opened()
    desk.desk.llm = FakeLanguageModel("The moon orbits the earth [1].")
    parts = desk.parts(**SPECULATIVE)
    events = list(answer(UNANSWERABLE, parts=parts, settings=desk.desk.settings))
    assert isinstance(events[-1], RunFinished)
    run = events[-1].run
    assert SearchBegun(UNANSWERABLE) in events
    assert desk.sent == [UNANSWERABLE]
    assert (run.web.used, run.web.query, run.web.discarded) == (True, UNANSWERABLE, False)
    assert {step.name: step.llm_calls for step in run.steps}["search"] == 0
    assert run.answer == "The moon orbits the earth [1]."


def test_a_search_ahead_that_is_not_needed_is_not_waited_for_and_the_run_says_that_it_left(
    opened: Callable[..., WebDesk],
) -> None:
    held = threading.Event()
    desk = opened(Reply(body=GOOD.body, until=held))
    desk.desk.llm = FakeLanguageModel("The limit is 195 euros [1].")
    parts = desk.parts(**SPECULATIVE)
    *_, finished = answer(ANSWERABLE, parts=parts, settings=desk.desk.settings)
    assert not held.is_set(), "the answer is there, and the server still thinks"
    assert isinstance(finished, RunFinished)
    assert finished.run.web == WebUse(query=ANSWERABLE, discarded=True)
    assert finished.run.answer == "The limit is 195 euros [1]."
    held.set()
    _join_searches()


def test_a_search_ahead_that_fails_is_said_like_any_other(opened: Callable[..., WebDesk]) -> None:
    desk = opened(Reply(status=403))
    _, run = desk.ask(**SPECULATIVE)
    assert "search.formats" in str(run.web.error)
    assert any("The web search failed" in warning for warning in run.warnings)


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        pytest.param({"web_speculative": True}, [], id="mode ask: nothing leaves unseen"),
        pytest.param({**SPECULATIVE, "web": "never"}, [], id="mode never"),
        pytest.param({"web": "always"}, [], id="off"),
        pytest.param({**SPECULATIVE, "web_never_terms": ["London"]}, ["What is the hotel limit in"], id="a term"),
        pytest.param({**SPECULATIVE, "web_never_terms": ["hotel", "limit"]}, [], id="nothing left"),
    ],
)
def test_when_a_search_begins_ahead(opened: Callable[..., WebDesk], settings: dict[str, Any], sent: list[str]) -> None:
    desk = opened()
    events, run = desk.ask(ANSWERABLE, written="The limit is 195 euros [1].", **settings)
    _join_searches()
    assert desk.sent == sent
    assert [event.query for event in events if isinstance(event, SearchBegun)] == sent
    assert run.web.discarded is bool(sent)


def test_a_search_ahead_neither_waits_for_the_limit_nor_sends_what_is_known(opened: Callable[..., WebDesk]) -> None:
    desk = opened()
    desk.ask(**SPECULATIVE)
    _, known = desk.ask(**SPECULATIVE)
    assert known.web.cached_at
    assert known.web.query == UNANSWERABLE
    events, run = desk.ask(ANSWERABLE, written="The limit is 195 euros [1].", **SPECULATIVE, web_per_minute=1)
    assert not any(isinstance(event, SearchBegun) for event in events)
    assert run.web == WebUse()
    assert desk.sent == [UNANSWERABLE]


def test_a_run_with_every_kind_of_web_use_is_read_back_as_it_was(opened: Callable[..., WebDesk]) -> None:
    _, run = opened().ask()
    assert recording.read(recording.dump(run)) == run
    shown = recording.to_json(run)["web"]
    assert shown.keys() >= {"used", "query", "results", "error", "cached_at", "not_asked", "discarded"}
    assert shown["not_asked"] == "nobody to ask"
    assert recording.read(recording.dump(run).replace(b',"cached_at":null', b"")) == run, (
        "a field without a value may be missing"
    )


def _join_searches() -> None:
    for thread in threading.enumerate():
        if thread.name == "search ahead":
            thread.join()
