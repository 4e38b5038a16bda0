"""Collections in SQLite: documents, chunks, full-text and vector search, and folders."""
