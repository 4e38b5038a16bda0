"""The search for residue: traces of deleted documents in the data folder's files and the database."""
