"""Refine: cut passages into strips, and make evidence of those that matter."""
