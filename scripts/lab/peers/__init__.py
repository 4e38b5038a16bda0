"""Compare localcrag with other programs that answer from documents, each in its own process."""
