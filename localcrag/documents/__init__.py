"""Documents: read files, cut them into chunks, embed them, and add them to a collection."""
