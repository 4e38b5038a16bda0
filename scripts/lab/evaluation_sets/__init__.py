"""Evaluation sets made from labelled data: documents, questions, recorded web results."""
