"""The interfaces: command line, page, and API for other programs."""
