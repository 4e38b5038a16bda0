"""Readers of all supported kinds of files; they run in processes of their own."""
