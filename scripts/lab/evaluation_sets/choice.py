"""Choose the questions for a pair of evaluation sets: the same questions, different documents.

The first set has one half of the documents, the second the other half. A question is answerable in the set with its
document, and left out in the other: there, either recorded web results answer it or nothing does. The choice depends
only on the texts and the seed. This module writes no files.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lab.evaluation_sets.search import Asked, Engine, Judge, Text, holds, sentences_of, snippet, text_of
from lab.evaluation_sets.texts import Candidate, Document, Texts, is_heading, slug
from localcrag.records.evaluation_set import AnswerLocation, Question
from localcrag.records.run import WebResult

KINDS = ("followup", "squad", "natural")
"""Kinds of questions, in the order in which they choose paragraphs: follow-ups are scarcest, so they are first."""
WEB_RESULTS = 5
"""Recorded web results for a question that is left out."""
MOST_LOOKED_AT = 200
"""Best paragraphs that are searched for those results."""
TWICE = 3
"""One in this many questions that the web answers has two results with the answer."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two sets: its documents, including distractors, and its questions."""

    documents: tuple[Document, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Both sets, the number of rejected candidates by reason, and the follow-ups to review."""

    sides: tuple[Side, Side]
    passed_over: Mapping[str, int]
    followups: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A question, the side that answers it, and what answers it on the other; `shown` are the web results there."""

    asked: Asked
    side: int
    elsewhere: AnswerLocation
    shown: tuple[WebResult, ...] = ()


class Choice:
    """Chooses a pair of sets. `wanted` is the number of questions of each kind that either side answers."""

    def __init__(self, texts: Texts, *, wanted: Mapping[str, int], distractors: int, seed: int) -> None:
        self._wanted = wanted
        self._chance = random.Random(seed)
        self._halves = self._halve(texts.documents)
        taken = self._chance.sample(texts.articles, min(distractors, len(texts.articles)))
        self._standing_by = tuple(sorted(taken, key=lambda article: article.name))
        self._documents = {document.name: document for document in texts.documents}
        self._texts = tuple(self._read(half) for half in (*self._halves, self._standing_by))
        self._sentences = tuple([sentence for text in part for sentence in sentences_of(text)] for part in self._texts)
        self._judge = Judge([text for part in self._texts for text in part])
        others = [article for article in texts.articles if article not in set(taken)]
        # The simulated web: paragraphs of all candidates, and articles that are in neither set.
        self._pages = [
            (paragraph, document.title.split(", part ")[0])
            for document in (*texts.documents, *others)
            for paragraph in document.paragraphs
            if not is_heading(paragraph)
        ]
        self._places = {paragraph: place for place, (paragraph, _) in enumerate(self._pages)}
        self._candidates = texts.candidates
        self._passed_over: Counter[str] = Counter()

    def make(self) -> Pair:
        """Return the pair. It has fewer questions than wanted if there are too few candidates."""
        chosen = self._choose()
        engine = Engine([paragraph for paragraph, _ in self._pages])
        try:
            sides = tuple(self._side(number, chosen, engine) for number in (0, 1))
        finally:
            engine.close()
        followups = tuple(one.asked.candidate for one in chosen if one.asked.candidate.history)
        return Pair((sides[0], sides[1]), self._passed_over, followups)

    def _halve(self, documents: Sequence[Document]) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
        """Split the documents in halves; parts of an article alternate, so that both halves cover every subject."""
        halves: tuple[list[Document], list[Document]] = ([], [])
        groups: dict[str, list[Document]] = {}
        for document in documents:
            parts = ", part " in document.title
            groups.setdefault(document.title.split(", part ")[0] if parts else "", []).append(document)
        for name, group in groups.items():
            mixed = group if name else self._chance.sample(group, len(group))
            first = self._chance.randrange(2)
            for number, document in enumerate(mixed):
                halves[(number + first) % 2].append(document)
        return tuple(halves[0]), tuple(halves[1])

    def _read(self, documents: Sequence[Document]) -> tuple[Text, ...]:
        return tuple(
            text_of(paragraph)
            for document in documents
            for paragraph in document.paragraphs
            if not is_heading(paragraph)
        )

    def _choose(self) -> list[_Chosen]:
        homes = {document.name: side for side, half in enumerate(self._halves) for document in half}
        chosen: list[_Chosen] = []
        paragraphs: set[str] = set()
        questions: set[str] = set()
        for kind in KINDS:
            candidates = [candidate for candidate in self._candidates if candidate.kind == kind]
            left = [self._wanted[kind]] * 2
            for candidate in self._chance.sample(candidates, len(candidates)):
                side = homes[candidate.document]
                if not left[side]:
                    continue
                said = " ".join([*(turn.question for turn in candidate.history), candidate.question]).lower()
                if candidate.paragraph in paragraphs or said in questions:
                    self._passed_over["another question of the same paragraph, or the same question, is in"] += 1
                    continue
                # They alternate: the web answers the first, nothing answers the second.
                elsewhere = AnswerLocation.NOWHERE if left[side] % 2 else AnswerLocation.WEB
                made = self._judged(candidate, side, elsewhere, chosen)
                if isinstance(made, str):
                    self._passed_over[made] += 1
                    continue
                chosen.append(made)
                left[side] -= 1
                paragraphs.add(candidate.paragraph)
                questions.add(said)
        return chosen

    def _judged(
        self, candidate: Candidate, side: int, elsewhere: AnswerLocation, chosen: Sequence[_Chosen]
    ) -> _Chosen | str:
        """Return the choice, or the reason why the candidate is rejected."""
        asked = self._judge.asked(candidate)
        if not asked.answers or not holds(asked, text_of(candidate.paragraph)):
            return "its paragraph does not hold its answer as a word"
        if any(self._judge.may_answer(asked, text) for part in (1 - side, 2) for text in self._texts[part]):
            return "another document may answer it in the set that leaves its own out"
        if any(asked.words <= words for part in (1 - side, 2) for words in self._sentences[part]):
            return "another document has all of its words in one sentence, and may answer it in other words"
        same = [one for one in chosen if one.side == side]
        if elsewhere is AnswerLocation.NOWHERE:
            shown = [result for one in same for result in one.shown]
            told = any(self._judge.may_answer(asked, _seen(result)) for result in shown)
            return "a web result for another question may answer it" if told else _Chosen(asked, side, elsewhere)
        results = self._answering(asked)
        silent = [one.asked for one in same if one.elsewhere is AnswerLocation.NOWHERE]
        if any(self._judge.may_answer(one, _seen(result)) for one in silent for result in results):
            return "its web result may answer a question that nobody is to answer"
        return _Chosen(asked, side, elsewhere, results) if results else "no snippet of its paragraph holds its answer"

    def _answering(self, asked: Asked) -> tuple[WebResult, ...]:
        """Return one or two web results with the answer, cut from the question's own paragraph."""
        candidate = asked.candidate
        best = snippet(asked, candidate.paragraph, self._judge, answering=True)
        if best is None:
            return ()
        place = self._places[candidate.paragraph]
        first = WebResult(candidate.title, _address(candidate.title, place), best)
        if self._chance.randrange(TWICE):
            return (first,)
        # The second result imitates another site: it has only the sentences around the answer.
        shorter = snippet(replace(asked, words=frozenset()), candidate.paragraph, self._judge, answering=True)
        if shorter is None or shorter == best:
            return (first,)
        other = WebResult(f"{candidate.title} - an overview", f"https://notes.example.org/{place}", shorter)
        return (first, other)

    def _side(self, number: int, chosen: Sequence[_Chosen], engine: Engine) -> Side:
        """Return the set of side `number`."""
        silent = [one.asked for one in chosen if one.side != number and one.elsewhere is AnswerLocation.NOWHERE]
        questions = []
        for one in chosen:
            candidate = one.asked.candidate
            question = Question(
                id=candidate.id, question=candidate.question, held_by=AnswerLocation.NOWHERE, history=candidate.history
            )
            if one.side == number:
                here = (candidate.document,)
                questions.append(
                    replace(question, held_by=AnswerLocation.DOCUMENTS, answers=candidate.answers, documents=here)
                )
                continue
            web = [*one.shown, *self._near_misses(one, silent, engine)]
            self._chance.shuffle(web)
            answers = candidate.answers if one.elsewhere is AnswerLocation.WEB else ()
            questions.append(replace(question, held_by=one.elsewhere, answers=answers, web=tuple(web)))
        self._chance.shuffle(questions)
        return Side((*self._halves[number], *self._standing_by), tuple(questions))

    def _near_misses(self, one: _Chosen, silent: Sequence[Asked], engine: Engine) -> Iterator[WebResult]:
        """Yield web results near the question that answer neither it nor any other question without an answer."""
        candidate = one.asked.candidate
        wanted = WEB_RESULTS - len(one.shown)
        golden = {asked.candidate.paragraph for asked in silent} | {candidate.paragraph}
        spoken = " ".join([candidate.question, *(turn.question for turn in candidate.history)])
        # The words of the title are for a question whose only word occurs nowhere else.
        found = [*engine.find(spoken, MOST_LOOKED_AT), *engine.find(candidate.title, MOST_LOOKED_AT)]
        for place in dict.fromkeys(found):
            paragraph, title = self._pages[place]
            if paragraph in golden:
                continue
            content = snippet(one.asked, paragraph, self._judge, answering=False)
            if content is None:
                continue
            result = WebResult(title, _address(title, place), content)
            seen = _seen(result)
            if holds(one.asked, seen) or any(self._judge.may_answer(asked, seen) for asked in silent):
                continue
            yield result
            wanted -= 1
            if not wanted:
                return


def _address(title: str, place: int) -> str:
    return f"https://example.org/{slug(title)}/{place}"


def _seen(result: WebResult) -> Text:
    return text_of(f"{result.title}. {result.content}")
