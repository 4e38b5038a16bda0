"""Corrective RAG: one module or package for each step of the flow."""
