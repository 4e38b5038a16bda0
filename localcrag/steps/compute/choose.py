"""Which table of the retrieved passages a question is put to; none where that is not clear."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePath

from localcrag.records.enums import Grade, Operation, Origin
from localcrag.records.passages import GradedPassage
from localcrag.records.protocols import ChunkStore
from localcrag.steps.compute.candidate import LONGEST_TEXT, Candidate, chunk_of, names_of, without_copies
from localcrag.steps.compute.matching import words_of
from localcrag.steps.compute.plan import plan_of
from localcrag.steps.compute.question import Request
from localcrag.steps.compute.rivals import rivals
from localcrag.steps.compute.table import PAGE_BREAK, Table, Tables
from localcrag.steps.compute.vocabulary import said_by, stems_of
from localcrag.text.blocks import BlockKind, blocks_of
from localcrag.text.number_words import SMALL, TENS
from localcrag.text.sentences import split_sentences
from localcrag.text.words import FUNCTION_WORDS

BEHIND_NUMBER = 3
"""Words behind a number among which what it counts stands: "45 permanent employees"."""

_NUMBERS = frozenset((*SMALL, *TENS, "dozen", "hundred"))
_TABLE = (BlockKind.HEADER, BlockKind.ROW)


def candidates(
    request: Request, passages: Sequence[GradedPassage], store: ChunkStore, within: Collection[int] | None = None
) -> list[Candidate]:
    """Return the tables that a request can be put to, those whose names it says best; several are equally good.

    None where a passage of another document answers and none of the table's does, or where a sentence seems to say what
    would be computed. Tables with the same columns that retrieval did not find, of the documents `within`, are looked
    for as well: an answer on one of them alone would pass over the others.
    """
    texts: dict[str, Tables] = {}
    found = [
        Candidate(plan, str(first.document), first.title, tuple(own))
        for table, first, own in _tables(passages, store, texts)
        if (plan := plan_of(request, table, _names(first)))
    ]
    named = _best_named(request, without_copies([*found, *rivals(request, found, store, within, texts)]))
    if len(named) > 1:
        named = [one for one in named if one.may_have_rows] or named
    if len(named) == 1 and not named[0].passages:
        return []  # What retrieval did not find is hardly meant.
    kept = [one for one in named if _is_relevant(one, passages) and not _is_said(one, request, passages)]
    headers = {one.header for one in kept}
    return [one for one in named if one in kept or one.header in headers]


def _names(passage: GradedPassage) -> list[str]:
    """Return what a passage's document is called; of one with pages, also where in it the passage stands."""
    return names_of(passage.document or "", passage.title, passage.section if passage.page is not None else None)


def _tables(
    passages: Sequence[GradedPassage], store: ChunkStore, texts: dict[str, Tables]
) -> Iterator[tuple[Table, GradedPassage, list[GradedPassage]]]:
    """Yield the tables of pages of which a passage has a part of one, each once.

    With each come a passage of its document, and those that have a part of it, which may be none. What is read of
    documents is kept in `texts`.
    """
    seen: set[tuple[str, int]] = set()
    read: set[tuple[str, int]] = set()
    local = [one for one in passages if one.origin is Origin.LOCAL and one.document and one.start is not None]
    for passage in local:
        name = str(passage.document)
        if not any(block.kind in _TABLE for block in blocks_of(passage.text)) and not passage.lead:
            continue
        if name not in texts:
            text = store.excerpt(chunk_of(passage), 0, LONGEST_TEXT)
            texts[name] = Tables(text if len(text) < LONGEST_TEXT else "", paged=passage.page is not None)
        page = texts[name].text.rfind(PAGE_BREAK, 0, passage.start or 0)
        if (name, page) in read:
            continue
        read.add((name, page))
        for table in texts[name].on_page_of(passage.start or 0):
            if (name, table.start) not in seen:
                seen.add((name, table.start))
                own = [one for one in local if one.document == name and overlaps(one, table.start, table.end)]
                yield table, passage, own


def overlaps(passage: GradedPassage, start: int, end: int) -> bool:
    """Whether a passage has a part of these places of its document."""
    return passage.start is not None and passage.end is not None and passage.start < end and start < passage.end


def _best_named(request: Request, found: Sequence[Candidate]) -> list[Candidate]:
    """Return those candidates whose table or document the question names best; all where it names none.

    A cell counts as much: "the cost of Kitchen" may be a department's, or of the quote for a kitchen.
    """
    asked = {word.stem for word in words_of(request.text)}

    def named(one: Candidate) -> tuple[int, int]:
        of_document = said_by(f"{PurePath(one.document).stem} {one.title or ''}".replace("_", " "))
        cells = {
            stem for test in one.plan.tests if isinstance(test.value, str)
            for value in (test.value, *test.others) for stem in said_by(value)
        }  # fmt: skip
        return len((said_by(one.table.name) | cells) & asked), len((of_document | cells) & asked)

    best = max(map(named, found), default=(0, 0))
    return [one for one in found if named(one) == best]


def _is_relevant(one: Candidate, passages: Sequence[GradedPassage]) -> bool:
    """Whether no other document answers better, by the grades of its passages."""
    own = any(passage.grade is not Grade.INCORRECT for passage in passages if passage.document == one.document)
    return own or not any(passage.grade is Grade.CORRECT for passage in passages)


def _is_said(one: Candidate, request: Request, passages: Sequence[GradedPassage]) -> bool:
    """Whether a sentence of a passage that may help, or does as well as the table's, seems to say what is asked for."""
    if one.plan.operation in (Operation.FILTER, Operation.VALUES):
        return False
    best = max((passage.relevance for passage in passages if passage.document == one.document), default=0.0)
    passages = [passage for passage in passages if passage.grade is not Grade.INCORRECT or passage.relevance >= best]
    nouns = _nouns(request)
    asks = set(stems_of(request.asks))
    about = nouns | said_by(one.plan.column.name) if one.plan.column else nouns
    if one.plan.operation is Operation.COUNT:
        return any(_counts(words, nouns) for words in _sentences(passages))
    return any(
        asks <= set(words) and about & set(words) and any(map(_is_number, words)) for words in _sentences(passages)
    )


def _counts(words: Sequence[str], nouns: set[str]) -> bool:
    """Whether a sentence has a number of what these words name: "45 permanent employees"."""
    return any(
        _is_number(word) and nouns & set(words[at + 1 : at + 1 + BEHIND_NUMBER]) for at, word in enumerate(words)
    )


def _sentences(passages: Sequence[GradedPassage]) -> Iterator[list[str]]:
    """Yield the words of each sentence of passages that stands in no table and is no heading."""
    for passage in passages:
        for block in blocks_of(passage.text):
            if block.kind not in (*_TABLE, BlockKind.HEADING):
                for sentence in split_sentences(passage.text[block.start : block.end]):
                    yield stems_of(sentence.text)


def _nouns(request: Request) -> set[str]:
    """Return the words of what is counted, or all that say something where nothing is."""
    words = [word.stem for word in words_of(request.rest[request.target or 0 :])]
    first = next((at for at, word in enumerate(words) if word not in FUNCTION_WORDS), 0)
    if request.target is None:
        return set(words) - FUNCTION_WORDS
    behind = next((at for at, word in enumerate(words) if at > first and word in FUNCTION_WORDS), len(words))
    return set(words[first:behind])


def _is_number(word: str) -> bool:
    return word.isdigit() or word in _NUMBERS
