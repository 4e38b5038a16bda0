"""Refine: cut passages into strips, and keep those that matter as evidence."""
