"""Models behind servers of the user's own: language models and rerankers, over HTTP."""
