"""Records for listing, checking and downloading models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class ModelRole(StrEnum):
    """A model's role in the flow."""

    EMBEDDER = "embedder"
    RELEVANCE = "relevance"
    LLM = "llm"


class ModelState(StrEnum):
    """Whether a model can be used, judged by the sizes of its files."""

    PRESENT = "present"
    MISSING = "missing"
    DAMAGED = "damaged"


def is_served(name: str) -> bool:
    """Return whether a model's name is that of a server's model: http://HOST:PORT/PATH#MODEL."""
    return name.startswith(("http://", "https://"))


def short_name(name: str) -> str:
    """Return the name of a model to show; for a server's model, the part after the address."""
    return name.partition("#")[2] or name if is_served(name) else name


class FileState(StrEnum):
    """The outcome of checking a file. UNKNOWN: it has no recorded checksum, because localcrag did not download it."""

    OK = "ok"
    MISSING = "missing"
    WRONG = "wrong"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One entry in the list of models; `size` is in bytes, and approximate unless `exact`.

    `source` is a kind of source in the manifest, "yours" for a GGUF file that the user put there, or "server". `path`
    is the file or folder that a library loads, which may be missing; None for a server's model. For such a model,
    `place` tells which server it is on, and `away` its host and port if that is another computer. `title` is the name
    to show if that differs from `name`.
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
    """A set of models that are chosen together, at most one per role, for documents in certain languages."""

    name: str
    title: str
    description: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileCheck:
    """The result of checking one file."""

    model: str
    path: Path
    state: FileState


class DownloadPhase(StrEnum):
    """The phase of a download.

    CONNECT: localcrag is about to contact a host, whose name takes the place of the file's. TRANSFER: bytes arrive.
    CHECK: bytes on the disk are unpacked, or read to verify their checksum.
    """

    CONNECT = "connect"
    TRANSFER = "transfer"
    CHECK = "check"


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadProgress:
    """The progress of a download: bytes `done` of `total` in this phase, over all files.

    The rate and the time left are None until they are known.
    """

    model: str
    file: str
    phase: DownloadPhase
    done: int
    total: int
    bytes_per_second: float | None = None
    seconds_left: float | None = None


Report = Callable[[DownloadProgress], None]
