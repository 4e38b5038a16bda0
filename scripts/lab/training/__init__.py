"""Train relevance models, and prepare what they learn from."""
