"""A week of use in hours: the real page's process, asked over its own HTTP, and what grows in it meanwhile."""
