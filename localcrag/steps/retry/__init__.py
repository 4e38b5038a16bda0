"""Retry: the documents are searched once more, in other words."""
