"""Make training groups for the reranker from labelled questions, by the source of the data.

A group is a question with everything that it is scored against: its own passage, similar passages that do not answer,
its own passage without the sentence that answers, its passage with a question that it does not answer, and single
sentences. So the model learns to rank within a group, and that a passage on the right topic need not be an answer.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from lab.relevance.data import LONGEST_CHANCE, holds, read_lines
from lab.training.questions import dress, unanswerable
from localcrag.text.sentences import Span, split_sentences
from localcrag.text.words import content_words

ROOT = Path(__file__).resolve().parents[3]


FEWEST_WORDS, USUAL_WORDS, MOST_WORDS = 12, 50, 150
"""Words in a passage: from short web results to the app's chunks of 180 tokens."""
SHORT = 0.25
"""Share of the passages that have fewer than the usual words."""
MOST_MINED = 3500
"""Passages of one source that are searched for look-alikes: enough for near ones, and it saves minutes."""
WITH_TITLE = 0.4
"""Share of the groups with a known title whose texts begin with it."""
BEGINNING = 60
"""First letters and digits by which a held-out passage is recognised in a longer or differently cut text."""
ALTERED = 0.5
"""Share of the groups in which the passage is also paired with a question that it does not answer."""


@dataclass(frozen=True, slots=True)
class Source:
    """Use of one source: at most `questions` of it, each with up to `lookalikes` negatives from the same source.

    `near` takes them from the bi-encoder's nearest, instead of at random. `sentences` says whether strips are made from
    it, and `general` whether an encyclopaedia's passages are further negatives.
    """

    questions: int
    licence: str
    lookalikes: int = 2
    near: bool = True
    sentences: bool = True
    general: bool = False


SOURCES = {
    "squad_train_subset(nqg)": Source(11_819, "CC BY-SA 4.0", general=True),
    "squadshifts_new_wiki": Source(7_738, "CC BY 4.0", general=True),
    "squadshifts_reddit": Source(900, "CC BY 4.0", lookalikes=1, near=False),
    "squadshifts_amazon_reviews": Source(500, "CC BY 4.0", lookalikes=1, near=False),
    "fairytaleqa_train": Source(9_498, "Apache-2.0"),
    "medquad": Source(2_400, "CC BY 4.0", sentences=False),
    "policyqa_dev": Source(900, "MIT", lookalikes=1, near=False),
    "policyqa_test": Source(900, "MIT", lookalikes=1, near=False),
    "selqa_dev": Source(784, "Apache-2.0", general=True),
    "selqa_test": Source(1_590, "Apache-2.0", general=True),
    "boolq_dev": Source(1_886, "CC BY-SA 3.0", sentences=False, general=True),
}
LABELS = "labels"
"""Name of the source of pairs that users labelled (docs/guide/feedback.md)."""
MOST_GENERAL = 9_000
"""Passages of the encyclopaedia that are searched for further look-alikes, at most GENERAL_EACH from one article."""
GENERAL_EACH = 4
GENERAL = 0.5
"""Share of the `general` groups with a look-alike from another article of the encyclopaedia, as found by a search."""


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled question. `answer_at` is the answer's position in the passage, if it is known."""

    source: str
    question: str
    passage: str
    answers: tuple[str, ...]
    answer_at: tuple[int, int] | None
    title: str | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and a text. `answer_at`: the characters that answer, None if not known.

    `lines`, if known: start and end of each strip of the text, and whether a complete answer needs it. `wanted`: the
    logit to learn instead of the label, if it comes from an earlier model (teacher.py).
    """

    question: str
    text: str
    relevant: bool
    answer_at: tuple[int, int] | None = None
    lines: tuple[tuple[int, int, bool], ...] = ()
    wanted: float | None = None

    @property
    def marked(self) -> tuple[tuple[int, int, bool], ...]:
        """Return the strips of a relevant text, each with whether it is needed; it is if the answer begins in it."""
        if self.lines or self.answer_at is None:
            return self.lines
        start = self.answer_at[0]
        spans = split_sentences(self.text)
        return tuple((span.start, span.end, span.start <= start < span.end) for span in spans)


@dataclass(frozen=True, slots=True)
class Group:
    """One question's pairs, with whole passages and single sentences separate; a relevant one comes first."""

    source: str
    passages: tuple[Pair, ...]
    strips: tuple[Pair, ...]


