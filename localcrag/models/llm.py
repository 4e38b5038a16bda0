"""What a language model has read of its prompts: what the next one shares with them is not read again.

The same prompt gets the same answer, whatever was asked before it: what is computed in other portions is rounded
otherwise. So every prompt is read in portions that follow from the prompt alone, its system message and then PORTION
tokens at a time, and only whole portions are kept. A second question on the same evidence, which stands before it,
needs no second reading of that but for the end of its last portion.
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
from localcrag.models.gguf import faster_copy
from localcrag.records.errors import GenerationError, ModelDamaged
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message

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


SAME = 4
"""Tokens that must be the same for what follows them to be guessed."""
FEWEST, GUESSED = 5, 40
"""Tokens of a guess, at least and at most."""


class LookupLlama(llama_cpp.Llama):
    """llama.cpp's model, with the quicker way to write greedily."""

    def generate(self, tokens: Sequence[int], **options: Any) -> Iterator[int]:  # type: ignore[override]
        """Yield what is written after the tokens, token by token: with guesses where it is greedy and free."""
        plain = super().generate(tokens, **options)
        free = all(options.get(name) is None for name in ("grammar", "logits_processor", "stopping_criteria"))
        if options.get("temp") != 0 or not free or self._cannot_go_back():
            yield from plain
            return
        # The first token, for which the prompt is read.
        read = [*tokens, next(plain)]
        plain.close()
        yield read[-1]
        while True:
            for token in self._following(read):
                read.append(token)
                # What comes after the token handed over counts as not read yet.
                self.n_tokens = len(read) - 1
                yield token

    def _following(self, read: list[int]) -> list[int]:
        """Return the next tokens, at least one. Raises RuntimeError when llama.cpp fails."""
        before = len(read) - 1
        guessed = self._line(guess(read, min(GUESSED, self.n_ctx() - len(read))))
        batch = [read[-1], *(guessed if len(guessed) >= FEWEST else [])]
        self._ctx.kv_cache_seq_rm(-1, before, -1)
        self._batch.set_batch(batch=batch, n_past=before, logits_all=True)
        self._ctx.decode(self._batch)
        self.input_ids[before : before + len(batch)] = batch
        written = [self._likeliest(place) for place in range(len(batch))]
        pairs = zip(written, batch[1:], strict=False)
        right = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        return written[: right + 1]

    def _line(self, tokens: list[int]) -> list[int]:
        """Return the tokens up to the end of a line: a piece of evidence is one, and the next is seldom copied too."""
        return list(itertools.takewhile(lambda token: b"\n" not in self.detokenize([token]), tokens))

    def _likeliest(self, place: int) -> int:
        logits = llama_cpp.llama_get_logits_ith(self.ctx, place)
        return int(np.ctypeslib.as_array(logits, shape=(self.n_vocab(),)).argmax())

    def _cannot_go_back(self) -> bool:
        """Whether what the model has read cannot be taken back: those with a recurrent state."""
        return bool(llama_cpp.llama_model_is_recurrent(self.model) or llama_cpp.llama_model_is_hybrid(self.model))


def guess(read: list[int], most: int) -> list[int]:
    """Return up to `most` tokens: what followed the last ones where they stood last before; nothing if nowhere."""
    last = read[-SAME:]
    for start in range(len(read) - SAME - 1, -1, -1):
        if read[start : start + SAME] == last:
            return read[start + SAME : start + SAME + most]
    return []


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


# llama-cpp-python compiles the chat template while it loads, hence jinja2's.
_CANNOT_LOAD = (ValueError, RuntimeError, OSError, AssertionError, jinja2.TemplateError)
_CANNOT_RENDER = (jinja2.TemplateError, ValueError, TypeError, OverflowError)
"""What a chat template ends in: ValueError is its own refusal (`raise_exception`), TypeError a mistake in it.

jinja2's sandbox ends one that reaches out of it (SecurityError) or counts too far (OverflowError).
"""


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _SILENT(level: int, text: bytes, data: ctypes.c_void_p) -> None:  # noqa: N802 - kept alive as a constant
    """Drop llama.cpp's own log, which it would write over the terminal; failures are raised, not logged."""


