"""Make training groups from documents with questions, with what the app retrieves for each question.

It reads the JSON lines of INDEX's form: `id`, `text`, `questions` (each with `question`, `evidence`: every line that a
complete answer needs, verbatim, and perhaps `also`: other wordings). Documents go through the app's own chunker, store
and retrieval, so that pairs are like those in use.

A question's positives are the chunk with most of the needed lines, and other chunks with at least a third of them. Its
negatives are retrieved chunks without a needed line, and its own chunk with the needed lines cut out. If the document
does not answer the question, every retrieved chunk is a negative. Other wordings of a question often do not name its
subject, and another document, such as a second lease, may well answer them: their negatives come only from their own
document.

Every IN_COLUMNS-th document has its tables in columns, as the PDF reader writes them, instead of in Markdown.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from lab.relevance.data import read_lines
from lab.training.pairs import Group, Pair
from lab.training.questions import dress
from localcrag.app.assembly import Assembly
from localcrag.crag.refine.strips import split_into_strips
from localcrag.crag.retrieve import hybrid_search
from localcrag.records.enums import IngestStatus, StripMode
from localcrag.records.ingest import IngestResult, Upload
from localcrag.records.passages import Passage
from localcrag.records.protocols import Embedder, Vectors
from localcrag.settings import load
from localcrag.text.blocks import is_rule
from localcrag.text.sentences import Span

FOUND = 20
"""Number of passages retrieved for a question."""
NEAR = 6
"""Number of the nearest of them that count as easily mistaken for an answer."""
EVERYDAY, PLAIN, NEAR_MISSES = "everyday documents", "plain questions", "near_misses"
LICENCES = {
    EVERYDAY: "Apache-2.0 (everyday), public domain and MIT (handbooks)",
    PLAIN: "Apache-2.0",
    NEAR_MISSES: "Apache-2.0 (questions); those of the passages' sources",
}
BOTH = 0.8
"""Share of the questions that are used in both wordings; the others are used only in the first."""
ALSO = 0.33
"""Share of the questions whose other wording comes first."""
SOME_OF_IT = 1 / 3
"""Share of the needed lines that a chunk other than the best one must contain to be relevant, too."""
CUT = 0.5
"""Share of the answered questions that have their own chunk without the needed lines as a negative."""
LEFT = 0.3
"""Share of a text that must be left without the needed lines for it to be used."""
HELD = 0.8
"""Share of a needed line's words in a sentence by which the line is recognised if it is cut differently."""

AT_ONCE = 512
"""Questions that are embedded together."""
IN_COLUMNS = 4
"""One in this many documents has its tables in columns."""

