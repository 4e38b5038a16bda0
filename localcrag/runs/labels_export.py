"""Export of labels as an evaluation set or as training pairs (docs/learning.md)."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from localcrag.records.errors import LabelError
from localcrag.runs.evaluation_set import HeldBy, Question, dump
from localcrag.runs.labels import Label, LabelKind
from localcrag.text.words import one_line

_UNSAFE = re.compile(r"[^\w.()+&-]+")
_TEXT = (".md", ".markdown", ".txt", ".text", ".log", ".rst")
"""Kinds of file whose stored text is what the file held."""


@dataclass(frozen=True, slots=True)
class ExportedSet:
    """An evaluation set to be written: the lines of its questions, its documents by file name, and what was left out.

    `left_out`: a labelled answer's question, and why no question was made of it.
    """

    lines: tuple[str, ...]
    documents: dict[str, str]
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """A question and a text that helps to answer it (label 1) or does not (0); `kind`: a passage or a sentence."""

    question: str
    text: str
    label: int
    kind: str


def as_set(
    labels: Sequence[Label], texts: Mapping[str, str], pinned: Mapping[str, Question] = MappingProxyType({})
) -> ExportedSet:
    """Return the evaluation set that a collection's labels make; `texts` are its documents' texts, by name.

    Of a run that is `pinned` (by its id), what the pin says counts. Else an answer labelled good is a question with its
    accepted answers: the sentences labelled right, and what was proposed of the run (case.proposed) without what was
    labelled wrong; a good abstention has no answer. An answer labelled bad all of whose passages were labelled not
    relevant has none either. Raises LabelError when nothing is left.
    """
    answers = [label for label in labels if label.kind is LabelKind.ANSWER and label.circumstances]
    if not answers:
        raise LabelError("There is nothing to export: no answer of this collection is labelled good or bad yet.")
    questions: list[Question] = []
    left_out: list[tuple[str, str]] = []
    wanted: set[str] = set()
    for answer in answers:
        own = [label for label in labels if label.run_id == answer.run_id]
        question, why = _question(answer, own, texts, pinned.get(answer.run_id))
        if question is None:
            left_out.append((answer.question, why))
            continue
        questions.append(question)
        kept = answer.circumstances
        wanted.update((*question.documents, *(kept.documents if kept else ())))
    names = _file_names(sorted(name for name in wanted if name in texts))
    if not questions or not names:
        reasons = "; ".join(dict.fromkeys(why for _, why in left_out)) or "none of their documents is there any more"
        raise LabelError(
            f"There is nothing to export: of {len(answers)} labelled answers none made a question: {reasons}."
        )
    named = [
        dataclasses.replace(question, documents=tuple(names[name] for name in question.documents))
        for question in questions
    ]
    return ExportedSet(tuple(dump(named)), {names[name]: texts[name] for name in names}, tuple(left_out))


def as_training(labels: Sequence[Label]) -> tuple[TrainingPair, ...]:
    """Return the pairs that labels make: labelled passages, and the evidence behind sentences labelled right.

    Of the same question and text the newest label counts; labels come oldest first. A sentence labelled wrong makes no
    pair: it says that the answer misread its evidence, not that the evidence was beside the question. Raises
    LabelError when there is none.
    """
    found: dict[tuple[str, str], TrainingPair] = {}
    for label in labels:
        if label.kind is LabelKind.PASSAGE:
            pair = TrainingPair(label.question, label.text, int(label.good), "passage")
        elif label.kind is LabelKind.SENTENCE and label.good and label.evidence:
            pair = TrainingPair(label.question, label.evidence, 1, "sentence")
        else:
            continue
        key = (pair.question.casefold(), one_line(pair.text))
        found.pop(key, None)
        found[key] = pair
    if not found:
        raise LabelError(
            "There is nothing to export: no passage is labelled relevant or not relevant yet, and no sentence right."
        )
    return tuple(found.values())


def training_lines(pairs: Sequence[TrainingPair]) -> tuple[str, ...]:
    """Return the pairs as the JSON lines that `scripts/lab/training/train_relevance.py --labels` reads."""
    return tuple(json.dumps(dataclasses.asdict(pair), ensure_ascii=False) + "\n" for pair in pairs)


def _question(
    answer: Label, own: Sequence[Label], texts: Mapping[str, str], pin: Question | None
) -> tuple[Question | None, str]:
    """Return the question that a labelled answer makes, or None and why it makes none."""
    kept = answer.circumstances
    assert kept is not None, "as_set takes only those"  # noqa: S101
    # The question as it was understood: a set's question has to make sense without the chat it came from.
    case = dataclasses.replace(pin or kept.case, question=answer.question, history=())
    if pin is None and not answer.good:
        refused = {label.target for label in own if label.kind is LabelKind.PASSAGE and not label.good}
        if not kept.passages or not refused >= set(kept.passages):
            return None, "a bad answer is a question only when it is pinned, or each passage labelled not relevant"
        case = dataclasses.replace(case, held_by=HeldBy.NOWHERE)
    if case.held_by is HeldBy.NOWHERE:
        return dataclasses.replace(case, answers=(), documents=(), web=()), ""
    accepted = case.answers if pin else _accepted(case, own)
    if not accepted:
        return None, "nothing of the answer is backed and not labelled wrong"
    if missing := [name for name in case.documents if name not in texts]:
        return None, f"a document that held the answer is not in the collection any more: {', '.join(missing)}"
    return dataclasses.replace(case, answers=accepted), ""


def _accepted(case: Question, own: Sequence[Label]) -> tuple[str, ...]:
    sentences = [label for label in own if label.kind is LabelKind.SENTENCE]
    right = [label.text for label in sentences if label.good]
    wrong = {text for label in sentences if not label.good for text in (label.text, label.evidence) if text}
    return tuple(dict.fromkeys([*right, *(text for text in case.answers if text not in wrong)]))


def _file_names(names: Sequence[str]) -> dict[str, str]:
    """Return a file name for each document: its own, with .txt behind it when it was no text file; no two alike."""
    taken: set[str] = set()
    given = {}
    for name in names:
        plain = _UNSAFE.sub("_", name).strip("._") or "document"
        ending = "" if plain.lower().endswith(_TEXT) else ".txt"
        file, number = f"{plain}{ending}", 1
        while file.lower() in taken:
            number += 1
            file = f"{number}-{plain}{ending}"
        taken.add(file.lower())
        given[name] = file
    return given
