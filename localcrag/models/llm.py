"""The language model in this process, run by llama.cpp.

`LlamaCpp` loads a GGUF file and streams answers. Two parts make it faster:

- `PrefixCache` is a prefix cache: tokens at the start of a prompt that an earlier prompt shared are not evaluated
  again. Yet the same prompt gets the same answer, whatever came before. Evaluating tokens in batches of another size
  rounds differently, so the batches follow from the prompt alone: its system message, then BATCH_TOKENS tokens at a
  time. Only whole batches are reused. In a prompt, the evidence comes before the question, so that a second question on
  the same evidence evaluates only the end of its prompt.
- `LookupLlama` guesses tokens that the answer copies from its prompt, and checks many guesses in one step.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import llama_cpp
import numpy as np
from llama_cpp.llama_chat_format import Jinja2ChatFormatter
from llama_cpp.llama_grammar import LlamaGrammar

from localcrag.models import gguf
from localcrag.models.answer_stream import AnswerStream
from localcrag.models.gguf import faster_copy
from localcrag.records.errors import GenerationError, ModelDamaged
from localcrag.records.protocols import Decoding, TokenUsage
from localcrag.records.run import Message

BATCH_TOKENS = 128
"""Tokens in a batch. Each batch is a pass over all weights: smaller ones make a long prompt noticeably slower, larger
ones leave more tokens at the end of a shared beginning to be evaluated again."""
SAVED_PROMPTS, MAX_SAVED_TOKENS = 3, 1024
"""Number of saved prompts with other system messages, and number of tokens saved of each: 24 MB with the embedded
model."""


@dataclass(frozen=True, slots=True)
class _Evaluated:
    """Tokens that the model has evaluated, and the positions where its batches end.

    `state` is llama.cpp's KV state of these tokens if they were saved, otherwise empty.
    """

    tokens: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    state: bytes = b""

    def known(self, tokens: Sequence[int], ends: Sequence[int]) -> int:
        """Return how many tokens at the start of a prompt with these batches are evaluated already."""
        known = 0
        for own, other in zip(self.ends, ends, strict=False):
            if own != other or self.tokens[known:own] != tuple(tokens[known:other]):
                break
            known = own
        return known


class PrefixCache:
    """Cache of the prompt prefixes in one model's KV cache. Callers must hold the model's lock."""

    def __init__(self, llama: llama_cpp.Llama) -> None:
        self._llama = llama
        self._read = _Evaluated()
        self._aside: OrderedDict[tuple[int, ...], _Evaluated] = OrderedDict()

    def read(self, tokens: list[int], prefix_length: int) -> int:
        """Evaluate the whole batches of a prompt, and return how many of its tokens were in the cache.

        `prefix_length` is the number of tokens at the start that all prompts with the same system message share. Raises
        RuntimeError if llama.cpp fails.
        """
        ends = batch_ends(prefix_length, len(tokens))
        if not self._read.known(tokens, ends[:1]):
            self._set_aside()
            self._restore_state(tuple(tokens[: ends[0]]) if ends else ())
        known = self._read.known(tokens, ends)
        if not known or not self._truncate_to(known):
            self._llama.reset()  # type: ignore[no-untyped-call]
            known = 0
        # If evaluating fails half-way, the cache counts as empty.
        self._read = _Evaluated()
        at = known
        for end in ends[ends.index(known) + 1 if known else 0 :]:
            self._llama.eval(tokens[at:end])
            at = end
        self._read = _Evaluated(tuple(tokens[:at]), ends)
        return known

    def forget(self) -> None:
        """Empty the cache, so that the next prompt is evaluated from its start."""
        self._read = _Evaluated()
        self._aside.clear()

    def _set_aside(self) -> None:
        """Save the KV state of the last prompt's beginning before a prompt of another kind overwrites the context."""
        ends = tuple(end for end in self._read.ends if end <= MAX_SAVED_TOKENS)
        if not ends or not self._truncate_to(ends[-1]):
            return
        size = llama_cpp.llama_state_seq_get_size(self._llama.ctx, 0)
        state = (ctypes.c_uint8 * size)()
        if llama_cpp.llama_state_seq_get_data(self._llama.ctx, state, size, 0) == size:
            self._aside[self._read.tokens[: ends[0]]] = _Evaluated(self._read.tokens[: ends[-1]], ends, bytes(state))
        while len(self._aside) > SAVED_PROMPTS:
            self._aside.popitem(last=False)

    def _restore_state(self, beginning: tuple[int, ...]) -> None:
        """Empty the context, and restore the KV state that was saved with this beginning, if there is one."""
        self._llama.reset()  # type: ignore[no-untyped-call]
        if (memory := llama_cpp.llama_get_memory(self._llama.ctx)) is not None:
            llama_cpp.llama_memory_clear(memory, True)
        self._read = _Evaluated()
        kept = self._aside.pop(beginning, None)
        if kept is None:
            return
        state = (ctypes.c_uint8 * len(kept.state)).from_buffer_copy(kept.state)
        if llama_cpp.llama_state_seq_set_data(self._llama.ctx, state, len(kept.state), 0) == len(kept.state):
            self._llama.input_ids[: len(kept.tokens)] = kept.tokens
            self._llama.n_tokens = len(kept.tokens)
            self._read = _Evaluated(kept.tokens, kept.ends)

    def _truncate_to(self, length: int) -> bool:
        """Remove the tokens after `length` from the context; return False if a recurrent state prevents it."""
        memory = llama_cpp.llama_get_memory(self._llama.ctx)
        if memory is None or not llama_cpp.llama_memory_seq_rm(memory, -1, length, -1):
            return False
        self._llama.n_tokens = length
        return True


