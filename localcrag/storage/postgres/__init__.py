"""Collections in a PostgreSQL database: address, connection, schema, documents and search."""
