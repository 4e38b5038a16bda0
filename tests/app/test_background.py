"""`localcrag serve` and the page bring a folder in step by themselves, and go on with an embedding that was stopped.

Without being told of changes, either would look at a folder again after ten minutes only. What the egress guard refuses
of it fails the tests.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import numpy as np
import pytest

from localcrag.app.background import RESCAN_SECONDS
from localcrag.records.documents import Chunk
from localcrag.settings import load
from localcrag.storage.collections import chunks
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.sqlite_collection import SqliteCollection
from localcrag.storage.database import Database
from tests.support.api_process import running_api
from tests.support.app_process import running_app
from tests.support.command_line import localcrag
from tests.support.fakes import FakeEmbedder
from tests.support.first_start import started_before

pytestmark = pytest.mark.process

LONGEST = 240.0
SIZE = 384
"""Numbers of a vector of the embedder in use."""


@pytest.mark.parametrize("running", [running_api, running_app], ids=["serve", "page"])
def test_what_changes_in_a_folder_is_in_its_collection_soon(
    running: Callable[[Path], AbstractContextManager[object]], tmp_path: Path
) -> None:
    data, papers = started_before(tmp_path / "data"), tmp_path / "papers"
    papers.mkdir()
    (papers / "gate.txt").write_text("The gate opens at seven.")
    assert localcrag(data, "folder", "add", str(papers)).returncode == 0
    database = Database(data / "localcrag.sqlite3")
    began = time.monotonic()

    def in_step(texts: dict[str, str]) -> None:
        while SqliteCollection(database, "default", Path()).texts() != texts:
            assert time.monotonic() < began + LONGEST < began + RESCAN_SECONDS
            time.sleep(0.1)

    with running(data):
        in_step({"gate.txt": "The gate opens at seven."})
        (papers / "gate.txt").write_text("The gate opens at eight.")
        (papers / "boat.txt").write_text("The boat may carry six people.")
        in_step({"gate.txt": "The gate opens at eight.", "boat.txt": "The boat may carry six people."})
        (papers / "boat.txt").rename(papers / "ferry.txt")
        in_step({"gate.txt": "The gate opens at eight.", "ferry.txt": "The boat may carry six people."})
    database.close()


@pytest.mark.parametrize("running", [running_api, running_app], ids=["serve", "page"])
def test_what_a_changed_and_a_vanished_file_said_is_soon_in_no_byte(
    running: Callable[[Path], AbstractContextManager[object]], tmp_path: Path
) -> None:
    data, papers = started_before(tmp_path / "data"), tmp_path / "papers"
    papers.mkdir()
    (papers / "gate.txt").write_text("The quormvellity of the gate is kept in Oakham.")
    (papers / "boat.txt").write_text("The brindlequaff of the boat is kept in Oakham.")
    assert localcrag(data, "folder", "add", str(papers), "--gone", "remove").returncode == 0
    began = time.monotonic()

    def holding() -> set[str]:
        words = [word[4:].encode() for word in ("quormvellity", "brindlequaff")]
        files = [path for path in data.glob("localcrag.sqlite3*") if path.is_file()]
        return {word.decode() for word in words for path in files if word in path.read_bytes()}

    def wait_for(there: set[str]) -> None:
        while holding() != there:
            assert time.monotonic() < began + LONGEST
            time.sleep(0.1)

    with running(data):
        wait_for({"mvellity", "dlequaff"})
        (papers / "gate.txt").write_text("The lamp of the gate is kept in Oakham.")
        (papers / "boat.txt").unlink()
        wait_for(set())


@pytest.mark.parametrize("running", [running_api, running_app], ids=["serve", "page"])
def test_a_collection_whose_embedding_anew_was_stopped_is_gone_on_with(
    running: Callable[[Path], AbstractContextManager[object]], tmp_path: Path
) -> None:
    data, before = started_before(tmp_path / "data"), FakeEmbedder()
    in_use = load(data_dir=data).embedder
    texts = ["The gate opens at seven.", "The boat may carry six people."]
    with closing(Database(data / "localcrag.sqlite3")) as database:
        store = DocumentStore(database, "default", embedder=before.name, dimension=before.dimension)
        for text in texts:
            store.put(
                f"{text[4:8]}.txt", sha256=text, media_type="text/plain", pages=None, text=text,
                chunks=[Chunk(None, 0, len(text), text)], vectors=before.embed([text]),
            )  # fmt: skip
        kept = np.full(SIZE, SIZE**-0.5, dtype=np.float32)
        chunks.add_new_vectors(database, in_use, {store.chunk_texts()[0][0]: kept})
        began = time.monotonic()
        with running(data):
            while chunks.interrupted_collections(database):
                assert time.monotonic() < began + LONGEST
                time.sleep(0.1)
        assert [row["embedder"] for row in database.rows("SELECT embedder FROM collections")] == [in_use]
        vectors = [np.frombuffer(row["vector"], np.float32) for row in database.rows("SELECT vector FROM vectors")]
    assert sum(bool((vector == kept).all()) for vector in vectors) == 1, "what was done is kept"
    assert [len(vector) for vector in vectors] == [SIZE, SIZE]
