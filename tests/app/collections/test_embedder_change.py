"""Embedding a collection anew while it is asked: it goes on after a kill, takes in what comes, then is taken over."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.documents.chunking import EMBED_BATCH
from localcrag.records.errors import ModelError
from localcrag.records.events import RunFinished
from localcrag.records.ingest import IngestResult
from localcrag.records.protocols import Vectors
from localcrag.records.run import Run
from localcrag.settings import load
from localcrag.storage.collections import queries
from tests.support.fakes import FakeEmbedder
from tests.support.first_start import started_before
from tests.support.scans import picture

pytestmark = [pytest.mark.models, pytest.mark.slow]

QUESTION = "Where does the quillwort grow?"


class Counting(FakeEmbedder):
    """One that counts the texts that it embeds. Not real: its vectors are made of words."""

    name = "counting"

    def __init__(self) -> None:
        super().__init__()
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += len(texts)
        return super().embed(texts)


def opened(data: Path, embedder: Counting) -> Assembly:
    assembly = Assembly(load(data_dir=data))
    assembly._made.put(f"embedder {embedder.name}", embedder)
    return assembly


def add(assembly: Assembly, path: Path, text: str) -> None:
    path.write_text(text)
    for _ in assembly.ingest(uploads_from([path])):
        pass


def asked(assembly: Assembly) -> Run:
    (finished,) = [event for event in assembly.ask(QUESTION) if isinstance(event, RunFinished)]
    return finished.run


def test_a_collection_is_asked_by_its_old_vectors_until_all_new_ones_are_there(tmp_path: Path) -> None:
    data, embedder = started_before(tmp_path / "data"), Counting()
    assembly = opened(data, embedder)
    add(assembly, tmp_path / "tarn.txt", "The quillwort grows in the tarn above the village.")
    ship = "The ship number {0} is red, lies at pier {0} of the harbour and carries {0} tons of coal to the mainland. "
    sections = "\n\n".join(f"# Part {number}\n\n{8 * ship.format(number)}" for number in range(EMBED_BATCH + 10))
    add(assembly, tmp_path / "ships.md", sections)
    chunks = assembly.collections.store().number_of_chunks()
    assert chunks > EMBED_BATCH
    queries.choose(assembly.database, "default", embedder=embedder.name)
    assert assembly.collections.embedders.to_reindex() == ["default"]
    steps = assembly.collections.reindex()
    while next(steps)[0] < EMBED_BATCH:
        pass
    assert asked(assembly).passages[0].document == "tarn.txt"
    steps.close()  # As a kill leaves it: what was embedded is kept.
    assembly.close()

    embedder = Counting()
    again = opened(data, embedder)
    steps = again.collections.reindex()
    assert next(steps) == (EMBED_BATCH, chunks)
    add(again, tmp_path / "dam.txt", "The dam was built in 1911.")
    again.collections.delete_document("ships.md")
    *_, last = steps
    assert last == (2, 2)
    assert embedder.texts < chunks
    assert again.collections.embedders.name_of("default") == embedder.name
    assert again.collections.embedders.to_reindex() == []
    assert again.database.rows("SELECT count(*) FROM new_vectors")[0][0] == 0
    (row,) = again.database.rows("SELECT DISTINCT length(vector) AS bytes FROM vectors")
    assert row["bytes"] == 4 * embedder.dimension
    assert asked(again).passages[0].document == "tarn.txt"
    again.close()


def test_what_was_stopped_or_chosen_is_gone_on_with_and_a_choice_meanwhile_counts(tmp_path: Path) -> None:
    data, embedder = started_before(tmp_path / "data"), Counting()
    assembly = opened(data, embedder)
    add(assembly, tmp_path / "tarn.txt", "The quillwort grows in the tarn above the village.")
    embedders = assembly.collections.embedders
    before = embedders.name_of("default")
    assert embedders.pending() == []
    queries.choose(assembly.database, "default", embedder=embedder.name)
    assert embedders.pending() == ["default"]
    steps = embedders.reindex("default")
    next(steps)
    queries.choose(assembly.database, "default", embedder=None)
    assert list(steps) == [(1, 1)]
    assert (embedders.name_of("default"), embedders.pending()) == (before, [])
    assert assembly.database.rows("SELECT count(*) FROM new_vectors")[0][0] == 0
    assembly.close()


def test_another_process_that_embedded_it_anew_is_noticed(tmp_path: Path) -> None:
    data, embedder = started_before(tmp_path / "data"), Counting()
    one = opened(data, embedder)
    add(one, tmp_path / "tarn.txt", "The quillwort grows in the tarn above the village.")
    assert asked(one).passages
    other = opened(data, embedder)
    queries.choose(other.database, "default", embedder=embedder.name)
    for _ in other.collections.reindex():
        pass
    other.close()
    assert asked(one).passages[0].document == "tarn.txt"
    assert np.isclose(one.collections.index().nearest(embedder.embed(["quillwort tarn"])[0], 1)[0][1], 1, atol=1)
    with pytest.raises(ModelError):
        one.collection_settings.set_embedder("no-such-model")
    one.collection_settings.set_embedder(None)
    assert one.collections.embedders.to_reindex() == ["default"]
    one.close()


def test_scans_are_read_in_a_collection_with_an_embedder_of_its_own(
    tmp_path: Path,
) -> None:
    data, embedder = started_before(tmp_path / "data"), Counting()
    assembly = opened(data, embedder)
    assembly.collections.new("own")
    queries.choose(assembly.database, "own", embedder=embedder.name)
    for _ in assembly.collections.reindex("own"):
        pass
    (tmp_path / "tarn.txt").write_text("The quillwort grows in the tarn above the village.")
    picture(["The lantern is kept in the cellar."]).save(tmp_path / "note.png")
    for _ in assembly.ingest(uploads_from([tmp_path / "tarn.txt", tmp_path / "note.png"]), "own"):
        pass
    assert assembly.collections.scanned() == ["own"]
    events = assembly.collections.read_scans("own")
    assert [one.error for one in events if isinstance(one, IngestResult)] == [None]
    assert assembly.collections.scanned() == []
    assert "lantern" in assembly.collections.text("note.png", "own")
    found = assembly.collections.index("own").nearest(embedder.embed(["the lantern is kept in the cellar"])[0], 1)
    assert found[0][1] > 0.8, "by what was read, with the title in front"
    assembly.close()


def test_a_collection_whose_embedder_is_not_there_is_left_alone(tmp_path: Path) -> None:
    data, embedder = started_before(tmp_path / "data"), Counting()
    assembly = opened(data, embedder)
    picture(["The lantern is kept in the cellar."]).save(tmp_path / "note.png")
    for _ in assembly.ingest(uploads_from([tmp_path / "note.png"])):
        pass
    assert assembly.collections.scanned() == ["default"]
    with assembly.database.transaction() as connection:
        connection.execute("UPDATE collections SET embedder = 'no-such-model'")
    assert assembly.collections.scanned() == []
    assembly.close()
