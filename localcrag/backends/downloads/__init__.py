"""Model files: the manifest, the models folder, and downloads."""
