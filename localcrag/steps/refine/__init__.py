"""Refine: passages become strips, the strips that matter become evidence."""
