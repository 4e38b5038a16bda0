"""The app without a face: everything that the page and the command line have in common."""
