"""A week of use in hours: use the real web interface over HTTP, and measure what grows in it."""
