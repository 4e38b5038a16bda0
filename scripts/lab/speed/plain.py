"""Plain RAG, timed: the same retrieval, no evaluation, no refinement, all passages in the prompt."""

from __future__ import annotations

import time

from lab.speed.app import Figures
from localcrag.app.assembly import Assembly
from localcrag.crag.answer import generate
from localcrag.crag.retrieve import hybrid_search
from localcrag.records.protocols import Decoding


def plain(assembly: Assembly, question: str) -> Figures:
    """Ask plain RAG a question; return the seconds to the first token and to the last."""
    parts, settings = assembly.parts(assembly.settings), assembly.settings
    start = time.perf_counter()
    passages = hybrid_search(
        question, question, k=settings.k, candidates=settings.candidates, embedder=parts.embedder,
        index=parts.index, store=parts.store,
    )  # fmt: skip
    stream = parts.llm.stream(
        generate.plain_prompt(question, question, passages), Decoding(max_tokens=settings.answer_tokens)
    )
    first = None
    for _ in stream:
        first = first or time.perf_counter() - start
    whole = time.perf_counter() - start
    return {"first token": first or whole, "last token": whole, "prompt tokens": float(stream.usage.prompt_tokens)}
