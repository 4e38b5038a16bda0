"""Fuzz the document readers: seeds, mutations, checks of the result, and findings."""
