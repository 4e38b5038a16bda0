"""PostgreSQL as a home, on a real server: killed, shared, encrypted, searched within some documents, forgetting."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localcrag.privacy import egress_log
from localcrag.privacy.egress_log import Purpose
from localcrag.records.documents import Chunk
from localcrag.records.errors import StoreError
from localcrag.records.protocols import Vectors
from localcrag.storage.postgres import schema
from localcrag.storage.postgres.address import PostgresAddress, parse_postgres
from localcrag.storage.postgres.collection import PostgresCollection
from localcrag.storage.postgres.connection import PostgresDatabase
from localcrag.storage.postgres.search import PgVectorIndex, PostgresStore
from tests.support.command_line import as_process
from tests.support.fakes import FakeEmbedder
from tests.support.postgres import PostgresServer, a_server, opened
from tests.support.threads import DEADLOCK, start

pytestmark = pytest.mark.process

LISTENING = ("-c", "listen_addresses=127.0.0.1")


def debians() -> Path:
    """Return the folder of the programs of Debian's PostgreSQL, which has no pgvector."""
    return sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]


def put(store: PostgresStore, name: str, text: str, vectors: Vectors | None = None) -> None:
    count = 1 if vectors is None else len(vectors)
    store.put(
        name, sha256=name, media_type="t", pages=None, text=text, chunks=[Chunk(None, 0, len(text), text)] * count,
        vectors=FakeEmbedder().embed([text]) if vectors is None else vectors,
    )  # fmt: skip


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[PostgresDatabase]:
    with closing(PostgresDatabase(parse_postgres(postgres.new()))) as database:
        yield database


@pytest.fixture
def store(database: PostgresDatabase) -> PostgresStore:
    return opened(database, "c", embedder="fake", dimension=FakeEmbedder().dimension)


def test_what_was_put_before_the_server_was_killed_is_there_and_nothing_by_halves() -> None:
    with a_server("-c", "fsync=on") as server, closing(PostgresDatabase(parse_postgres(server.new()))) as database:
        store = opened(database, "c", embedder="fake", dimension=64)
        put_already: list[str] = []

        def go_on() -> None:
            for number in range(10_000):
                put(store, f"{number}.txt", f"The lighthouse number {number} was built in {1000 + number}.")
                put_already.append(f"{number}.txt")

        def kill() -> None:
            while len(put_already) < 20:
                halt.wait(0.01)
            server.kill()

        halt = threading.Event()
        killer = start(kill)
        with pytest.raises(StoreError, match="does not answer"):
            go_on()
        killer.result(DEADLOCK)
        server.start()
        names = {one.name: one for one in store.documents()}
        # One more may be there whose end nobody was told.
        assert set(put_already) <= set(names)
        assert len(names) - len(put_already) in (0, 1)
        assert all(one.chunks == 1 for one in names.values())
        assert len(store.chunk_ids()) == store.number_of_chunks() == len(names)
        assert store.full_text("lighthouse 7", 1) == store.chunk_ids([names["7.txt"].id])
        put(store, "after.txt", "Nothing was lost.")
        assert store.find("after.txt")


def test_one_writes_at_a_time_and_the_other_is_told_who_does(store: PostgresStore, database: PostgresDatabase) -> None:
    impatient = PostgresDatabase(database.address, patience=0.1)
    with closing(impatient), closing(PostgresDatabase(database.address)) as reader:
        other = PostgresStore(impatient, store.id, "c", embedder="fake", dimension=64)
        with database.transaction(store.id) as session:
            session.run("SET LOCAL application_name = 'localcrag on the desk'")
            with pytest.raises(StoreError, match="is being written to by localcrag on the desk, and one writes at a"):
                put(other, "a.txt", "a")
            assert reader.writer(store.id) == "localcrag on the desk"
            assert other.documents() == []
        put(other, "a.txt", "a")
        assert reader.writer(store.id) == ""
    assert [one.name for one in store.documents()] == ["a.txt"]


