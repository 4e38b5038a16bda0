"""Make training examples for the answering model: the app's own prompts, and the text to be written.

The app's own retriever, reranker and refiner make the evidence, so that training sees the same input as use. There are
four tasks:

- to answer: the target is the part of a sentence in the evidence that answers, with its number;
- to abstain, given only sentences that the app would drop: the target says that the answer is not in the evidence;
- to write a web query: the target is the question's key words;
- to rewrite a follow-up whose topic is a pronoun: the target is the question with the topic in place of the pronoun.

This module does not train. The model does not learn to tell whether a sentence that looks like an answer is one. That
was tried, with the answering sentences removed from half of the examples: the reranker decides it better
(docs/lab/evaluation.md), and the model left many questions unanswered.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from lab.measuring.passage_collection import put_passages
from lab.training.pairs import Row
from lab.training.questions import dress
from localcrag.app.assembly import Assembly
from localcrag.crag import condense, rewrite, web
from localcrag.crag.answer import generate
from localcrag.crag.answer.verify import with_citations
from localcrag.crag.context import AskedQuestion, Budget, Context
from localcrag.crag.evaluate import evaluate
from localcrag.crag.refine.refine import MAX_BEST_STRIPS, QUOTED_SHARE, Refinement, best_strips, single_strips
from localcrag.crag.refine.step import strips_and_evidence
from localcrag.crag.retrieve import retrieve
from localcrag.crag.screen.injection import screened
from localcrag.records.events import Event
from localcrag.records.passages import Evidence, GradedPassage
from localcrag.records.protocols import Scorer
from localcrag.records.run import Message, Turn
from localcrag.text.sentences import split_sentences
from localcrag.text.words import FUNCTION_WORDS, content_words, one_line

ROOT = Path(__file__).resolve().parents[3]


LONG = 20
"""Words in a sentence from which on it is shortened."""
LONGEST_ANSWER = 60
"""Most words in an answer; a longer sentence is an excerpt rather than an answer."""
WHOLE, MIXED = 0.2, 0.35
"""Shares of the questions with all evidence, as larger models get it, and of those whose answering sentence is mixed,
in any order, with kept sentences other than the best. The reranker was trained on the same questions and is surer of
them than of new ones: without this, nearly every answer would be in the first excerpt."""
FAR_OFF = 0.12
"""Share of the questions that are also shown with irrelevant sentences only."""
MOST_MIXED = 3

_TAIL = re.compile(
    r"[;:]\s|\s[–—-]\s|,\s(?=(?:which|who|whose|where|while|although|though|but|whereas|so|and\s(?:he|she|it|they|the|"
    r"was|were|had|has|is|are))\b)"
)
_HEAD = re.compile(r";\s|,\s(?:but|whereas|and)\s(?=(?:he|she|it|they|the|in|on|by|[A-Z])\b)")
_NAME = re.compile(r"[A-ZÀ-Þ][\w.-]+(?: (?:(?:of|the|de|van|von) )*[A-ZÀ-Þ][\w.-]+)*")


Result = TypeVar("Result")


class Task(StrEnum):
    """The kind of text to be written."""

    ANSWER = "answer"
    NOT_SAID = "not said"
    QUERY = "query"
    CONDENSE = "condense"


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt and the text to be written."""

    task: Task
    messages: tuple[Message, ...]
    target: str
    source: str


class Library:
    """A collection of the app, and the app's retrieval and refinement in it."""

    def __init__(self, assembly: Assembly, scorer: Scorer, rows: Sequence[Row] = ()) -> None:
        """Add every distinct passage of labelled rows, under its article's title if that is known."""
        names = {text: f"{number}.txt" for number, text in enumerate(dict.fromkeys(row.passage for row in rows))}
        if rows:
            put_passages(
                assembly, {name: text for text, name in names.items()}, {names[row.passage]: row.title for row in rows}
            )
        parts = replace(assembly.parts(assembly.settings), scorer=scorer)
        self._context = Context(parts, assembly.settings, Budget(0))

    def passages(self, question: str) -> tuple[GradedPassage, ...]:
        """Return the passages that the app finds, with grades."""
        found = _finished(retrieve(AskedQuestion(question, question), self._context))
        return _finished(evaluate(question, found, self._context))

    def refined(self, question: str, passages: Sequence[GradedPassage]) -> Refinement:
        """Return what the app would keep of these passages if they were all relevant."""
        if not passages:
            return Refinement((), (), ())
        clock = self._context.clock("refine")
        passages = screened(passages, self._context.parts.rules)
        return _finished(strips_and_evidence(question, passages, self._context, clock))

    @property
    def lowest(self) -> float:
        """Return the relevance below which the app keeps no sentence."""
        return self._context.thresholds.strip


