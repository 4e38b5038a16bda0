"""Choose the table that a question is about, among those of the retrieved passages and similar tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from localcrag.records.enums import Grade, Operation, Origin
from localcrag.records.passages import GradedPassage, Passage
from localcrag.records.protocols import ChunkStore
from localcrag.tables.parse import PAGE_BREAK, Table, Tables, pages_with_columns
from localcrag.tables.parsed_question import may_meet
from localcrag.tables.plan import build_plan
from localcrag.tables.plan_columns import TablePlan
from localcrag.tables.question import Request
from localcrag.tables.vocabulary import content_stems, stems_of, words_of
from localcrag.text.blocks import BlockKind, split_blocks
from localcrag.text.sentences import split_sentences
from localcrag.text.words import FUNCTION_WORDS, SMALL_NUMBERS, TENS

LONGEST_TEXT = 5_000_000
"""Maximum number of characters of a document whose tables are read."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan for a table of a document, and the retrieved passages that contain a part of the table."""

    plan: TablePlan
    document: str
    title: str | None
    passages: tuple[GradedPassage, ...]

    @property
    def table(self) -> Table:
        """The table that the plan is for."""
        return self.plan.known.table

    @property
    def header(self) -> tuple[str, ...]:
        """The names of its columns, in lower case."""
        return tuple(name.casefold() for name in self.table.header)


def names_of(document: str, title: str | None, section: str | None) -> list[str]:
    """Return the names of a document, and of the section that contains a table."""
    stem = PurePath(document).stem.replace("_", " ").replace("-", " ")
    return [name for name in (stem, title, section) if name]


def chunk_of(passage: Passage) -> int:
    """Return the id of the chunk that a passage is, or that it begins with."""
    return int(passage.id.removeprefix("chunk-"))


@dataclass(frozen=True, slots=True)
class _Documents:
    """The documents to search: those with the ids `within`, or all. `read` are the tables of those that were read."""

    store: ChunkStore
    within: Collection[int] | None
    read: dict[str, Tables] = field(default_factory=dict)

    def tables(self, name: str, chunk: int, *, paged: bool) -> Tables:
        """Return the tables of the document with this name, to which a chunk belongs."""
        if name not in self.read:
            text = self.store.excerpt(chunk, 0, LONGEST_TEXT)
            # The text of a longer document is cut off, and perhaps in the middle of a table.
            self.read[name] = Tables(text if len(text) < LONGEST_TEXT else "", paged=paged)
        return self.read[name]


MOST_CHUNKS = 30
"""Maximum number of passages that full-text search returns for column names."""
MOST_PAGES = 50
"""Maximum number of pages of a document that are read for tables with the same columns."""


def rivals(request: Request, found: Sequence[Candidate], documents: _Documents) -> list[Candidate]:
    """Return candidates with the same columns as those found, of whose tables no part was retrieved."""
    seen = {(one.document, one.table.start) for one in found}
    made: list[Candidate] = []
    for header in dict.fromkeys(one.header for one in found):
        own = {one.document: chunk_of(one.passages[0]) for one in found if one.header == header and one.passages}
        for document, title, table in _tables_with_columns(header, own, documents):
            place = (document, table.start)
            if place in seen or tuple(name.casefold() for name in table.header) != header:
                continue
            seen.add(place)
            names = names_of(document, title, None)
            one = next(one for one in found if one.header == header)
            if plan := build_plan(request, table, names) or _joint_plan(request, one.table, table, names):
                made.append(Candidate(plan, document, title, ()))
    return made


def _joint_plan(request: Request, table: Table, rival: Table, names: Sequence[str]) -> TablePlan | None:
    """Return a plan for both tables combined, if rows of the rival would count; otherwise None.

    On its own, a rival in which no customer has two orders would not fit a question about groups.
    """
    both = replace(table, rows=(*table.rows, *rival.rows), caption=rival.caption, section=rival.section)
    plan = build_plan(request, both, names)
    counts = plan and set(rival.rows).intersection(may_meet(plan.tests, plan.known.rows))
    return plan if counts else None


def _tables_with_columns(
    header: Sequence[str], own: Mapping[str, int], documents: _Documents
) -> Iterator[tuple[str, str | None, Table]]:
    """Yield document, title and table for each table with these columns, in documents that full-text search finds.

    The documents in `own` (each with one of its chunks) are always read, because a long table can fill all results of a
    search.
    """
    store, within = documents.store, documents.within
    every = {document.id for document in store.documents()} if within is None else set(within)
    others = every - set(store.documents_of(list(own.values())).values())
    ids = [*own.values(), *(store.full_text(" ".join(header), MOST_CHUNKS, others) if others else ())]
    chunks, titles = store.chunks(ids), store.titles(ids)
    first: dict[str, int] = {}
    for chunk in ids:
        if chunk in chunks:
            first.setdefault(chunks[chunk][0], chunk)
    for document, chunk in first.items():
        read = documents.tables(document, chunk, paged=chunks[chunk][1].page is not None)
        end = -1
        for number, place in enumerate(pages_with_columns(read.text, header)):
            if place < end or number >= MOST_PAGES:
                continue  # This page is part of the table that was just read.
            for table in read.on_page(place):
                end = max(end, table.end)
                yield document, titles.get(chunk), table


WORDS_AFTER_NUMBER = 3
"""Number of words after a number that may name what it counts: "45 permanent employees"."""

_NUMBERS = frozenset((*SMALL_NUMBERS, *TENS, "dozen", "hundred"))
_TABLE = (BlockKind.HEADER, BlockKind.ROW)


