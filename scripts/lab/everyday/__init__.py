"""Everyday documents and questions: read, asked through the real pipeline, and measured."""
