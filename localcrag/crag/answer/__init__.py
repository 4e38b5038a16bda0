"""Answer: write the answer to a question, verify it, and lay out quotations."""
