"""The sources' own words: which evidence stands beside or in place of an answer, laid out.

A small model writes a sentence of what takes a list to say; the list is in the sources, whole and in order.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from localcrag.records.enums import Grade, Skill
from localcrag.records.passages import Evidence, GradedPassage, Source
from localcrag.steps.answer import fragments, layout
from localcrag.steps.answer.fragments import Fragment
from localcrag.steps.answer.task import Certainty, Task
from localcrag.steps.answer.to_the_point import says_all
from localcrag.steps.context import Context
from localcrag.steps.refine.refine import QUOTED_SHARE
from localcrag.steps.refine.strips import count_words
from localcrag.steps.refine.structure import strips_by_piece
from localcrag.steps.screen import prompt_injection
from localcrag.text.blocks import BlockKind
from localcrag.text.question_form import asks_for_list, asks_how, leaves_to_be_judged
from localcrag.text.titles import SEPARATOR
from localcrag.text.words import one_line, words_in

MOST_WORDS = 220
"""Of what is laid out; a piece is shown whole, and the most relevant one in any case."""
SHOWN_SHARE = 0.2
"""Of the best piece's relevance, below which a piece is beside the point."""

_NUMBERED = re.compile(r"(?:^|(?<=\s))(\d{1,2})[.)](?=\s+\w)")


@dataclass(frozen=True, slots=True)
class Laid:
    """A piece of evidence with the fragments that it is shown as."""

    piece: Evidence
    fragments: tuple[Fragment, ...]

    @property
    def body(self) -> list[str]:
        """What it says, without the headings over that."""
        return [one.text for one in self.fragments if one.kind is not BlockKind.HEADING]


def to_lay_out(task: Task, context: Context, without: Collection[int] = (), said: str = "") -> list[Laid]:
    """Return the evidence of passages that are CORRECT, the most relevant first, as far as there is room for it.

    What has the form that the question asks for goes before the rest: a list, where it asks how or for several things.
    Where no passage is known to be, the best strips; where nothing is known of any, all. `without` are the numbers of
    evidence that is said already, `said` is what stands above: a piece that it has word for word is left out.
    """
    relevance = {passage.id: passage.relevance for passage in task.used}
    pieces: Sequence[Evidence] = task.evidence
    if task.certainty is Certainty.DOUBTFUL:
        pieces = task.to_quote
    elif correct := {passage.id for passage in task.used if passage.grade is Grade.CORRECT}:
        # What a passage that is less sure says in the same words stands for both.
        pieces = [piece for piece in pieces if piece.passage in correct] or pieces
    pieces = [piece for piece in pieces if piece.n not in without]
    best = max((piece.relevance for piece in pieces), default=0.0)
    # For a comparison both sides are needed, however little one of them is like the question.
    least = 0.0 if leaves_to_be_judged(task.asked.standalone) else SHOWN_SHARE * best
    shown = laid([piece for piece in pieces if piece.relevance >= least], task, context, said)
    ranked = sorted(
        shown,
        key=lambda one: (
            not (one.piece.relevance >= QUOTED_SHARE * best and as_asked(one, task.asked.standalone)),
            -relevance.get(one.piece.passage, 0.0),
            one.piece.n,
        ),
    )
    chosen: list[Laid] = []
    words = 0
    for one in ranked:
        more = count_words(one.piece.text)
        if not chosen or words + more <= MOST_WORDS:
            chosen.append(one)
            words += more
    return chosen


def as_asked(one: Laid, question: str) -> bool:
    """Whether a piece has the form that a question asks for: a list or procedure, or several lines."""
    if leaves_to_be_judged(question):
        return False
    if asks_how(question):
        return layout.has_steps(one.fragments)
    return asks_for_list(question) and layout.is_block(one.fragments)


def all_of_it(task: Task, context: Context) -> list[Laid]:
    """Return all evidence as it is shown, headings by themselves as well: where there is nothing else to show."""
    return laid(task.evidence, task, context, headings=True)


