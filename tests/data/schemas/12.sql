-- Schema 12 as it was first committed (d2732ea, 2026-11-26): what brought a database of 11 to it. Never to be edited.
-- Words by which documents are chosen: a document's own, and those of all that lie in a folder, now or later.
CREATE TABLE document_tags (
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (document_id, tag)
) STRICT, WITHOUT ROWID;
CREATE TABLE folder_tags (
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    folder TEXT NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (collection_id, folder, tag)
) STRICT, WITHOUT ROWID;
-- Which documents a chat's questions are put to (Restriction as JSON); NULL: to all.
ALTER TABLE chats ADD COLUMN restriction TEXT;
