"""An answer as llama.cpp writes it, piece by piece."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import Any

import llama_cpp
from llama_cpp.llama_grammar import LlamaGrammar

from localcrag.backends.models.prompt_memory import PromptMemory
from localcrag.records.errors import GenerationError
from localcrag.records.protocols import Decoding


class LlamaStream:
    """An answer being written. Closing it stops the model; so does letting go of it."""

    def __init__(
        self,
        llama: llama_cpp.Llama,
        turn: threading.Lock,
        tokens: list[int],
        *,
        memory: PromptMemory,
        in_common: int,
        decoding: Decoding,
        grammar: LlamaGrammar | None,
    ) -> None:
        """Prepare; the model starts with the first piece asked for.

        `in_common`: so many tokens are what prompts of the kind begin with.
        """
        self.prompt_tokens = len(tokens)
        self.known_tokens = 0
        """Of the prompt: those that were read before, with another."""
        self.completion_tokens = 0
        self.estimated = False
        self._stopped = threading.Event()
        # Must not know this object: in a circle with it, an abandoned stream would keep its turn until some day the
        # garbage collector came by.
        self._written = _write(
            llama,
            turn,
            tokens,
            memory=memory,
            in_common=in_common,
            decoding=decoding,
            grammar=grammar,
            stopped=self._stopped,
        )

    def __iter__(self) -> Iterator[str]:
        for text, written, known in self._written:
            self.completion_tokens, self.known_tokens = written, known
            if text:
                yield text

    def close(self) -> None:
        """Stop the model, if it still writes; when another thread waits for it, at its next token."""
        self._stopped.set()
        with suppress(ValueError):  # A generator that another thread is in cannot be closed: it sees the event.
            self._written.close()


def _write(
    llama: llama_cpp.Llama,
    turn: threading.Lock,
    tokens: list[int],
    *,
    memory: PromptMemory,
    in_common: int,
    decoding: Decoding,
    grammar: LlamaGrammar | None,
    stopped: threading.Event,
) -> Generator[tuple[str, int, int], None, None]:
    """Yield pieces of text (may be empty), each with the number of tokens written so far and of those known before."""
    with turn:
        # To llama-cpp-python, no tokens means any number of them.
        if decoding.max_tokens < 1 or stopped.is_set():
            return
        try:
            known = memory.read(tokens, in_common)
            chunks: Any = llama.create_completion(
                tokens,
                max_tokens=decoding.max_tokens,
                temperature=decoding.temperature,
                # Without one of its own, llama-cpp-python throws the same dice for every answer.
                seed=secrets.randbits(32),
                repeat_penalty=1.0,
                stop=list(decoding.stop),
                grammar=grammar,
                stream=True,
            )
            for chunk in chunks:
                if stopped.is_set():
                    return
                # Not the number of chunks: a character of several tokens comes as one. The last token is not yet read.
                yield chunk["choices"][0]["text"], llama.n_tokens - len(tokens) + 1, known
        except (ValueError, RuntimeError, MemoryError) as error:
            memory.forget()
            raise GenerationError(
                f"The language model stopped with an error: {error}. Ask again; if it stays so, choose a smaller "
                "model with `localcrag models use NAME`, or lower context_tokens in the settings."
            ) from error
