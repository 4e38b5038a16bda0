"""Compare the language model with and without lookup decoding: tokens a second, and equal text."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator

import llama_cpp

from lab.speed.app import Figures
from localcrag.app.assembly import Assembly
from localcrag.crag.answer import generate
from localcrag.crag.retrieve import hybrid_search
from localcrag.models.llm import LlamaCpp, LookupLlama


def decoding(assembly: Assembly, questions: list[str]) -> Figures:
    """Return the tokens per second of answers from the best two passages, with and without guesses, and differences."""
    llm, parts = getattr(assembly.models.llm, "_model", None), assembly.parts(assembly.settings)
    settings = assembly.settings
    assert isinstance(llm, LlamaCpp)  # noqa: S101 - for the type alone
    ways: dict[str, Callable[..., Iterator[int]]] = {
        "guessing ahead": LookupLlama.generate,
        "token by token": llama_cpp.Llama.generate,
    }
    seconds, count, texts = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0), []
    for number, question in enumerate(questions):
        passages = hybrid_search(
            question, question, k=2, candidates=settings.candidates, embedder=parts.embedder, index=parts.index,
            store=parts.store,
        )  # fmt: skip
        prompt, end = llm._tokens(generate.plain_prompt(question, question, passages)), llm._llama.token_eos()
        found = {}
        for way in list(ways)[:: 1 if number % 2 else -1]:
            written: list[int] = []
            start = 0.0
            for token in itertools.islice(ways[way](llm._llama, prompt, temp=0.0), settings.answer_tokens):
                start = start or time.perf_counter()  # the first piece comes after the prompt has been evaluated
                written.append(token)
                if token == end:
                    break
            seconds[way] += time.perf_counter() - start
            count[way] += len(written) - 1
            found[way] = written
        texts.append(len({tuple(written) for written in found.values()}) == 1)
    speed = {way: count[way] / seconds[way] for way in ways}
    figures = {f"written tokens a second, {way}": each for way, each in speed.items()}
    figures["guessing ahead / token by token"] = speed["guessing ahead"] / speed["token by token"]
    return {**figures, "share of the answers that are the same": statistics.mean(texts)}
