-- Schema 14 as it was first committed (1b0784f, 2026-11-27): what brought a database of 13 to it. Never to be edited.
-- Found from the text when a document is put, or its collection opened: ISO 639-1, 'other', or nothing where it does
-- not tell. `stemmed`: it is searched by `chunks_fts_stems`, whose tokens we make (text/lexicon/stems.py).
CREATE TABLE document_languages (
    document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
    language TEXT NOT NULL,
    stemmed INTEGER NOT NULL
) STRICT;
CREATE VIRTUAL TABLE chunks_fts_stems USING fts5 (stems, tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER chunk_stems_deleted AFTER DELETE ON chunks BEGIN
    DELETE FROM chunks_fts_stems WHERE rowid = old.id;
END;
