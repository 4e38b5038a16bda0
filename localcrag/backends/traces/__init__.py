"""What is left of texts in the files of a folder, byte for byte."""
