"""SQLite is the source of truth; the vector index is a cache that can always be made again."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from localcrag.records.documents import Chunk
from localcrag.records.errors import EmbedderMismatch, StoreError, UnknownDocument, UnknownRun
from localcrag.records.ingest import OriginalFile
from localcrag.records.passages import Thresholds
from localcrag.records.protocols import Vectors
from localcrag.records.run import Run
from localcrag.storage.collections.chunks import add_new_vectors, use_new_vectors
from localcrag.storage.collections.document_store import DOCUMENTS_QUERY, DocumentStore
from localcrag.storage.collections.engine_choice import EngineChoice, hnswlib_import_error
from localcrag.storage.collections.index_files import COLUMNS
from localcrag.storage.collections.sqlite_collection import SqliteCollection
from localcrag.storage.collections.vector_index import BATCH, ChunkIndex
from localcrag.storage.database import Database
from localcrag.storage.run_store import RunStore
from tests.support.engines import EACH_ENGINE, HNSWLIB, SUFFIXES, USEARCH, needs_hnswlib
from tests.support.fakes import FakeEmbedder
from tests.support.stored_documents import rename_document

EMBEDDER = FakeEmbedder()


def open_store(folder: Path, collection: str = "default", embedder: str = "fake-embedder") -> DocumentStore:
    database = Database(folder / "db.sqlite3")
    return DocumentStore(database, collection, embedder=embedder, dimension=EMBEDDER.dimension)


def put(store: DocumentStore, name: str, *texts: str) -> None:
    chunks = [Chunk(1, number * 100, number * 100 + len(text), text) for number, text in enumerate(texts)]
    store.put(
        name, sha256=name, media_type="text/plain", pages=None, text="\f".join(texts), chunks=chunks,
        vectors=EMBEDDER.embed(texts),
    )  # fmt: skip


def nearest(index: ChunkIndex, store: DocumentStore, text: str, k: int = 1) -> list[str]:
    found = index.nearest(EMBEDDER.embed([text])[0], k)
    return [store.chunks([chunk_id])[chunk_id][1].text for chunk_id, _ in found]


def test_a_document_is_found_by_vector_and_by_word_and_is_gone_after_its_deletion(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    index = ChunkIndex(store, tmp_path)
    put(store, "a.txt", "cats purr loudly", "dogs bark")
    put(store, "b.txt", "ships sail")
    assert nearest(index, store, "cats purr") == ["cats purr loudly"]
    assert [store.chunks([i])[i][0] for i in store.full_text("bark!", 5)] == ["a.txt"]
    store.delete("a.txt")
    assert store.full_text("bark", 5) == []
    assert nearest(index, store, "cats purr", k=5) == ["ships sail"]
    assert store.vectors([1, 2]) == {}
    assert [document.name for document in store.documents()] == ["b.txt"]


def test_what_is_attached_to_a_letter_is_deleted_with_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    index = ChunkIndex(store, tmp_path)
    for name in ("post.eml", "post.eml/plan.txt", "post.eml/more.zip/tariff.csv", "post.emlx", "Post.eml/plan.txt"):
        put(store, name, f"the words of {name}")
    assert store.delete("post.eml") == 2
    assert [document.name for document in store.documents()] == ["Post.eml/plan.txt", "post.emlx"]
    assert len(nearest(index, store, "plan", k=9)) == 2
    assert store.delete("post.emlx") == 0


def test_a_document_of_the_same_name_replaces_the_former_one(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    index = ChunkIndex(store, tmp_path)
    put(store, "a.txt", "old words", "more old words")
    put(store, "a.txt", "new words")
    assert len(store.documents()) == 1
    assert store.documents()[0].chunks == 1
    assert nearest(index, store, "old words", k=5) == ["new words"]
    assert store.full_text("old", 5) == []


def test_a_question_is_never_taken_for_a_full_text_query(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, "a.txt", 'the "NEAR" option costs 5 euros')
    for question in ('"', "NEAR(", "a AND", "col:x", "* -", "what's the 'NEAR' option?", "OR", ""):
        store.full_text(question, 5)
    assert len(store.full_text("NEAR option?", 5)) == 1


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.unlink(), id="missing"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]), id="torn"),
        pytest.param(lambda path: path.write_bytes(b"\0" * 5000), id="foreign"),
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes() + b"\0" * 64), id="longer"),
    ],
)
@pytest.mark.parametrize("which", ["graph", "columns"])
@pytest.mark.parametrize("engines", EACH_ENGINE)
def test_an_index_of_which_one_file_cannot_be_trusted_is_built_anew(
    tmp_path: Path, engines: EngineChoice, which: str, damage: Callable[[Path], object]
) -> None:
    store = open_store(tmp_path)
    put(store, "a.txt", "cats purr", "dogs bark")
    index = ChunkIndex(store, tmp_path, engines=engines, most_recent=0)
    index.refresh()
    index.save()
    (file,) = tmp_path.glob("*" + (SUFFIXES[engines] if which == "graph" else COLUMNS))
    damage(file)
    again = ChunkIndex(store, tmp_path, engines=engines, most_recent=0)
    assert not again.is_consistent()
    assert nearest(again, store, "dogs bark") == ["dogs bark"]
    again.save()
    assert ChunkIndex(store, tmp_path, engines=engines).is_consistent()


@pytest.mark.parametrize("engines", EACH_ENGINE)
def test_a_few_chunks_need_no_file_and_one_that_is_damaged_is_forgotten(tmp_path: Path, engines: EngineChoice) -> None:
    store = open_store(tmp_path)
    put(store, "a.txt", "cats purr", "dogs bark")
    ChunkIndex(store, tmp_path, engines=engines, most_recent=0).refresh()
    (file,) = tmp_path.glob(f"*{SUFFIXES[engines]}")
    file.write_bytes(b"")
    index = ChunkIndex(store, tmp_path)
    assert nearest(index, store, "dogs bark") == ["dogs bark"]
    index.save()
    assert store.index_file() is None
    assert list(tmp_path.glob("collection-*")) == []


def test_what_a_killed_process_left_is_removed_and_what_another_writes_is_not(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, "a.txt", "cats purr", "dogs bark")
    killed, written_now, of_another = (
        tmp_path / name for name in ("collection-1-aa.tmp", "collection-1-bb.tmp", "collection-11-aa.tmp")
    )
    whole = [tmp_path / f"collection-1-cc{suffix}" for suffix in (".hnsw", ".columns")]
    for path in (killed, written_now, of_another, *whole):
        path.write_bytes(b"x")
    for path in (killed, of_another, *whole):
        os.utime(path, (0, 0))
    ChunkIndex(store, tmp_path, most_recent=0).refresh()
    left = {path.name for path in tmp_path.iterdir() if not path.name.startswith("db.sqlite3")}
    row = store.index_file()
    assert row is not None
    assert left == {written_now.name, of_another.name, row.name, str(Path(row.name).with_suffix(COLUMNS))}


def test_an_index_goes_on_from_the_file_that_another_process_wrote(tmp_path: Path) -> None:
    mine, other = open_store(tmp_path), open_store(tmp_path)
    index, their = (ChunkIndex(store, tmp_path, most_recent=1) for store in (mine, other))
    for number in range(9):
        put(other, f"{number}.txt", f"cats {number}", f"dogs {number}")
        (index, their)[number % 2].refresh()
        (index, their)[number % 2].save()
    assert len(nearest(index, mine, "cats", k=99)) == len(nearest(their, other, "cats", k=99)) == 18
    index.save()
    assert len(ChunkIndex(mine, tmp_path).nearest(EMBEDDER.embed(["cats"])[0], 99)) == 18


@pytest.mark.parametrize("engines", EACH_ENGINE)
def test_what_a_question_has_found_meanwhile_goes_into_the_file_too(tmp_path: Path, engines: EngineChoice) -> None:
    store = open_store(tmp_path)
    index = ChunkIndex(store, tmp_path, engines=engines, most_recent=2)
    put(store, "a.txt", "cats purr", "dogs bark", "ships sail")
    assert nearest(index, store, "cats purr") == ["cats purr"]
    index.save()
    files = list(tmp_path.glob("collection-*"))
    assert {file.suffix for file in files} == {SUFFIXES[engines], COLUMNS}
    assert [file.stat().st_mode & 0o077 for file in files] == [0, 0]
    assert len(ChunkIndex(store, tmp_path, engines=engines)) == 3


KILLED = """
import os, signal, sys
from pathlib import Path
from localcrag.storage.database import Database
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.vector_index import BATCH, ChunkIndex
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.records.enums import IndexEngine

