"""Retrieve: a question finds its passages."""
