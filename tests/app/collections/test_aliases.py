"""Files with one content: the document is cited, listed and chosen by the names of all of them."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

from localcrag.app.collections.aliases import MAX_LOOKUPS, DocumentNames, ResolvedName, document_aliases
from localcrag.app.collections.locator import CollectionLocator
from localcrag.app.shared_state import CurrentSettings
from localcrag.interfaces.cli.terminal import answer_text
from localcrag.interfaces.page import renderers
from localcrag.interfaces.page.chat.html import answer_html
from localcrag.interfaces.page.run_panel import panel
from localcrag.pipeline import answer
from localcrag.records.documents import Chunk
from localcrag.records.errors import QuestionError
from localcrag.records.ingest import GoneFilePolicy, KnownFile, Stamp, WatchedFolder
from localcrag.records.restriction import EVERYWHERE, Restriction
from localcrag.records.run import Run
from localcrag.runs import recording as record
from localcrag.runs.for_programs import citations
from localcrag.runs.recording import Recording
from localcrag.settings import load
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.folder_store import FolderStore
from localcrag.storage.database import Database
from localcrag.text.places import place_name, visible_name
from tests.support.desk import ANSWERABLE, DOCUMENT, Desk
from tests.support.stored_documents import documents_of

OTHER, ALSO = "z/copy.txt", "rules.txt (also as z/copy.txt)"


def asked(desk: Desk, restriction: Restriction = EVERYWHERE) -> Run:
    """Return the run of a question to a document that is called OTHER as well."""
    parts = dataclasses.replace(
        desk.parts(), document_aliases=lambda names: {name: (OTHER,) for name in names if name == "rules.txt"}
    )
    recording: Recording = answer(ANSWERABLE, parts=parts, settings=desk.settings, restriction=restriction)
    for _ in recording:
        pass
    return recording.run


def test_a_source_has_all_its_names_wherever_an_answer_names_it(tmp_path: Path) -> None:
    run = asked(Desk(tmp_path, *DOCUMENT))
    assert [source.also for source in run.sources] == [(OTHER,)]
    assert record.to_json(run)["sources"][0]["also"] == [OTHER]
    assert record.read(record.dump(run)) == run
    assert ALSO in answer_text(run)
    assert ALSO in answer_html(run.answer, run)
    assert ALSO in panel(run)
    assert [(one["place"], one["document"], one["also"]) for one in citations(run)] == [(ALSO, "rules.txt", [OTHER])]


def test_a_run_that_was_stored_before_there_were_other_names_stays_readable(tmp_path: Path) -> None:
    stored = json.loads(record.dump(asked(Desk(tmp_path, *DOCUMENT))))
    for source in stored["sources"]:
        del source["also"]
    assert [source.also for source in record.read(json.dumps(stored)).sources] == [()]


@pytest.mark.parametrize("wanted", [Restriction(documents=("Z/Copy.txt",)), Restriction(folders=("z",))], ids=str)
def test_a_question_is_restricted_by_any_of_the_names(tmp_path: Path, wanted: Restriction) -> None:
    desk = Desk(tmp_path, *DOCUMENT)
    run = asked(desk, wanted)
    assert run.scope
    assert (run.scope.documents, run.warnings) == (1, ())
    with pytest.raises(QuestionError):
        answer(ANSWERABLE, parts=desk.parts(), settings=desk.settings, restriction=wanted)


def test_of_many_names_the_first_are_said_and_how_many_more_there_are() -> None:
    assert place_name("a.pdf", 3, (), ("b.pdf", "c.pdf")) == "a.pdf, page 3 (also as b.pdf, c.pdf)"
    assert place_name("a.pdf", None, (), tuple("bcdef")) == "a.pdf (also as b, c, d and 2 more)"
    assert place_name("a.pdf", None) == "a.pdf"


def test_the_list_shows_other_names_and_is_searched_by_them(tmp_path: Path) -> None:
    Desk(tmp_path, *DOCUMENT)
    (document,) = documents_of(Database(tmp_path / "db.sqlite3"), "default")
    shown = renderers.documents([dataclasses.replace(document, also=(OTHER,))], "default", ["default"])
    assert "also as z/copy.txt" in shown
    assert f'data-also="{OTHER}"' in shown
    assert "data-also" not in renderers.documents([document], "default", ["default"])


def test_names_are_those_of_files_that_are_there_with_the_content_also_of_what_lies_in_them(tmp_path: Path) -> None:
    Desk(tmp_path, *DOCUMENT)
    database = Database(tmp_path / "db.sqlite3")
    store = FolderStore(database)

    def bind(path: str, prefix: str) -> int:
        return store.bind(
            WatchedFolder(
                id=0,
                collection="default",
                path=Path(path),
                prefix=prefix,
                include=(),
                exclude=(),
                gone=GoneFilePolicy.ASK,
            )
        ).id

    def known(path: str, document: str, stored: str = "x", gone: str | None = None) -> KnownFile:
        return KnownFile(path, Stamp(1, 1, 1, 1), 1, "x", document, stored, None, gone)

    files = [known("a.txt", "a.txt"), known("b.txt", "a.txt"), known("box.zip", "box.zip")]
    others = [known("gone.txt", "a.txt", gone="2026"), known("changed.txt", "a.txt", stored="y")]
    renamed = [known("plan.txt", "Our plan.txt"), known("map.txt", "Our map.txt"), known("copy.txt", "Our map.txt")]
    store.put(bind("/papers", ""), [*files, *others, *renamed])
    store.put(bind("/attic", "attic/"), [known("a.txt", "a.txt"), known("chest.zip", "box.zip")])
    there = {"a.txt": ("attic/a.txt", "b.txt"), "box.zip/lamp.txt": ("attic/chest.zip/lamp.txt",)}
    few = ["a.txt", "box.zip/lamp.txt", "c.txt"]
    assert {name: tuple(sorted(names)) for name, names in document_aliases(database, "default", few).items()} == there
    many = [*few, *(f"{number}.txt" for number in range(MAX_LOOKUPS))]
    assert document_aliases(database, "default", many) == document_aliases(database, "default", few)
    assert document_aliases(database, "another", few) == {}
    # A document that a person renamed is called so, unless it has several files.
    assert document_aliases(database, "default", ["Our plan.txt", "Our map.txt"]) == {
        "Our map.txt": ("copy.txt", "map.txt")
    }


def meant_of_all(database: Database, documents: list[str], names: list[str]) -> list[ResolvedName]:
    """Return what names mean as it is found among all documents and all that these are called."""
    also = document_aliases(database, "default", documents)
    of_other = {other: document for document, others in also.items() for other in others}
    found = dict.fromkeys(one if one in documents else of_other.get(one, one) for one in names)
    return [ResolvedName(one, also.get(one, ())) for one in found]


@pytest.mark.parametrize("seed", range(20))
def test_what_names_mean_is_what_is_found_among_the_names_of_all_documents(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    database = Database(tmp_path / "db.sqlite3")
    store = DocumentStore(database, "default", embedder="fake", dimension=2)
    files = ["a.txt", "b.txt", "sub/a.txt", "box.zip", "sub/box.zip", "ж.txt", "x\u202ey.txt", "\udcff.txt"]
    within = ["lamp.txt", "more.zip", "more.zip/lamp.txt"]
    called = [visible_name(prefix + file) for prefix in ("", "attic/") for file in files]
    called += [f"{one}/{inner}" for one in called if one.endswith(".zip") for inner in within]
    documents = draw.sample(called, len(called) // 2)
    for name in documents:
        put(store, name)
    folders = FolderStore(database)
    for prefix in ("", "attic/"):
        folder = folders.bind(WatchedFolder(id=0, collection="default", path=Path(f"/{prefix}x"), prefix=prefix))
        known = [
            KnownFile(
                file, Stamp(1, 1, 1, 1), 1, "x", draw.choice([*called, None]), draw.choice("xxxy"), None,
                draw.choice([None, None, "2026"]),
            )
            for file in draw.sample(files, 6)
        ]  # fmt: skip
        folders.put(folder.id, known)
    settings = CurrentSettings(load(data_dir=tmp_path))
    named = DocumentNames(settings, database, CollectionLocator(settings, database))
    for one in [*called, "gone.txt", "a.txt/", ""]:
        assert named.resolve([one]) == meant_of_all(database, sorted(documents), [one])
    many = draw.sample([*called, "gone.txt"], 9)
    assert named.resolve(many) == meant_of_all(database, sorted(documents), many)


def test_a_name_is_looked_for_without_reading_the_list_of_documents(tmp_path: Path) -> None:
    database = Database(tmp_path / "db.sqlite3")
    store = DocumentStore(database, "default", embedder="fake", dimension=2)
    put(store, "a.txt")
    folder = FolderStore(database).bind(WatchedFolder(id=0, collection="default", path=Path("/papers")))
    FolderStore(database).put(
        folder.id, [KnownFile(name, Stamp(1, 1, 1, 1), 1, "x", "a.txt", "x") for name in ("a.txt", "b.txt")]
    )
    settings = CurrentSettings(load(data_dir=tmp_path))
    named = DocumentNames(settings, database, CollectionLocator(settings, database))
    asked: list[str] = []
    database._connection.set_trace_callback(asked.append)
    assert named.own_names(["b.txt", "a.txt", "gone.txt"]) == ["a.txt", "gone.txt"]
    database._connection.set_trace_callback(None)
    plans = [database.rows(f"EXPLAIN QUERY PLAN {sql}") for sql in asked if sql.startswith("SELECT")]
    read = [
        row["detail"]
        for plan in plans
        for row in plan
        if re.match(r"SCAN (d|f|documents|folder_files)\b", row["detail"])
    ]
    assert plans
    assert read == []


def put(store: DocumentStore, name: str) -> None:
    store.put(
        name, sha256="x", media_type="t", pages=None, text="x", chunks=[Chunk(None, 0, 1, "x")],
        vectors=np.ones((1, 2), np.float32),
    )  # fmt: skip
