"""Web: a question becomes a web query, its results become passages."""
