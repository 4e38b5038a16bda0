-- Schema 17 as it was first committed (70f4154, 2026-11-27): what brought a database of 16 to it. Never to be edited.
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
