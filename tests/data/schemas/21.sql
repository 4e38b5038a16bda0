-- Schema 21 as it was first committed (e0a5dc5, 2026-11-28): what brought a database of 20 to it. Never to be edited.
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
