"""Models as they are listed and checked, and the progress of their downloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class ModelRole(StrEnum):
    """What a model does in the flow."""

    EMBEDDER = "embedder"
    RELEVANCE = "relevance"
    LLM = "llm"


class ModelState(StrEnum):
    """Whether a model can be used, as far as its files' sizes tell."""

    PRESENT = "present"
    MISSING = "missing"
    DAMAGED = "damaged"


def behind_server(name: str) -> bool:
    """Return whether a model of this name is behind a server: http://HOST:PORT/PATH#MODEL."""
    return name.startswith(("http://", "https://"))


def short_name(name: str) -> str:
    """Return what a person calls a model: of one behind a server the part behind the address."""
    return name.partition("#")[2] or name if behind_server(name) else name


class FileState(StrEnum):
    """What reading a file told. UNKNOWN: nobody recorded a checksum of it, because localcrag did not download it."""

    OK = "ok"
    MISSING = "missing"
    WRONG = "wrong"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One line of the list of models; `size` in bytes, about right when not `exact`.

    `source` is a kind of source of the manifest, or "yours" for a GGUF file that the user put there. `path` is what
    a library loads, whether it is there or not. For a model behind a server, whose source is "server", it is None;
    `place` says which server, and `away` its host and port when that is another computer. `title`: what a person calls
    it, where that is not its name.
    """

    name: str
    role: ModelRole
    source: str
    state: ModelState
    size: int
    exact: bool
    path: Path | None
    licence: str | None = None
    description: str | None = None
    title: str = ""
    place: str = ""
    away: str = ""


@dataclass(frozen=True, slots=True)
class ModelSet:
    """Models that are chosen together, at most one for each role: those for documents of some languages."""

    name: str
    title: str
    description: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileCheck:
    """What became of checking one file."""

    model: str
    path: Path
    state: FileState


class DownloadPhase(StrEnum):
    """CONNECT: a host, whose name stands in the place of a file's, is about to be asked. TRANSFER: bytes arrive.

    CHECK: bytes on the disk are unpacked or read for their checksum.
    """

    CONNECT = "connect"
    TRANSFER = "transfer"
    CHECK = "check"


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadProgress:
    """`done` and `total` in bytes of the phase, over all files; the rate and the time left are None until known."""

    model: str
    file: str
    phase: DownloadPhase
    done: int
    total: int
    bytes_per_second: float | None
    seconds_left: float | None


Report = Callable[[DownloadProgress], None]
