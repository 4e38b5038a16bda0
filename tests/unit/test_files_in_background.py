"""What page and API do behind questions: old chunks are made anew, and their words overwritten."""

from __future__ import annotations

from pathlib import Path

from localcrag.app.assemble import Assembly
from localcrag.app.background import TaskState
from localcrag.app.files_in_background import files_in_background, go_on, overwriting_beside
from localcrag.app.folders.keeper import FolderKeeper
from localcrag.app.re_embedding import ReEmbeddings
from localcrag.backends.store import deleted_words
from localcrag.records.documents import Chunk
from localcrag.settings import load
from tests.support.fakes import FakeEmbedder, FakeScorer


def test_what_an_earlier_version_cut_is_cut_anew_and_its_words_are_overwritten_then(tmp_path: Path) -> None:
    embedder, text = FakeEmbedder(), "The quillwort grows in the tarn above the village."
    assembly = Assembly(load(data_dir=tmp_path))
    assembly.models.share(embedder=embedder, scorer=FakeScorer())
    assembly._made.put(f"embedder {embedder.name}", embedder)
    assembly.collections.store("default").put(
        "tarn.txt", sha256="x", media_type="text/plain", pages=None, text=text,
        chunks=[Chunk(None, 0, len(text), text)], vectors=embedder.embed([text]),
    )  # fmt: skip
    with assembly.database.transaction() as connection:
        connection.execute("UPDATE documents SET layout = 1")
    files = files_in_background(assembly, FolderKeeper(assembly.folders), lambda: False)
    overwriting = overwriting_beside(assembly, files, lambda: False)
    go_on(assembly, files, ReEmbeddings(assembly.collections.re_embed))
    for _ in files.follow():
        pass
    assert [(one.renews, one.state) for one in files.items()] == [(True, TaskState.DONE)]
    assert assembly.collections.outdated() == []
    assert deleted_words.are_left(assembly.database)
    assert overwriting.look()
    files.close()
    assembly.close()
