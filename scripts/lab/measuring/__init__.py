"""Measure single steps: readers, text recognition, follow-ups, languages, contradictions."""
