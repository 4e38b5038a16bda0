"""Faults put in on purpose, and what is lost by them: so far, kills."""
