"""Full text in other languages: words are found in other forms, and parts of what is not separated into words."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcrag.records.documents import Chunk
from localcrag.storage.collections.admin import move_documents
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.database import Database
from localcrag.storage.protocol import Store
from tests.support.fakes import FakeEmbedder
from tests.support.homes import Homes
from tests.support.other_languages import LEASES
from tests.support.stored_documents import rename_document

pytestmark = pytest.mark.contract

GERMAN = LEASES["de"]
ENGLISH = "The keys of the houses are kept by the janitor, and the deposit is paid in three parts."


def opened(folder: Path, collection: str = "c") -> DocumentStore:
    embedder = FakeEmbedder()
    database = Database(folder / "db.sqlite3")
    return DocumentStore(database, collection, embedder=embedder.name, dimension=embedder.dimension)


def put(store: Store, name: str, text: str) -> None:
    chunks = [Chunk(None, 0, len(text), text)]
    store.put(
        name, sha256=name, media_type="t", pages=None, text=text, chunks=chunks, vectors=FakeEmbedder().embed([text])
    )


@pytest.fixture
def store(homes: Homes) -> Store:
    store = homes.store()
    put(store, "en", ENGLISH)
    for language, text in LEASES.items():
        put(store, language, text)
    return store


@pytest.mark.parametrize(
    ("language", "word"),
    [
        pytest.param("de", "Haus", id="de: Häuser"),
        pytest.param("de", "Reparatur", id="de: Reparaturen"),
        pytest.param("es", "pagar", id="es: paga"),
        pytest.param("es", "permitir", id="es: permiten"),
        pytest.param("fr", "mensuelle", id="fr: mensuel"),
        pytest.param("fr", "autoriser", id="fr: autorisés"),
        pytest.param("pt", "permitir", id="pt: permitidos"),
        pytest.param("it", "inquilini", id="it: l'inquilino"),
        pytest.param("ru", "ключами", id="ru: Ключи"),
        pytest.param("zh", "租金", id="zh: a part of a run"),
        pytest.param("ja", "敷金", id="ja: a part of a run"),
        pytest.param("en", "house", id="en: houses"),
    ],
)
def test_a_word_is_found_in_another_form(store: Store, language: str, word: str) -> None:
    (document,) = [one.id for one in store.documents() if one.name == language]
    assert document in store.documents_of(store.full_text(word, 10)).values()
    assert document in (store.documents_containing(word) or ())


def test_each_document_has_its_language(store: Store) -> None:
    assert store.languages() == dict.fromkeys(["en", *LEASES], 1)


def test_a_collection_in_english_is_searched_as_before(tmp_path: Path) -> None:
    store = opened(tmp_path)
    put(store, "en", ENGLISH)
    assert store.full_text("Kaution deposits", 5) == store.chunk_ids()
    assert Database(tmp_path / "db.sqlite3").rows("SELECT * FROM chunks_fts_stems") == []


def test_stems_go_with_their_chunks(tmp_path: Path) -> None:
    store, other = opened(tmp_path), opened(tmp_path, "other")
    put(store, "Mietvertrag.txt", LEASES["de"])
    database = Database(tmp_path / "db.sqlite3")
    rename_document(database, "c", "Mietvertrag.txt", "Untermiete.txt")
    assert store.full_text("Untermieten", 5)
    move_documents(database, ["Untermiete.txt"], "c", "other")
    assert not store.full_text("Haus", 5)
    assert other.full_text("Haus", 5) == other.chunk_ids()
    other.delete("Untermiete.txt")
    assert database.rows("SELECT * FROM chunks_fts_stems") == database.rows("SELECT * FROM document_languages") == []


def test_erasing_everything_leaves_no_stem_in_the_file(tmp_path: Path) -> None:
    store = opened(tmp_path)
    put(store, "a.txt", LEASES["de"])
    database = Database(tmp_path / "db.sqlite3")
    assert b"hausmeist" in (tmp_path / "db.sqlite3-wal").read_bytes()
    database.erase()
    database.close()
    assert b"hausmeist" not in (tmp_path / "db.sqlite3").read_bytes()
