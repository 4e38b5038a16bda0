-- Schema 13 as it was first committed (c603d36, 2026-11-26): what brought a database of 12 to it. Never to be edited.
-- Of chunks that show rows of a sheet, those (SheetRow's fields as JSON).
ALTER TABLE chunks ADD COLUMN rows TEXT;
