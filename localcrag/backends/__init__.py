"""Backends: everything with side effects, one file per outside thing."""
