"""Reconcile: contradictions between documents and web."""