class LlamaCpp:
    """A loaded language model. One stream at a time; a second waits."""

    def __init__(
        self, name: str, path: Path, *, context_tokens: int, threads: int, cache: Path, adapter: Path | None = None
    ) -> None:
        """Load the model, with a LoRA adapter where there is one. Raises ModelDamaged.

        `threads` 0 is one per core; `cache` is a folder for a faster copy.
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
        self._memory = PromptMemory(self._llama)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the length of the prompt that the messages make, in tokens."""
        return len(self._tokens(messages))

    def tokens(self, messages: Sequence[Message], answer: str) -> tuple[list[int], list[int]]:
        """Return the tokens of the prompt, and those of an answer to it with the one that ends it: to learn from."""
        written = self._llama.tokenize(self._plain(answer).encode(), add_bos=False, special=False)
        return self._tokens(messages), [*written, self._llama.token_eos()]

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> LlamaStream:
        """Start an answer.

        Raises GenerationError when the prompt is too long for the window.
        """
        tokens = self._tokens(messages)
        if len(tokens) + 1 >= self.context_tokens:
            raise GenerationError(
                f"The prompt has {len(tokens)} tokens, the language model's window {self.context_tokens}. "
                "Ask a shorter question, or raise context_tokens in the settings."
            )
        grammar = None
        if decoding.schema is not None:
            grammar = LlamaGrammar.from_json_schema(json.dumps(decoding.schema), verbose=False)
        return LlamaStream(
            self._llama,
            self._turn,
            tokens,
            memory=self._memory,
            in_common=self._in_common(messages, tokens),
            decoding=decoding,
            grammar=grammar,
        )

    def _in_common(self, messages: Sequence[Message], tokens: Sequence[int]) -> int:
        """Return how many of the prompt's tokens are its system message's, which others of its kind begin with too."""
        if messages[0].role != "system":
            return 0
        other = self._tokens([messages[0], Message("user", "")])
        # The last token is left to be read in any case.
        pairs = zip(tokens[:-1], other, strict=False)
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _load(self, path: Path, cache: Path, context_tokens: int) -> llama_cpp.Llama:
        gguf.take_best()
        fast = path if self.gpu_layers else faster_copy(path, cache, self._adapter)
        if fast != path:
            with suppress(*_CANNOT_LOAD):
                return self._open(fast, context_tokens, None)
            # The copy is worth nothing, whatever happened to it: the next start makes another.
            with suppress(OSError):
                fast.unlink()
        try:
            return self._open(path, context_tokens, self._adapter)
        except _CANNOT_LOAD as error:
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
            # Measured with the embedded model on two cores: 650 instead of 510 prompt tokens a second.
            flash_attn=True,
            lora_path=str(adapter) if adapter else None,
            seed=0,
            verbose=False,
        )
        # What llama-cpp-python asks of it (is it None?) is never so: an adapter that cannot be read goes unnoticed.
        if adapter and not llama._lora_adapter:
            llama.close()
            raise RuntimeError("the adapter is damaged, or another model's")
        return llama

    def _chat_format(self, path: Path) -> Jinja2ChatFormatter:
        template = self._llama.metadata.get("tokenizer.chat_template")
        if not template:
            raise ModelDamaged(
                f"The language model {path} brings no chat template: it was not made to answer questions (a base "
                "model), or it was converted without one. Choose an “instruct” or “chat” model with `localcrag models "
                "use NAME`."
            )
        return Jinja2ChatFormatter(
            template=template,
            eos_token=self._special(self._llama.token_eos()),
            bos_token=self._special(self._llama.token_bos()),
        )

    def _tokens(self, messages: Sequence[Message]) -> list[int]:
        # Without waiting for a turn: the vocabulary does not change while the model writes.
        return list(self._llama.tokenize(self._rendered(messages).encode(), add_bos=False, special=True))

    def _rendered(self, messages: Sequence[Message]) -> str:
        plain: list[Any] = [{"role": message.role, "content": self._plain(message.content)} for message in messages]
        try:
            return str(self._format(messages=plain).prompt)
        except _CANNOT_RENDER:
            return self._rendered_without_system(plain)

    def _rendered_without_system(self, plain: list[Any]) -> str:
        # Some templates know no system role: its text then leads the first message of the user.
        system = "\n\n".join(message["content"] for message in plain if message["role"] == "system")
        rest = [message for message in plain if message["role"] != "system"] or [{"content": ""}]
        rest[0] = {"role": "user", "content": f"{system}\n\n{rest[0]['content']}"}
        try:
            return str(self._format(messages=rest).prompt)
        except _CANNOT_RENDER as error:
            raise GenerationError(
                f"The chat template inside the language model “{self.name}” does not work: {error}. "
                "Choose another model with `localcrag models use NAME`."
            ) from error

    def _plain(self, content: str) -> str:
        # Control tokens spelt out in a document would otherwise end the user's turn and begin another. The vocabulary
        # says what the model reads as one; "<|" is how most are written, also where the vocabulary does not have them.
        # A lone surrogate, which no tokenizer takes, becomes the replacement character.
        whole = content.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return self._control.sub(r"\g<0> ", whole.replace("<|", "< |").replace("|>", "| >"))

    def _special(self, token: int) -> str:
        return "" if token < 0 else self._llama.detokenize([token], special=True).decode(errors="replace")


def control_tokens(llama: llama_cpp.Llama) -> re.Pattern[str]:
    """Return a pattern for the first character of each control token that a text spells out."""
    vocabulary = llama_cpp.llama_model_get_vocab(llama.model)
    spelt = {
        llama_cpp.llama_vocab_get_text(vocabulary, token).decode("utf-8", "replace")
        for token in range(llama.n_vocab())
        if llama_cpp.llama_vocab_is_control(vocabulary, token)
    }
    found = [f"{re.escape(text[0])}(?={re.escape(text[1:])})" for text in sorted(spelt) if len(text) > 1]
    return re.compile("|".join(found) or "(?!)")
