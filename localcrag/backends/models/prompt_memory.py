"""What a language model has read of its prompts: what the next one shares with them is not read again.

The same prompt gets the same answer, whatever was asked before it: what is computed in other portions is rounded
otherwise. So every prompt is read in portions that follow from the prompt alone, its system message and then PORTION
tokens at a time, and only whole portions are kept. A second question on the same evidence, which stands before it,
needs no second reading of that but for the end of its last portion.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import llama_cpp

PORTION = 128
"""Tokens. A portion is a pass over all weights: with fewer a long prompt takes noticeably longer, with more less of it
is known."""
SET_ASIDE, LONGEST_SET_ASIDE = 3, 1024
"""Prompts of another kind that are kept beside the last one, and tokens of each: 24 MB with the embedded model."""


@dataclass(frozen=True, slots=True)
class _Read:
    """Tokens that were read, with the numbers of them at which a portion ends; `state` is llama.cpp's, set aside."""

    tokens: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    state: bytes = b""

    def known(self, tokens: Sequence[int], ends: Sequence[int]) -> int:
        """Return how many tokens of a prompt with these portions were read, in whole portions."""
        known = 0
        for own, other in zip(self.ends, ends, strict=False):
            if own != other or self.tokens[known:own] != tuple(tokens[known:other]):
                break
            known = own
        return known


class PromptMemory:
    """What one model has read; whoever uses it has the model's turn."""

    def __init__(self, llama: llama_cpp.Llama) -> None:
        self._llama = llama
        self._read = _Read()
        self._aside: OrderedDict[tuple[int, ...], _Read] = OrderedDict()

    def read(self, tokens: list[int], in_common: int) -> int:
        """Have the whole portions of a prompt read, and return how many of its tokens were known.

        `in_common`: so many tokens are what prompts of the kind begin with. Raises RuntimeError when llama.cpp fails.
        """
        ends = portions(in_common, len(tokens))
        if not self._read.known(tokens, ends[:1]):
            self._set_aside()
            self._bring_back(tuple(tokens[: ends[0]]) if ends else ())
        known = self._read.known(tokens, ends)
        if not known or not self._cut_back_to(known):
            self._llama.reset()  # type: ignore[no-untyped-call]
            known = 0
        self._read = _Read()
        at = known
        for end in ends[ends.index(known) + 1 if known else 0 :]:
            self._llama.eval(tokens[at:end])
            at = end
        self._read = _Read(tuple(tokens[:at]), ends)
        return known

    def forget(self) -> None:
        """Read everything anew the next time."""
        self._read = _Read()
        self._aside.clear()

    def _set_aside(self) -> None:
        """Keep the beginning of what was read last beside the window, which another kind of prompt is going to take."""
        ends = tuple(end for end in self._read.ends if end <= LONGEST_SET_ASIDE)
        if not ends or not self._cut_back_to(ends[-1]):
            return
        size = llama_cpp.llama_state_seq_get_size(self._llama.ctx, 0)
        state = (ctypes.c_uint8 * size)()
        if llama_cpp.llama_state_seq_get_data(self._llama.ctx, state, size, 0) == size:
            self._aside[self._read.tokens[: ends[0]]] = _Read(self._read.tokens[: ends[-1]], ends, bytes(state))
        while len(self._aside) > SET_ASIDE:
            self._aside.popitem(last=False)

    def _bring_back(self, beginning: tuple[int, ...]) -> None:
        """Put what was set aside with this beginning into the window, or nothing."""
        self._llama.reset()  # type: ignore[no-untyped-call]
        if (memory := llama_cpp.llama_get_memory(self._llama.ctx)) is not None:
            llama_cpp.llama_memory_clear(memory, True)
        self._read = _Read()
        kept = self._aside.pop(beginning, None)
        if kept is None:
            return
        state = (ctypes.c_uint8 * len(kept.state)).from_buffer_copy(kept.state)
        if llama_cpp.llama_state_seq_set_data(self._llama.ctx, state, len(kept.state), 0) == len(kept.state):
            self._llama.input_ids[: len(kept.tokens)] = kept.tokens
            self._llama.n_tokens = len(kept.tokens)
            self._read = _Read(kept.tokens, kept.ends)

    def _cut_back_to(self, length: int) -> bool:
        """Cut the window back to so many tokens; False for models with a recurrent state, which cannot go back."""
        memory = llama_cpp.llama_get_memory(self._llama.ctx)
        if memory is None or not llama_cpp.llama_memory_seq_rm(memory, -1, length, -1):
            return False
        self._llama.n_tokens = length
        return True


def portions(in_common: int, length: int) -> tuple[int, ...]:
    """Return where the portions of a prompt of `length` tokens end; the last token is left to be read in any case."""
    first = in_common or PORTION
    return tuple(range(first, length, PORTION))