def laid(
    pieces: Sequence[Evidence], task: Task, context: Context, said: str = "", *, headings: bool = False
) -> list[Laid]:
    """Return pieces of evidence as they are shown: by the blocks of their passages, without what was screened out.

    A heading by itself says nothing, unless with `headings`. What stands in `said` word for word is left out where
    that is all of a piece; else it stays, since what is around it means little without it.
    """
    passages = {passage.id: passage for passage in prompt_injection.screened(task.used, context.parts.rules)}
    made_of = strips_by_piece(task.evidence, task.refinement.strips)
    found = []
    for piece in pieces:
        # A single strip stands under the number of the piece that it is of.
        own = [strip for strip in made_of.get(piece.n, []) if strip.text in piece.text]
        new = any(not _repeats(strip.text, said) for strip in own)
        one = Laid(piece, tuple(fragments.of_evidence(piece, passages.get(piece.passage), own)))
        if (new or not own) and (one.body or (headings and one.fragments)):
            found.append(one)
    return found


def _repeats(text: str, said: str) -> bool:
    """Whether a sentence stands in what is said, word for word; a heading or a row is part of something else."""
    words = one_line(text)
    if not said or not words.endswith((".", "!", "?")):
        return False
    # Not as the beginning of a longer word or number.
    return re.search(rf"(?<!\w){re.escape(words.rstrip('.!?'))}(?!\w|[.,]\d)", said) is not None


def written(shown: Sequence[Laid], sources: Sequence[Source], *, titled: bool = False) -> str:
    """Return pieces as Markdown in the order given, each cited once, under the path where it stands.

    Where they are of several documents, or it is to be `titled`, the path says which.
    """
    named = {source.id: source for source in sources}
    several = titled or len({_document(named[one.piece.source]) for one in shown}) > 1
    parts: list[str] = []
    before = ""
    for one in shown:
        path = path_of(one.piece.section, named[one.piece.source], titled=several)
        label = layout.label(path)
        if label and label != before:
            parts.append(label)
        before = label
        parts.append(layout.markdown(one.fragments, f"[{one.piece.n}]", path=path))
    return "\n\n".join(parts)


def path_of(section: str | None, source: Source | GradedPassage, *, titled: bool) -> list[str]:
    """Return the path of headings that something stands under, if `titled` with its document's title in front."""
    path = section.split(SEPARATOR) if section else []
    named = _document(source)
    title = source.title or named
    # A title that is made of the file's name says less than that.
    if source.document and words_in(title) == words_in(PurePath(named).stem.replace("_", " ").replace("-", " ")):
        title = named
    return [title, *path] if titled and title not in path else path


def _document(source: Source | GradedPassage) -> str:
    return source.document or source.url or ""


def is_best(shown: Sequence[Laid], question: str) -> bool:
    """Whether the most relevant piece says more than any sentence of it, and nothing has to be concluded from it.

    That is a list, and a table or lines where several things are asked for: of one row a sentence says all.
    """
    if not shown or leaves_to_be_judged(question):
        return False
    several = asks_how(question) or asks_for_list(question)
    return layout.has_steps(shown[0].fragments) or (several and layout.is_block(shown[0].fragments))


def is_no_sentence(said: str) -> bool:
    """Whether an answer is a row of a table, or several items of a list in one line, copied."""
    counted = [int(number) for number in _NUMBERED.findall(said)]
    return "|" in said or any(number + 1 in counted[at + 1 : at + 2] for at, number in enumerate(counted))


def answer_alone(task: Task, context: Context) -> bool:
    """Whether the evidence is the answer as it stands: a list that was asked for, and a model too small to write it."""
    question = task.asked.standalone
    every_step = context.steps.refine and context.steps.verify and context.steps.evaluate
    if Skill.ALONE in context.parts.skills or not every_step or task.certainty is not Certainty.SURE:
        return False
    if task.conflicts:
        return False
    return any(as_asked(one, question) for one in to_lay_out(task, context)[:1])


def unsaid(shown: Sequence[Laid], answer: str, question: str) -> list[Laid]:
    """Return the pieces of which an answer leaves out anything."""
    return [one for one in shown if not says_all(answer, one.body, question)]


def unlisted(shown: Sequence[Laid], answer: str, question: str) -> list[Laid]:
    """Return the lists and tables of which an answer leaves out a line."""
    return [
        one for one in shown if any(not says_all(answer, [line], question) for line in layout.listed(one.fragments))
    ]