class Killed(DocumentStore):
    read = 0
    def vectors(self, ids):
        self.read += 1
        if self.read > 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().vectors(ids)

folder = Path(sys.argv[1])
store = Killed(Database(folder / "db.sqlite3"), "default", embedder="fake-embedder", dimension=int(sys.argv[2]))
ChunkIndex(
    store, folder, engines=EngineChoice(IndexEngine(sys.argv[3])), most_recent=0, rows_per_write=4999
).refresh()
"""


class Counting(DocumentStore):
    """A store that counts the vectors that are read."""

    read = 0

    def vectors(self, ids: Sequence[int]) -> dict[int, Vectors]:
        self.read += len(ids)
        return super().vectors(ids)


@pytest.mark.parametrize("engines", EACH_ENGINE)
def test_who_was_killed_while_an_index_was_made_goes_on_from_what_was_written(
    tmp_path: Path, engines: EngineChoice
) -> None:
    store = Counting(Database(tmp_path / "db.sqlite3"), "default", embedder="fake-embedder", dimension=64)
    put(store, "a.txt", *(f"word{number}" for number in range(4 * BATCH)))
    arguments = [str(tmp_path), str(EMBEDDER.dimension), engines.wanted]
    killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False)
    assert killed.returncode == -signal.SIGKILL
    row = store.index_file()
    assert row is not None
    assert row.rows == 3 * BATCH
    index = ChunkIndex(store, tmp_path, engines=engines, most_recent=0)
    index.refresh()
    assert (len(index), store.read) == (4 * BATCH, BATCH)


@pytest.mark.parametrize("engines", EACH_ENGINE)
def test_deleting_most_of_a_collection_makes_its_file_anew_without_them(tmp_path: Path, engines: EngineChoice) -> None:
    store = open_store(tmp_path)
    index = ChunkIndex(store, tmp_path, engines=engines, most_recent=3)
    for number in range(5):
        put(store, f"{number}.txt", *(f"cats {number} {one}" for one in range(10)))
    index.refresh()
    index.save()
    for number in range(3):
        store.delete(f"{number}.txt")
    index.refresh()
    index.save()
    row = store.index_file()
    assert row is not None
    assert (row.rows, row.gone, len(index)) == (20, b"", 20)
    store.delete("3.txt")
    put(store, "4.txt", "dogs")
    index.refresh()
    index.save()
    assert store.index_file() is None
    assert nearest(index, store, "cats", k=9) == ["dogs"]


@needs_hnswlib
def test_a_collection_that_grows_over_the_line_is_written_again_with_usearch(tmp_path: Path) -> None:
    store, engines = open_store(tmp_path), EngineChoice(most_in_hnswlib=30)
    index = ChunkIndex(store, tmp_path, engines=engines, most_recent=0)
    texts = [f"cats {one} purr {one * one}" for one in range(60)]
    # Chunks with the same vector are one: forty of these are thirty.
    put(store, "a.txt", *texts[:30], *texts[:10])
    index.refresh()
    assert written(store) == (".hnsw", 40)
    put(store, "b.txt", *texts[30:])
    index.refresh()
    assert written(store) == (".usearch", 70)
    assert len(list(tmp_path.glob("collection-*"))) == 2
    again = ChunkIndex(store, tmp_path, engines=engines, most_recent=0)
    for vector in EMBEDDER.embed(texts[::7]):
        assert again.nearest(vector, 1)[0][1] == pytest.approx(1, abs=1e-5)
    store.delete("b.txt")
    again.refresh()
    again.save()
    assert written(store) == (".hnsw", 40)
    assert len(again.nearest(EMBEDDER.embed([texts[3]])[0], 99)) == 40


@needs_hnswlib
def test_the_engine_that_is_set_serves_all_and_the_next_change_writes_the_file_again(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, "a.txt", "cats purr", "dogs bark", "ships sail")
    for engines in (HNSWLIB, USEARCH, HNSWLIB):
        index = ChunkIndex(store, tmp_path, engines=engines, most_recent=0)
        assert nearest(index, store, "dogs bark") == ["dogs bark"]
        index.save()
        assert written(store) == (SUFFIXES[engines], 3)


def test_where_hnswlib_cannot_be_imported_usearch_serves(tmp_path: Path) -> None:
    """In a process of its own, in which `import hnswlib` fails as it does where it could not be compiled."""
    store = open_store(tmp_path)
    put(store, "a.txt", "cats purr", "dogs bark")
    if not hnswlib_import_error():
        ChunkIndex(store, tmp_path, engines=HNSWLIB, most_recent=0).refresh()
        assert written(store) == (".hnsw", 2)
    subprocess.run([sys.executable, "-c", WITHOUT_HNSWLIB, str(tmp_path), str(EMBEDDER.dimension)], check=True)
    assert written(store) == (".usearch", 2)


WITHOUT_HNSWLIB = """
import sys
sys.modules["hnswlib"] = None
from pathlib import Path
import numpy as np
from localcrag.storage.database import Database
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.vector_index import ChunkIndex
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.records.enums import IndexEngine

