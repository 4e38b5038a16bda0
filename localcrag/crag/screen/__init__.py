"""Screen: find instructions to the model in retrieved text, and leave them out."""