def test_several_documents_go_in_together_and_what_fails_of_them_undoes_itself_alone(store: PostgresStore) -> None:
    home = PostgresCollection(store.database, store.id, "c")

    def fails() -> None:
        with store.writing() as session:
            put(store, "b.txt", "b")
            session.run("SELECT 1 / 0")

    with home.transaction():
        put(store, "a.txt", "a")
        with pytest.raises(StoreError, match="division by zero"):
            fails()
        put(store, "c.txt", "c")
        assert store.twin("a.txt", "x") == "a.txt"
        assert PgVectorIndex(store).nearest(FakeEmbedder().embed(["a"])[0], 1)
    with pytest.raises(StoreError, match="division by zero"), home.transaction():
        fails()
    assert [one.name for one in store.documents()] == ["a.txt", "c.txt"]
    assert store.number_of_chunks() == len(store.chunk_ids()) == 2


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_the_nearest_within_some_documents_are_found(store: PostgresStore, share: float) -> None:
    random = np.random.default_rng(1)
    vectors = np.float32(random.normal(size=(3000, 64)))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for at in range(0, 3000, 10):
        put(store, f"{at}", "x", vectors[at : at + 10])
    index, documents = PgVectorIndex(store), [one.id for one in store.documents()]
    some = documents[: int(len(documents) * share)]
    own = store.vectors(store.chunk_ids(some))
    ids, matrix = list(own), np.stack(list(own.values()))
    hits = graph = 0
    for question in vectors[:50]:
        nearest = {ids[at] for at in np.argsort(-(matrix @ question))[:10]}
        hits += len(nearest & {chunk for chunk, _ in index.nearest(question, 10, some)})
        graph += len(nearest & {chunk for chunk, _ in index.search_graph(question, 10, some, 0)})
    assert hits == 500
    # What larger collections are asked, of more documents than can be compared one by one.
    assert graph >= 495


def test_a_deleted_text_is_in_no_file_of_the_server_after_vacuum() -> None:
    with (
        a_server("-c", "autovacuum=off") as server,
        closing(PostgresDatabase(parse_postgres(server.new()))) as database,
    ):
        store = opened(database, "c", embedder="fake", dimension=64)
        put(store, "keep.txt", "The ferry leaves at nine.")
        put(store, "gone.txt", "The quillwort grows in the tarn.")
        assert server.holds(b"quillwort")
        store.delete("gone.txt")
        PostgresCollection(database, store.id, "c").vacuum()
        assert not server.holds(b"quillwort")
        assert server.holds(b"ferry")


