"""Cost of a step: seconds, model calls and tokens."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from localcrag.records.protocols import Decoding, LanguageModel
from localcrag.records.run import Message, StepCost
from localcrag.steps.budget import Budget


class Clock:
    """Measures one step, from when it is made."""

    def __init__(self, name: str, budget: Budget | None = None) -> None:
        self._name = name
        self._budget = budget or Budget(0)
        self._start = time.perf_counter()
        self._estimated = False
        self._calls = self._prompt_tokens = self._completion_tokens = 0

    def stream(self, llm: LanguageModel, messages: Sequence[Message], decoding: Decoding) -> Iterator[str]:
        """Yield what the model writes; however it ends, the model is stopped and its tokens are counted."""
        stream = llm.stream(messages, decoding)
        self._calls += 1
        try:
            yield from stream
        finally:
            stream.close()
            self._prompt_tokens += stream.prompt_tokens
            self._completion_tokens += stream.completion_tokens
            self._estimated |= stream.estimated

    def complete(self, llm: LanguageModel, messages: Sequence[Message], decoding: Decoding) -> str:
        """Return all that the model writes."""
        return "".join(self.stream(llm, messages, decoding))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock, and the time budget, for what happens inside: a person is thinking."""
        paused_at = time.perf_counter()
        try:
            with self._budget.paused():
                yield
        finally:
            self._start += time.perf_counter() - paused_at

    def cost(self) -> StepCost:
        """Return what the step cost so far."""
        seconds = time.perf_counter() - self._start
        tokens = self._prompt_tokens, self._completion_tokens
        return StepCost(self._name, round(seconds, 4), self._calls, *tokens, self._estimated)
