"""Documents: reads files, cuts them into chunks, embeds them and adds them to a collection."""
