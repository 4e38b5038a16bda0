"""Train rerankers, and prepare their training data."""
