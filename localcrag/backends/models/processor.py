"""llama.cpp's arithmetic for this processor: the best kind, where it was compiled for several."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import llama_cpp
from llama_cpp._ggml import libggml


@cache
def take_best() -> None:
    """Have llama.cpp take what fits this processor best, once; nothing to do where it has one kind (scripts/bundle.py).

    By itself it would look beside Python's program and in the working folder, where anybody may have put something.
    """
    libraries = Path(llama_cpp.__file__).parent / "lib"
    if any(libraries.glob("*ggml-cpu-*")):
        libggml.ggml_backend_load_all_from_path(str(libraries).encode())
