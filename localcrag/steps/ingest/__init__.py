"""Ingest: files become documents, documents become chunks."""
