"""llama.cpp's arithmetic for this processor: the best kind, where it was compiled for several."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import llama_cpp
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