folder, dimension = Path(sys.argv[1]), int(sys.argv[2])
store = DocumentStore(Database(folder / "db.sqlite3"), "default", embedder="fake-embedder", dimension=dimension)
index = ChunkIndex(store, folder, engines=EngineChoice(IndexEngine.HNSWLIB), most_recent=0)
assert len(index.nearest(np.ones(dimension, np.float32), 9)) == 2
index.save()
"""


def written(store: DocumentStore) -> tuple[str, int]:
    """Return the ending of the index file and its number of rows."""
    row = store.index_file()
    assert row is not None
    return Path(row.name).suffix, row.rows


def test_a_stale_index_file_catches_up_with_what_was_added_and_deleted_since(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, "a.txt", "cats purr")
    put(store, "b.txt", "ships sail")
    index = ChunkIndex(store, tmp_path)
    index.refresh()
    index.save()
    put(store, "c.txt", "dogs bark")
    store.delete("a.txt")
    again = ChunkIndex(store, tmp_path)
    assert sorted(nearest(again, store, "anything", k=9)) == ["dogs bark", "ships sail"]


def test_an_open_index_follows_another_process(tmp_path: Path) -> None:
    mine, other = open_store(tmp_path), open_store(tmp_path)
    index = ChunkIndex(mine, tmp_path)
    assert nearest(index, mine, "cats", k=3) == []
    put(other, "a.txt", "cats purr")
    assert nearest(index, mine, "cats", k=3) == ["cats purr"]


def test_an_index_grows_beyond_its_first_size_and_survives_many_deletions(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    index = ChunkIndex(store, tmp_path)
    for batch in range(4):
        put(store, f"{batch}.txt", *(f"word{batch} number{i}" for i in range(600)))
        index.refresh()
    for batch in range(3):
        store.delete(f"{batch}.txt")
    index.refresh()
    assert len(index) == 600
    found = index.nearest(EMBEDDER.embed(["number7"])[0], 50)
    assert len(found) == 50
    assert all(next(iter(store.chunks([i]).values()))[0] == "3.txt" for i, _ in found)


def test_a_loaded_index_with_deleted_entries_still_finds_the_living(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, "a.txt", *(f"cats {i}" for i in range(20)))
    put(store, "b.txt", *(f"dogs {i}" for i in range(80)))
    index = ChunkIndex(store, tmp_path)
    index.refresh()
    store.delete("a.txt")
    index.refresh()
    index.save()
    again = ChunkIndex(store, tmp_path)
    assert len(again.nearest(EMBEDDER.embed(["cats 3"])[0], 30)) == 30


def test_a_collection_of_another_embedder_is_refused_with_the_way_out(tmp_path: Path) -> None:
    open_store(tmp_path)
    with pytest.raises(EmbedderMismatch, match=r"--re-embed --collection default"):
        open_store(tmp_path, embedder="another")


def test_collections_do_not_see_each_other(tmp_path: Path) -> None:
    database = Database(tmp_path / "db.sqlite3")
    stores = [DocumentStore(database, n, embedder="fake", dimension=EMBEDDER.dimension) for n in ("one", "two")]
    put(stores[0], "a.txt", "cats purr")
    put(stores[1], "b.txt", "cats sleep")
    assert [document.name for document in stores[0].documents()] == ["a.txt"]
    assert len(stores[1].full_text("cats", 9)) == 1
    assert len(ChunkIndex(stores[1], tmp_path).nearest(np.ones(EMBEDDER.dimension, dtype=np.float32), 9)) == 1


def test_what_is_not_there_is_said_by_name(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with pytest.raises(UnknownDocument, match=r"no document “x\.pdf”"):
        store.delete("x.pdf")
    with pytest.raises(UnknownDocument):
        SqliteCollection(Database(tmp_path / "db.sqlite3"), store.name, tmp_path).text("x.pdf")
    with pytest.raises(UnknownRun, match="no stored run “r”"):
        RunStore(Database(tmp_path / "db.sqlite3")).get("r")


def test_a_failed_write_leaves_the_old_document(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, "a.txt", "cats purr")
    with pytest.raises(ValueError, match="shorter"):
        store.put(
            "a.txt", sha256="x", media_type="t", pages=None, text="new", chunks=[Chunk(None, 0, 3, "new")],
            vectors=EMBEDDER.embed([]),
        )  # fmt: skip
    assert SqliteCollection(Database(tmp_path / "db.sqlite3"), store.name, tmp_path).text("a.txt") == "cats purr"
    assert store.full_text("cats", 5)


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    database = Database(tmp_path / "db.sqlite3")
    with database.transaction() as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="newer localcrag"):
        Database(tmp_path / "db.sqlite3")


def test_a_file_that_is_no_database_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "db.sqlite3").write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreError, match=r"db\.sqlite3"):
        Database(tmp_path / "db.sqlite3")


def test_a_full_disk_is_said_with_the_file_and_what_to_do_and_nothing_is_half_written(tmp_path: Path) -> None:
    database = Database(tmp_path / "localcrag.sqlite3")
    sql = "INSERT INTO collections (name, embedder, dimension, created_at) VALUES (?, 'e', 1, 'now')"
    with database.transaction() as connection:
        connection.execute(sql, ("before",))
    (pages,) = database.rows("PRAGMA page_count")[0]
    database.rows(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(StoreError) as refused, database.transaction() as connection:
        connection.executemany(sql, [(f"{number:0500}",) for number in range(1000)])
    said = str(refused.value)
    assert f"The disk with the database {tmp_path / 'localcrag.sqlite3'} is full" in said
    assert "Free some space there" in said
    assert "rollback" not in said
    database.rows("PRAGMA max_page_count = 100000")
    with database.transaction() as connection:
        connection.execute(sql, ("after",))
    assert [row["name"] for row in database.rows("SELECT name FROM collections ORDER BY id")] == ["before", "after"]


def test_a_run_is_read_back_as_it_was_stored(tmp_path: Path) -> None:
    runs = RunStore(Database(tmp_path / "db.sqlite3"))
    run = Run(
        run_id="r1", created_at="2026-01-01T00:00:00+00:00", collection="default", question="q",
        standalone_question="q", thresholds=Thresholds(0.7, 0.3, 0.5), warnings=("careful",), models={"llm": "x"},
    )  # fmt: skip
    runs.save(run)
    assert runs.get("r1") == run
    assert [summary.run_id for summary in runs.newest(5)] == ["r1"]


def test_what_was_asked_last_is_the_newest_run_where_the_clock_was_set_back_also_after_the_file_is_made_anew(
    tmp_path: Path,
) -> None:
    database = Database(tmp_path / "db.sqlite3")
    runs = RunStore(database)
    for number, year in enumerate((2031, 2032, 2026, 2027)):
        runs.save(
            Run(
                run_id=f"r{number}",
                created_at=f"{year}-01-01T00:00:00+00:00",
                collection="default",
                question="q",
                standalone_question="q",
                thresholds=Thresholds(0.7, 0.3, 0.5),
            )
        )
    with database.transaction() as connection:
        connection.execute("DELETE FROM runs WHERE id = 'r1'")
    database.empty_log(vacuum=True)
    assert [run.run_id for run in runs.newest(2)] == ["r3", "r2"]
    assert [run.run_id for run in runs.lines()] == ["r0", "r2", "r3"]
    database.close()


def test_a_collection_embedded_anew_by_another_process_is_noticed_by_this_one(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, "a.txt", "cats purr")
    index = ChunkIndex(store, tmp_path)
    vectors = store.vectors(store.chunk_ids())
    other = Database(tmp_path / "db.sqlite3")
    assert not use_new_vectors(other, "default", embedder="new", dimension=EMBEDDER.dimension)
    add_new_vectors(other, "new", vectors)
    assert use_new_vectors(other, "default", embedder="new", dimension=EMBEDDER.dimension)
    with pytest.raises(EmbedderMismatch):
        put(store, "b.txt", "dogs bark")
    with pytest.raises(EmbedderMismatch):
        nearest(index, store, "cats")


def test_a_list_of_documents_reads_no_texts_and_knows_how_long_they_are(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite3"
    store = open_store(tmp_path)
    put(store, "old.txt", "Grüße")
    put(store, "new.txt", "three words here")
    assert [(one.name, one.characters) for one in store.documents()] == [("new.txt", 16), ("old.txt", 5)]
    database = Database(path)
    with database.transaction() as connection:
        connection.execute("UPDATE documents SET text = 'read' WHERE name = 'old.txt'")
    assert [one.characters for one in store.documents()] == [16, 4]
    plan = [row["detail"] for row in store.rows(f"EXPLAIN QUERY PLAN {DOCUMENTS_QUERY}")]
    assert "SEARCH d USING COVERING INDEX documents_listed (collection_id=?)" in plan


def keep(store: DocumentStore, name: str, path: Path) -> None:
    store.put(
        name, sha256="0", media_type="application/pdf", pages=1, text="text", chunks=[Chunk(1, 0, 4, "text")],
        vectors=EMBEDDER.embed(["text"]), original=OriginalFile(path, hashlib.sha256(path.read_bytes()).hexdigest()),
    )  # fmt: skip


def test_a_kept_file_comes_back_as_it_was_and_goes_with_its_document(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    file = tmp_path / "a.pdf"
    file.write_bytes(b"secret-" + bytes(range(256)) * 10_000)
    keep(store, "a.pdf", file)
    database = Database(tmp_path / "db.sqlite3")
    assert SqliteCollection(database, "default", tmp_path).original("a.pdf") == file.read_bytes()
    assert SqliteCollection(database, "default", tmp_path).original("b.pdf") is None
    keep(store, "a.pdf", file)
    assert len(database.rows("SELECT document_id FROM originals")) == 1
    store.delete("a.pdf")
    assert database.rows("SELECT document_id FROM originals") == []
    database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not any(b"secret-" in path.read_bytes() for path in tmp_path.glob("db.sqlite3*"))


def test_a_document_is_called_and_found_by_what_it_was_taken_in_as(tmp_path: Path) -> None:
    text = "Acme Corporation Staff Handbook\neverybody has to be there by nine o'clock."
    database = Database(tmp_path / "db.sqlite3")
    store = DocumentStore(database, "default", embedder="fake", dimension=2)
    store.put(
        "leave_policy.pdf", sha256="s", media_type="application/pdf", pages=4, text=text,
        chunks=[Chunk(1, 0, len(text), text)], vectors=np.ones((1, 2), dtype=np.float32), title="leave policy",
    )  # fmt: skip
    assert set(store.titles(store.chunk_ids()).values()) == {"leave policy"}, "a running header is no title"
    rename_document(database, "default", "leave_policy.pdf", "holidays.pdf")
    assert set(store.titles(store.chunk_ids()).values()) == {"holidays"}
    assert store.full_text("holidays", 3) == store.chunk_ids()
    assert store.full_text("leave", 3) == []
    store.delete("holidays.pdf")
    assert store.full_text("nine", 3) == []
