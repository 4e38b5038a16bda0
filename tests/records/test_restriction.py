"""Questions put to some documents: which those are, by name, folder, tag, kind and day, and where that is kept."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from localcrag.crag.context import choose_documents, no_aliases
from localcrag.pipeline import answer
from localcrag.records.documents import Chunk, Document
from localcrag.records.errors import NameRefused, QuestionError, UnknownDocument
from localcrag.records.restriction import EVERYWHERE, Restriction, parent_folders
from localcrag.records.run import Run
from localcrag.runs import recording as record
from localcrag.runs import replay
from localcrag.runs.recording import Recording, describe_scope
from localcrag.settings import load
from localcrag.storage.chat_store import ChatStore
from localcrag.storage.collections.admin import move_documents
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.sqlite_collection import SqliteCollection
from localcrag.storage.database import Database
from tests.support.desk import Desk
from tests.support.fakes import FakeEmbedder
from tests.support.stored_documents import documents_of, rename_document

EMBEDDER = FakeEmbedder()
PDF, TEXT = "application/pdf", "text/plain"


def document(name: str, **fields: str | tuple[str, ...]) -> Document:
    plain = {"sha256": "x", "media_type": TEXT, "added_at": "2025-03-09T10:00:00+00:00", **fields}
    return Document(id=len(name), name=name, pages=None, characters=1, chunks=1, **plain)  # type: ignore[arg-type]


LEASE = document("house/papers.zip/Lease.pdf", media_type=PDF, tags=("contract", "house"), dated="2023-06-30")
TARIFF = document("Tariff 2024.pdf", media_type=PDF, tags=("power",), dated="2024-01-01")
NOTE = document("house/note.txt")
ALL = (LEASE, TARIFF, NOTE)


@pytest.mark.parametrize(
    ("restriction", "allowed"),
    [
        pytest.param(EVERYWHERE, ALL, id="all"),
        pytest.param(Restriction(documents=("tariff 2024.PDF",)), [TARIFF], id="name"),
        pytest.param(Restriction(documents=("*lease*", "note.txt")), [LEASE], id="pattern"),
        pytest.param(Restriction(documents=("Tariff*",), folders=("house/papers.zip",)), [LEASE, TARIFF], id="places"),
        pytest.param(Restriction(folders=("House/",)), [LEASE, NOTE], id="folder"),
        pytest.param(Restriction(folders=("hous",)), [], id="part of a folder's name"),
        pytest.param(Restriction(tags=("CONTRACT", "power")), [LEASE, TARIFF], id="tags"),
        pytest.param(Restriction(tags=("contract",), folders=("attic",)), [], id="both parts"),
        pytest.param(Restriction(kinds=("pdf",)), [LEASE, TARIFF], id="kind"),
        pytest.param(Restriction(since="2024"), [TARIFF, NOTE], id="year"),
        pytest.param(Restriction(since="2023-06", until="2023-06"), [LEASE], id="month"),
        pytest.param(Restriction(since="2024-01-01", until="2024-12-31"), [TARIFF], id="days"),
        pytest.param(Restriction(since="2025-03-09"), [NOTE], id="the day it was added, where it bears none"),
        pytest.param(Restriction(documents=("[1].txt",)), [], id="brackets are no pattern"),
    ],
)  # fmt: skip
def test_documents_are_chosen_by_every_part_that_is_given(
    restriction: Restriction, allowed: tuple[Document, ...]
) -> None:
    assert [one for one in ALL if restriction.allows(one)] == list(allowed)
    assert Restriction.of(restriction.plain()) == restriction
    assert bool(restriction) == (restriction is not EVERYWHERE)


def test_a_restriction_is_said_in_words_and_what_of_it_fits_nothing_as_well() -> None:
    wanted = Restriction(
        ("Lease.pdf", "*.pdf"), ("attic", "house"), ("power", "tax"), ("PDF", "Word"), "2024", "2025-03"
    )
    assert wanted.in_words() == (
        "Lease.pdf, *.pdf, folder attic, folder house; tag power, tag tax; PDF, Word; since 2024; until 2025-03"
    )
    assert wanted.without_effect(ALL) == (
        "no document is called “Lease.pdf”",
        "there is no folder “attic”",
        "no document has the tag “tax”",
        "no document is of the kind “Word”",
    )
    assert parent_folders("a/b/c.txt") == ["a", "a/b"]


@pytest.mark.parametrize("day", ["yesterday", "2024-13", "2024-02-30", "24-01-01", "2024-01-01-01", "-"])
def test_a_day_that_is_none_is_refused(day: str) -> None:
    with pytest.raises(
        QuestionError, match=r"is not a date\. Write a day as 2024-01-31, a month as 2024-01, a year as 2024\."
    ):
        Restriction.of({"since": day})


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "db.sqlite3")


def put(database: Database, name: str, collection: str = "c") -> DocumentStore:
    store = DocumentStore(database, collection, embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)
    store.put(
        name, sha256=name, media_type=TEXT, pages=None, text=name, chunks=[Chunk(None, 0, len(name), name)],
        vectors=EMBEDDER.embed([name]),
    )  # fmt: skip
    return store


def home(database: Database) -> SqliteCollection:
    return SqliteCollection(database, "c", Path())


def tags(database: Database, collection: str = "c") -> dict[str, tuple[str, ...]]:
    return {one.name: one.tags for one in documents_of(database, collection)}


def test_tags_stay_with_a_document_and_those_of_a_folder_come_to_what_is_added_there(database: Database) -> None:
    store = put(database, "house/a.txt")
    put(database, "b.txt")
    home(database).tag(["house/a.txt", "b.txt"], ["  #read   me ", "tax"], [])
    home(database).tag(["house/"], ["home"], [])
    put(database, "house/attic/new.txt")
    put(database, "house/a.txt")
    assert tags(database) == {
        "b.txt": ("read me", "tax"), "house/a.txt": ("home", "read me", "tax"), "house/attic/new.txt": ("home",)
    }  # fmt: skip
    assert home(database).folder_tags() == {"house": ["home"]}
    assert store.find("house/a.txt") == documents_of(database, "c")[1]
    rename_document(database, "c", "house/a.txt", "moved.txt")
    put(database, "x.txt", "other")
    move_documents(database, ["moved.txt"], "c", "other")
    assert tags(database, "other") == {"moved.txt": ("read me", "tax"), "x.txt": ()}
    home(database).tag(["b.txt"], [], ["TAX", "never"])
    home(database).tag(["house/"], [], ["home"])
    assert tags(database) == {"b.txt": ("read me",), "house/attic/new.txt": ()}
    store.delete("b.txt")
    assert [row["tag"] for row in database.rows("SELECT tag FROM document_tags")] == ["read me", "tax"]


def test_tags_that_are_none_and_places_that_there_are_not_are_refused_and_nothing_is_tagged(database: Database) -> None:
    put(database, "a.txt")
    for word in ("", " # ", "a,b", "a*", "x" * 51):
        with pytest.raises(NameRefused):
            home(database).tag(["a.txt"], ["fine", word], [])
    for name in ("a.txtx", "house/", "a.txt/"):
        with pytest.raises(UnknownDocument):
            home(database).tag(["a.txt", name], ["fine"], [])
    assert tags(database) == {"a.txt": ()}


def test_a_chat_keeps_which_documents_it_asks(database: Database) -> None:
    chats = ChatStore(database)
    wanted = Restriction(tags=("contract",), since="2024")
    chat = chats.begin("c", restriction=wanted)
    assert chats.chat(chat.id).restriction == wanted
    chats.change(dataclasses.replace(chat, restriction=EVERYWHERE))
    assert not chats.chat(chat.id).restriction


def played(recording: Recording) -> Run:
    assert list(recording)
    return recording.run


def test_a_question_is_put_to_the_documents_that_are_chosen_and_the_run_says_so(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "The harbour opens at six.")
    more = "The harbour opens at nine."
    desk.store.put(
        "more.txt", sha256="y", media_type=TEXT, pages=None, text=more, chunks=[Chunk(None, 0, len(more), more)],
        vectors=EMBEDDER.embed([more]),
    )  # fmt: skip
    names = [one.name for one in desk.store.documents()]
    parts, settings = desk.parts(), load(data_dir=tmp_path)
    wanted = Restriction(documents=(names[1],))
    run = played(answer("When does the harbour open?", parts=parts, settings=settings, restriction=wanted))
    assert {passage.document for passage in run.passages} == {names[1]}
    assert describe_scope(run) == f"searched: 1 of 2 documents ({names[1]}); 1 of 1 passage read"
    assert record.read(record.dump(run)) == run
    everywhere = played(answer("When does the harbour open?", parts=parts, settings=settings))
    assert {passage.document for passage in everywhere.passages} == set(names)
    assert describe_scope(everywhere) == "searched: all 2 documents; 2 of 2 passages read"
    assert describe_scope(dataclasses.replace(run, scope=None)) == ""
    warned = Restriction(documents=(names[1], "gone.txt"))
    run = played(answer("When does the harbour open?", parts=parts, settings=settings, restriction=warned))
    assert run.warnings[0] == "Only some documents are searched, and no document is called “gone.txt”."
    assert not replay.compare(run, everywhere).same


def test_a_question_that_no_document_may_answer_is_refused_at_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "The harbour opens at six.")
    with pytest.raises(QuestionError) as refused:
        answer(
            "When?", parts=desk.parts(), settings=load(data_dir=tmp_path), restriction=Restriction(tags=("contract",))
        )
    assert str(refused.value) == (
        "No document fits “tag contract”: no document has the tag “contract”. Ask without it, or choose others; "
        "localcrag documents lists names, tags and kinds."
    )
    assert choose_documents(EVERYWHERE, desk.store, no_aliases) is None
