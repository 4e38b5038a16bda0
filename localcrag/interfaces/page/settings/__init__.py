"""The settings of the page."""
