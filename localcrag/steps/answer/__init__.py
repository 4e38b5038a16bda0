"""Answer: the evidence becomes an answer, and the answer is verified."""
