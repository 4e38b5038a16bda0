-- Schema 11 as it was first committed (d02ac30, 2026-11-26): what brought a database of 10 to it. Never to be edited.
-- The confidence of text recognition, of chunks that it read.
ALTER TABLE chunks ADD COLUMN confidence REAL;
-- Pages that show text and have none: `read` is what text recognition says of one (ScannedPage as JSON), NULL as long
-- as it waits or where it failed, as `error` says; `in_text` when the document's text and chunks have it.
CREATE TABLE scans (
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    page INTEGER NOT NULL,
    read TEXT,
    confidence REAL,
    seconds REAL,
    error TEXT,
    in_text INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (document_id, page)
) STRICT;
