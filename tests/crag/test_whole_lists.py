"""A list that was cut between two chunks is whole again in a passage that answers; other neighbours stay away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from localcrag.crag.grading import MAX_CHARACTERS, complete_list, graded, list_continues, without_contained
from localcrag.documents.chunking import join_pages
from localcrag.records.documents import Chunk, Page
from localcrag.records.enums import Origin
from localcrag.records.passages import Passage, Thresholds
from localcrag.records.protocols import Vectors
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.vector_index import ChunkIndex
from localcrag.storage.database import Database
from tests.support.chunks import split_into_chunks
from tests.support.desk import Desk
from tests.support.fakes import FakeEmbedder, FakeScorer

STEPS = "\n".join(f"{number}. Turn valve {number} to the left\n   and wait." for number in range(1, 15))
BULLETS = "\n".join(f"- A lamp of {number} watts." for number in range(1, 12))
ROWS = "| Valve | Turns |\n|---|---|\n" + "\n".join(f"| V{number} | {number} |" for number in range(1, 40))
THRESHOLDS = Thresholds(upper=0.5, lower=0.1, strip=0.1)


def passages(tmp_path: Path, *pages: str) -> tuple[DocumentStore, list[Passage]]:
    """Return a store with a document of these pages, and its chunks of about 40 words as passages."""
    embedder = FakeEmbedder()
    store = DocumentStore(Database(tmp_path / "db.sqlite3"), "c", embedder=embedder.name, dimension=embedder.dimension)
    read = [Page(number, text) for number, text in enumerate(pages, start=1)]
    chunks = split_into_chunks(
        read, lambda texts: [len(text.split()) for text in texts], title="Boiler", target=40, limit=60
    )
    store.put(
        "a.txt", sha256="x", media_type="t", pages=len(pages), text=join_pages(read), chunks=chunks,
        vectors=embedder.embed([chunk.text for chunk in chunks]),
    )  # fmt: skip
    found = store.chunks(store.chunk_ids())
    return store, [
        Passage(
            id=f"chunk-{number}", origin=Origin.LOCAL, text=chunk.text, document=name, page=chunk.page,
            start=chunk.start, end=chunk.end, section=chunk.section, lead=chunk.lead, cosine=0.5,
        )
        for number, (name, chunk) in found.items()
    ]  # fmt: skip


@pytest.mark.parametrize("listed", [STEPS, BULLETS], ids=["steps", "bullets"])
def test_a_list_is_whole_wherever_it_was_cut(tmp_path: Path, listed: str) -> None:
    text = f"# Boiler\n\n## To drain it\n\nDo this in order:\n\n{listed}\n\n## To sell it\n\nAsk the owner first.\n"
    store, found = passages(tmp_path, text)
    parts = [one for one in found if "To sell" not in one.text]
    assert len(parts) > 1
    for part in parts:
        whole = complete_list(part, store)
        assert listed in whole.text
        assert "Ask the owner" not in whole.text
        assert text[whole.start : whole.end] == whole.text
        assert whole.lead is None, "what leads into it is in it"


def test_a_passage_without_a_list_that_goes_on_is_itself(tmp_path: Path) -> None:
    prose = " ".join(f"Sentence number {number} is about the boiler." for number in range(30))
    store, found = passages(tmp_path, f"# Boiler\n\n{prose}\n\nIts valves:\n\n{ROWS}")
    assert len(found) > 3
    assert all(complete_list(one, store) is one for one in found)


def test_lists_of_two_pages_or_that_begin_anew_are_two(tmp_path: Path) -> None:
    store, found = passages(tmp_path, f"To drain it:\n\n{BULLETS[:90]}", BULLETS[90:])
    assert all(complete_list(one, store) is one for one in found)
    anew = "\n".join(f"1. Something that is done first, whatever comes then: {n}." for n in range(8))
    store, found = passages(tmp_path / "anew", anew)
    assert len(found) > 1
    assert all(complete_list(one, store) is one for one in found)


def test_of_a_very_long_list_as_much_is_taken_as_has_room(tmp_path: Path) -> None:
    store, found = passages(tmp_path, "\n".join(f"{number}. Turn valve {number} left." for number in range(1, 400)))
    whole = complete_list(found[3], store)
    assert MAX_CHARACTERS / 2 < len(whole.text) <= MAX_CHARACTERS
    assert found[3].text in whole.text


def test_what_lies_within_another_passage_is_not_shown_twice(tmp_path: Path) -> None:
    store, found = passages(tmp_path, f"To drain it:\n\n{STEPS}\n\n## To sell it\n\nAsk the owner first, and wait.")
    part, other = found[0], found[-1]
    whole = complete_list(part, store)
    likely, likelier, partly, apart = (
        graded(one, logit=1.0, relevance=relevance, thresholds=THRESHOLDS)
        for one, relevance in ((whole, 0.6), (whole, 0.7), (part, 0.9), (other, 0.1))
    )
    assert without_contained([likely, partly, apart, likelier]) == (apart, likelier)
    assert without_contained([partly, apart]) == (partly, apart)


def test_a_chunk_of_nothing_but_quotation_marks_is_no_list() -> None:
    assert not list_continues(Chunk(None, 0, 11, "- a\n- b"), Chunk(None, 11, 20, "> > > > >"))
    assert not list_continues(Chunk(None, 0, 9, "> > > > >"), Chunk(None, 9, 20, "- a\n- b"))


class _LikesShort(FakeScorer):
    """Finds a text the less relevant the longer it is."""

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        return np.array([1.0 - len(text) / 300 for text in texts], dtype=np.float32)


@pytest.mark.parametrize("scorer", [FakeScorer(), _LikesShort()], ids=["by words", "by length"])
def test_a_list_is_whole_although_the_longer_passage_scores_less(tmp_path: Path, scorer: FakeScorer) -> None:
    desk = Desk(tmp_path, llm="fake")
    desk.store, _ = passages(tmp_path / "lists", f"Do this in order to drain the boiler:\n\n{STEPS}")
    desk.scorer, desk.index = scorer, ChunkIndex(desk.store, tmp_path)
    _, run = desk.ask("How is the boiler drained?")
    assert [STEPS in passage.text for passage in run.passages] == [True]
