"""Every passage is read for "list all", and documents are summarised in their own words, with the real models."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from localcrag import Localcrag, Restriction
from localcrag.app.assembly import Assembly
from localcrag.app.chats import Conversations
from localcrag.pipeline import answer
from localcrag.records.enums import Action, StripReason
from localcrag.records.events import StepStarted
from localcrag.records.protocols import Consent, Scorer, Vectors
from localcrag.records.run import Chat, Run, Turn, TurnState
from localcrag.records.thresholds import FittedCalibration
from localcrag.runs import recording as record
from localcrag.runs.recording import Recording, unread_passages
from localcrag.storage.chat_store import ChatStore
from localcrag.storage.database import Database
from localcrag.text.sentences import Span
from tests.support.threads import DEADLOCK

pytestmark = pytest.mark.models

LEASE = """# Lease of the flat in Quay Street

## 1. Rent

The rent is 940 euros a month and is due on the third working day. Heating and water are paid in advance with 120 euros.

## 2. Deposit

The tenant pays a deposit of 1,880 euros before moving in. It is returned within six months of the end of the lease.

## 3. Pets

Cats and small animals are allowed. A dog needs the written consent of the landlord, who may refuse it for a reason.

## 4. Notice

The tenant gives notice in writing, three months before the end of a month. The landlord's period grows with the years.
"""
FILLER = (
    "The archive of the harbour office is open on weekdays. Visitors sign the book at the gate and leave coats there."
)
NOTES = {
    f"report-{number}.md": f"# Report {number}\n\n{FILLER}\n\nInspector {name} found pump {number} in order.\n"
    for number, name in enumerate(("Abel", "Berg", "Cole", "Dahl", "Ende", "Fink", "Gora", "Hahn"), start=1)
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Localcrag]:
    folder = tmp_path_factory.mktemp("read-all")
    for name, text in {"lease.md": LEASE, **NOTES}.items():
        (folder / name).write_text(text, encoding="utf-8")
    # Three passages are found for a question, so that most are not.
    with Localcrag(folder / "data", web="never", k=3, reranked=3) as made:
        made.add(*(folder / name for name in ("lease.md", *NOTES)))
        yield made


def documents(run: Run) -> set[str]:
    """Return the documents that the answer cites."""
    return {str(source.document) for source in run.sources}


def test_all_that_answers_is_found_where_a_search_finds_a_part(app: Localcrag) -> None:
    asked = app.ask("List all inspectors.")
    offer = unread_passages(asked)
    assert offer is not None
    assert offer.matters
    assert offer.read == 3
    recording = app.stream("List all inspectors.", read_all=True)
    said = [event.detail for event in recording if isinstance(event, StepStarted)]
    run = recording.run
    assert any(f"all {offer.passages} passages" in detail for detail in said)
    assert documents(run) >= set(NOTES)
    assert f"All {offer.passages} passages of 9 documents were read." in run.answer
    for name in ("Abel", "Berg", "Cole", "Dahl", "Ende", "Fink", "Gora", "Hahn"):
        assert name in run.answer
    assert run.scope is not None
    assert (run.scope.read, run.scope.whole) == (offer.passages, True)
    assert unread_passages(run) is None
    assert "generate" not in {step.name for step in run.steps}
    assert record.read(record.dump(run)) == run


def test_that_nothing_answers_is_said_of_all_passages(app: Localcrag) -> None:
    run = app.ask("Who painted the Mona Lisa?", read_all=True)
    assert run.action is Action.INCORRECT
    assert run.abstained
    assert "None answers the question." in run.answer


def test_only_what_was_chosen_is_read(app: Localcrag) -> None:
    run = app.ask("List all inspectors.", read_all=True, within=Restriction(documents=("report-2.md",)))
    assert documents(run) == {"report-2.md"}
    assert "Berg" in run.answer
    assert run.scope is not None
    assert run.scope.documents == 1


def test_a_stopped_pass_keeps_that_it_was_stopped(app: Localcrag) -> None:
    recording = app.stream("List all inspectors.", read_all=True)
    assert any(isinstance(event, StepStarted) and event.name == "evaluate" for event in recording)
    recording.close()
    assert recording.run.stopped


@pytest.mark.parametrize("question", ["Summarise the lease.", "What is lease.md about?"])
def test_a_document_that_is_named_is_summarised_section_by_section(app: Localcrag, question: str) -> None:
    run = app.ask(question)
    assert run.action is Action.CORRECT
    assert documents(run) == {"lease.md"}
    assert {StripReason.CENTRAL} <= {strip.reason for strip in run.strips}
    for words in ("rent is 940 euros", "deposit of 1,880 euros", "consent of the landlord", "notice in writing"):
        assert words in run.answer
    assert run.scope is not None
    assert (run.scope.documents, run.scope.whole) == (1, True)
    assert "generate" not in {step.name for step in run.steps}


def test_all_documents_are_summarised_with_a_sentence_of_each(app: Localcrag) -> None:
    run = app.ask("Give me an overview of my documents.")
    assert documents(run) == {"lease.md", *NOTES}


def test_a_summary_of_something_within_documents_is_a_question_like_any(app: Localcrag) -> None:
    run = app.ask("Summarise the rules about pets.")
    assert run.scope is not None
    assert not run.scope.whole
    assert "dog needs the written consent" in run.answer


def test_a_replay_reads_all_again(library: Assembly) -> None:
    asking = library.ask("How many keepers does the handbook have?", read_all=True)
    assert list(asking)
    again = library.replay(asking.run)
    assert list(again)
    assert again.run.scope == asking.run.scope


class Portions:
    """The real relevance model; each portion of a pass over all passages waits in it until it is let through."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self.begun, self.let = threading.Semaphore(0), threading.Semaphore(0)

    @property
    def name(self) -> str:
        return self._scorer.name

    @property
    def calibration(self) -> FittedCalibration:
        return self._scorer.calibration

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        self.begun.release()
        assert self.let.acquire(timeout=DEADLOCK)
        return self._scorer.logits(question, texts)

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> list[Vectors]:
        return self._scorer.strip_logits(question, texts, strips)


