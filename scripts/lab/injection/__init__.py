"""Prompt injection: train the judge, and measure which attacks get through."""
