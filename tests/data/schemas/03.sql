-- Schema 3 as it was first committed (bdf8d15, 2026-11-21): what brought a database of 2 to it. Never to be edited.
ALTER TABLE collection_settings ADD COLUMN web TEXT;
-- What SearXNG answered; `endpoint` without credentials, `parameters` and `answer` as JSON.
CREATE TABLE web_cache (
    endpoint TEXT NOT NULL,
    query TEXT NOT NULL,
    parameters TEXT NOT NULL,
    asked_at TEXT NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (endpoint, query, parameters)
) STRICT;
CREATE INDEX web_cache_by_time ON web_cache (asked_at);
