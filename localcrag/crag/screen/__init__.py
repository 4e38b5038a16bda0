"""Screen: recognise prompt injection in retrieved text."""
