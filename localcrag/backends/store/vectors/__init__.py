"""Graphs of vectors: two engines behind one protocol, and the files that they are kept in."""
