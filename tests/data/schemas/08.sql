-- Schema 8 as it was first committed (343b568, 2026-11-22): what brought a database of 7 to it. Never to be edited.
-- Conversations. `state` is what became of a turn; `run_id` has no foreign key: a turn outlives its run.
CREATE TABLE chats (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    collection TEXT NOT NULL,
    preset TEXT,
    llm TEXT,
    created_at TEXT NOT NULL,
    changed_at TEXT NOT NULL
) STRICT;
CREATE INDEX chats_by_time ON chats (changed_at);
CREATE TABLE chat_turns (
    chat_id INTEGER NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    run_id TEXT,
    state TEXT NOT NULL,
    PRIMARY KEY (chat_id, number)
) STRICT, WITHOUT ROWID;
-- The files of documents whose pages are shown as pictures (PDF).
CREATE TABLE originals (
    document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
    data BLOB NOT NULL
) STRICT;
