"""Readers: pages of text from PDF, Word, HTML, Markdown and plain text files."""
