-- Schema 15 as it was first committed (6f63501, 2026-11-27): what brought a database of 14 to it. Never to be edited.
-- Chunks that left a collection or came there with their document, so that its vector index need not read all ids to
-- follow; those that were put are above all others. Old rows are removed: who lacks them reads all ids.
CREATE TABLE chunk_changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL,
    chunk_id INTEGER NOT NULL
) STRICT;
CREATE TRIGGER document_leaves BEFORE DELETE ON documents BEGIN
    INSERT INTO chunk_changes (collection_id, chunk_id)
    SELECT old.collection_id, id FROM chunks WHERE document_id = old.id;
END;
CREATE TRIGGER chunk_leaves BEFORE DELETE ON chunks BEGIN
    INSERT INTO chunk_changes (collection_id, chunk_id)
    SELECT collection_id, old.id FROM documents WHERE id = old.document_id;
END;
CREATE TRIGGER document_moves AFTER UPDATE OF collection_id ON documents BEGIN
    INSERT INTO chunk_changes (collection_id, chunk_id)
    SELECT old.collection_id, id FROM chunks WHERE document_id = new.id;
    INSERT INTO chunk_changes (collection_id, chunk_id)
    SELECT new.collection_id, id FROM chunks WHERE document_id = new.id;
END;
CREATE INDEX stemmed_documents ON document_languages (language) WHERE stemmed;
