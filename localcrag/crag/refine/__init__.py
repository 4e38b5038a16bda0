"""Refine: cut passages into strips, and turn the relevant strips into evidence."""
