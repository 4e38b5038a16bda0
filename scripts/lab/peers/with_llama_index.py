"""LlamaIndex: its folder reader, its vector index stored in files, and its query engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llama_index.core import Settings, SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.llms import ChatMessage
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.llms.llama_cpp import LlamaCPP

from lab.peers.child import Task

CONTEXT = 8192
"""Context window in tokens, the language model's own."""


def chat(messages: Sequence[tuple[str, str]]) -> str:
    """Return messages in the language model's prompt format (ChatML)."""
    said = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in messages)
    return f"{said}<|im_start|>assistant\n"


def of_messages(messages: Sequence[ChatMessage]) -> str:
    """Return the prompt for LlamaIndex's messages."""
    return chat([(message.role.value, message.content or "") for message in messages])


class Program:
    """An index in memory that is written to files after all documents are added."""

    def __init__(self, task: Task) -> None:
        self._task = task
        Settings.embed_model = HuggingFaceEmbedding(model_name=task.embedder)
        Settings.llm = LlamaCPP(
            model_path=task.llm, temperature=0.0, max_new_tokens=task.tokens, context_window=CONTEXT, verbose=False,
            model_kwargs={"n_threads": task.threads}, messages_to_prompt=of_messages,
            completion_to_prompt=lambda text: chat([("user", text)]),
        )  # fmt: skip

    def add(self) -> None:
        documents = SimpleDirectoryReader(self._task.documents).load_data()
        index = VectorStoreIndex.from_documents(documents)
        index.storage_context.persist(self._task.data)
        self._engine = index.as_query_engine(streaming=True)

    def answer(self, question: str) -> Iterator[str]:
        yield from self._engine.query(question).response_gen

    def shown(self) -> tuple[str | None, bool | None]:
        return None, None
