"""The chat of the page."""
