"""Runs: what became of questions, and what people said of it."""
