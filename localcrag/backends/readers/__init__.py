"""Readers: pages of text from PDF, office files, e-books, web pages, Markdown and plain text."""
