"""The models: embedding model, reranker and language model, on this computer or behind a server."""

from localcrag.privacy.process import silence

silence()  # The libraries imported by these modules read these switches on import.
