"""The compared programs: their packages, and how each is set up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    """A program: `module` contains its class, `packages` are pinned, and `set_up` describes its set-up in a line."""

    name: str
    module: str
    packages: tuple[str, ...]
    set_up: str
    options: tuple[tuple[str, str], ...] = ()


LOCALCRAG = Peer("localcrag", "lab.peers.with_localcrag", (), "as it starts: its own adapter on the language model")
PEERS = (
    LOCALCRAG,
    Peer(
        "localcrag, no adapter", "lab.peers.with_localcrag", (), "the language model as the others have it",
        (("llm", "smollm2-135m-instruct"),),
    ),
    Peer(
        "LangChain + Chroma", "lab.peers.with_langchain",
        ("langchain==1.5.2", "langchain-chroma==1.1.0", "chromadb==1.5.9", "langchain-huggingface==1.2.3",
         "langchain-community==0.4.2", "langchain-classic==1.0.8"),
        "chunks of 1,000 characters, 200 of them overlapping; the nearest 4; its own prompt for questions",
    ),
    Peer(
        "LlamaIndex", "lab.peers.with_llama_index",
        ("llama-index-core==0.14.25", "llama-index-embeddings-huggingface==0.8.0", "llama-index-llms-llama-cpp==0.7.0",
         "llama-index-readers-file==0.7.0"),
        "chunks of 1,024 tokens, 200 of them overlapping; the nearest 2; its own prompt for questions",
    ),
)  # fmt: skip
"""The compared programs. RAGLite 1.1.1 is left out: it needs numpy below 2, and a model from a hub for chunking."""
