"""Make llama.cpp fast on this CPU: load its best build, and prepare a faster copy of a small model.

- `load_best_backend` loads the variant of llama.cpp's CPU library that suits this CPU, if there are several.
- `faster_copy` converts a small Q4_1 file to Q8_0; `merge` adds a LoRA adapter to its weights.
"""

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

from localcrag.privacy.private_folder import flush_to_disk


@cache
def load_best_backend() -> None:
    """Load the CPU library of llama.cpp that suits this CPU best; no-op if only one was compiled.

    scripts/bundle.py compiles several. Otherwise llama.cpp would also search the folder of the Python executable and
    the working folder, where anybody may have put a library.
    """
    libraries = Path(llama_cpp.__file__).parent / "lib"
    if any(libraries.glob("*ggml-cpu-*")):
        backend_loader(libllama)(str(libraries).encode())


def backend_loader(library: Any) -> Any:
    """Return the function that loads CPU libraries, from the copy of ggml that llama.cpp is linked to.

    A wheel stores symbolic links as copies, so llama_cpp._ggml may open another copy of ggml than llama.cpp, and
    llama.cpp would not see the libraries loaded into that. On Windows, symbols of a linked library are not visible
    through `library`, but there are no links either, hence only one ggml.
    """
    found = getattr(library, "ggml_backend_load_all_from_path", None)
    return found or _ggml.libggml.ggml_backend_load_all_from_path


_LENGTH = struct.Struct("<Q")
_KIND_AND_COUNT = struct.Struct("<IQ")
"""Start of a GGUF array: the type of its values, and their number (ggml/docs/gguf.md)."""


def merge(adapter: Path, original: Path, copy: Path) -> None:
    """Add the adapter, a LoRA in GGUF, to the weights in the file `copy`, which was made from `original`.

    Every adapted weight W, shape (out, in), becomes W + alpha/r · BA (Hu et al. 2021, section 4.1) in the quantisation
    of the copy; W itself comes from the original. Raises OSError, and ValueError, KeyError or struct.error if the files
    do not fit together.
    """
    ours = gguf.GGUFReader(adapter)
    scale = ours.get_field(gguf.Keys.Adapter.LORA_ALPHA)
    if scale is None:
        raise ValueError(f"{adapter} does not state its alpha")
    alpha = float(scale.contents())
    factors = {tensor.name: tensor.data.astype(np.float32) for tensor in ours.tensors}
    weights = {tensor.name: tensor for tensor in _WeightsReader(original).tensors}
    written = _WeightsReader(copy, "r+")
    places = {tensor.name: tensor for tensor in written.tensors}
    for name, down in factors.items():
        own, _, factor = name.rpartition(".")
        if factor != "lora_a":
            continue
        change = alpha / len(down) * (factors[f"{own}.lora_b"] @ down)
        whole = gguf.dequantize(weights[own].data, weights[own].tensor_type) + change
        places[own].data[:] = gguf.quantize(whole, places[own].tensor_type)
    written.data.flush()


class _WeightsReader(gguf.GGUFReader):
    """A reader of a file's weights that skips its vocabulary.

    gguf would make an array for each of the vocabulary's 150,000 words and numbers. If a later gguf no longer calls the
    overridden method, it reads the vocabulary again, which only takes longer.
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


MAX_BYTES_TO_REPACK = 500_000_000
"""Largest file in bytes of which a faster copy is made."""
REPACK_TIMEOUT = 60.0
"""Seconds to wait for another process that is making the faster copy."""


def faster_copy(path: Path, cache: Path, adapter: Path | None = None) -> Path:
    """Return a Q8_0 copy of a small Q4_1 file, with the adapter's weights added; for all other files return `path`.

    Making the copy takes half a second once, or three seconds with an adapter.

    llama.cpp has a fast path for multiplying Q8_0, but not Q4_1: on two cores, the embedded model reads 715 prompt
    tokens a second instead of 315, and writes 140 instead of 130 (docs/lab/measurements.md). The weights are the same
    to within Q8_0's rounding. If no copy can be made (the folder cannot be written, the disk is full, or the adapter
    does not fit), return `path`.
    """
    try:
        source = path.stat()
        if source.st_size > MAX_BYTES_TO_REPACK or not path.name.lower().endswith("q4_1.gguf"):
            return path
        adapted = f"-{hashlib.sha256(adapter.read_bytes()).hexdigest()[:12]}" if adapter else ""
        copy = cache / f"{path.stem}-{source.st_size}{adapted}.Q8_0.gguf"
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(copy.with_suffix(".lock"), timeout=REPACK_TIMEOUT):
            if not _is_up_to_date(source, copy):
                _repack(path, copy, source, adapter)
            return copy if _is_up_to_date(source, copy) else path
    except (OSError, ValueError, KeyError, IndexError, struct.error):  # such as a damaged or another model's adapter
        return path


def _is_up_to_date(source: os.stat_result, copy: Path) -> bool:
    """Return whether the copy exists and is up to date: it has the modification time of its source."""
    return copy.exists() and copy.stat().st_mtime_ns == source.st_mtime_ns


def _repack(path: Path, copy: Path, source: os.stat_result, adapter: Path | None) -> None:
    """Write the copy, first to a temporary file, so that a killed process leaves no incomplete copy under its name."""
    temporary = copy.with_suffix(".tmp")
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0
    parameters.allow_requantize = True
    try:
        if llama_cpp.llama_model_quantize(str(path).encode(), str(temporary).encode(), ctypes.byref(parameters)) == 0:
            if adapter:
                merge(adapter, path, temporary)
            flush_to_disk(temporary)
            os.utime(temporary, ns=(source.st_atime_ns, source.st_mtime_ns))
            temporary.replace(copy)
    finally:
        temporary.unlink(missing_ok=True)