_NOT_WORD = re.compile(r"[\W_]+")
_TABLE_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a document; `needed` are the lines of a complete answer, none if it has no answer."""

    document: str
    text: str
    also: str
    needed: tuple[str, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Found:
    """A question with its retrieved passages, and the numbers of the needed lines in each."""

    question: Question
    passages: tuple[Passage, ...]
    holds: tuple[frozenset[int], ...]


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents in the app's store."""

    assembly: Assembly
    questions: tuple[Question, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Made:
    """Groups to train on, groups of the documents kept apart, and the `names` of those documents."""

    seen: list[Group]
    known: list[Group]
    names: list[str]


def collect(files: Sequence[Path], folder: Path) -> Collection:
    """Add the documents in these files to a collection below `folder`; return it with their questions.

    Raises SystemExit if one of them cannot be added.
    """
    assembly = Assembly(load(data_dir=folder / "data"))
    (folder / "documents").mkdir(parents=True, exist_ok=True)
    questions: list[Question] = []
    uploads: list[Upload] = []
    for raw in (raw for file in files for raw in read_lines(file)):
        name = name_of(raw)
        path = folder / "documents" / name
        path.write_text(in_columns(raw["text"]) if is_one_of(name, IN_COLUMNS) else raw["text"], "utf-8")
        uploads.append(Upload(path, name))
        questions += [_question(name, one) for one in raw["questions"]]
    for event in assembly.ingest(uploads):
        if isinstance(event, IngestResult) and event.status is IngestStatus.FAILED:
            raise SystemExit(event.error)
    return Collection(assembly, tuple(questions))


def in_columns(text: str) -> str:
    """Return a text with the cells of Markdown tables separated by two spaces."""
    lines = (line for line in text.split("\n") if "|" not in line or not is_rule(line.strip()))
    return _TABLE_ROW.sub(lambda row: "  ".join(cell.strip() for cell in row[1].split("|")), "\n".join(lines))


def _question(name: str, raw: Mapping[str, Any]) -> Question:
    needed = tuple(raw["evidence"])
    return Question(name, raw["question"], raw.get("also") or raw["question"], needed, raw.get("type", ""))


def opened(files: Sequence[Path], folder: Path) -> Collection:
    """Return the collection of these files, made by `collect` unless it exists. Raises SystemExit."""
    if not (folder / "data").exists():
        return collect(files, folder)
    questions = [_question(name_of(raw), one) for file in files for raw in read_lines(file) for one in raw["questions"]]
    return Collection(Assembly(load(data_dir=folder / "data")), tuple(questions))


def name_of(raw: Mapping[str, Any]) -> str:
    """Return the name of a document in the collection."""
    return f"{raw['id']}.md".replace("/", "-")


def strips_in_context(passage: Passage) -> list[Span]:
    """Return a passage's strips at their positions in the text that the scorer reads."""
    before = len(passage.in_context) - len(passage.text)
    return [Span(span.start + before, span.end + before, span.text) for span in strips_of(passage.text)]


class EmbeddedBefore:
    """An embedding model that embeds all questions in advance: one at a time would take four times as long."""

    def __init__(self, embedder: Embedder, texts: Sequence[str]) -> None:
        self._embedder = embedder
        different = list(dict.fromkeys(texts))
        at_once = [embedder.embed_questions(different[at : at + AT_ONCE]) for at in range(0, len(different), AT_ONCE)]
        self._vectors = dict(zip(different, (vector for vectors in at_once for vector in vectors), strict=True))

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension)."""
        return self._embedder.embed(texts)

    def embed_questions(self, questions: Sequence[str]) -> Vectors:
        """Return an array of shape (len(questions), dimension)."""
        if not questions or not all(question in self._vectors for question in questions):
            return self._embedder.embed_questions(questions)
        return np.stack([self._vectors[question] for question in questions])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)


def find(
    collection: Collection, question: Question, text: str, *, k: int = FOUND, embedder: Embedder | None = None
) -> Found:
    """Return the passages that the app retrieves for a question in the wording `text`."""
    parts = collection.assembly.parts(collection.assembly.settings)
    embedder = embedder or parts.embedder
    passages = hybrid_search(text, text, k=k, candidates=2 * k, embedder=embedder, index=parts.index, store=parts.store)
    return Found(question, passages, tuple(lines_held(question, passage) for passage in passages))


def lines_held(question: Question, passage: Passage) -> frozenset[int]:
    """Return the numbers of the needed lines in a passage; none if it is from another document."""
    if passage.document != question.document:
        return frozenset()
    text = plain(passage.text)
    return frozenset(n for n, line in enumerate(question.needed) if is_line(line) and plain(line) in text)


def is_line(line: str) -> bool:
    """Return whether a needed line is part of the answer, and not a heading or a table's header above it."""
    return not line.lstrip().startswith("#") and bool(plain(line))


def plain(text: str) -> str:
    """Return only a text's words, in lower case and separated by one space."""
    return _NOT_WORD.sub(" ", text.replace(" %", "%").lower()).strip()


def groups(found: Found, text: str, chosen: random.Random, *, source: str, beside: int = 1) -> Iterator[Group]:
    """Yield the group of a question in the wording `text`, if it is useful for training.

    `beside` multiplies the usual three or four passages that do not answer.
    """
    question = found.question
    ranked = sorted(range(len(found.passages)), key=lambda at: -len(found.holds[at]))
    lines = sum(is_line(line) for line in question.needed)
    own_alone = text != question.text
    negatives = [
        at
        for at, passage in enumerate(found.passages)
        if not found.holds[at] and (passage.document == question.document or not own_alone)
    ]
    if not question.needed:
        own = [at for at in negatives if found.passages[at].document == question.document]
        picked = [*own[: 3 * beside], *[at for at in negatives[:NEAR] if at not in own][:beside]]
        if picked:
            yield Group(source, tuple(_pair(text, found.passages[at], question, False) for at in picked), ())
        return
    best = [at for at in ranked if len(found.holds[at]) >= max(1, SOME_OF_IT * lines)][:2]
    if not best:
        return
    passages = [_pair(text, found.passages[best[0]], question, True)]
    near = [at for at in negatives if at < NEAR][: 2 * beside]
    own = [at for at in negatives if found.passages[at].document == question.document and at not in near]
    picked = near or negatives[:2]
    passages += [_pair(text, found.passages[at], question, False) for at in (*picked, *own[:beside])]
    if chosen.random() < CUT and (cut := _without_needed(text, found.passages[best[0]], question)):
        passages.append(cut)
    yield Group(source, tuple(passages), ())
    if len(best) > 1:
        yield Group(source, (_pair(text, found.passages[best[1]], question, True),), ())


def strips_of(text: str) -> list[Span]:
    """Return a passage's strips as the app cuts them."""
    return split_into_strips(text, StripMode.SENTENCE, window_words=50)


