"""Everything that localcrag stores: the SQLite database, vector indexes, PostgreSQL collections."""
