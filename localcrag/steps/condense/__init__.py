"""Condense: a follow-up becomes a question that stands alone."""
