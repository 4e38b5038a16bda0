"""Export: a conversation as Markdown, JSON or HTML, labels as an evaluation set, a run as a report."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from localcrag.records import wording
from localcrag.records.errors import LabelError
from localcrag.records.evaluation_set import AnswerLocation, Question, dump
from localcrag.records.passages import Evidence, Source, cited
from localcrag.records.run import Chat, ChatTurn, Run, TurnState
from localcrag.runs.labels import Circumstances, Label, LabelKind
from localcrag.runs.recording import describe_grader, describe_reading, describe_scope, describe_totals, totals
from localcrag.text.sanitize import escape_markdown, escape_markdown_line
from localcrag.text.translation import format_decimals
from localcrag.text.translation import gettext as _
from localcrag.text.words import one_line


def template_environment(package: str, extensions: Sequence[str] = ()) -> Environment:
    """Return the environment of a package's templates, which escapes all text."""
    loader = PackageLoader(package)
    return Environment(
        loader=loader, extensions=extensions, autoescape=select_autoescape(), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


TEMPLATES = template_environment("localcrag.runs")
TEMPLATES.filters |= {
    "markdown": escape_markdown,
    "text": lambda text: escape_markdown(one_line(text)),
    "line": lambda text: escape_markdown_line(one_line(text)),
    "decimals": format_decimals,
}
UNANSWERED = {TurnState.ASKED: "Not answered yet.", TurnState.STOPPED: "Stopped.", TurnState.FAILED: "Failed."}


class ExportForm(StrEnum):
    """The formats of an exported conversation; the value is the extension of the file."""

    MARKDOWN = "md"
    JSON = "json"
    HTML = "html"


TYPES = {ExportForm.MARKDOWN: "text/markdown", ExportForm.JSON: "application/json", ExportForm.HTML: "text/html"}
"""Media types of the formats."""


@dataclass(frozen=True, slots=True)
class CitedEvidence:
    """A piece of evidence that an answer cites, and its place in words."""

    n: int
    text: str
    place: str


@dataclass(frozen=True, slots=True)
class ExportedTurn:
    """A turn with its run, if that is still stored, and what is shown of them.

    `answer` may be the reason why there is none; `about` says how it came about; `sources` is the evidence it cites.
    """

    turn: ChatTurn
    run: Run | None
    answer: str
    about: Sequence[str]
    sources: Sequence[CitedEvidence]


def export(chat: Chat, turns: Sequence[ChatTurn], runs: Mapping[str, Run], form: ExportForm) -> str:
    """Return a conversation in the given format.

    `turns` are its visible branch; `runs` are the stored runs by id, some of which may have been deleted.
    """
    read = [_exported(turn, runs.get(turn.run_id or "")) for turn in turns]
    match form:
        case ExportForm.MARKDOWN:
            return TEMPLATES.get_template("chat.md").render(chat=chat, turns=read).rstrip("\n") + "\n"
        case ExportForm.JSON:
            return _json(chat, read)
        case ExportForm.HTML:
            return TEMPLATES.get_template("chat.html").render(chat=chat, turns=read)


def _exported(turn: ChatTurn, run: Run | None) -> ExportedTurn:
    answer = turn.answer or UNANSWERED.get(turn.state, "")
    if run is None:
        return ExportedTurn(turn, None, answer, (), ())
    sources = {source.id: source for source in run.sources}
    evidence = [
        CitedEvidence(piece.n, one_line(piece.text), source_place(sources[piece.source], piece))
        for piece in cited(turn.answer, run.evidence)
    ]
    return ExportedTurn(turn, run, answer, describe_run(run), evidence)


def source_place(source: Source, piece: Evidence) -> str:
    """Return the place of a piece of evidence, in words: document with page or rows, or title and address."""
    place = source.place(piece.rows)
    return f"{source.title}, {place}" if source.url and source.title else place


def describe_run(run: Run) -> list[str]:
    """Describe how an answer came about: the action, the documents searched, the computation."""
    lines = [f"{run.action}: {run.rule}"] if run.action else []
    if run.scope and run.scope.restriction and (searched := describe_scope(run)):
        lines.append(searched)
    if run.computation:
        lines.append(_("computed by the app: %(what)s", what=wording.computation_in_words(run.computation)))
    return lines


def _json(chat: Chat, turns: Sequence[ExportedTurn]) -> str:
    written = [
        {
            "number": number,
            "question": one.turn.question,
            "answer": one.turn.answer,
            "run_id": one.turn.run_id,
            "state": one.turn.state,
            "action": one.run and one.run.action,
            "searched": describe_scope(one.run) if one.run else "",
            "computation": dataclasses.asdict(one.run.computation) if one.run and one.run.computation else None,
            "sources": [dataclasses.asdict(source) for source in one.sources],
        }
        for number, one in enumerate(turns, start=1)
    ]
    return json.dumps({**dataclasses.asdict(chat), "turns": written}, ensure_ascii=False, indent=2) + "\n"


_UNSAFE = re.compile(r"[^\w.()+&-]+")
_TEXT = (".md", ".markdown", ".txt", ".text", ".log", ".rst")
"""Extensions of files whose stored text is the file's content."""


@dataclass(frozen=True, slots=True)
class ExportedSet:
    """An evaluation set to be written: the lines of its questions, its documents by file name, and what was left out.

    `left_out` has the question of each labelled answer that was left out, and the reason.
    """

    lines: tuple[str, ...]
    documents: dict[str, str]
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """A question and a text that helps to answer it (label 1) or does not (0); `kind` is passage or sentence."""

    question: str
    text: str
    label: int
    kind: str


def make_evaluation_set(
    labels: Sequence[Label], texts: Mapping[str, str], pinned: Mapping[str, Question] = MappingProxyType({})
) -> ExportedSet:
    """Return the evaluation set made from a collection's labels; `texts` are its documents' texts, by name.

    If a run is `pinned` (by its id), the pin's question is used. Otherwise, an answer labelled good makes a question
    with accepted answers: the sentences labelled right, and the run's proposed answers (labels.propose_question) except
    those labelled wrong; a good abstention makes a question without an answer. An answer labelled bad makes a question
    without an answer if all its passages were labelled not relevant. Raises LabelError if no question is left.
    """
    answers = [(one, one.circumstances) for one in labels if one.kind is LabelKind.ANSWER and one.circumstances]
    if not answers:
        raise LabelError("There is nothing to export: no answer of this collection is labelled good or bad yet.")
    questions: list[Question] = []
    left_out: list[tuple[str, str]] = []
    wanted: set[str] = set()
    for answer, kept in answers:
        own = [label for label in labels if label.run_id == answer.run_id]
        question, why = _question(answer, kept, own, texts, pinned.get(answer.run_id))
        if question is None:
            left_out.append((answer.question, why))
        else:
            questions.append(question)
            wanted.update((*question.documents, *kept.documents))
    names = _file_names(sorted(name for name in wanted if name in texts))
    if not questions or not names:
        reasons = "; ".join(dict.fromkeys(why for _, why in left_out)) or "none of their documents is there any more"
        raise LabelError(
            f"There is nothing to export: of {len(answers)} labelled answers, none could become a question: {reasons}."
        )
    named = [
        dataclasses.replace(question, documents=tuple(names[name] for name in question.documents))
        for question in questions
    ]
    return ExportedSet(tuple(dump(named)), {names[name]: texts[name] for name in names}, tuple(left_out))


def make_training_pairs(labels: Sequence[Label]) -> tuple[TrainingPair, ...]:
    """Return the training pairs made from labels: labelled passages, and the evidence behind sentences labelled right.

    Labels come oldest first; for the same question and text, the newest label counts. A sentence labelled wrong makes
    no pair: it shows that the answer misread its evidence, not that the evidence was irrelevant. Raises LabelError if
    there is no pair.
    """
    found: dict[tuple[str, str], TrainingPair] = {}
    for label in reversed(labels):
        if label.kind is LabelKind.PASSAGE:
            pair = TrainingPair(label.question, label.text, int(label.good), "passage")
        elif label.kind is LabelKind.SENTENCE and label.good and label.evidence:
            pair = TrainingPair(label.question, label.evidence, 1, "sentence")
        else:
            continue
        found.setdefault((pair.question.casefold(), one_line(pair.text)), pair)
    if not found:
        raise LabelError(
            "There is nothing to export: no passage is labelled relevant or not relevant yet, and no sentence right."
        )
    return tuple(reversed(found.values()))


def training_lines(pairs: Sequence[TrainingPair]) -> tuple[str, ...]:
    """Return the pairs as the JSON lines that `scripts/lab/training/train_relevance.py --labels` reads."""
    return tuple(json.dumps(dataclasses.asdict(pair), ensure_ascii=False) + "\n" for pair in pairs)


def _question(
    answer: Label, kept: Circumstances, own: Sequence[Label], texts: Mapping[str, str], pin: Question | None
) -> tuple[Question | None, str]:
    """Return the question for a labelled answer, or None with the reason why there is none."""
    # The question as it was understood: a set's question has to make sense without the chat it came from.
    case = dataclasses.replace(pin or kept.case, question=answer.question, history=())
    if pin is None and not answer.good:
        refused = {label.target for label in own if label.kind is LabelKind.PASSAGE and not label.good}
        if not kept.passages or not refused >= set(kept.passages):
            return None, "a bad answer is a question only when it is pinned, or each passage labelled not relevant"
        case = dataclasses.replace(case, held_by=AnswerLocation.NOWHERE)
    if case.held_by is AnswerLocation.NOWHERE:
        return dataclasses.replace(case, answers=(), documents=(), web=()), ""
    accepted = case.answers if pin else _accepted(case, own)
    if not accepted:
        return None, "no sentence of the answer is supported, or all of them are rated wrong"
    if missing := [name for name in case.documents if name not in texts]:
        return None, f"a document that held the answer is not in the collection any more: {', '.join(missing)}"
    return dataclasses.replace(case, answers=accepted), ""


def _accepted(case: Question, own: Sequence[Label]) -> tuple[str, ...]:
    sentences = [label for label in own if label.kind is LabelKind.SENTENCE]
    right = [label.text for label in sentences if label.good]
    wrong = {text for label in sentences if not label.good for text in (label.text, label.evidence) if text}
    return tuple(dict.fromkeys([*right, *(text for text in case.answers if text not in wrong)]))


def _file_names(names: Sequence[str]) -> dict[str, str]:
    """Return a file name for each document, all different: its own, with .txt appended if it was not a text file."""
    taken: set[str] = set()
    given = {}
    for name in names:
        plain = _UNSAFE.sub("_", name).strip("._") or "document"
        plain += "" if plain.lower().endswith(_TEXT) else ".txt"
        numbered = itertools.chain([plain], (f"{number}-{plain}" for number in itertools.count(2)))
        # Some file systems ignore case in names.
        given[name] = next(file for file in numbered if file.lower() not in taken)
        taken.add(given[name].lower())
    return given


PASSAGE_CHARACTERS = 200
"""Characters shown of each passage in the table; its sentences follow in full."""


def markdown(run: Run) -> str:
    """Return the report of a run: question, action, answer, computation, passages, sentences, web, warnings, steps."""
    text = TEMPLATES.get_template("run.md").render(
        run=run,
        grader=describe_grader(run),
        notes=[line for line in (describe_reading(run), describe_scope(run)) if line],
        searches=itertools.pairwise(run.attempts),
        cited=cited(run.answer, run.evidence),
        sources={source.id: source for source in run.sources},
        totals=describe_totals(totals(run)),
        passages=sorted(run.passages, key=lambda passage: -passage.relevance),
        most_characters=PASSAGE_CHARACTERS,
        wording=wording,
    )
    return text.rstrip("\n") + "\n"
