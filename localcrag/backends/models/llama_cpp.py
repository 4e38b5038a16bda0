"""The language model: a GGUF file through llama-cpp-python."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import jinja2
import llama_cpp
from llama_cpp.llama_chat_format import Jinja2ChatFormatter
from llama_cpp.llama_grammar import LlamaGrammar

from localcrag.backends.models import processor
from localcrag.backends.models.faster_copy import faster_copy
from localcrag.backends.models.llama_stream import LlamaStream
from localcrag.backends.models.lookup_decoding import LookupLlama
from localcrag.backends.models.prompt_memory import PromptMemory
from localcrag.records.errors import GenerationError, ModelDamaged
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message

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
        processor.take_best()
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