def needs(question: Question, strip: str) -> bool:
    """Return whether a strip equals, contains or is part of a needed line."""
    own = plain(strip)
    words = set(own.split())
    for line in question.needed:
        other = plain(line)
        if not own or not other:
            continue
        if other in own or (own in other and len(own) > 0.5 * len(other)):
            return True
        wanted = set(other.split())
        if len(words & wanted) >= HELD * len(wanted) or (len(words) > 3 and len(words & wanted) >= 0.95 * len(words)):
            return True
    return False


def _pair(text: str, passage: Passage, question: Question, relevant: bool) -> Pair:
    read = passage.in_context
    before = len(read) - len(passage.text)
    lines: tuple[tuple[int, int, bool], ...] = ()
    if relevant:
        lines = tuple(
            (span.start + before, span.end + before, needs(question, span.text)) for span in strips_of(passage.text)
        )
    return Pair(text, read, relevant, lines=lines)


def _without_needed(text: str, passage: Passage, question: Question) -> Pair | None:
    """Return the passage without the needed lines: on the topic, but no answer. None if too little is left."""
    cut = without(passage.text, [span for span in strips_of(passage.text) if needs(question, span.text)])
    if len(cut) < LEFT * len(passage.text):
        return None
    read = passage.in_context
    return Pair(text, read[: len(read) - len(passage.text)] + cut, False)


def without(text: str, spans: Sequence[Span]) -> str:
    """Return a text without these spans and the white space after them; the rest is unchanged."""
    kept, position = [], 0
    for span in spans:
        kept.append(text[position : span.start])
        position = span.end + len(text[span.end :]) - len(text[span.end :].lstrip())
    return "".join([*kept, text[position:]]).strip()


def near_miss_groups(file: Path, chosen: random.Random) -> Iterator[Group]:
    """Yield the groups in `near_misses.jsonl.gz`: passages with questions that they answer, and that they do not."""
    for raw in read_lines(file):
        text = raw["passage"]
        spans = strips_of(text)
        for one in raw["answered"]:
            asked = Question("", one["question"], one["question"], (one["sentence"],), "")
            lines = tuple((span.start, span.end, needs(asked, span.text)) for span in spans)
            passages = [Pair(one["question"], text, True, lines=lines)]
            cut = without(text, [span for span in spans if needs(asked, span.text)])
            if len(cut) > LEFT * len(text):
                passages.append(Pair(one["question"], cut, False))
            yield Group(NEAR_MISSES, tuple(passages), ())
        missed = [Pair(question, text, False) for question in raw["not_answered"]]
        if missed:
            yield Group(NEAR_MISSES, tuple(chosen.sample(missed, len(missed))), ())


def dressed(group: Group, chosen: random.Random) -> Group:
    """Return the group with its questions rewritten in one of the ways in which people type."""
    ways = {pair.question: dress(pair.question, chosen) for pair in group.passages}
    return replace(group, passages=tuple(replace(pair, question=ways[pair.question]) for pair in group.passages))


def is_one_of(document: str, every: int) -> bool:
    """Return whether a document belongs to a fixed share, one in `every`, chosen by a hash of its name."""
    return int(hashlib.sha256(document.encode()).hexdigest(), 16) % every == 0


def plain_questions(files: Sequence[Path]) -> list[Question]:
    """Return the questions in files with one a line: `id` of its document, `question`, `type`, `evidence`."""
    return [_question(name_of(raw), raw) for file in files for raw in read_lines(file)]


def document_groups(
    file: Path, folder: Path, every: int, chosen: random.Random, plain: Sequence[Question] = (), *, beside: int = 1
) -> Made:
    """Return the groups of a file's documents, made from the `plain` questions if there are any, else from its own.

    One in `every` documents is kept apart. `beside` multiplies the usual passages that do not answer.
    """
    collection = opened([file], folder) if plain else collect([file], folder)
    names = {question.document for question in collection.questions}
    source = PLAIN if plain else EVERYDAY
    seen: list[Group] = []
    known: list[Group] = []
    asked: list[tuple[Question, str]] = []
    for question in plain or collection.questions:
        if question.document not in names:
            continue
        forms = [question.text, question.also]
        if chosen.random() < ALSO:
            forms.reverse()
        # Most questions with two wordings are used in both, each with the passages that it finds.
        asked += [(question, text) for text in dict.fromkeys(forms[: 1 + (chosen.random() < BOTH)])]
    parts = collection.assembly.parts(collection.assembly.settings)
    embedder = EmbeddedBefore(parts.embedder, [text for _, text in asked])
    for question, text in asked:
        found = find(collection, question, text, embedder=embedder)
        made = list(groups(found, text, chosen, source=source, beside=beside))
        (known if is_one_of(question.document, every) else seen).extend(made)
    collection.assembly.close()
    return Made(seen, known, sorted(name for name in names if is_one_of(name, every)))
