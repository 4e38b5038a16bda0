-- Schema 10 as it was first committed (10edb0f, 2026-11-23): what brought a database of 9 to it. Never to be edited.
-- `title`: NULL where it is made of the file's name. `layout`: by which rules it was cut into chunks (chunk.py).
ALTER TABLE documents ADD COLUMN title TEXT;
ALTER TABLE documents ADD COLUMN layout INTEGER NOT NULL DEFAULT 1;
-- The path of headings that a chunk stands under, what leads into it, and what is searched in front of its text.
ALTER TABLE chunks ADD COLUMN section TEXT;
ALTER TABLE chunks ADD COLUMN lead TEXT;
ALTER TABLE chunks ADD COLUMN front TEXT NOT NULL DEFAULT '';
DROP TRIGGER chunk_added;
DROP TRIGGER chunk_deleted;
DROP TABLE chunks_fts;
CREATE VIRTUAL TABLE chunks_fts USING fts5 (
    text, front, content = 'chunks', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
    INSERT INTO chunks_fts (rowid, text, front) VALUES (new.id, new.text, new.front);
END;
CREATE TRIGGER chunk_deleted AFTER DELETE ON chunks BEGIN
    INSERT INTO chunks_fts (chunks_fts, rowid, text, front) VALUES ('delete', old.id, old.text, old.front);
END;
INSERT INTO chunks_fts (chunks_fts) VALUES ('rebuild');