def _finished(steps: Generator[Event, None, Result]) -> Result:
    """Run a stage of the flow to its end, and return its result, ignoring its events."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


def answering(rows: Sequence[Row], library: Library, chosen: random.Random) -> Iterator[Example]:
    """Yield the examples of answering and abstaining, up to two for each question."""
    for row in rows:
        question = dress(row.question, chosen)
        passages = library.passages(question)
        refined = library.refined(question, passages)
        own = {passage.id for passage in passages if passage.text == row.passage}
        evidence = shown(refined, own, row, question, chosen)
        target = answer(row, question, [piece for piece in evidence if piece.passage in own])
        if target:
            yield Example(Task.ANSWER, tuple(generate.prompt(question, question, evidence)), target, row.source)
        if chosen.random() < FAR_OFF:
            off = [strip for strip in refined.strips if strip.relevance < library.lowest / 2]
            off = [strip for strip in off if strip.passage not in own and not says(row, strip.text)]
            if off:
                texts = [strip.text for strip in chosen.sample(off, min(MAX_BEST_STRIPS, len(off)))]
                pieces = [Evidence(n, text, "", "", 0.0) for n, text in enumerate(texts, start=1)]
                without = generate.prompt(question, question, pieces)
                yield Example(Task.NOT_SAID, tuple(without), generate.NO_ANSWER_TEXT, row.source)


def shown(
    refined: Refinement, own: Collection[str], row: Row, question: str, chosen: random.Random
) -> Sequence[Evidence]:
    """Return the evidence to show for a question: usually the best sentences, as a small model gets in the app."""
    how = chosen.random()
    if how < WHOLE:
        return mixed(refined.evidence, chosen)
    if how > WHOLE + MIXED:
        return best_strips(refined.strips, refined.evidence, share=QUOTED_SHARE)
    every = single_strips(refined.strips, refined.evidence)
    answering_ones = [piece for piece in every if piece.passage in own and answer(row, question, [piece])]
    if not answering_ones:
        return ()
    others = [piece for piece in every if piece is not answering_ones[0] and not says(row, piece.text)]
    among = chosen.randint(1, MOST_MIXED)
    return mixed([answering_ones[0], *chosen.sample(others, min(among, len(others)))], chosen)


def mixed(evidence: Sequence[Evidence], chosen: random.Random) -> tuple[Evidence, ...]:
    """Shuffle the relevances of the excerpts, so that the prompt has them in another order."""
    relevances = chosen.sample([piece.relevance for piece in evidence], len(evidence))
    return tuple(replace(piece, relevance=one) for piece, one in zip(evidence, relevances, strict=True))


def answer(row: Row, question: str, own: Sequence[Evidence]) -> str | None:
    """Return the answer from the excerpts of the row's own passage; None if they do not contain it."""
    if row.answer_at is None:
        return None
    said = row.passage[slice(*row.answer_at)]
    for piece in own:
        for span in split_sentences(piece.text):
            # If the labelled answer is a sentence, its boundaries may differ from those of the app's sentences.
            at = span.text.find(said)
            if at < 0 and span.text not in said:
                continue
            place = (at, at + len(said)) if at >= 0 else (0, len(span.text))
            if place == (0, len(span.text)) or len(said) > len(span.text) / 2:
                text = one_line(span.text)
            else:
                text = cut_down(span.text, place, question)
            if 2 < len(text.split()) <= LONGEST_ANSWER:
                return with_citations(text, (piece.n,), "")
    return None


def says(row: Row, text: str) -> bool:
    """Return whether a text from another passage may also contain the answer."""
    said = row.passage[slice(*row.answer_at)].lower() if row.answer_at else ""
    lowered = text.lower()
    return (bool(said) and said in lowered) or any(
        len(answer) > 2 and answer.lower() in lowered for answer in row.answers
    )


def cut_down(sentence: str, place: tuple[int, int], question: str) -> str:
    """Return the part of a long sentence that contains the answer, at `place`, as a sentence.

    It removes clauses before and after that contain no word of the question.
    """
    asked = content_words(question)
    start, end = 0, len(sentence)
    if len(sentence.split()) > LONG:
        for found in _TAIL.finditer(sentence, place[1]):
            if not content_words(sentence[found.end() :]) & asked:
                end = found.start()
                break
        for found in _HEAD.finditer(sentence, 0, place[0]):
            if not content_words(sentence[: found.start()]) & asked:
                start = found.end()
    part = one_line(sentence[start:end]).strip(" ,;:")
    part = part[:1].upper() + part[1:]
    return part if part[-1:] in ".!?" else f"{part}."


