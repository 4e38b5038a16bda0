"""Repair cuts documents that lost their chunks from their stored text, and leaves all others as they are."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from localcrag.app import health
from localcrag.app.assembly import Assembly
from localcrag.documents.ingest import recut
from localcrag.records.documents import Chunk, Document
from localcrag.settings import load
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.salvage import copy_readable_rows
from tests.support.fakes import FakeEmbedder, FakeScorer

EMBEDDER = FakeEmbedder()
TEXT = """# Tarn Lodge

## Boat hire

A rowing boat is ten euros an hour, and the oars are in the shed behind the house; bring them back dry and clean.

## Sauna

It is heated from four to eight, on Sundays for women alone, and the wood is in the price; towels are not, bring them.
"""


def opened(folder: Path) -> tuple[Assembly, DocumentStore]:
    assembly = Assembly(load(data_dir=folder, chunk_tokens=32))
    assembly.models.share(embedder=EMBEDDER, scorer=FakeScorer())
    assembly._made.put(f"embedder {EMBEDDER.name}", EMBEDDER)
    return assembly, DocumentStore(assembly.database, "default", embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)


def put(store: DocumentStore, name: str, *, pages: int | None = None, text: str = TEXT, cut: bool = True) -> None:
    chunks = [Chunk(None, 0, len(text), text)] if cut else []
    store.put(
        name, sha256="0" * 64, media_type="text/markdown", pages=pages, text=text, chunks=chunks,
        vectors=EMBEDDER.embed([text] * len(chunks)),
    )  # fmt: skip


def document(store: DocumentStore, name: str) -> Document:
    (found,) = [one for one in store.documents() if one.name == name]
    return found


def test_a_document_without_chunks_is_cut_from_its_text_and_found_by_its_headings(tmp_path: Path) -> None:
    assembly, store = opened(tmp_path)
    put(store, "lost.md", cut=False)
    put(store, "whole.md")
    whole = document(store, "whole.md")
    assert health._recut(assembly, "default") == 1
    chunks = [chunk for name, chunk in store.chunks(store.chunk_ids()).values() if name == "lost.md"]
    assert {chunk.section for chunk in chunks} == {"Boat hire", "Sauna"}
    assert store.full_text("sauna", 9)
    assert document(store, "whole.md") == whole
    assert health._recut(assembly, "default") == 0
    assembly.close()


def test_the_file_of_a_document_that_was_cut_from_its_text_is_read_when_it_is_added_again(tmp_path: Path) -> None:
    assembly, store = opened(tmp_path)
    put(store, "lost.md", cut=False)
    before = document(store, "lost.md").sha256
    assert health._recut(assembly, "default") == 1
    assert document(store, "lost.md").sha256 != before
    assembly.close()


def test_pages_that_wait_for_text_recognition_are_left_alone(tmp_path: Path) -> None:
    assembly, store = opened(tmp_path)
    put(store, "scan.pdf", pages=3, text="\f\f", cut=False)
    scan = document(store, "scan.pdf")
    assert recut([scan], shelf=store, embedder=EMBEDDER, chunk_tokens=32) == 0
    assert document(store, "scan.pdf") == scan
    assembly.close()


def test_what_is_saved_of_a_damaged_database_has_no_document_with_half_of_its_chunks(tmp_path: Path) -> None:
    assembly, store = opened(tmp_path / "data")
    put(store, "whole.md")
    store.put(
        "half.md", sha256="1" * 64, media_type="text/markdown", pages=None, text=TEXT,
        chunks=[Chunk(None, 0, 20, TEXT[:20]), Chunk(None, 20, 40, TEXT[20:40])],
        vectors=EMBEDDER.embed([TEXT[:20], TEXT[20:40]]),
    )  # fmt: skip
    path = assembly.database.path
    assembly.close()
    with closing(sqlite3.connect(path)) as damaged:
        damaged.execute("DELETE FROM vectors WHERE chunk_id = (SELECT max(chunk_id) FROM vectors)")
        damaged.commit()
    (tmp_path / "new").mkdir()
    copy_readable_rows(path, tmp_path / "new" / path.name)
    assembly, store = opened(tmp_path / "new")
    assert [(one.name, one.chunks) for one in store.documents()] == [("half.md", 0), ("whole.md", 1)]
    assert health._recut(assembly, "default") == 1
    assembly.close()