def candidates(
    request: Request, passages: Sequence[GradedPassage], store: ChunkStore, within: Collection[int] | None = None
) -> list[Candidate]:
    """Return the candidates that a request names best; several if it names them equally well.

    Returns none if a passage of another document answers the request and no passage of the table's document does, or if
    a sentence already seems to state the result. Tables with the same columns in the documents `within`, which
    retrieval missed, are candidates as well: an answer from one table alone would ignore the others.
    """
    documents = _Documents(store, within)
    found = []
    for table, first, own in _tables(passages, documents):
        # The section of a passage names its tables only if the document has pages.
        section = first.section if first.page is not None else None
        if plan := build_plan(request, table, names_of(str(first.document), first.title, section)):
            found.append(Candidate(plan, str(first.document), first.title, tuple(own)))
    # Of copies of a table, as in a file that was added twice, the first counts.
    kept: dict[tuple[object, ...], Candidate] = {}
    for one in (*found, *rivals(request, found, documents)):
        kept.setdefault((one.table.header, tuple(row.cells for row in one.table.rows)), one)
    named = _best_named(request, list(kept.values()))
    if len(named) > 1:
        named = [one for one in named if may_meet(one.plan.tests, one.plan.known.rows)] or named
    if len(named) == 1 and not named[0].passages:
        return []  # A table that retrieval missed is hardly the one that is meant.
    fit = [one for one in named if _is_relevant(one, passages) and not _is_stated(one, request, passages)]
    headers = {one.header for one in fit}
    return [one for one in named if one.header in headers]


def _tables(
    passages: Sequence[GradedPassage], documents: _Documents
) -> Iterator[tuple[Table, GradedPassage, list[GradedPassage]]]:
    """Yield each table on the pages of passages that contain a part of a table.

    With each table come a passage of its document and the passages that contain a part of it, possibly none.
    """
    seen: set[tuple[str, int]] = set()
    known: set[tuple[str, int]] = set()
    local = [one for one in passages if one.origin is Origin.LOCAL and one.document and one.start is not None]
    for passage in local:
        name = str(passage.document)
        if not any(block.kind in _TABLE for block in split_blocks(passage.text)) and not passage.lead:
            continue
        read = documents.tables(name, chunk_of(passage), paged=passage.page is not None)
        page = read.text.rfind(PAGE_BREAK, 0, passage.start or 0)
        if (name, page) in known:
            continue
        known.add((name, page))
        for table in read.on_page(passage.start or 0):
            if (name, table.start) not in seen:
                seen.add((name, table.start))
                own = [one for one in local if one.document == name and overlaps(one, table.start, table.end)]
                yield table, passage, own


def overlaps(passage: GradedPassage, start: int, end: int) -> bool:
    """Return whether a passage contains a part of this range of its document."""
    return passage.start is not None and passage.end is not None and passage.start < end and start < passage.end


def _best_named(request: Request, found: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates whose table or document the question names best; all if it names none.

    Cells count as well: in "the cost of Kitchen", Kitchen may be a department, or the title of a quote for a kitchen.
    """
    asked = {word.stem for word in words_of(request.text)}

    def named(one: Candidate) -> tuple[int, int]:
        document_stems = content_stems(f"{PurePath(one.document).stem} {one.title or ''}".replace("_", " "))
        values = [value for test in one.plan.tests for value in (test.value, *test.others) if isinstance(value, str)]
        cells = content_stems(" ".join(values))
        return len((content_stems(one.table.name) | cells) & asked), len((document_stems | cells) & asked)

    best = max(map(named, found), default=(0, 0))
    return [one for one in found if named(one) == best]


def _is_relevant(one: Candidate, passages: Sequence[GradedPassage]) -> bool:
    """Return whether no other document answers better, judged by the grades of the passages."""
    own = any(passage.grade is not Grade.INCORRECT for passage in passages if passage.document == one.document)
    return own or not any(passage.grade is Grade.CORRECT for passage in passages)


def _is_stated(one: Candidate, request: Request, passages: Sequence[GradedPassage]) -> bool:
    """Return whether a sentence seems to state the result already.

    Only passages count that may help, or that are as relevant as the best passage of the table's document.
    """
    if one.plan.operation in (Operation.FILTER, Operation.VALUES):
        return False
    best = max((passage.relevance for passage in passages if passage.document == one.document), default=0.0)
    passages = [passage for passage in passages if passage.grade is not Grade.INCORRECT or passage.relevance >= best]
    nouns = _nouns(request)
    asks = set(stems_of(request.asks))
    about = nouns | content_stems(one.plan.column.name) if one.plan.column else nouns
    for words in _sentences(passages):
        numbers = [at for at, word in enumerate(words) if word.isdigit() or word in _NUMBERS]
        if one.plan.operation is Operation.COUNT:
            # A number of the things that `nouns` name: "45 permanent employees".
            if any(nouns & set(words[at + 1 : at + 1 + WORDS_AFTER_NUMBER]) for at in numbers):
                return True
        elif numbers and asks <= set(words) and about & set(words):
            return True
    return False


def _sentences(passages: Sequence[GradedPassage]) -> Iterator[list[str]]:
    """Yield the words of each sentence in the passages, except in tables and headings."""
    for passage in passages:
        for block in split_blocks(passage.text):
            if block.kind not in (*_TABLE, BlockKind.HEADING):
                for sentence in split_sentences(passage.text[block.start : block.end]):
                    yield stems_of(sentence.text)


def _nouns(request: Request) -> set[str]:
    """Return the words for what is counted or listed; if there is no such noun, all meaningful words."""
    words = [word.stem for word in words_of(request.rest[request.target or 0 :])]
    if request.target is None:
        return set(words) - FUNCTION_WORDS
    first = next((at for at, word in enumerate(words) if word not in FUNCTION_WORDS), 0)
    behind = next((at for at, word in enumerate(words) if at > first and word in FUNCTION_WORDS), len(words))
    return set(words[first:behind])
