"""What scripts/bundle.py puts into a bundle as it stands: the installer, and the text that says how to use it."""
