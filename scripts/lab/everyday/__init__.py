"""Everyday documents and questions: ask them through the real pipeline, and measure the answers."""