def test_a_server_elsewhere_is_spoken_to_only_under_a_certificate_that_is_trusted(tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / f"{name}.key", "-out",
             tmp_path / f"{name}.crt"], check=True, capture_output=True,
        )  # fmt: skip
    # Debian's, since the one of the wheel was built without encryption.
    with a_server(*LISTENING, programs=debians(), tls=tmp_path / "ours") as server:
        there = _Elsewhere("postgres", "postgres", "127.0.0.1", server.port)
        with closing(PostgresDatabase(replace(there, authority=str(tmp_path / "ours.crt")))) as database:
            (row,) = database.rows("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            assert row["ssl"]
        for trusted in ("", str(tmp_path / "theirs.crt")):
            refused(replace(there, authority=trusted), "certificate")
        refused(replace(there, authority=str(tmp_path / "none")), "Choose another file for sslrootcert")
    with a_server(*LISTENING, programs=debians()) as server:
        refused(_Elsewhere("postgres", "postgres", "127.0.0.1", server.port), "refuses SSL")


def refused(address: PostgresAddress, why: str) -> None:
    with closing(PostgresDatabase(address)) as database, pytest.raises(StoreError, match=why):
        database.rows("SELECT 1")


class _Elsewhere(PostgresAddress):
    """A server on this computer that is taken for one elsewhere: tests have no other computer."""

    @property
    def here(self) -> bool:
        return False


def test_a_connection_to_another_computer_is_in_the_ledger_under_its_own_purpose(egress_folder: Path) -> None:
    refused(parse_postgres("postgresql://me@10.255.255.1:9/documents"), r"10\.255\.255\.1:9 does not answer")
    with egress_log.drained_attempts(egress_folder) as attempts:
        (one,) = [attempt for attempt in attempts if attempt.destination == "10.255.255.1:9"]
    assert (one.purpose, one.allowed) == (Purpose.COLLECTION, True)


def test_citus_can_distribute_every_table_by_the_collection(database: PostgresDatabase) -> None:
    """Its rules: keys, and foreign keys between distributed tables, have the column; foreign keys on both sides."""
    schema.ensure_schema(database)
    constraints = database.rows(
        "SELECT conrelid::regclass::text AS it, confrelid::regclass::text AS other, contype AS kind, "
        "(SELECT array_agg(attname ORDER BY at) FROM unnest(conkey) WITH ORDINALITY u (n, at) JOIN pg_attribute "
        "ON attrelid = conrelid AND attnum = n) AS own, (SELECT array_agg(attname ORDER BY at) FROM unnest(confkey) "
        "WITH ORDINALITY u (n, at) JOIN pg_attribute ON attrelid = confrelid AND attnum = n) AS their "
        "FROM pg_constraint WHERE connamespace = 'localcrag'::regnamespace AND contype IN ('p', 'u', 'f')"
    )
    reference = {"localcrag.collections", "collections"}
    distributed = [one for one in constraints if one["it"] not in reference]
    assert {"documents", "chunks", "term_counts", "originals", "scans", "document_tags", "folder_tags"} <= {
        one["it"].removeprefix("localcrag.") for one in distributed
    }
    for one in distributed:
        assert one["own"][0] == "collection_id", one
        assert one["kind"] != "f" or one["other"] in reference or one["their"][0] == "collection_id", one
    unique = database.rows("SELECT indexdef FROM pg_indexes WHERE schemaname = 'localcrag'")
    assert all("(collection_id" in row["indexdef"] or "UNIQUE" not in row["indexdef"] or ".collections " in
               row["indexdef"] for row in unique)  # fmt: skip
    assert database.rows("SELECT 1 FROM pg_trigger WHERE NOT tgisinternal") == []


def test_tables_of_a_newer_localcrag_are_left_alone(database: PostgresDatabase) -> None:
    schema.ensure_schema(database)
    database.rows("UPDATE localcrag.about SET version = 99")
    with pytest.raises(StoreError, match=r"made by a newer localcrag \(version 99"):
        schema.ensure_schema(database)


def test_tables_of_before_0_1_0_are_left_alone_with_what_to_do(database: PostgresDatabase) -> None:
    schema.ensure_schema(database)
    database.rows("UPDATE localcrag.about SET version = 1")
    with pytest.raises(StoreError, match=r"older than 0\.1\.0.*Nothing was changed.*DROP SCHEMA localcrag CASCADE"):
        schema.ensure_schema(database)


def test_two_that_make_the_tables_at_once_make_them_once(postgres: PostgresServer) -> None:
    address = parse_postgres(postgres.new())
    databases = [PostgresDatabase(address) for _ in range(4)]
    for thread in [start(lambda one=one: schema.ensure_schema(one)) for one in databases]:  # type: ignore[misc]
        thread.result(DEADLOCK)
    assert databases[0].rows("SELECT version FROM localcrag.about") == [{"version": schema.VERSION}]
    for one in databases:
        one.close()


def test_a_server_without_pgvector_or_letters_is_refused_with_what_to_do(postgres: PostgresServer) -> None:
    postgres.run("CREATE DATABASE bare TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
    with (
        closing(postgres.database("bare")) as database,
        pytest.raises(StoreError, match="createdb --template=template0"),
    ):
        schema.ensure_schema(database)
    with (
        a_server(programs=debians()) as server,
        closing(server.database("postgres")) as database,
        pytest.raises(StoreError, match=r"has no pgvector; 0\.8 or newer is needed"),
    ):
        schema.ensure_schema(database)
    refused(postgres.database("there_is_none").address, "Make the database first")


def test_the_command_line_moves_lists_connects_and_disconnects(postgres: PostgresServer, tmp_path: Path) -> None:
    address, data, other = postgres.new(), tmp_path / "data", tmp_path / "other"
    (tmp_path / "a.txt").write_text("The ferry leaves at nine.")
    assert as_process(data, "ingest", str(tmp_path / "a.txt")).returncode == 0
    done = as_process(data, "collection", "move", "default", "--to", address)
    assert done.stdout == f"default: 1 document copied and compared; it is at {address}.\n"
    again = as_process(data, "collection", "move", "default", "--to", address)
    assert again.stdout == f"default: nothing had to be moved; it is at {address}.\n"
    assert json.loads(as_process(data, "collection", "--json").stdout) == [{"name": "default", "home": address}]
    connected = as_process(other, "collection", "connect", "ferries", address, "--there", "default")
    assert connected.stdout == f"ferries: connected to {address}\n"
    assert "a.txt" in as_process(other, "documents", "--collection", "ferries").stdout
    vacuumed = as_process(other, "collection", "vacuum", "ferries")
    assert vacuumed.stdout == "ferries: deleted data was erased from the server's tables and indexes.\n"
    assert as_process(other, "collection", "disconnect", "ferries").returncode == 0
    back = as_process(data, "collection", "move", "default", "--to", "local", "--json")
    assert json.loads(back.stdout) == {"name": "default", "home": "local", "documents": 1}
    refused = as_process(data, "collection", "move", "default", "--to", "postgresql://me:secret@10.0.0.1/x")
    assert refused.returncode == 1
    assert "contains a password" in refused.stderr
    assert "secret" not in refused.stderr
    here = as_process(data, "collection", "vacuum", "default")
    assert "is on this computer" in here.stderr
