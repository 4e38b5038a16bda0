"""A collection moved to a PostgreSQL server and back, with the real app: asked there, interrupted, changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.records.enums import IngestStatus, Preset
from localcrag.records.errors import LocalcragError, NameRefused, StoreError, UnknownCollection, UnknownDocument
from localcrag.records.events import RunFinished
from localcrag.records.ingest import IngestResult
from localcrag.records.restriction import EVERYWHERE, Restriction
from localcrag.records.run import Run
from localcrag.settings import load
from localcrag.storage.collections import admin
from localcrag.storage.collections.admin import MoveState, ServerLocation
from localcrag.storage.collections.document_store import DocumentStore
from tests.support.documents import make_pdf
from tests.support.first_start import started_before
from tests.support.postgres import PostgresServer

pytestmark = [pytest.mark.models, pytest.mark.slow]

TEXTS = {
    "tarn.txt": "The quillwort grows in the tarn above the village, and nowhere else in the county.",
    "dam.txt": "The dam was built in 1911 and holds the reservoir back.",
    "Hütte.txt": "Die Hütte am See hat zwölf Betten. Den Schlüssel hat der Hausmeister. Die Nacht kostet 14 Euro.",
}
QUESTION = "Where does the quillwort grow?"


@pytest.fixture
def assembly(tmp_path: Path) -> Iterator[Assembly]:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    make_pdf(folder / "boat.pdf", ["The boat may carry six people.", "It is tied up at the jetty in winter."])
    assembly = Assembly(load(data_dir=started_before(tmp_path / "data")))
    add(assembly, folder)
    yield assembly
    assembly.close()


def add(assembly: Assembly, *paths: Path) -> list[IngestStatus]:
    events = assembly.ingest(uploads_from(paths))
    return [event.status for event in events if isinstance(event, IngestResult)]


def asked(assembly: Assembly, question: str = QUESTION, restriction: Restriction = EVERYWHERE) -> Run:
    events = assembly.ask(question, restriction=restriction)
    (finished,) = [event for event in events if isinstance(event, RunFinished)]
    return finished.run


def moved(assembly: Assembly, to: str) -> None:
    for _ in assembly.collections.moving.move("default", to):
        pass


def lives_at(assembly: Assembly) -> str:
    return str(assembly.collections.homes.locate("default").server or "")


def said(run: Run) -> tuple[object, ...]:
    passages = [(one.text, one.document, round(one.relevance, 4)) for one in run.passages]
    # Those that are as likely may come in another order.
    return run.answer, run.action, sorted(passages)


def test_there_and_back_nothing_is_different_but_where_it_is(
    assembly: Assembly, postgres: PostgresServer, tmp_path: Path
) -> None:
    assembly.collections.tags.change(["tarn.txt"], put=["water"])
    before, listed = said(asked(assembly)), assembly.collections.documents()
    address = postgres.new()
    moved(assembly, address)
    assert lives_at(assembly) == address
    assert [(one.name, one.tags, one.chunks, one.language) for one in assembly.collections.documents()] == [
        (one.name, one.tags, one.chunks, one.language) for one in listed
    ]
    assert said(asked(assembly)) == before
    run = asked(assembly, "Was kostet die Nacht in der Hütte?", Restriction(documents=("*tte.txt",)))
    assert {one.document for one in run.passages} == {"Hütte.txt"}
    # Nothing of the documents is here, but for what the answers quote.
    rows = assembly.database.rows("SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM vectors)")
    assert tuple(rows[0]) == (0, 0)
    assert list((assembly.settings.data_dir / "index").glob("*")) == []
    new = tmp_path / "new.txt"
    new.write_text("The ferry leaves at nine.")
    assert add(assembly, new, tmp_path / "in") == [IngestStatus.ADDED, *[IngestStatus.UNCHANGED] * 4]
    assert assembly.collections.page_picture("boat.pdf", 2, ["jetty"])
    assembly.collections.delete_document("dam.txt")
    moved(assembly, "local")
    assert lives_at(assembly) == ""
    assert [one.name for one in assembly.collections.documents()] == ["Hütte.txt", "boat.pdf", "new.txt", "tarn.txt"]
    after = asked(assembly)
    assert after.answer == before[0]
    assert {one.document for one in asked(assembly, "When does the ferry leave?").passages} >= {"new.txt"}
    with pytest.raises(UnknownCollection):
        assembly.collections.homes.connect("again", address, "default")


def test_an_interrupted_move_goes_on_and_the_collection_is_asked_where_it_was(
    assembly: Assembly, postgres: PostgresServer, tmp_path: Path
) -> None:
    address = postgres.new()
    steps = assembly.collections.moving.move("default", address)
    assert [next(steps).done for _ in range(3)] == [0, 1, 2]
    steps.close()
    assert lives_at(assembly) == ""
    assert "quillwort" in str(asked(assembly).passages[0].text)
    rows = assembly.collections.homes.server(address).rows("SELECT id FROM localcrag.documents")
    copied = {row["id"] for row in rows}
    assert len(copied) == 2
    # What changes meanwhile is copied again, what went is removed.
    gone = assembly.collections.documents()[0].name
    assembly.collections.delete_document(gone)
    with pytest.raises(StoreError, match="or is being moved there"):
        moved(assembly, postgres.new())
    moved(assembly, address)
    assert len([one for one in assembly.collections.documents() if one.id in copied]) == 1
    assert gone not in [one.name for one in assembly.collections.documents()]
    # Half-way back, it still lives there.
    steps = assembly.collections.moving.move("default", "local")
    next(steps)
    next(steps)
    steps.close()
    assert lives_at(assembly) == address
    assert len(assembly.collections.documents()) == 3
    moved(assembly, "local")
    assert len(assembly.collections.documents()) == 3


class Fault:
    """A trigger that refuses to write or delete one document, in the data folder or in a server: a move stops there."""

    def __init__(self, assembly: Assembly, address: str, *, local: bool, event: str, document: str) -> None:
        self._assembly, self._address, self._local = assembly, address, local
        row = "NEW" if event == "INSERT" else "OLD"
        if local:
            self._run(
                f"CREATE TRIGGER fault BEFORE {event} ON documents WHEN {row}.name = '{document}' "
                "BEGIN SELECT RAISE(ABORT, 'a fault'); END"
            )
        else:
            self._run(
                "CREATE FUNCTION localcrag.fault() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'a fault'; END $$"
            )
            self._run(
                f"CREATE TRIGGER fault BEFORE {event} ON localcrag.documents FOR EACH ROW "
                f"WHEN ({row}.name = '{document}') EXECUTE FUNCTION localcrag.fault()"
            )

    def end(self) -> None:
        self._run("DROP TRIGGER fault" if self._local else "DROP TRIGGER fault ON localcrag.documents")

    def _run(self, sql: str) -> None:
        if self._local:
            with self._assembly.database.transaction() as connection:
                connection.execute(sql)
        else:
            self._assembly.collections.homes.server(self._address).rows(sql)


@pytest.mark.parametrize("event", ["INSERT", "DELETE"])
@pytest.mark.parametrize("to_server", [True, False], ids=["to a server", "from a server"])
def test_documents_whose_move_was_interrupted_are_moved_once_when_it_is_repeated(
    assembly: Assembly, postgres: PostgresServer, event: str, to_server: bool
) -> None:
    """The move stops at the third of four documents: when it is copied, and when it is deleted."""
    collections, address = assembly.collections, postgres.new()
    collections.tags.change(["tarn.txt"], put=["water"])
    names = sorted([*TEXTS, "boat.pdf"])
    kept = {name: collections.homes.locate("default").stored(name) for name in names}
    collections.store("other")
    for _ in collections.moving.move("other" if to_server else "default", address):
        pass
    fault = Fault(assembly, address, local=to_server is (event == "DELETE"), event=event, document=names[2])
    with pytest.raises(LocalcragError):
        collections.move_documents(names, "default", "other")
    here, there = (
        {one.name for one in collections.homes.locate(collection).documents()} for collection in ("default", "other")
    )
    assert here | there == set(names)
    fault.end()
    collections.move_documents(names, "default", "other")
    assert collections.homes.locate("default").documents() == []
    target = collections.homes.locate("other")
    assert [one.name for one in target.documents()] == names
    assert {name: target.stored(name) for name in names} == kept


def test_a_repeated_move_overwrites_no_other_document_of_that_name(
    assembly: Assembly, postgres: PostgresServer, tmp_path: Path
) -> None:
    collections = assembly.collections
    (tmp_path / "dam.txt").write_text("Another dam was built in 1960.")
    for _ in assembly.ingest(uploads_from([tmp_path / "dam.txt"]), "other"):
        pass
    for _ in collections.moving.move("other", postgres.new()):
        pass
    with pytest.raises(NameRefused, match=r"already has a document “dam\.txt”"):
        collections.move_documents(["tarn.txt", "dam.txt"], "default", "other")
    assert [one.name for one in collections.homes.locate("other").documents()] == ["dam.txt"]
    assert len(collections.homes.locate("default").documents()) == 4
    with pytest.raises(UnknownDocument, match=r"“nothing\.txt”"):
        collections.move_documents(["nothing.txt"], "default", "other")


def test_a_document_that_is_in_both_collections_keeps_the_tags_of_both(
    assembly: Assembly, postgres: PostgresServer, tmp_path: Path
) -> None:
    collections = assembly.collections
    for _ in assembly.ingest(uploads_from([tmp_path / "in" / "dam.txt"]), "other"):
        pass
    collections.tags.change(["dam.txt"], put=["reservoir"])
    collections.homes.locate("other").tag(["dam.txt"], ["1911"], [])
    for _ in collections.moving.move("other", postgres.new()):
        pass
    collections.move_documents(["dam.txt"], "default", "other")
    (found,) = collections.homes.locate("other").documents()
    assert found.tags == ("1911", "reservoir")
    assert "dam.txt" not in {one.name for one in collections.homes.locate("default").documents()}


def test_a_move_that_is_given_up_leaves_nothing_behind(assembly: Assembly, postgres: PostgresServer) -> None:
    address = postgres.new()
    steps = assembly.collections.moving.move("default", address)
    next(steps)
    next(steps)
    steps.close()
    moved(assembly, "local")
    assert assembly.collections.homes.server(address).rows("SELECT * FROM localcrag.collections") == []
    assert len(assembly.collections.documents()) == 4


def test_several_computers_use_one_collection(assembly: Assembly, postgres: PostgresServer, tmp_path: Path) -> None:
    address = postgres.new()
    moved(assembly, address)
    other = Assembly(load(data_dir=started_before(tmp_path / "other")))
    try:
        other.collections.homes.connect("lake", address, "default")
        with pytest.raises(NameRefused):
            other.collections.homes.connect("lake", address, "default")
        with pytest.raises(UnknownCollection, match="there are: default"):
            other.collections.homes.connect("sea", address)
        (tmp_path / "new.txt").write_text("The ferry leaves at nine.")
        for _ in other.ingest(uploads_from([tmp_path / "new.txt"]), "lake"):
            pass
        assert "new.txt" in [one.name for one in assembly.collections.documents()]
        assert "nine" in str(asked(assembly, "When does the ferry leave?").passages[0].text)
        other.collections.homes.disconnect("lake")
        assert "lake" not in other.collections.names()
        with pytest.raises(UnknownCollection, match="nothing to disconnect"):
            other.collections.homes.disconnect("default")
        assert len(assembly.collections.documents()) == 5
    finally:
        other.close()


def test_what_an_app_that_was_open_meanwhile_adds_is_not_lost(
    assembly: Assembly, postgres: PostgresServer, tmp_path: Path
) -> None:
    stale = assembly.collections.store()
    assert isinstance(stale, DocumentStore)
    moved(assembly, postgres.new())
    with pytest.raises(StoreError, match=r"has been moved to .*\. Try again"):
        stale.changes(None)
    (tmp_path / "new.txt").write_text("The ferry leaves at nine.")
    assert add(assembly, tmp_path / "new.txt") == [IngestStatus.ADDED]
    assert "new.txt" in [one.name for one in assembly.collections.documents()]


def test_documents_only_asks_no_collection_on_another_computer(assembly: Assembly) -> None:
    there = ServerLocation("postgresql://me@192.168.7.7:5432/documents", 1, MoveState.THERE)
    admin.set_server_location(assembly.database, "default", there)
    with pytest.raises(StoreError, match="documents-only nothing leaves this computer"):
        assembly.ask(QUESTION, preset=Preset.DOCUMENTS_ONLY)
