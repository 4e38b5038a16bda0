"""Fuzzing of the document readers: seeds, changes of them, what is wrong with an answer, and what is kept of it."""