def load_rows(folder: Path) -> list[Row]:
    """Return the rows in `passages.jsonl.gz` and `sentences.jsonl.gz` that SOURCES uses."""
    rows = [_row(raw) for raw in read_lines(folder / "passages.jsonl.gz") if not raw["source"].startswith("selqa")]
    rows += [row for raw in read_lines(folder / "sentences.jsonl.gz") if (row := _from_sentences(raw))]
    return [row for row in rows if row.source in SOURCES and row.question and row.passage]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Held-out data as `fingerprint`s, which must not be trained on: whole questions, and beginnings of passages."""

    questions: frozenset[str]
    beginnings: frozenset[str]
    _known: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, folder: Path) -> HeldOut:
        """Return the questions and passages in all files of a folder. Raises SystemExit if there are none."""
        questions: set[str] = set()
        passages: set[str] = set()
        for path in sorted(folder.glob("*.jsonl.gz")):
            for raw in read_lines(path):
                asked = [raw, *raw.get("questions", [])]
                questions.update(fingerprint(one["question"]) for one in asked if "question" in one)
                questions.update(fingerprint(turn["text"]) for turn in raw.get("input", []) if "text" in turn)
                texts = [one for one in [raw.get("passage"), *(c.get("text") for c in raw.get("contexts", []))] if one]
                passages.update(fingerprint(text)[:BEGINNING] for text in texts)
        if not questions:
            raise SystemExit(
                f"{folder} holds no *.jsonl.gz: without the held-out data it cannot be kept out of training."
            )
        return cls(frozenset(questions), frozenset(text for text in passages if len(text) == BEGINNING))

    def asks(self, question: str) -> bool:
        """Return whether the question is held out."""
        return fingerprint(question) in self.questions

    def holds(self, text: str) -> bool:
        """Return whether the text contains the beginning of a held-out passage."""
        if text not in self._known:  # cached, since a passage is in many pairs
            letters = fingerprint(text)
            last = len(letters) - BEGINNING
            self._known[text] = any(letters[at : at + BEGINNING] in self.beginnings for at in range(last + 1))
        return self._known[text]


def fingerprint(text: str) -> str:
    """Return the letters and digits of a text in lower case, which do not depend on spacing and punctuation."""
    return "".join(character for character in text.lower() if character.isalnum())


def without_held_out(rows: Sequence[Row], held: HeldOut) -> list[Row]:
    """Return the rows that share neither question nor passage with the held-out data."""
    known = {passage: held.holds(passage) for passage in {row.passage for row in rows}}
    return [row for row in rows if not held.asks(row.question) and not known[row.passage]]


def is_held_out(group: Group, held: HeldOut) -> bool:
    """Return whether a pair's question is held out, or its text contains the beginning of a held-out passage."""
    return any(held.asks(pair.question) or held.holds(pair.text) for pair in (*group.passages, *group.strips))


def refuse_held_out(groups: Sequence[Group], held: HeldOut) -> None:
    """Raise SystemExit if a pair's question is held out, or its text contains the beginning of a held-out passage."""
    for group in groups:
        for pair in (*group.passages, *group.strips):
            if held.asks(pair.question) or held.holds(pair.text):
                raise SystemExit(
                    f"Refused: held-out data among the training pairs of {group.source}: {pair.question!r} with "
                    f"{pair.text[:80]!r}. It must be left out of the rows that pairs are made of."
                )


