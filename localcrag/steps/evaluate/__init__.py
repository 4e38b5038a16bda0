"""Evaluate and decide: each passage gets a relevance and a grade, the question an action."""
