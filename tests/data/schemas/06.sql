-- Schema 6 as it was first committed (423559f, 2026-11-21): what brought a database of 5 to it. Never to be edited.
-- What was fitted for a collection, for a scorer (by name and weights) and an embedder; the newest that was not undone
-- is in force. `record` as JSON.
CREATE TABLE calibrations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection TEXT NOT NULL,
    scorer TEXT NOT NULL,
    weights TEXT NOT NULL,
    embedder TEXT NOT NULL,
    made_at TEXT NOT NULL,
    undone_at TEXT,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX calibrations_of_collection ON calibrations (collection, scorer);