def load_labels(path: Path, held: HeldOut) -> tuple[list[Group], int]:
    """Return the pairs from `localcrag labels export --as training` as groups, and the number of held-out ones dropped.

    A question's first relevant text is ranked in a group with all irrelevant ones. Every other text is alone, and only
    its probability is learned. Pairs are used unchanged: no text is cut, and no question is rewritten. Raises
    SystemExit.
    """
    try:
        rows = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]
        pairs = [(row["kind"], Pair(row["question"], row["text"], bool(row["label"]))) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SystemExit(
            f"{path} holds no labels ({error!r}): make it with localcrag labels export --as training."
        ) from error
    kept = [(kind, pair) for kind, pair in pairs if not held.asks(pair.question) and not held.holds(pair.text)]
    by_question: dict[tuple[str, str], list[Pair]] = {}
    for kind, pair in kept:
        by_question.setdefault((kind, pair.question), []).append(pair)
    groups = []
    for (kind, _), own in by_question.items():
        relevant = [pair for pair in own if pair.relevant]
        beside = [pair for pair in own if not pair.relevant]
        lists = (
            [(relevant[0], *beside), *((pair,) for pair in relevant[1:])] if relevant else [(pair,) for pair in beside]
        )
        groups += [Group(LABELS, one, ()) if kind == "passage" else Group(LABELS, (), one) for one in lists]
    return groups, len(pairs) - len(kept)


def make_groups(
    rows: Sequence[Row],
    *,
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
    chosen: random.Random,
    encyclopaedia: Sequence[tuple[str, str]] = (),
) -> list[Group]:
    """Return the groups of all sources in random order. `embed` returns unit vectors, shape (texts, dimension).

    `encyclopaedia` has titles and passages for further negatives of the general sources.
    """
    groups: list[Group] = []
    vectors = embed([text for _, text in encyclopaedia]) if encyclopaedia else None
    for name, source in SOURCES.items():
        own = [row for row in rows if row.source == name]
        if not own:
            continue
        used = chosen.sample(own, min(source.questions, len(own)))
        lookalikes = _lookalikes(used, own, source, embed, chosen)
        general: list[tuple[str, str] | None] = [None] * len(used)
        if source.general and vectors is not None:
            general = _general(used, encyclopaedia, vectors, embed, chosen)
        groups += [
            _group(row, others, further, source, chosen)
            for row, others, further in zip(used, lookalikes, general, strict=True)
        ]
        print(f"  {name}: {len(used)} questions", file=sys.stderr, flush=True)
    chosen.shuffle(groups)
    return groups


def _row(raw: dict[str, Any]) -> Row:
    passage = raw["passage"]
    answers = tuple(answer for answer in raw.get("answers", []) if answer)
    known = next((text for text in (raw.get("sentence"), *answers) if text and len(text) > LONGEST_CHANCE), "")
    at = locate(known, passage)
    title = unquote(raw["title"]).replace("_", " ") if raw.get("title") else None
    return Row(raw["source"], plain(raw["question"]), passage, answers, at, title)


def locate(piece: str, text: str) -> tuple[int, int] | None:
    """Return where `piece` first occurs in `text`, ignoring case, spaces and punctuation (of tokenised text)."""
    places = [place for place, character in enumerate(text) if character.isalnum()]
    letters = "".join(text[place].lower()[:1] for place in places)
    wanted = fingerprint(piece)
    found = letters.find(wanted) if wanted else -1
    return None if found < 0 else (places[found], places[found + len(wanted) - 1] + 1)


def _from_sentences(raw: dict[str, Any]) -> Row | None:
    """Return a SelQA section, joined from its sentences; the first relevant one is the answer."""
    passage, at = "", None
    for sentence in raw["sentences"]:
        text = plain(sentence["text"])
        start = len(passage) + 1 if passage else 0
        passage = f"{passage} {text}" if passage else text
        if sentence["relevant"] and at is None:
            at = (start, start + len(text))
    return Row(raw["source"], plain(raw["question"]), passage, (), at, None) if at else None


def plain(text: str) -> str:
    """Return a tokenised text ("Israel 's ( only ) port ?") with normal spacing."""
    text = re.sub(r"\s+(?=[,.;:?!%)\]]|'s\b|n't\b|'re\b|'ve\b|'ll\b)", "", text)
    text = re.sub(r"``\s*", '"', re.sub(r"\s*''", '"', re.sub(r"(?<=[(\[$])\s+", "", text)))
    return " ".join(text.split())


def _lookalikes(
    used: Sequence[Row],
    own: Sequence[Row],
    source: Source,
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
    chosen: random.Random,
) -> list[list[str]]:
    """Return negatives for each row: never its own passage, a passage of the same question, or one with the answer."""
    passages = list(dict.fromkeys(row.passage for row in own))
    if len(passages) > MOST_MINED:
        passages = chosen.sample(passages, MOST_MINED)
    answered: dict[str, set[str]] = {}
    for row in own:
        answered.setdefault(fingerprint(row.question), set()).add(row.passage)
    if source.near:
        vectors, asked = embed(passages), embed([row.question for row in used])
    found = []
    for at, row in enumerate(used):
        if source.near:
            order = np.argsort(-(vectors @ asked[at]))[:12].tolist()
            # Mostly the nearest, sometimes one further down, since the app shows those, too.
            order = sorted(order, key=lambda place: order.index(place) + chosen.random() * 4)
        else:
            order = chosen.sample(range(len(passages)), min(12, len(passages)))
        fit = [passages[i] for i in order if passages[i] not in answered[fingerprint(row.question)]]
        found.append(
            [text for text in fit if not _answers(text, row)][: source.lookalikes if chosen.random() < 0.5 else 1]
        )
    return found


def load_encyclopaedia(path: Path, held: HeldOut, chosen: random.Random) -> list[tuple[str, str]]:
    """Return titles and passages from a file of articles (`title`, `text`), a few from each, none of them held out."""
    found: list[tuple[str, str]] = []
    for article in read_lines(path):
        sentences = [span for span in split_sentences(article["text"]) if len(span.text.split()) > 4]  # no headings
        for _ in range(min(GENERAL_EACH, len(sentences) // 6)):
            first = chosen.randrange(len(sentences))
            text = article["text"][sentences[first].start : sentences[min(first + 5, len(sentences) - 1)].end]
            if not held.holds(text):
                found.append((article["title"], text))
    return chosen.sample(found, min(MOST_GENERAL, len(found)))


def _general(
    used: Sequence[Row],
    encyclopaedia: Sequence[tuple[str, str]],
    vectors: NDArray[np.float32],
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
    chosen: random.Random,
) -> list[tuple[str, str] | None]:
    """Return for a share of the rows a passage that looks like an answer, from another article."""
    asked = embed([row.question for row in used])
    found: list[tuple[str, str] | None] = []
    for at, row in enumerate(used):
        if chosen.random() >= GENERAL:
            found.append(None)
            continue
        order = np.argsort(-(vectors @ asked[at]))[:8].tolist()
        fit = [
            encyclopaedia[i]
            for i in order
            if encyclopaedia[i][0].lower() != (row.title or "").lower() and not _answers(encyclopaedia[i][1], row)
        ]
        found.append(chosen.choice(fit[:3]) if fit else None)
    return found


def _answers(text: str, row: Row) -> bool:
    same_cut_elsewhere = row.passage[:80] in text or text[:80] in row.passage
    return same_cut_elsewhere or holds(text, row.answers)


def _group(
    row: Row, lookalikes: Sequence[str], general: tuple[str, str] | None, source: Source, chosen: random.Random
) -> Group:
    question = dress(row.question, chosen)
    prefix = f"{row.title}\n" if row.title and chosen.random() < WITH_TITLE else ""
    sentences = split_sentences(row.passage)
    answer = _holding(sentences, row.answer_at)
    first, last = window(sentences, answer, chosen)
    at = None
    if row.answer_at and answer is not None:
        at = _moved(row.answer_at, len(prefix) - sentences[first].start)
    text = row.passage[sentences[first].start : sentences[last].end]
    passages = [Pair(question, prefix + text, True, at)]
    for other in lookalikes:
        spans = split_sentences(other)
        start, end = window(spans, None, chosen)
        passages.append(Pair(question, prefix + other[spans[start].start : spans[end].end], False))
    if general:
        title, other = general
        spans = split_sentences(other)
        start, end = window(spans, None, chosen)
        other = other[spans[start].start : spans[end].end]
        passages.append(Pair(question, f"{title}\n{other}" if prefix else other, False))
    cut = _cut(row, sentences[first : last + 1], sentences[answer] if answer is not None else None)
    if cut:
        passages.append(Pair(question, prefix + cut, False))
    if chosen.random() < ALTERED and (other_question := unanswerable(row.question, row.passage, chosen)):
        passages.append(Pair(dress(other_question, chosen), prefix + text, False))
    strips: list[Pair] = []
    if source.sentences and answer is not None and len(sentences) > 1:
        span = sentences[answer]
        at = _moved(row.answer_at, -span.start) if row.answer_at else None
        strips.append(Pair(question, span.text, True, at))
        asked = content_words(row.question)
        rest = [
            other for number, other in enumerate(sentences) if number != answer and not holds(other.text, row.answers)
        ]
        # One that shares words with the question, and a random one.
        rest.sort(key=lambda other: -len(asked & content_words(other.text)) + chosen.random())
        picked = rest[:1] + chosen.sample(rest[1:], min(1, len(rest[1:])))
        strips += [Pair(question, other.text, False) for other in picked]
    return Group(row.source, tuple(passages), tuple(strips) if len(strips) > 1 else ())


def _moved(place: tuple[int, int], by: int) -> tuple[int, int]:
    return place[0] + by, place[1] + by


def _holding(sentences: Sequence[Span], place: tuple[int, int] | None) -> int | None:
    """Return the number of the sentence in which the answer begins."""
    if place is None:
        return None
    return next((number for number, span in enumerate(sentences) if span.start <= place[0] < span.end), None)


def window(sentences: Sequence[Span], answer: int | None, chosen: random.Random) -> tuple[int, int]:
    """Return the first and last sentence of a passage of random length that contains the answer."""
    limits = (FEWEST_WORDS, USUAL_WORDS) if chosen.random() < SHORT else (USUAL_WORDS, MOST_WORDS)
    goal = chosen.randint(*limits)
    lengths = [len(span.text.split()) for span in sentences]
    if answer is None:
        # A long answer begins with its subject, so the passage must contain its start.
        first = last = 0 if chosen.random() < 0.5 or sum(lengths) <= goal else chosen.randrange(len(sentences))
    else:
        first = last = answer
    total = lengths[first]
    while total < goal and (first > 0 or last + 1 < len(sentences)):
        forward = last + 1 < len(sentences) and (first == 0 or chosen.random() < 0.5)
        first, last = (first, last + 1) if forward else (first - 1, last)
        total += lengths[last if forward else first]
    return first, last


def _cut(row: Row, sentences: Sequence[Span], answer: Span | None) -> str | None:
    """Return the passage without the answer's sentence: on the topic, but no answer. None if that is not possible."""
    rest = [span.text for span in sentences if answer is None or span.start != answer.start]
    text = " ".join(rest)
    if answer is None or len(text.split()) < USUAL_WORDS // 2 or holds(text, row.answers):
        return None
    return text
