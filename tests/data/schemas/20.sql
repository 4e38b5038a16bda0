-- Schema 20 as it was first committed (229859d, 2026-11-28): what brought a database of 19 to it. Never to be edited.
-- Vectors of the embedder that a collection is being embedded anew with, until it has all of them: then they take the
-- place of those in `vectors` (new_vectors.py).
CREATE TABLE new_vectors (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    embedder TEXT NOT NULL,
    vector BLOB NOT NULL
) STRICT;
-- The embedder that was chosen for a collection; NULL: the one in use.
ALTER TABLE collection_settings ADD COLUMN embedder TEXT;
