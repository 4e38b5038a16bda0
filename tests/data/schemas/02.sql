-- Schema 2 as it was first committed (83a5873, 2026-11-21): what brought a database of 1 to it. Never to be edited.
-- By name: the collection "default" can be set up before anything is in it.
CREATE TABLE collection_settings (
    collection TEXT PRIMARY KEY,
    preset TEXT
) STRICT;
