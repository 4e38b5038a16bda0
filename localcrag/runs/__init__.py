"""Runs: the records of questions that were asked, what is computed from them, and people's labels."""
