"""LangChain with Chroma: a recursive splitter, a retriever, and the package's own question prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from langchain_chroma import Chroma
from langchain_classic.chains.question_answering.stuff_prompt import PROMPT_SELECTOR
from langchain_community.chat_models import ChatLlamaCpp
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnablePassthrough
from langchain_huggingface import HuggingFaceEmbeddings
from langchain_text_splitters import RecursiveCharacterTextSplitter

from lab.peers.child import Task

CHUNK, OVERLAP = 1000, 200
"""Characters in a chunk and in the overlap, from LangChain's tutorial."""
CONTEXT = 8192
"""Context window in tokens, the language model's own. The package's 512 would be too few for four chunks."""
BATCH = 512
"""Tokens in a batch, llama.cpp's default; with the package's 8, a prompt takes several times as long."""


def joined(documents: Sequence[Document]) -> str:
    """Return the retrieved documents as one text."""
    return "\n\n".join(document.page_content for document in documents)


class Program:
    """A vector store on disk, and a chain over it."""

    def __init__(self, task: Task) -> None:
        self._documents = Path(task.documents)
        embedder = HuggingFaceEmbeddings(model_name=task.embedder)
        self._store = Chroma(persist_directory=task.data, embedding_function=embedder)
        llm = ChatLlamaCpp(
            model_path=task.llm, n_ctx=CONTEXT, n_batch=BATCH, n_threads=task.threads, max_tokens=task.tokens,
            temperature=0.0, verbose=False,
        )  # fmt: skip
        found = {"context": self._store.as_retriever() | joined, "question": RunnablePassthrough()}
        self._chain = found | PROMPT_SELECTOR.get_prompt(llm) | llm | StrOutputParser()

    def add(self) -> None:
        documents = [
            Document(path.read_text("utf-8"), metadata={"source": path.name})
            for path in sorted(self._documents.iterdir())
        ]
        splitter = RecursiveCharacterTextSplitter(chunk_size=CHUNK, chunk_overlap=OVERLAP, add_start_index=True)
        self._store.add_documents(splitter.split_documents(documents))

    def answer(self, question: str) -> Iterator[str]:
        yield from self._chain.stream(question)

    def shown(self) -> tuple[str | None, bool | None]:
        return None, None
