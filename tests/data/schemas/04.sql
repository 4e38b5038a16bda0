-- Schema 4 as it was first committed (a67e186, 2026-11-21): what brought a database of 3 to it. Never to be edited.
-- The day that a document bears, or that its file was changed on: YYYY-MM-DD, NULL when nobody knows.
ALTER TABLE documents ADD COLUMN dated TEXT;
