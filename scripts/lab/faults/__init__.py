"""Faults put in on purpose, and what is lost by them: kills, and calls that fail."""
