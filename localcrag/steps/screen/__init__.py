"""Screen: instructions to the model in retrieved text are left out."""
