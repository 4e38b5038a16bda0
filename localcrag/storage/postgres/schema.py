"""The PostgreSQL schema: tables, partitions and indexes of collections, and clean-up after deletions.

The chunks of each collection have their own partition, because a filtered search of an HNSW index that several
collections share misses most of the near chunks. All keys and foreign keys begin with the collection, so that Citus can
distribute every table by it (docs/guide/postgresql.md).
"""

from __future__ import annotations

import secrets

from localcrag.records.errors import NameRefused, StoreError, UnknownCollection
from localcrag.storage.postgres.connection import PostgresDatabase, Row, Session
from localcrag.text.lexicon import ENGLISH, LEXICONS

VERSION = 2
"""Version of the tables, which grows with each change to them. Version 1 was in use before 0.1.0."""
LEAST_POSTGRES, LEAST_PGVECTOR = 150000, (0, 8)
"""Oldest supported server_version_num, and oldest pgvector: the first one with iterative scans."""
UNSTEMMED = "plain"
"""Text search configuration of languages without stems, including those indexed by character pairs."""
_SNOWBALL = {ENGLISH: "english"} | {code: one.name.lower() for code, one in LEXICONS.items()}
"""PostgreSQL's dictionaries by language. They have no stop words, because a question may consist of nothing else."""
_DICTIONARIES = [
    statement
    for code, language in _SNOWBALL.items()
    for statement in (
        f"CREATE TEXT SEARCH DICTIONARY localcrag.stems_{code} (TEMPLATE = pg_catalog.snowball, Language = {language})",
        f"CREATE TEXT SEARCH CONFIGURATION localcrag.{code} (COPY = pg_catalog.simple)",
        f"""ALTER TEXT SEARCH CONFIGURATION localcrag.{code}
    ALTER MAPPING FOR asciiword, word, hword, hword_part, hword_asciipart, asciihword WITH localcrag.stems_{code}""",
    )
]
_TERMS = "\n        ".join(
    f"WHEN '{code}' THEN to_tsvector('localcrag.{code}'::regconfig, localcrag.words(t))" for code in LEXICONS
)
SCHEMA = (
    "CREATE SCHEMA localcrag",
    "CREATE TABLE localcrag.about (version integer NOT NULL)",
    f"INSERT INTO localcrag.about VALUES ({VERSION})",
    f"CREATE TEXT SEARCH CONFIGURATION localcrag.{UNSTEMMED} (COPY = pg_catalog.simple)",
    *_DICTIONARIES,
    # As localcrag cuts texts into words elsewhere: letters and digits, whatever stands between them.
    """CREATE FUNCTION localcrag.words(t text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN pg_catalog.regexp_replace(normalize(t, NFKC), '[^[:alnum:]]+', ' ', 'g')""",
    # Without the marks on letters, as SQLite's full text has English.
    r"""CREATE FUNCTION localcrag.bare_words(t text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN localcrag.words(pg_catalog.regexp_replace(normalize(t, NFKD), '[\u0300-\u036f]', '', 'g'))""",
    # By names, not in a column of type regconfig: a server with one cannot be upgraded by pg_upgrade.
    f"""CREATE FUNCTION localcrag.terms(language text, t text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE language
        {_TERMS}
        WHEN '{UNSTEMMED}' THEN to_tsvector('localcrag.{UNSTEMMED}'::regconfig, localcrag.words(t))
        ELSE to_tsvector('localcrag.{ENGLISH}'::regconfig, localcrag.bare_words(t))
    END""",
    """CREATE TABLE localcrag.collections (
    id integer PRIMARY KEY,
    name text NOT NULL UNIQUE,
    embedder text NOT NULL,
    dimension integer NOT NULL,
    created_at text NOT NULL,
    -- Whose documents are still on their way here; NULL: nobody's, and it can be used.
    arriving text,
    -- Grows with each change; the rest is what BM25 needs to know of all chunks.
    changes bigint NOT NULL DEFAULT 0,
    chunks bigint NOT NULL DEFAULT 0,
    words bigint NOT NULL DEFAULT 0
)""",
    """CREATE TABLE localcrag.documents (
    collection_id integer NOT NULL REFERENCES localcrag.collections (id) ON DELETE CASCADE,
    id bigint NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    media_type text NOT NULL,
    pages integer,
    text text NOT NULL,
    added_at text NOT NULL,
    dated text,
    title text,
    characters integer GENERATED ALWAYS AS (length(text)) STORED,
    -- ISO 639-1, 'other', or nothing where the text does not tell.
    language text NOT NULL,
    PRIMARY KEY (collection_id, id),
    UNIQUE (collection_id, name)
)""",
    "CREATE INDEX documents_by_checksum ON localcrag.documents (collection_id, sha256)",
    r"""CREATE TABLE localcrag.chunks (
    collection_id integer NOT NULL,
    id bigint NOT NULL,
    document_id bigint NOT NULL,
    page integer,
    start integer NOT NULL,
    "end" integer NOT NULL,
    text text NOT NULL,
    section text,
    lead text,
    confidence double precision,
    rows text,
    front text NOT NULL,
    -- By whose words it is found: a language of localcrag.terms; 'en' for all that are found as English is.
    language text NOT NULL,
    -- What it is found by where nothing separates words: pairs of characters.
    pairs text,
    search tsvector GENERATED ALWAYS AS
        (localcrag.terms(language, coalesce(pairs, front || E'\n' || text))) STORED,
    words integer NOT NULL,
    vector vector NOT NULL,
    -- The same number where the vector is the same, and whether it is in the graph: of many that are the same some are.
    likeness bigint NOT NULL,
    in_graph boolean NOT NULL,
    PRIMARY KEY (collection_id, id),
    FOREIGN KEY (collection_id, document_id) REFERENCES localcrag.documents (collection_id, id) ON DELETE CASCADE
) PARTITION BY LIST (collection_id)""",
    "CREATE INDEX chunks_of_document ON localcrag.chunks (collection_id, document_id)",
    "CREATE INDEX chunks_alike ON localcrag.chunks (collection_id, likeness)",
    "CREATE INDEX chunks_not_in_graph ON localcrag.chunks (collection_id, likeness) WHERE NOT in_graph",
    "CREATE INDEX chunks_by_words ON localcrag.chunks USING gin (search)",
    # In how many chunks a term is: what BM25 weighs it by.
    """CREATE TABLE localcrag.term_counts (
    collection_id integer NOT NULL REFERENCES localcrag.collections (id) ON DELETE CASCADE,
    term text NOT NULL,
    chunks integer NOT NULL,
    PRIMARY KEY (collection_id, term)
)""",
    "CREATE INDEX terms_of_none ON localcrag.term_counts (collection_id) WHERE chunks <= 0",
    """CREATE TABLE localcrag.originals (
    collection_id integer NOT NULL,
    document_id bigint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (collection_id, document_id),
    FOREIGN KEY (collection_id, document_id) REFERENCES localcrag.documents (collection_id, id) ON DELETE CASCADE
)""",
    """CREATE TABLE localcrag.scans (
    collection_id integer NOT NULL,
    document_id bigint NOT NULL,
    page integer NOT NULL,
    read text,
    confidence double precision,
    seconds double precision,
    error text,
    in_text integer NOT NULL DEFAULT 0,
    PRIMARY KEY (collection_id, document_id, page),
    FOREIGN KEY (collection_id, document_id) REFERENCES localcrag.documents (collection_id, id) ON DELETE CASCADE
)""",
    """CREATE TABLE localcrag.document_tags (
    collection_id integer NOT NULL,
    document_id bigint NOT NULL,
    tag text NOT NULL,
    PRIMARY KEY (collection_id, document_id, tag),
    FOREIGN KEY (collection_id, document_id) REFERENCES localcrag.documents (collection_id, id) ON DELETE CASCADE
)""",
    """CREATE TABLE localcrag.folder_tags (
    collection_id integer NOT NULL REFERENCES localcrag.collections (id) ON DELETE CASCADE,
    folder text NOT NULL,
    tag text NOT NULL,
    PRIMARY KEY (collection_id, folder, tag)
)""",
    "CREATE SEQUENCE localcrag.collection_ids AS integer",
)
ID_SEQUENCE = "CREATE SEQUENCE localcrag.ids START {start}"
"""SQL of the sequence for ids of documents and chunks. It starts at a random number far above SQLite's ids, so that the
ids of two databases hardly ever coincide, and an old question cannot show a wrong passage."""
LEAST_ID, MOST_ID = 1 << 41, 1 << 52
"""Range of the first id."""
LINKS, CONSTRUCTION = 16, 200
"""Parameters of the HNSW graph, the same as for collections in SQLite (engines.py)."""
INDEX_MEMORY = "512MB"
"""Memory for building the graph of a whole collection. 1,000,000 chunks of 384 numbers in half precision need twice as
much, and the build is slower if the memory is too small (pgvector's README, "Index Build Time")."""
_SCHEMA_LOCK = 1
"""Key of the advisory lock for creating the tables. Locks of collections have two keys, so they never collide."""


