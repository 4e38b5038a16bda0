"""Stores on disk: the SQLite database, the vector index, exported files."""
