"""Readers of all supported kinds of files; they run in separate processes."""
