"""The models: embedding model, reranker and language model, on this computer or behind a server."""

from localcrag.privacy.process import silence

silence()  # The libraries that the modules here import read these switches when they are imported.