def batch_ends(prefix_length: int, length: int) -> tuple[int, ...]:
    """Return the positions where the batches of a prompt of `length` tokens end.

    No batch contains the last token: llama.cpp must evaluate it to predict the first token of the answer.
    """
    first = prefix_length or BATCH_TOKENS
    return tuple(range(first, length, BATCH_TOKENS))


MATCH_TOKENS = 4
"""Number of last tokens that must occur earlier before their continuation is guessed."""
MIN_GUESS, MAX_GUESS = 5, 40
"""Fewest and most tokens in a guess; a shorter guess is not worth a larger batch."""


class LookupLlama(llama_cpp.Llama):
    """llama.cpp's model with prompt lookup decoding, which makes greedy answers faster."""

    def generate(self, tokens: Sequence[int], **options: Any) -> Iterator[int]:  # type: ignore[override]
        """Yield the tokens of the answer; guess some of them if decoding is greedy and unconstrained."""
        plain = super().generate(tokens, **options)
        free = all(options.get(name) is None for name in ("grammar", "logits_processor", "stopping_criteria"))
        if options.get("temp") != 0 or not free or self._has_recurrent_state():
            yield from plain
            return
        # llama-cpp-python evaluates the prompt and gives the first token.
        read = [*tokens, next(plain)]
        plain.close()
        yield read[-1]
        while True:
            for token in self._following(read):
                read.append(token)
                # The caller may stop after any token: the tokens after it do not count as evaluated yet.
                self.n_tokens = len(read) - 1
                yield token

    def _following(self, read: list[int]) -> list[int]:
        """Return the next tokens, at least one. Raises RuntimeError if llama.cpp fails."""
        before = len(read) - 1
        guessed = self._line(guess(read, min(MAX_GUESS, self.n_ctx() - len(read))))
        batch = [read[-1], *(guessed if len(guessed) >= MIN_GUESS else [])]
        self._ctx.kv_cache_seq_rm(-1, before, -1)
        self._batch.set_batch(batch=batch, n_past=before, logits_all=True)
        self._ctx.decode(self._batch)
        self.input_ids[before : before + len(batch)] = batch
        written = [self._most_likely(place) for place in range(len(batch))]
        # Each guess is right as long as the model would have written it; the first token after them is the model's own.
        return written[: _shared_length(written, batch[1:]) + 1]

    def _line(self, tokens: list[int]) -> list[int]:
        """Return the tokens before the end of the line: each excerpt is a line, and the next is seldom copied, too."""
        return list(itertools.takewhile(lambda token: b"\n" not in self.detokenize([token]), tokens))

    def _most_likely(self, place: int) -> int:
        logits = llama_cpp.llama_get_logits_ith(self.ctx, place)
        return int(np.ctypeslib.as_array(logits, shape=(self.n_vocab(),)).argmax())

    def _has_recurrent_state(self) -> bool:
        """Return whether evaluated tokens cannot be removed, because the model has a recurrent state."""
        return bool(llama_cpp.llama_model_is_recurrent(self.model) or llama_cpp.llama_model_is_hybrid(self.model))


def guess(read: list[int], most: int) -> list[int]:
    """Return up to `most` tokens that followed the last previous occurrence of the last MATCH_TOKENS; [] if none."""
    last = read[-MATCH_TOKENS:]
    for start in range(len(read) - MATCH_TOKENS - 1, -1, -1):
        if read[start : start + MATCH_TOKENS] == last:
            return read[start + MATCH_TOKENS : start + MATCH_TOKENS + most]
    return []


