"""Runs: the records of questions that were asked, figures computed from them, and people's labels."""
