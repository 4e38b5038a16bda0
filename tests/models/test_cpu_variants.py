"""llama.cpp that was compiled for several kinds of processor is told where they lie; any other is left alone."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path

import llama_cpp
import pytest
from llama_cpp import _ggml
from llama_cpp.llama_cpp import _lib as libllama

from localcrag.models import gguf


class Library:
    def __init__(self) -> None:
        self.told: list[bytes] = []

    def ggml_backend_load_all_from_path(self, folder: bytes) -> None:
        self.told.append(folder)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Library]:
    """A llama.cpp with one library for the processor, in tmp_path / "lib"."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libggml-cpu.so").touch()
    stand_in = Library()
    monkeypatch.setattr(llama_cpp, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setattr(gguf, "libllama", stand_in)
    gguf.load_best_backend.cache_clear()
    yield stand_in
    gguf.load_best_backend.cache_clear()


def test_one_that_was_compiled_for_one_kind_is_left_alone(library: Library) -> None:
    gguf.load_best_backend()
    assert library.told == []


@pytest.mark.parametrize("name", ["libggml-cpu-haswell.so", "ggml-cpu-haswell.dll"])
def test_one_that_has_several_is_told_once_where_they_lie(library: Library, tmp_path: Path, name: str) -> None:
    (tmp_path / "lib" / name).touch()
    gguf.load_best_backend()
    gguf.load_best_backend()
    assert library.told == [str(tmp_path / "lib").encode()]


@pytest.mark.skipif(sys.platform == "win32", reason="there a library does not show what it is linked to")
def test_what_is_loaded_goes_to_the_ggml_that_llama_cpp_computes_with() -> None:
    """Beside it there is a copy of the same library, which llama_cpp opens for itself."""
    own = ctypes.CDLL(str(Path(llama_cpp.__file__).parent / "lib" / "libllama.so"))
    address = ctypes.cast(gguf.backend_loader(libllama), ctypes.c_void_p).value
    assert address == ctypes.cast(own.ggml_backend_load_all_from_path, ctypes.c_void_p).value


def test_a_library_that_does_not_show_what_it_is_linked_to_has_one_ggml() -> None:
    assert gguf.backend_loader(object()) is _ggml.libggml.ggml_backend_load_all_from_path
