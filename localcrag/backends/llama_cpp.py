"""The language model: a GGUF file through llama-cpp-python."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import jinja2
import llama_cpp
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from localcrag.datatypes import Message
from localcrag.errors import GenerationError, ModelDamaged

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""For files that bring no chat template."""

MOST_BYTES_TO_REPACK = 500_000_000


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _SILENT(level: int, text: bytes, data: ctypes.c_void_p) -> None:  # noqa: N802 - kept alive as a constant
    """Drop llama.cpp's own log, which it would write over the terminal; failures are raised, not logged."""


class LlamaCpp:
    """A loaded language model. One stream at a time; a second waits."""

    def __init__(self, name: str, path: Path, *, context_tokens: int, threads: int, cache: Path) -> None:
        """Load the model. `threads` 0 is one per core; `cache` is a folder for a faster copy. Raises ModelDamaged."""
        llama_cpp.llama_log_set(_SILENT, ctypes.c_void_p(0))
        self.name = name
        self.threads = threads or os.cpu_count() or 1
        self._lock = threading.Lock()
        self.gpu_layers = -1 if llama_cpp.llama_supports_gpu_offload() else 0
        try:
            self._llama = llama_cpp.Llama(
                model_path=str(path if self.gpu_layers else faster_copy(path, cache)),
                n_ctx=context_tokens,
                n_threads=self.threads,
                n_threads_batch=self.threads,
                n_gpu_layers=self.gpu_layers,
                # Measured with the embedded model on two cores: 650 instead of 510 prompt tokens a second.
                flash_attn=True,
                seed=0,
                verbose=False,
            )
        except (ValueError, RuntimeError, OSError, AssertionError) as error:
            raise ModelDamaged(
                f"The language model {path} cannot be loaded: {error}. It may be damaged, of a kind this llama.cpp "
                f"does not know, or too large for the memory. Check it with `localcrag models verify {name}`, or "
                "choose another with `localcrag models use NAME`."
            ) from error
        self.context_tokens = int(self._llama.n_ctx())
        self._format = Jinja2ChatFormatter(
            template=self._llama.metadata.get("tokenizer.chat_template", CHATML),
            eos_token=self._special(self._llama.token_eos()),
            bos_token=self._special(self._llama.token_bos()),
        )

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the length of the prompt that the messages make, in tokens."""
        return len(self._tokens(messages))

    def stream(self, messages: Sequence[Message], *, max_tokens: int, stop: Sequence[str] = ()) -> LlamaStream:
        """Start an answer, greedily decoded. Raises GenerationError when the prompt is too long for the window."""
        tokens = self._tokens(messages)
        if len(tokens) + 1 >= self.context_tokens:
            raise GenerationError(
                f"The prompt has {len(tokens)} tokens, the language model's window {self.context_tokens}. "
                "Ask a shorter question, or raise context_tokens in the settings."
            )
        return LlamaStream(self._llama, self._lock, tokens, max_tokens, list(stop))

    def _tokens(self, messages: Sequence[Message]) -> list[int]:
        prompt = self._rendered(messages)
        with self._lock:
            return list(self._llama.tokenize(prompt.encode(), add_bos=False, special=True))

    def _rendered(self, messages: Sequence[Message]) -> str:
        # Control tokens spelt out in a document would otherwise end the user's turn and begin another.
        plain: list[Any] = [
            {"role": m.role, "content": m.content.replace("<|", "< |").replace("|>", "| >")} for m in messages
        ]
        try:
            return str(self._format(messages=plain).prompt)
        except jinja2.TemplateError:
            # Some templates know no system role: its text then leads the first message of the user.
            system = "\n\n".join(m["content"] for m in plain if m["role"] == "system")
            rest = [m for m in plain if m["role"] != "system"]
            rest[0] = {"role": "user", "content": f"{system}\n\n{rest[0]['content']}"}
            try:
                return str(self._format(messages=rest).prompt)
            except jinja2.TemplateError as error:
                raise GenerationError(
                    f"The chat template inside the language model “{self.name}” does not work: {error}. "
                    "Choose another model with `localcrag models use NAME`."
                ) from error

    def _special(self, token: int) -> str:
        return "" if token < 0 else self._llama.detokenize([token], special=True).decode(errors="replace")


class LlamaStream:
    """An answer being written. Closing it stops the model."""

    def __init__(
        self, llama: llama_cpp.Llama, lock: threading.Lock, tokens: list[int], max_tokens: int, stop: list[str]
    ) -> None:
        """Prepare; the model starts with the first piece asked for."""
        self.prompt_tokens = len(tokens)
        self.completion_tokens = 0
        self._pieces = self._run(llama, lock, tokens, max_tokens, stop)

    def __iter__(self) -> Iterator[str]:
        return self._pieces

    def close(self) -> None:
        """Stop the model, if it still writes."""
        self._pieces.close()

    def _run(
        self, llama: llama_cpp.Llama, lock: threading.Lock, tokens: list[int], max_tokens: int, stop: list[str]
    ) -> Generator[str, None, None]:
        with lock:
            try:
                chunks: Any = llama.create_completion(
                    tokens, max_tokens=max_tokens, temperature=0.0, repeat_penalty=1.0, stop=stop, stream=True
                )
                for chunk in chunks:
                    text = chunk["choices"][0]["text"]
                    if text:
                        self.completion_tokens += 1
                        yield text
            except (ValueError, RuntimeError, MemoryError) as error:
                raise GenerationError(
                    f"The language model stopped with an error: {error}. Ask again; if it stays so, choose a smaller "
                    "model with `localcrag models use NAME`, or lower context_tokens in the settings."
                ) from error


def faster_copy(path: Path, cache: Path) -> Path:
    """Return a Q8_0 copy of a small Q4_1 file, made once in under a second; other files as they are.

    llama.cpp multiplies Q8_0 by a fast path that Q4_1 does not have: measured on two cores with the embedded model, 715
    instead of 315 prompt tokens a second, 140 instead of 130 written ones (docs/measurements.md). The weights are the
    same to within Q8_0's rounding.
    """
    size = path.stat().st_size
    if size > MOST_BYTES_TO_REPACK or not path.name.lower().endswith("q4_1.gguf"):
        return path
    copy = cache / f"{path.stem}-{size}.Q8_0.gguf"
    if copy.exists():
        return copy
    cache.mkdir(parents=True, exist_ok=True)
    temporary = copy.with_suffix(f".{os.getpid()}.tmp")
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0
    parameters.allow_requantize = True
    try:
        failed = llama_cpp.llama_model_quantize(str(path).encode(), str(temporary).encode(), ctypes.byref(parameters))
        if failed or not temporary.exists():
            return path
        temporary.replace(copy)
    finally:
        temporary.unlink(missing_ok=True)
    return copy
