"""Collections that live in a PostgreSQL server with pgvector."""