def test_a_question_is_answered_while_a_pass_over_all_passages_is_going_on(library: Assembly, tmp_path: Path) -> None:
    parts, settings = library.parts(library.settings), library.settings
    portions = Portions(parts.scorer)

    def ask(
        chat: Chat, question: str, history: Sequence[Turn], consent: Consent, *, read_all: bool = False
    ) -> Recording:
        used = replace(parts, scorer=portions) if read_all else parts
        return answer(question, parts=used, settings=settings, history=history, read_all=read_all)

    chats = ChatStore(Database(tmp_path / "chats.sqlite3"))
    conversations = Conversations(chats, ask)
    first, second = chats.begin("default"), chats.begin("default")
    assert conversations.ask(first.id, "Who keeps the lighthouse?").job.wait(DEADLOCK)
    reading = conversations.ask_again(first.id, 1, read_all=True)
    assert portions.begun.acquire(timeout=DEADLOCK)
    asked = conversations.ask(second.id, "How many keepers does the handbook have?")
    (waiting,) = next(asked.job.follow())
    assert waiting.event == StepStarted("wait", "waiting for another answer to end")
    portions.let.release()
    assert asked.job.wait(DEADLOCK)
    assert chats.turns(second.id)[0].answer
    # The next portion has not been let through.
    assert reading.job.running
    portions.let.release(1000)
    assert reading.job.wait(DEADLOCK)
    said = [one.event.detail for some in reading.job.follow() for one in some if isinstance(one.event, StepStarted)]
    at = said.index("another question goes first")
    assert said[at + 1] == said[at - 1]
    assert said[at + 1].startswith("reading: ")
    (turn,) = chats.turns(first.id)
    assert turn.state is TurnState.ANSWERED
    assert turn.answer.startswith("All ")
