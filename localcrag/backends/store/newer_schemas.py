"""The newest steps of the database schema."""

from __future__ import annotations

SCHEMA_16 = """
-- Which file a vector index was written to last, what tells it from others, of how many chunks, how things stood then
-- (chunk_changes.py), and which of its chunks are gone since.
DROP TABLE index_files;
CREATE TABLE index_files (
    collection_id INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    rows INTEGER NOT NULL,
    newest INTEGER NOT NULL,
    highest INTEGER NOT NULL,
    gone BLOB NOT NULL
) STRICT;
"""
SCHEMA_17 = """
-- What lists of documents show, apart from their texts: SQLite reads a text to its end to come to what is behind it.
ALTER TABLE documents ADD COLUMN characters INTEGER NOT NULL DEFAULT 0;
UPDATE documents SET characters = length(text);
CREATE TRIGGER document_added AFTER INSERT ON documents WHEN new.characters = 0 BEGIN
    UPDATE documents SET characters = length(new.text) WHERE id = new.id;
END;
CREATE TRIGGER document_changed AFTER UPDATE OF text ON documents BEGIN
    UPDATE documents SET characters = length(new.text) WHERE id = new.id;
END;
CREATE INDEX documents_listed ON documents (
    collection_id, name, sha256, media_type, pages, characters, added_at, dated, layout
);
"""
SCHEMA_18 = """
-- Collections that live, or are about to live, in a PostgreSQL server: `arriving` there as long as they are still here,
-- `there`, or `leaving` it when they are here again and still to be removed there. `address` without a password.
CREATE TABLE collection_homes (
    collection_id INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL
) STRICT;
"""
SCHEMA_19 = """
-- Folders that a collection follows. `prefix` stands in front of the names of their documents, `include` and `exclude`
-- are patterns (JSON); `away_since` is when the folder was found to be not there, and `away_why` in which way.
CREATE TABLE bound_folders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    path TEXT NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    include TEXT NOT NULL,
    exclude TEXT NOT NULL,
    gone TEXT NOT NULL,
    paused INTEGER NOT NULL DEFAULT 0,
    added_at TEXT NOT NULL,
    in_step_at TEXT,
    away_since TEXT,
    away_why TEXT
) STRICT;
-- Their files as they were seen last, so that those which are as they were need not be read to know it. `path` within
-- the folder, as the system has it; `sha256` of its content, `stored` of the content that `document` has of it;
-- `device` of the folder that it lies in. `gone_at` of one that is no more, until it is said what becomes of it.
CREATE TABLE folder_files (
    folder_id INTEGER NOT NULL REFERENCES bound_folders (id) ON DELETE CASCADE,
    path BLOB NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode TEXT NOT NULL,
    device TEXT NOT NULL,
    sha256 TEXT,
    document TEXT,
    stored TEXT,
    error TEXT,
    gone_at TEXT,
    PRIMARY KEY (folder_id, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX folder_files_by_document ON folder_files (document);
CREATE INDEX folder_files_to_tell ON folder_files (folder_id) WHERE error IS NOT NULL OR gone_at IS NOT NULL;
CREATE INDEX documents_by_content ON documents (collection_id, sha256, name);
"""
SCHEMA_20 = """
-- Vectors of the embedder that a collection is being embedded anew with, until it has all of them: then they take the
-- place of those in `vectors` (new_vectors.py).
CREATE TABLE new_vectors (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    embedder TEXT NOT NULL,
    vector BLOB NOT NULL
) STRICT;
-- The embedder that was chosen for a collection; NULL: the one in use.
ALTER TABLE collection_settings ADD COLUMN embedder TEXT;
"""
SCHEMA_21 = """
-- How many chunks and documents were ever deleted, and of how many the words are overwritten as well: full text and
-- the log of writes keep them until deleted_words.py is done with them.
CREATE TABLE words_to_overwrite (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    deleted INTEGER NOT NULL,
    overwritten INTEGER NOT NULL
) STRICT;
INSERT INTO words_to_overwrite SELECT 1, coalesce(max(seq), 0), 0 FROM sqlite_sequence WHERE name = 'documents';
CREATE TRIGGER words_of_chunk_left AFTER DELETE ON chunks BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_document_left AFTER DELETE ON documents BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
"""
SCHEMA_22 = """
-- Whatever else is deleted, or gets other words, leaves those that it had in the log of writes as well. A turn that is
-- answered only gains words, and so does a chat that is named after its first question.
CREATE TRIGGER words_of_name_left AFTER UPDATE OF name ON documents BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_run_left AFTER DELETE ON runs BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_run_changed AFTER UPDATE OF question, record ON runs BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_chat_left AFTER DELETE ON chats BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_title_left AFTER UPDATE OF title ON chats
WHEN new.title != old.title AND old.title != 'New chat' BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_turn_left AFTER DELETE ON chat_turns BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_label_left AFTER DELETE ON labels BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_label_changed AFTER UPDATE OF question, text, evidence, circumstances ON labels BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_pin_left AFTER DELETE ON pins BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_web_answer_left AFTER DELETE ON web_cache BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
-- Runs are told in the order in which they were stored.
DROP INDEX runs_by_time;
"""
SCHEMA_23 = """
-- The turns of a chat are a tree. `parent` is the number of the turn that a turn follows, NULL for a first turn. Turns
-- with the same parent are versions of one turn; the version with the highest `chosen` is shown.
ALTER TABLE chat_turns ADD COLUMN parent INTEGER;
ALTER TABLE chat_turns ADD COLUMN chosen INTEGER NOT NULL DEFAULT 1;
UPDATE chat_turns SET parent = (
    SELECT max(number) FROM chat_turns before
    WHERE before.chat_id = chat_turns.chat_id AND before.number < chat_turns.number
);
-- The shape of the trees, without the texts.
CREATE INDEX chat_turns_by_parent ON chat_turns (chat_id, parent, chosen);
"""
