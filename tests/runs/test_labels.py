"""Labels of a run: what they keep, how they are stored, taken back and exported; pinned questions."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.records import evaluation_set
from localcrag.records.enums import Action
from localcrag.records.errors import LabelError, ReportError, UnknownRun
from localcrag.records.evaluation_set import AnswerLocation
from localcrag.records.run import Run, Turn
from localcrag.runs import export as labels_export
from localcrag.runs import labels
from localcrag.runs.labels import Label, LabelKind
from localcrag.settings import load
from localcrag.storage.database import Database
from localcrag.storage.label_store import LabelStore, PinStore, write_lines, write_set
from tests.support.desk import ANSWERABLE, DOCUMENT, UNANSWERABLE, WEB, Desk, with_web
from tests.support.fakes import FakeLanguageModel, FakeWeb

pytestmark = pytest.mark.models

ANSWER, PASSAGE, SENTENCE = LabelKind.ANSWER, LabelKind.PASSAGE, LabelKind.SENTENCE
LIMIT = "The limit is 195 euros."
STRIP = "The hotel limit in London is 195 euros."


@pytest.fixture
def answered(tmp_path: Path) -> Run:
    """Answered from the documents: three passages, one sentence."""
    return Desk(tmp_path, *DOCUMENT).ask(ANSWERABLE)[1]


@pytest.fixture
def abstained(tmp_path: Path) -> Run:
    return Desk(tmp_path / "abstained", *DOCUMENT, retry=False).ask(UNANSWERABLE)[1]


@pytest.fixture
def by_web(tmp_path: Path) -> Run:
    desk = with_web(Desk(tmp_path / "web", *DOCUMENT), FakeWeb(WEB))
    desk.llm = FakeLanguageModel("", "orbits moon", "The moon orbits the earth [1].")
    return desk.ask(UNANSWERABLE)[1]


@pytest.fixture
def store(tmp_path: Path) -> LabelStore:
    return LabelStore(Database(tmp_path / "labels.sqlite3"))


def test_a_passages_label_keeps_its_scores_of_the_time_and_outlives_the_run(answered: Run, store: LabelStore) -> None:
    best = max(answered.passages, key=lambda passage: passage.relevance)
    kept = store.put(labels.make_label(answered, PASSAGE, best.id, good=True))
    assert store.find() == [kept]
    assert (kept.question, kept.collection, kept.verdict) == (ANSWERABLE, "default", "relevant")
    assert (kept.text, kept.document, kept.origin) == (best.text, "rules.txt", "local")
    assert (kept.logit, kept.cosine, kept.relevance) == (best.logit, best.cosine, best.relevance)
    assert (kept.scorer, kept.scorer_kind) == ("fake-scorer", "cross-encoder")


def test_a_sentences_label_keeps_the_strip_behind_it(answered: Run) -> None:
    label = labels.make_label(answered, SENTENCE, "1", good=False)
    strip = next(strip for strip in answered.strips if strip.text == STRIP)
    assert (label.text, label.evidence, label.logit) == (LIMIT, STRIP, strip.logit)
    assert (label.document, label.relevance) == ("rules.txt", answered.support[0].relevance)


def test_a_passage_that_no_model_scored_has_a_label_without_scores(answered: Run) -> None:
    unscored = tuple(dataclasses.replace(passage, scored=False) for passage in answered.passages)
    label = labels.make_label(dataclasses.replace(answered, passages=unscored), PASSAGE, unscored[0].id, good=True)
    assert (label.logit, label.relevance) == (None, None)


@pytest.mark.parametrize(
    ("kind", "target", "said"),
    [
        pytest.param(PASSAGE, "99", "has no passage “99”", id="passage"),
        pytest.param(SENTENCE, "2", "it has sentences 1 to 1", id="sentence"),
        pytest.param(SENTENCE, "0", "no sentence 0", id="zero"),
        pytest.param(SENTENCE, "one", "no sentence one", id="no number"),
    ],
)
def test_what_a_run_does_not_have_cannot_be_labelled(answered: Run, kind: LabelKind, target: str, said: str) -> None:
    with pytest.raises(LabelError, match=said):
        labels.make_label(answered, kind, target, good=True)


def test_a_stopped_run_has_no_answer_to_label(answered: Run) -> None:
    with pytest.raises(LabelError, match="stopped too early"):
        labels.make_label(dataclasses.replace(answered, action=None), ANSWER, "", good=True)


def test_a_target_labelled_again_is_replaced_and_one_taken_back_is_gone(answered: Run, store: LabelStore) -> None:
    first = store.put(labels.make_label(answered, SENTENCE, "1", good=True))
    second = store.put(labels.make_label(answered, SENTENCE, "1", good=False))
    assert second.id == first.id
    assert [label.verdict for label in store.find(run_id=answered.run_id)] == ["wrong"]
    assert store.withdraw(answered.run_id, SENTENCE, "1")
    assert not store.withdraw(answered.run_id, SENTENCE, "1")
    assert store.find() == []


def test_labels_are_found_and_removed_by_document_also_those_of_answers(
    answered: Run, abstained: Run, store: LabelStore
) -> None:
    store.put(labels.make_label(answered, ANSWER, "", good=True))
    store.put(labels.make_label(answered, SENTENCE, "1", good=True))
    store.put(labels.make_label(dataclasses.replace(abstained, passages=()), ANSWER, "", good=True))
    quoting = store.find(document="rules.txt")
    assert [label.kind for label in quoting] == [ANSWER, SENTENCE]
    assert store.remove([label.id for label in quoting if label.id]) == 2
    assert len(store.find()) == 1


# What a run proposes.


def test_an_answer_proposes_its_backed_sentence_and_the_strip_behind_it_shortest_first(answered: Run) -> None:
    proposed = labels.propose_question(answered)
    assert (proposed.question, proposed.held_by, proposed.documents) == (
        ANSWERABLE,
        AnswerLocation.DOCUMENTS,
        ("rules.txt",),
    )
    assert proposed.answers == (LIMIT, STRIP)


def test_an_answer_that_quotes_proposes_what_it_quotes(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "quoting", *DOCUMENT)
    desk.llm = FakeLanguageModel("Ships sail to Rome [1].", "Ships sail to Rome [1].")
    run = desk.ask(ANSWERABLE)[1]
    assert "Rome" not in run.answer
    assert labels.propose_question(run).answers[0] == STRIP
    assert labels.propose_question(run).documents == ("rules.txt",)


def test_a_sentence_that_misses_the_point_is_not_proposed_but_what_is_quoted_below_it(answered: Run) -> None:
    beside = f"{answered.answer}\n\nClosest to the question in the sources:\n\n“{STRIP}” [1]"
    assert labels.propose_question(dataclasses.replace(answered, answer=beside)).answers == (STRIP,)


def test_an_abstention_proposes_that_nobody_holds_an_answer(abstained: Run) -> None:
    proposed = labels.propose_question(abstained)
    assert (proposed.held_by, proposed.answers, proposed.documents) == (AnswerLocation.NOWHERE, (), ())
    assert abstained.action is Action.INCORRECT


def test_an_answer_of_the_web_proposes_the_recorded_results_with_it(by_web: Run) -> None:
    proposed = labels.propose_question(by_web)
    assert (proposed.held_by, proposed.web, proposed.documents) == (AnswerLocation.WEB, WEB.results, ())
    assert proposed.answers[0] == "The moon orbits the earth."


def test_a_follow_up_keeps_its_turns(answered: Run) -> None:
    turn = Turn("Which limits are there?", "One for hotels.")
    follow_up = dataclasses.replace(answered, question="And in London?", history=(turn,))
    assert (labels.propose_question(follow_up).question, labels.propose_question(follow_up).history) == (
        "And in London?",
        (turn,),
    )


# Pins.


def test_a_pin_keeps_a_persons_answers_and_comes_back_as_a_question(
    answered: Run, abstained: Run, tmp_path: Path
) -> None:
    pins = PinStore(Database(tmp_path / "pins.sqlite3"))
    pins.put(
        "default",
        labels.with_answers(labels.propose_question(answered), [" 195  euros", "195 EUR", "195 euros"]),
    )
    pins.put("other", labels.with_answers(labels.propose_question(abstained), []))
    first, second = pins.find()
    assert first.question.answers == ("195 euros", "195 EUR")
    assert (first.run_id, first.question.documents) == (answered.run_id, ("rules.txt",))
    assert (second.collection, second.question.held_by) == ("other", AnswerLocation.NOWHERE)
    assert pins.find(collection="other") == [second]
    pins.put("default", labels.with_answers(labels.propose_question(answered), []))
    assert pins.find(run_id=answered.run_id)[0].question.held_by is AnswerLocation.NOWHERE
    pins.remove(answered.run_id)
    with pytest.raises(LabelError, match="has no pinned question"):
        pins.remove(answered.run_id)


def test_an_abstention_that_should_have_been_answered_is_pinned_with_the_answer(abstained: Run) -> None:
    pinned = labels.with_answers(labels.propose_question(abstained), ["27 days"])
    assert (pinned.held_by, pinned.answers) == (AnswerLocation.DOCUMENTS, ("27 days",))


def test_the_assembly_labels_and_pins_stored_runs_without_a_model(answered: Run, tmp_path: Path) -> None:
    assembly = Assembly(load(data_dir=tmp_path / "data", models_dir=tmp_path / "no models"))
    with pytest.raises(UnknownRun):
        assembly.learning.label(answered.run_id, ANSWER, good=True)
    assembly.runs.save(answered)
    assert assembly.learning.label(answered.run_id, ANSWER, good=True) is not None
    assert assembly.learning.label(answered.run_id, ANSWER, good=None) is None
    assert assembly.learning.labels.find() == []
    assembly.learning.pin(answered.run_id, ["195 euros"])
    assert [question.answers for question in assembly.learning.pinned_questions()] == [("195 euros",)]
    assert assembly.learning.pinned_questions("other") == ()
    assembly.close()


# Exports.

TEXTS = {"rules.txt": " ".join(DOCUMENT)}


def good(run: Run, *more: tuple[LabelKind, str, bool]) -> list[Label]:
    return [labels.make_label(run, *said) for said in ((ANSWER, "", True), *more)]


def test_good_answers_become_questions_of_an_evaluation_set_that_can_be_read(
    answered: Run, abstained: Run, by_web: Run, tmp_path: Path
) -> None:
    made = labels_export.make_evaluation_set(good(answered) + good(abstained) + good(by_web), TEXTS)
    write_set(tmp_path / "set", made.lines, made.documents)
    read = evaluation_set.read(tmp_path / "set")
    assert [(q.question, q.held_by) for q in read.questions] == [
        (ANSWERABLE, AnswerLocation.DOCUMENTS), (UNANSWERABLE, AnswerLocation.NOWHERE),
        (UNANSWERABLE, AnswerLocation.WEB),
    ]  # fmt: skip
    assert read.questions[0].answers == (LIMIT, STRIP)
    assert read.questions[0].documents == ("rules.txt",)
    assert read.questions[2].web == WEB.results
    assert [path.read_text("utf-8") for path in read.files] == [TEXTS["rules.txt"]]


@pytest.mark.parametrize(
    ("sentence", "accepted"),
    [
        pytest.param(True, (LIMIT, STRIP), id="right: it is accepted, and the strip behind it"),
        pytest.param(False, None, id="wrong: neither it nor the strip behind it"),
    ],
)
def test_what_was_said_of_sentences_decides_what_is_accepted(
    answered: Run, sentence: bool, accepted: tuple[str, ...] | None
) -> None:
    said = good(answered, (SENTENCE, "1", sentence))
    if accepted is None:
        with pytest.raises(LabelError, match="or all of them are rated wrong"):
            labels_export.make_evaluation_set(said, TEXTS)
    else:
        assert json.loads(labels_export.make_evaluation_set(said, TEXTS).lines[0])["answers"] == list(accepted)


def test_a_bad_answer_is_an_unanswerable_question_only_when_every_passage_is_refused(answered: Run) -> None:
    refused = [labels.make_label(answered, PASSAGE, passage.id, good=False) for passage in answered.passages]
    bad = labels.make_label(answered, ANSWER, "", good=False)
    with pytest.raises(LabelError, match="each passage labelled not relevant"):
        labels_export.make_evaluation_set([bad, *refused[:-1]], TEXTS)
    line = json.loads(labels_export.make_evaluation_set([bad, *refused], TEXTS).lines[0])
    assert (line["answers"], "documents" in line) == ([], False)


def test_a_sentence_that_was_only_partly_backed_is_accepted_when_a_person_says_that_it_is_right(answered: Run) -> None:
    partly = tuple(dataclasses.replace(support, supported=False) for support in answered.support)
    run = dataclasses.replace(answered, support=partly)
    assert json.loads(labels_export.make_evaluation_set(good(run), TEXTS).lines[0])["answers"] == [STRIP]
    said = good(run, (SENTENCE, "1", True))
    assert json.loads(labels_export.make_evaluation_set(said, TEXTS).lines[0])["answers"] == [LIMIT, STRIP]


def test_what_is_pinned_of_a_run_counts_more_than_its_labels(answered: Run) -> None:
    bad = labels.make_label(answered, ANSWER, "", good=False)
    pinned = {answered.run_id: labels.with_answers(labels.propose_question(answered), ["195 euros"])}
    assert json.loads(labels_export.make_evaluation_set([bad], TEXTS, pinned).lines[0])["answers"] == ["195 euros"]
    unanswerable = {answered.run_id: labels.with_answers(labels.propose_question(answered), [])}
    line = json.loads(labels_export.make_evaluation_set(good(answered), TEXTS, unanswerable).lines[0])
    assert (line["answers"], "documents" in line) == ([], False)


def test_a_follow_up_is_exported_as_the_question_it_was_understood_as(answered: Run) -> None:
    follow_up = dataclasses.replace(answered, question="And in London?", history=(Turn("Which limits?", "Some."),))
    line = json.loads(labels_export.make_evaluation_set(good(follow_up), TEXTS).lines[0])
    assert (line["question"], "history" in line) == (ANSWERABLE, False)


def test_a_question_whose_document_is_gone_is_left_out_and_said(answered: Run, abstained: Run) -> None:
    other = dataclasses.replace(abstained, passages=())
    with pytest.raises(LabelError, match=r"not in the collection any more: rules\.txt"):
        labels_export.make_evaluation_set(good(answered), {})
    kept = dataclasses.replace(other, run_id="another", passages=answered.passages)
    renamed = dataclasses.replace(answered, sources=tuple(
        dataclasses.replace(source, document="gone.txt") for source in answered.sources
    ))  # fmt: skip
    made = labels_export.make_evaluation_set(good(renamed) + good(kept), TEXTS)
    assert [why for _, why in made.left_out] == [
        "a document that held the answer is not in the collection any more: gone.txt"
    ]
    assert len(made.lines) == 1


def test_documents_that_were_no_text_files_get_a_name_that_is_one(answered: Run) -> None:
    def named(name: str) -> Run:
        passages = tuple(dataclasses.replace(passage, document=name) for passage in answered.passages)
        sources = tuple(dataclasses.replace(source, document=name) for source in answered.sources)
        return dataclasses.replace(answered, run_id=name, passages=passages, sources=sources)

    names = ["a/rules.pdf", "a_rules.pdf", "notes.md"]
    made = labels_export.make_evaluation_set(
        [one for name in names for one in good(named(name))], dict.fromkeys(names, "text")
    )
    assert sorted(made.documents) == ["2-a_rules.pdf.txt", "a_rules.pdf.txt", "notes.md"]
    assert [json.loads(line)["documents"] for line in made.lines] == [
        ["a_rules.pdf.txt"], ["2-a_rules.pdf.txt"], ["notes.md"],
    ]  # fmt: skip


def test_training_pairs_are_labelled_passages_and_evidence_of_right_sentences_the_newest_counts(answered: Run) -> None:
    one, two, _ = (passage.id for passage in answered.passages)
    said = [(PASSAGE, one, False), (PASSAGE, two, False), (SENTENCE, "1", True), (PASSAGE, one, True)]
    pairs = labels_export.make_training_pairs([labels.make_label(answered, *each) for each in said])
    assert [(pair.text, pair.label, pair.kind) for pair in pairs] == [
        (answered.passages[1].text, 0, "passage"), (STRIP, 1, "sentence"), (answered.passages[0].text, 1, "passage"),
    ]  # fmt: skip
    assert {pair.question for pair in pairs} == {ANSWERABLE}


@pytest.mark.parametrize(
    "export",
    [
        pytest.param(lambda said: labels_export.make_evaluation_set(said, TEXTS), id="set"),
        pytest.param(labels_export.make_training_pairs, id="training"),
    ],
)
def test_nothing_to_export_is_refused(export: Callable[[list[Label]], object], answered: Run) -> None:
    with pytest.raises(LabelError, match="nothing to export"):
        export([])
    with pytest.raises(LabelError, match="nothing to export"):
        export([labels.make_label(answered, SENTENCE, "1", good=False)])


def test_a_folder_that_holds_something_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine.txt").write_text("mine")
    with pytest.raises(ReportError, match="not empty"):
        write_set(tmp_path / "there", ["{}"], {"a.txt": "a"})
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ReportError, match="could not be written"):
        write_lines(tmp_path / "file" / "pairs.jsonl", ["{}"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there"]
