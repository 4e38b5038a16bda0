-- Schema 18 as it was first committed (eb52965, 2026-11-28): what brought a database of 17 to it. Never to be edited.
-- Collections that live, or are about to live, in a PostgreSQL server: `arriving` there as long as they are still here,
-- `there`, or `leaving` it when they are here again and still to be removed there. `address` without a password.
CREATE TABLE collection_homes (
    collection_id INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL
) STRICT;
