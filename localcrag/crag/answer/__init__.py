"""Answer: generate from the evidence, verify each sentence, or quote the sources."""
