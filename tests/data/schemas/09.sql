-- Schema 9 as it was first committed (087812b, 2026-11-22): what brought a database of 8 to it. Never to be edited.
-- What left this computer or was refused (egress_log.py); `query_bytes` of a search alone, and never the query.
CREATE TABLE egress (
    id TEXT PRIMARY KEY,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    destination TEXT NOT NULL,
    purpose TEXT NOT NULL,
    allowed INTEGER NOT NULL,
    asked_by TEXT NOT NULL,
    query_bytes INTEGER
) STRICT;
CREATE INDEX egress_by_time ON egress (at);
