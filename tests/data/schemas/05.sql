-- Schema 5 as it was first committed (bf575f8, 2026-11-21): what brought a database of 4 to it. Never to be edited.
-- What a person said of a run's answer, passages and sentences, with what is needed when the run is gone. No foreign
-- keys: a label outlives run, document and collection, until it is removed itself. `circumstances` is JSON.
CREATE TABLE labels (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    good INTEGER NOT NULL,
    labelled_at TEXT NOT NULL,
    collection TEXT NOT NULL,
    question TEXT NOT NULL,
    text TEXT NOT NULL,
    origin TEXT,
    document TEXT,
    page INTEGER,
    url TEXT,
    evidence TEXT,
    scorer TEXT NOT NULL,
    scorer_kind TEXT NOT NULL,
    logit REAL,
    cosine REAL,
    relevance REAL,
    circumstances TEXT,
    UNIQUE (run_id, kind, target)
) STRICT;
CREATE INDEX labels_of_collection ON labels (collection);
-- Questions with their accepted answers, asked again by `localcrag eval --pinned`; `question` is JSON.
CREATE TABLE pins (
    run_id TEXT PRIMARY KEY,
    pinned_at TEXT NOT NULL,
    collection TEXT NOT NULL,
    question TEXT NOT NULL
) STRICT;