def ensure_schema(database: PostgresDatabase) -> None:
    """Create the tables if there are none. Raises StoreError if the server or its tables cannot be used."""
    if database.rows("SELECT to_regclass('localcrag.about') AS about")[0]["about"] is None:
        _require_server(database)
        with database.transaction() as session:
            session.run("SELECT pg_advisory_xact_lock(:key)", key=_SCHEMA_LOCK)
            # Another program may have created the tables while this one waited for the lock.
            if session.rows("SELECT to_regclass('localcrag.about') AS about")[0]["about"] is None:
                session.run("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
                for statement in SCHEMA:
                    session.run(statement)
                session.run(ID_SEQUENCE.format(start=LEAST_ID + secrets.randbelow(MOST_ID - LEAST_ID)))
    version = database.rows("SELECT version FROM localcrag.about")[0]["version"]
    if version < VERSION:
        raise StoreError(
            f"The tables at {database.address.at} were made by a localcrag older than 0.1.0, which this version cannot "
            "use. Nothing was changed. Choose another database, or remove these tables (in psql: DROP SCHEMA localcrag "
            "CASCADE); then add your documents again."
        )
    if version > VERSION:
        raise StoreError(
            f"The tables at {database.address.at} were made by a newer localcrag (version {version}, this one knows "
            f"{VERSION}). Update localcrag."
        )


def _require_server(database: PostgresDatabase) -> None:
    (found,) = database.rows(
        "SELECT current_setting('server_version') AS server, current_setting('server_version_num')::int AS number, "
        "(SELECT default_version FROM pg_available_extensions WHERE name = 'vector') AS vector, "
        "(SELECT extversion FROM pg_extension WHERE extname = 'vector') AS installed, "
        "current_setting('server_encoding') AS encoding, lower('ÄЖ') = 'äж' AS knows_letters"
    )
    at, version = database.address.at, found["installed"] or found["vector"] or ""
    if found["number"] < LEAST_POSTGRES:
        raise StoreError(f"The server at {at} is PostgreSQL {found['server']}; 15 or newer is needed. Update it.")
    if not version or tuple(map(int, version.split(".")[:2])) < LEAST_PGVECTOR:
        available = f"only pgvector {version}" if version else "no pgvector"
        raise StoreError(
            f"The server at {at} has {available}; 0.8 or newer is needed. Install it there (on Debian: "
            "postgresql-NN-pgvector from apt.postgresql.org)."
        )
    if found["encoding"] != "UTF8" or not found["knows_letters"]:
        raise StoreError(
            f"The database {database.address.database} at {at} supports only ASCII letters. Create one with UTF-8: "
            "createdb --template=template0 --encoding=UTF8 --locale=C.UTF-8 NAME"
        )


def add_index(session: Session, collection: int, dimension: int) -> None:
    """Create the HNSW graph of a collection, in half precision; queries compare its results in full precision."""
    session.run(
        f"CREATE INDEX IF NOT EXISTS chunks_{int(collection)}_nearest ON localcrag.chunks_{int(collection)} "
        f"USING hnsw ((vector::halfvec({int(dimension)})) halfvec_ip_ops) "
        f"WITH (m = {LINKS}, ef_construction = {CONSTRUCTION}) WHERE {graph_condition(dimension)}"
    )


def graph_condition(dimension: int) -> str:
    """Return the SQL condition for chunks in the graph, which queries must repeat so that the graph is used.

    Vectors of another dimension are from before a re-indexing; transactions that began before can still see them.
    """
    return f"in_graph AND vector_dims(vector) = {int(dimension)}"


def drop_index(session: Session, collection: int) -> None:
    """Remove a collection's graph, before all of its vectors are replaced."""
    session.run(f"DROP INDEX IF EXISTS localcrag.chunks_{int(collection)}_nearest")


def drop_partition(session: Session, collection: int) -> None:
    """Remove a collection's chunks with their indexes, including their files on the server."""
    session.run(f"DROP TABLE IF EXISTS localcrag.chunks_{int(collection)}")


def find_collection(database: PostgresDatabase, name: str) -> Row | None:
    """Return the row of the collection of that name, or None. Raises StoreError."""
    return next(iter(database.rows("SELECT * FROM localcrag.collections WHERE name = :name", name=name)), None)


def collection_names(database: PostgresDatabase) -> list[str]:
    """Return the names of the collections that have arrived completely. Raises StoreError."""
    rows = database.rows('SELECT name FROM localcrag.collections WHERE arriving IS NULL ORDER BY name COLLATE "C"')
    return [row["name"] for row in rows]


def require_collection(database: PostgresDatabase, name: str) -> Row:
    """Return the row of a collection that has arrived completely. Raises UnknownCollection and StoreError."""
    row = find_collection(database, name)
    at = database.address.at
    if row is None:
        existing = ", ".join(collection_names(database)) or "none yet"
        raise UnknownCollection(f"There is no collection “{name}” at {at} (there are: {existing}).")
    if row["arriving"] is not None:
        raise UnknownCollection(f"The collection “{name}” at {at} is still being moved there. Try again later.")
    return row


def begin_arrival(
    database: PostgresDatabase, name: str, *, embedder: str, dimension: int, arriving: str, created_at: str
) -> int:
    """Create a collection whose documents are about to arrive, and return its id.

    If a collection of that name is already arriving from the same source (`arriving`), it is continued, or replaced if
    its embedding model differs. Raises NameRefused if there is any other collection of that name, and StoreError.
    """
    with database.transaction() as session:
        sql = "SELECT * FROM localcrag.collections WHERE name = :name FOR UPDATE"
        for row in session.rows(sql, name=name):
            if row["arriving"] == arriving and (row["embedder"], row["dimension"]) == (embedder, dimension):
                return int(row["id"])
            if row["arriving"] != arriving:
                raise NameRefused(
                    f"The collection “{name}” already exists at {database.address.at}. Rename this one first, or use "
                    f"that one: localcrag collection connect {name} {database.address}"
                )
            drop_partition(session, row["id"])
            session.run("DELETE FROM localcrag.collections WHERE id = :id", id=row["id"])
        (row,) = session.rows(
            "INSERT INTO localcrag.collections (id, name, embedder, dimension, created_at, arriving) VALUES "
            "(nextval('localcrag.collection_ids'), :name, :embedder, :dimension, :created_at, :arriving) RETURNING id",
            name=name, embedder=embedder, dimension=dimension, created_at=created_at, arriving=arriving,
        )  # fmt: skip
        number = int(row["id"])
        partition = f"CREATE TABLE localcrag.chunks_{number} PARTITION OF localcrag.chunks FOR VALUES IN ({number})"
        session.run(partition)
        # Move the vector out of the row, so that rows stay short: the rest is read for every chunk that is compared.
        session.run(f"ALTER TABLE localcrag.chunks_{number} ALTER COLUMN vector SET STORAGE EXTERNAL")
        return number


def create_index(database: PostgresDatabase, collection: int) -> None:
    """Create the graph of a collection that has arrived, unless it exists. Raises StoreError."""
    with database.transaction(collection) as session:
        (row,) = session.rows("SELECT dimension FROM localcrag.collections WHERE id = :id", id=collection)
        session.run(f"SET LOCAL maintenance_work_mem = '{INDEX_MEMORY}'")
        add_index(session, collection, row["dimension"])
        session.run(f"ANALYZE localcrag.chunks_{int(collection)}")


def finish_arrival(database: PostgresDatabase, collection: int) -> None:
    """Mark a collection as completely arrived, so that everyone can use it. Raises StoreError."""
    with database.transaction(collection) as session:
        session.run("UPDATE localcrag.collections SET arriving = NULL WHERE id = :id", id=collection)


CLEARED_SINCE = 180000
"""First server_version_num that can clear the statistics of a column (pg_clear_attribute_stats)."""
_CLEAR = """
SELECT pg_clear_attribute_stats(schemaname, tablename, attname, inherited) FROM pg_stats
WHERE schemaname = 'localcrag' AND tablename = :table
"""


def vacuum(database: PostgresDatabase, collection: int) -> None:
    """Rewrite the tables of a collection, and the planner's statistics about them. Raises StoreError.

    The planner stores the most frequent values of each column, including words of documents. Old values stay in the
    statistics table's file until that table is rewritten as well; the owner of the database may do that. PostgreSQL 15
    to 17 keep the values of a table that has become empty.
    """
    partition = f"chunks_{int(collection)}"
    tables = ("documents", partition, "term_counts", "originals", "scans", "document_tags", "folder_tags")
    can_clear = int(database.rows("SHOW server_version_num")[0]["server_version_num"]) >= CLEARED_SINCE
    for table in (*tables, "chunks"):
        if can_clear:
            database.rows(_CLEAR, table=table)
        if table in tables:
            database.run_alone(f"VACUUM (FULL, ANALYZE) localcrag.{table}")
    database.run_alone("VACUUM (FULL) pg_catalog.pg_statistic")