def queries(rows: Sequence[Row], chosen: random.Random) -> Iterator[Example]:
    """Yield the examples of web queries: the question's key words, in their order."""
    for row in rows:
        question = dress(row.question, chosen)
        words = rewrite.key_words(question)
        if len(content_words(question)) > 2 and web.accept(words, question) == words:
            yield Example(Task.QUERY, tuple(web.prompt(question)), words, row.source)


def follow_ups(rows: Sequence[Row], chosen: random.Random) -> Iterator[Example]:
    """Yield the examples of follow-ups: two questions about one text, with a pronoun for a name in the second.

    Only those are used that the app recognises as follow-ups, and whose rewriting it would accept.
    """
    by_text: dict[str, list[Row]] = {}
    for row in rows:
        by_text.setdefault(row.passage, []).append(row)
    for passage, own in by_text.items():
        chosen.shuffle(own)
        for first, second in pairwise(own):
            before = with_names(one_line(first.question), passage)
            asked = with_names(one_line(second.question), passage).rstrip(" ?") + "?"
            said = _sentence_with_answer(first)
            if not said or before == asked:
                continue
            history = (Turn(before, said),)
            follow_up = with_pronoun(asked, before, passage)
            if follow_up is None or condense.stands_alone(follow_up):
                continue
            if condense.accept(asked, follow_up, history) == asked:
                yield Example(Task.CONDENSE, tuple(condense.prompt(follow_up, history)), asked, second.source)


def left_alone(rows: Sequence[Row], chosen: random.Random) -> Iterator[Example]:
    """Yield questions after a question about something else, which should not be rewritten."""
    for first, second in pairwise(chosen.sample(rows, len(rows))):
        asked = with_names(one_line(second.question), second.passage)
        said = _sentence_with_answer(first)
        if said and first.passage != second.passage and condense.stands_alone(asked):
            history = (Turn(with_names(one_line(first.question), first.passage), said),)
            yield Example(Task.CONDENSE, tuple(condense.prompt(asked, history)), asked, second.source)


def with_names(question: str, passage: str) -> str:
    """Capitalise the words of a question that are names in the passage, since some data are all in lower case."""
    small = set(re.findall(r"\b[a-zà-þ][\w'’-]*", passage))
    # At the start of a sentence, a capital does not make a word a name: "The" has one, too.
    large = [word for word in re.findall(r"\b[A-ZÀ-Þ][\w'’-]*", passage) if word.lower() not in FUNCTION_WORDS]
    names = {word.lower(): word for word in large if word.lower() not in small}
    cased = re.sub(r"[\w'’-]+", lambda found: names.get(found[0].lower(), found[0]), question)
    return cased[:1].upper() + cased[1:]


def with_pronoun(asked: str, before: str, passage: str) -> str | None:
    """Replace the longest name that the question shares with the previous one, or the text's opening, by a pronoun."""
    opening = " ".join(passage.split()[:12])
    names = [
        found[0]
        for found in _NAME.finditer(asked)
        if found.start() > 0 and (found[0].lower() in before.lower() or found[0] in opening)
    ]
    if not names:
        return None
    name = max(names, key=len)
    subject, possessive = pronoun(passage)
    object_ = {"he": "him", "she": "her", "they": "them"}.get(subject, subject)
    pattern = rf"(?:\b[Tt]he )?\b{re.escape(name)}(?P<own>['’]s|['’](?!\w))?(?!\w)"
    found = re.search(pattern, asked)
    if found is None or len(re.findall(pattern, asked)) > 1:
        return None
    if re.search(r"[\d\"“”)]\s$", asked[: found.start()]):  # the name is a part of something longer
        return None
    leads = re.search(r"\b(?:by|of|for|with|from|to|in|on|at|about|after|against)\s$", asked[: found.start()])
    stands_for = possessive if found["own"] else object_ if leads else subject
    made = asked[: found.start()] + stands_for + asked[found.end() :]
    return made[:1].upper() + made[1:]


def pronoun(passage: str) -> tuple[str, str]:
    """Return the pronoun that a text uses for its subject, and the possessive form."""
    words = re.findall(r"[a-z]+", passage.lower())
    counts = {
        ("he", "his"): sum(words.count(word) for word in ("he", "his", "him")),
        ("she", "her"): sum(words.count(word) for word in ("she", "her", "hers")),
        ("they", "their"): sum(words.count(word) for word in ("they", "their", "them")) - 1,
        ("it", "its"): sum(words.count(word) for word in ("it", "its")) + 1,
    }
    return max(counts, key=lambda pair: counts[pair])


def _sentence_with_answer(row: Row) -> str | None:
    if row.answer_at is None:
        return None
    middle = (row.answer_at[0] + row.answer_at[1]) // 2
    return next((one_line(s.text) for s in split_sentences(row.passage) if s.start <= middle < s.end), None)
