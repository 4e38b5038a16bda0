"""The application layer: everything that the page, the command line and the APIs have in common."""
