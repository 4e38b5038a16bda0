"""The whole flow with the real models over the handbook: what is found, what is admitted, what it costs."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.crag.refine.refine import WEAKEST_SHARE
from localcrag.records.enums import Action, Origin, StripMode, StripReason
from localcrag.records.events import AnswerPiece, GradePiece, PointPiece, RunFinished
from localcrag.records.passages import citations
from localcrag.records.run import Run, Turn
from localcrag.settings import load

pytestmark = pytest.mark.models


def ask(assembly: Assembly, question: str, *history: Turn, **settings: object) -> Run:
    changed = load(**{**assembly.settings.model_dump(), **settings})
    last = list(assembly.ask(question, history=history, settings=changed))[-1]
    assert isinstance(last, RunFinished)
    return last.run


@pytest.mark.parametrize(
    ("question", "answer", "page"),
    [
        ("Within how many days after the journey is a claim handed in?", "twenty days", 7),
        ("What is paid per kilometre for a journey in one's own car?", "0.38 euros", 4),
        ("How long before departure is a flight booked?", "fourteen days", 3),
        ("Who keeps the handbook?", "Ottilie Brandt", 1),
        ("What does the hotel in London cost per night at most?", "195 euros", 5),
    ],
)
def test_the_evidence_holds_the_answer_and_names_its_page(
    library: Assembly, question: str, answer: str, page: int
) -> None:
    run = ask(library, question)
    assert run.action is not Action.INCORRECT
    assert not run.abstained
    holding = [piece for piece in run.evidence if answer in " ".join(piece.text.split())]
    assert holding
    pages = {source.id: source.page for source in run.sources}
    assert page in {pages[piece.source] for piece in holding}
    text = library.collections.text("handbook.pdf")
    for passage in run.passages:
        assert text[passage.start : passage.end] == passage.text


@pytest.mark.parametrize(
    "question",
    ["What is the boiling point of gold?", "Who painted the Mona Lisa?", "When did the Normans conquer England?"],
)
def test_what_the_documents_do_not_hold_is_not_answered(library: Assembly, question: str) -> None:
    run = ask(library, question)
    assert run.action is Action.INCORRECT
    assert run.abstained
    # The embedded model is none that rewrites (models.toml): the second look is in the question's key words.
    assert [step.name for step in run.steps].count("retry") == 1
    assert not any(step.llm_calls for step in run.steps)


def test_every_sentence_of_an_answer_cites_evidence_that_exists(library: Assembly) -> None:
    for question in ("Who keeps the handbook?", "How are rental cars booked?", "When is a taxi paid for?"):
        run = ask(library, question)
        cited = citations(run.answer)
        assert cited, run.answer
        assert set(cited) <= {piece.n for piece in run.evidence}


def test_a_correct_answer_costs_one_call_of_the_language_model_and_is_the_same_again(library: Assembly) -> None:
    question = "Who keeps the handbook?"
    first, second = ask(library, question), ask(library, question)
    assert first.action is Action.CORRECT
    assert sum(step.llm_calls for step in first.steps) == 1
    assert (first.answer, first.strips, first.passages) == (second.answer, second.strips, second.passages)


def test_refinement_shortens_the_prompt(library: Assembly) -> None:
    run = ask(library, "Within how many days after the journey is a claim handed in?")
    kept = sum(len(piece.text) for piece in run.evidence)
    assert kept < 0.5 * sum(len(passage.text) for passage in run.passages)


@pytest.mark.search
def test_the_web_answers_what_the_documents_do_not(library: Assembly, searx: str) -> None:
    web = Assembly(load(**{**library.settings.model_dump(), "searxng_url": searx, "web": "always"}))
    run = ask(web, "How high is Mount Everest above the sea?")
    assert run.action is Action.INCORRECT
    assert run.web.used
    assert run.web.error is None
    assert {source.origin for source in run.sources} == {Origin.WEB}
    assert any("8,849" in piece.text for piece in run.evidence)
    assert all(0.0 < passage.relevance < 1.0 for passage in run.passages)
    web.close()


@pytest.mark.search
def test_engines_that_fail_are_said_and_nothing_is_invented(library: Assembly, searx: str) -> None:
    web = Assembly(load(**{**library.settings.model_dump(), "searxng_url": searx, "web": "always"}))
    run = ask(web, "!brokenpages Xyzzyq Plughq?")
    assert run.web.error is not None
    assert run.abstained
    assert any("The web search failed" in warning for warning in run.warnings)
    web.close()


def test_a_follow_up_is_understood_with_the_question_before_it(library: Assembly) -> None:
    history = Turn("What is the hotel limit in London?", "The limit in London is 195 euros.")
    run = ask(library, "And in Bergen?", history)
    assert "Bergen" in run.standalone_question
    assert "hotel" in run.standalone_question
    assert any("165 euros" in piece.text for piece in run.evidence)


def test_a_stopped_answer_leaves_the_model_free_for_the_next_question(library: Assembly) -> None:
    events = library.ask("How are rental cars booked, and what is done before they are given back?")
    for event in events:
        if isinstance(event, AnswerPiece):
            break
    events.close()
    stored = library.runs.get(library.runs.newest(1)[0].run_id)
    assert stored.stopped
    assert not ask(library, "Who keeps the handbook?").abstained


def test_a_search_address_that_is_not_allowed_only_matters_when_the_web_is_needed(library: Assembly) -> None:
    public = Assembly(load(**{**library.settings.model_dump(), "searxng_url": "http://8.8.8.8", "web": "always"}))
    assert ask(public, "Who keeps the handbook?").answer
    run = ask(public, "Who painted the Mona Lisa?")
    assert run.abstained
    assert run.web.error is not None
    assert "8.8.8.8" in run.web.error
    public.close()


def test_a_question_can_be_asked_while_documents_go_in(library: Assembly, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("A sentence that has to be embedded like any other one. " * 2000)
    events = library.ingest(uploads_from([tmp_path / "long.txt"]), "another collection")
    failures: list[BaseException] = []

    def take_in() -> None:
        try:
            for _ in events:
                pass
        except BaseException as error:  # noqa: BLE001 - handed to the test
            failures.append(error)

    thread = threading.Thread(target=take_in)
    thread.start()
    for _ in range(3):
        assert ask(library, "Who keeps the handbook?").evidence
    thread.join()
    assert failures == []


def test_the_language_model_as_scorer_grades_every_passage_and_the_same_again(library: Assembly) -> None:
    question = "Within how many days after the journey is a claim handed in?"
    first, second = (ask(library, question, scorer="llm", k=2) for _ in range(2))
    assert first.passages == second.passages
    assert len(first.passages) == 2
    assert any(passage.reason for passage in first.passages)
    assert next(step.llm_calls for step in first.steps if step.name == "evaluate") == 2


def test_stopping_while_the_language_model_grades_leaves_it_free_for_the_next_question(library: Assembly) -> None:
    changed = load(**{**library.settings.model_dump(), "scorer": "llm"})
    events = library.ask("How are rental cars booked?", settings=changed)
    for event in events:
        if isinstance(event, GradePiece):
            break
    events.close()
    assert library.runs.get(library.runs.newest(1)[0].run_id).stopped
    assert not ask(library, "Who keeps the handbook?").abstained


@pytest.mark.parametrize("mode", StripMode)
def test_the_answer_is_in_the_evidence_in_every_strip_mode(library: Assembly, mode: StripMode) -> None:
    run = ask(library, "What does the hotel in London cost per night at most?", strip_mode=mode)
    assert any("195 euros" in " ".join(piece.text.split()) for piece in run.evidence)
    assert all(strip.reason for strip in run.strips)
    texts = {passage.id: passage.text for passage in run.passages}
    assert all(texts[strip.passage][strip.start : strip.end] == strip.text for strip in run.strips)


def test_minimum_retention_keeps_its_share_of_every_passage_within_the_cap(library: Assembly) -> None:
    run = ask(
        library, "How are rental cars booked?", minimum_retention=0.5, most_strips=200, strip=0.5, k=3, answer_tokens=16
    )
    used = {strip.passage for strip in run.strips}
    lowest = WEAKEST_SHARE * max(strip.relevance for strip in run.strips)
    for name in used:
        own = [strip for strip in run.strips if strip.passage == name]
        dropped = [strip for strip in own if not strip.kept]
        stayed = sum(strip.kept or strip.reason is StripReason.DUPLICATE for strip in own)
        assert stayed >= 0.5 * len(own) or all(strip.relevance < lowest for strip in dropped)
    assert any(strip.reason is StripReason.RETENTION for strip in run.strips)


def test_the_language_model_as_refiner_keeps_only_what_the_passages_say(library: Assembly) -> None:
    question = "How long before departure is a flight booked?"
    run, again = (ask(library, question, refiner="llm", k=2, answer_tokens=16) for _ in range(2))
    used = {strip.passage for strip in run.strips}
    assert {step.name: step.llm_calls for step in run.steps}["refine"] == len(used)
    texts = {passage.id: passage.text for passage in run.passages}
    assert all(piece.text in texts[piece.passage] for piece in run.evidence)
    assert [strip.reason for strip in run.strips] == [strip.reason for strip in again.strips]


def test_stopping_while_key_points_are_extracted_leaves_the_model_free(library: Assembly) -> None:
    changed = load(**{**library.settings.model_dump(), "refiner": "llm"})
    events = library.ask("How long before departure is a flight booked?", settings=changed)
    assert next(event for event in events if isinstance(event, PointPiece))
    events.close()
    assert library.runs.get(library.runs.newest(1)[0].run_id).stopped
    assert not ask(library, "How are rental cars booked?").abstained
