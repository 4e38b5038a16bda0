"""The step `compute`: questions about a table, answered by computing on the table itself."""
