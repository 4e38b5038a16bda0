"""llama.cpp's arithmetic for this processor: the best kind, where it was compiled for several."""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import llama_cpp
import numpy as np
from filelock import FileLock
from llama_cpp import _ggml
from llama_cpp.llama_cpp import _lib as libllama


@cache
def take_best() -> None:
    """Have llama.cpp take what fits this processor best, once; nothing to do where it has one kind (scripts/bundle.py).

    By itself it would look beside Python's program and in the working folder, where anybody may have put something.
    """
    libraries = Path(llama_cpp.__file__).parent / "lib"
    if any(libraries.glob("*ggml-cpu-*")):
        loader_of(libllama)(str(libraries).encode())


def loader_of(library: Any) -> Any:
    """Return ggml's function that loads kinds, out of the ggml that llama.cpp is linked to.

    A wheel holds links as copies, and llama_cpp._ggml opens another copy than llama.cpp, which knows nothing of what is
    loaded there. On Windows a library does not show what it is linked to; there are no links, and one ggml.
    """
    found = getattr(library, "ggml_backend_load_all_from_path", None)
    return found or _ggml.libggml.ggml_backend_load_all_from_path


_LENGTH = struct.Struct("<Q")
_KIND_AND_COUNT = struct.Struct("<IQ")
"""How an array of GGUF begins: the kind of its values, and how many there are (ggml/docs/gguf.md)."""


def merge(adapter: Path, original: Path, copy: Path) -> None:
    """Add the adapter, a LoRA in GGUF, to the weights in the file `copy`, which was made from `original`.

    Every adapted weight W, shape (out, in), becomes W + alpha/r · BA (Hu et al. 2021, section 4.1) in the copy's own
    quantisation, with W as the original has it. Raises OSError, and ValueError, KeyError or struct.error when the files
    do not fit.
    """
    ours = gguf.GGUFReader(adapter)
    scale = ours.get_field(gguf.Keys.Adapter.LORA_ALPHA)
    if scale is None:
        raise ValueError(f"{adapter} says no alpha")
    alpha = float(scale.contents())
    factors = {tensor.name: tensor.data.astype(np.float32) for tensor in ours.tensors}
    weights = {tensor.name: tensor for tensor in _WithoutArrays(original).tensors}
    written = _WithoutArrays(copy, "r+")
    places = {tensor.name: tensor for tensor in written.tensors}
    for name, down in factors.items():
        own, _, factor = name.rpartition(".")
        if factor != "lora_a":
            continue
        change = alpha / len(down) * (factors[f"{own}.lora_b"] @ down)
        whole = gguf.dequantize(weights[own].data, weights[own].tensor_type) + change
        places[own].data[:] = gguf.quantize(whole, places[own].tensor_type)
    written.data.flush()


class _WithoutArrays(gguf.GGUFReader):
    """A file's weights, without its vocabulary: of each of its 150,000 words and numbers gguf makes an array.

    Should a later gguf call no method of this name, it reads them all again, and only the time is lost.
    """

    def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
        little = self.endianess == gguf.GGUFEndian.LITTLE
        if raw_type != gguf.GGUFValueType.ARRAY or not little:
            return super()._get_field_parts(orig_offs, raw_type)
        held = self.data.data
        kind, count = _KIND_AND_COUNT.unpack_from(held, orig_offs)
        end = orig_offs + _KIND_AND_COUNT.size
        if width := self.gguf_scalar_to_np.get(kind):
            end += count * np.dtype(width).itemsize
        elif kind == gguf.GGUFValueType.STRING:
            for _ in range(count):
                end += _LENGTH.size + _LENGTH.unpack_from(held, end)[0]
        else:
            return super()._get_field_parts(orig_offs, raw_type)
        return end - orig_offs, [], [], [gguf.GGUFValueType.ARRAY]


MOST_BYTES_TO_REPACK = 500_000_000
LONGEST_REPACKING = 60.0
"""Seconds to wait for another process that makes the faster copy."""
_DOES_NOT_FIT = (ValueError, KeyError, IndexError, struct.error)
"""What merging ends in with an adapter that is damaged, or another model's."""


def faster_copy(path: Path, cache: Path, adapter: Path | None = None) -> Path:
    """Return a Q8_0 copy of a small Q4_1 file, made once, with the adapter's weights in it; other files as they are.

    Made in half a second, with an adapter in three.

    llama.cpp multiplies Q8_0 by a fast path that Q4_1 does not have: measured on two cores with the embedded model, 715
    instead of 315 prompt tokens a second, 140 instead of 130 written ones (docs/measurements.md). The weights are the
    same to within Q8_0's rounding. Where no copy can be made (a folder that cannot be written, a full disk, an adapter
    that does not fit), `path`.
    """
    try:
        source = path.stat()
        if source.st_size > MOST_BYTES_TO_REPACK or not path.name.lower().endswith("q4_1.gguf"):
            return path
        adapted = f"-{hashlib.sha256(adapter.read_bytes()).hexdigest()[:12]}" if adapter else ""
        copy = cache / f"{path.stem}-{source.st_size}{adapted}.Q8_0.gguf"
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(copy.with_suffix(".lock"), timeout=LONGEST_REPACKING):
            if not _made_from(source, copy):
                _repack(path, copy, source, adapter)
            return copy if _made_from(source, copy) else path
    except (OSError, *_DOES_NOT_FIT):
        return path


def _made_from(source: os.stat_result, copy: Path) -> bool:
    """Whether there is a copy of this state of the file: a copy has the modification time of its source."""
    return copy.exists() and copy.stat().st_mtime_ns == source.st_mtime_ns


def _repack(path: Path, copy: Path, source: os.stat_result, adapter: Path | None) -> None:
    """Write to a temporary file first, so that a killed process leaves no copy that looks whole."""
    temporary = copy.with_suffix(".tmp")
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0
    parameters.allow_requantize = True
    try:
        if llama_cpp.llama_model_quantize(str(path).encode(), str(temporary).encode(), ctypes.byref(parameters)) == 0:
            if adapter:
                merge(adapter, path, temporary)
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            os.utime(temporary, ns=(source.st_atime_ns, source.st_mtime_ns))
            temporary.replace(copy)
    finally:
        temporary.unlink(missing_ok=True)
