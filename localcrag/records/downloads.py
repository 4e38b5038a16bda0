"""How far a download is: the records that whoever shows it gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


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