def _shared_length(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens the two have in common at their start."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


# llama-cpp-python compiles the chat template while it loads the model, hence TemplateError.
_LOAD_ERRORS = (ValueError, RuntimeError, OSError, AssertionError, jinja2.TemplateError)
_RENDER_ERRORS = (jinja2.TemplateError, ValueError, TypeError, OverflowError)
"""Exceptions from a chat template: ValueError is a refusal by the template (`raise_exception`), TypeError a mistake
in the template.

jinja2's sandbox stops a template that tries to leave it (SecurityError) or that makes a range too large
(OverflowError).
"""


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _SILENT(level: int, text: bytes, data: ctypes.c_void_p) -> None:  # noqa: N802 - kept alive as a constant
    """Discard llama.cpp's log, which would clutter the terminal; localcrag raises errors instead."""


class LlamaCpp:
    """A loaded language model. It writes one stream at a time; a second stream waits."""

    def __init__(
        self, name: str, path: Path, *, context_tokens: int, threads: int, cache: Path, adapter: Path | None = None
    ) -> None:
        """Load the model, with a LoRA adapter if one is given. Raises ModelDamaged.

        `threads` 0 means one per core; `cache` is the folder for a faster copy of the model.
        """
        llama_cpp.llama_log_set(_SILENT, ctypes.c_void_p(0))
        self.name = name
        self.threads = threads or os.cpu_count() or 1
        self._adapter = adapter
        self._turn = threading.Lock()
        self.gpu_layers = -1 if llama_cpp.llama_supports_gpu_offload() else 0
        self._llama = self._load(path, cache, context_tokens)
        self.context_tokens = int(self._llama.n_ctx())
        self._format = self._chat_format(path)
        self._control = control_tokens(self._llama)
        self._memory = PrefixCache(self._llama)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the number of tokens in the prompt that is made of the messages."""
        return len(self._tokens(messages))

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> AnswerStream:
        """Start an answer. Raises GenerationError if the prompt is too long for the context window."""
        tokens = self._tokens(messages)
        if len(tokens) + 1 >= self.context_tokens:
            raise GenerationError(
                f"The prompt has {len(tokens)} tokens, the language model's context window {self.context_tokens}. "
                "Ask a shorter question, or raise context_tokens in the settings."
            )
        usage, stopped = TokenUsage(len(tokens)), threading.Event()
        pieces = self._write(tokens, self._prefix_length(messages, tokens), decoding, usage, stopped)
        return AnswerStream(usage, pieces, stopped.set)

    def _write(
        self, tokens: list[int], prefix_length: int, decoding: Decoding, usage: TokenUsage, stopped: threading.Event
    ) -> Generator[str, None, None]:
        """Yield pieces of text, and keep `usage` up to date.

        `prefix_length` is the number of tokens at the start that all prompts with the same system message share. Raises
        GenerationError if llama.cpp fails.
        """
        with self._turn:
            # llama-cpp-python takes max_tokens=0 for “no limit”.
            if decoding.max_tokens < 1 or stopped.is_set():
                return
            schema = decoding.schema
            try:
                usage.cached_tokens = self._memory.read(tokens, prefix_length)
                chunks: Any = self._llama.create_completion(
                    tokens,
                    max_tokens=decoding.max_tokens,
                    temperature=decoding.temperature,
                    # Without a new seed, llama-cpp-python draws the same random numbers for every answer.
                    seed=secrets.randbits(32),
                    repeat_penalty=1.0,
                    stop=list(decoding.stop),
                    grammar=LlamaGrammar.from_json_schema(json.dumps(schema), verbose=False) if schema else None,
                    stream=True,
                )
                for chunk in chunks:
                    if stopped.is_set():
                        return
                    # Chunks cannot be counted: a character of several tokens comes in one. The last token is written
                    # but not evaluated yet, hence + 1.
                    usage.completion_tokens = self._llama.n_tokens - len(tokens) + 1
                    if text := chunk["choices"][0]["text"]:
                        yield text
            except (ValueError, RuntimeError, MemoryError) as error:
                self._memory.forget()
                raise GenerationError(
                    f"The language model stopped with an error: {error}. Ask again; if it stays so, choose a smaller "
                    "model with `localcrag models use NAME`, or lower context_tokens in the settings."
                ) from error

    def _prefix_length(self, messages: Sequence[Message], tokens: Sequence[int]) -> int:
        """Return the number of tokens at the start of the prompt that are the same for this system message."""
        if messages[0].role != "system":
            return 0
        other = self._tokens([messages[0], Message("user", "")])
        # Without the last token, which llama.cpp must evaluate in any case.
        return _shared_length(tokens[:-1], other)

    def _load(self, path: Path, cache: Path, context_tokens: int) -> llama_cpp.Llama:
        gguf.load_best_backend()
        fast = path if self.gpu_layers else faster_copy(path, cache, self._adapter)
        if fast != path:
            with suppress(*_LOAD_ERRORS):
                return self._open(fast, context_tokens, None)
            # The copy cannot be loaded, so it is removed: the next start makes a new one.
            with suppress(OSError):
                fast.unlink()
        try:
            return self._open(path, context_tokens, self._adapter)
        except _LOAD_ERRORS as error:
            with_adapter = f" with its adapter {self._adapter}" if self._adapter else ""
            raise ModelDamaged(
                f"The language model {path}{with_adapter} cannot be loaded: {error}. It may be damaged, of a kind this "
                "llama.cpp does not know, or too large for the memory. Check it with `localcrag models verify "
                f"{self.name}`, or choose another with `localcrag models use NAME`."
            ) from error

    def _open(self, path: Path, context_tokens: int, adapter: Path | None) -> llama_cpp.Llama:
        llama = LookupLlama(
            model_path=str(path),
            n_ctx=context_tokens,
            n_threads=self.threads,
            n_threads_batch=self.threads,
            n_gpu_layers=self.gpu_layers,
            # Measured with the embedded model on two cores: 650 prompt tokens a second instead of 510.
            flash_attn=True,
            lora_path=str(adapter) if adapter else None,
            seed=0,
            verbose=False,
        )
        # llama-cpp-python compares the adapter with None, but an unreadable one is a null pointer, which is never None.
        if adapter and not llama._lora_adapter:
            llama.close()
            raise RuntimeError("the adapter is damaged, or belongs to another model")
        return llama

    def _chat_format(self, path: Path) -> Jinja2ChatFormatter:
        template = self._llama.metadata.get("tokenizer.chat_template")
        if not template:
            raise ModelDamaged(
                f"The language model {path} has no chat template: it was not made to answer questions (a base "
                "model), or it was converted without one. Choose an “instruct” or “chat” model with `localcrag models "
                "use NAME`."
            )
        return Jinja2ChatFormatter(
            template=template,
            eos_token=self._special(self._llama.token_eos()),
            bos_token=self._special(self._llama.token_bos()),
        )

    def _tokens(self, messages: Sequence[Message]) -> list[int]:
        # Needs no lock: the vocabulary does not change while the model writes.
        return list(self._llama.tokenize(self._render(messages).encode(), add_bos=False, special=True))

    def _render(self, messages: Sequence[Message]) -> str:
        plain: list[Any] = [{"role": message.role, "content": self._plain(message.content)} for message in messages]
        try:
            return str(self._format(messages=plain).prompt)
        except _RENDER_ERRORS:
            return self._render_without_system(plain)

    def _render_without_system(self, plain: list[Any]) -> str:
        # Some templates have no system role. The system message then goes before the user's first message.
        system = "\n\n".join(message["content"] for message in plain if message["role"] == "system")
        rest = [message for message in plain if message["role"] != "system"] or [{"content": ""}]
        rest[0] = {"role": "user", "content": f"{system}\n\n{rest[0]['content']}"}
        try:
            return str(self._format(messages=rest).prompt)
        except _RENDER_ERRORS as error:
            raise GenerationError(
                f"The chat template inside the language model “{self.name}” does not work: {error}. "
                "Choose another model with `localcrag models use NAME`."
            ) from error

    def _plain(self, content: str) -> str:
        # A document could contain the text of a control token, which would end the user's turn and begin another. The
        # vocabulary lists those of this model; "<|" begins most other control tokens, which a model may still have
        # learned. A lone surrogate, which no tokenizer accepts, becomes the replacement character.
        whole = content.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return self._control.sub(r"\g<0> ", whole.replace("<|", "< |").replace("|>", "| >"))

    def _special(self, token: int) -> str:
        return "" if token < 0 else self._llama.detokenize([token], special=True).decode(errors="replace")


def control_tokens(llama: llama_cpp.Llama) -> re.Pattern[str]:
    """Return a pattern that matches the first character of every control token in a text."""
    vocabulary = llama_cpp.llama_model_get_vocab(llama.model)
    spelt = {
        llama_cpp.llama_vocab_get_text(vocabulary, token).decode("utf-8", "replace")
        for token in range(llama.n_vocab())
        if llama_cpp.llama_vocab_is_control(vocabulary, token)
    }
    found = [f"{re.escape(text[0])}(?={re.escape(text[1:])})" for text in sorted(spelt) if len(text) > 1]
    return re.compile("|".join(found) or "(?!)")
