"""Store the findings of fuzzing: the smallest input for each, and its report in a second file."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.fuzzing.kinds import KINDS, digest_of
from lab.fuzzing.reading import Finding

COUNTED = 8
"""Bytes of a stored count."""


@dataclass(frozen=True)
class Findings:
    """The folder of findings."""

    folder: Path

    def keep(self, kind: str, data: bytes, finding: Finding) -> None:
        """Store an input with a finding, if it is the first one for it or smaller than the stored one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        of_it = digest_of(f"{kind} {finding.sort} {finding.place}".encode())[:10]
        about = self.folder / f"{kind}-{finding.sort}-{of_it}.json"
        said: dict[str, Any] = json.loads(about.read_text("utf-8")) if about.exists() else {"times": 0}
        if not said["times"] or len(data) < said["bytes"]:
            name = about.with_suffix(KINDS[kind][0]).name
            (self.folder / name).write_bytes(data)
            said |= {"file": name, "bytes": len(data), "said": finding.said}
        said |= {"kind": kind, "sort": finding.sort, "place": finding.place, "times": said["times"] + 1}
        about.write_text(json.dumps(said, indent=1), "utf-8")

    def all(self) -> Iterator[dict[str, Any]]:
        """Yield the record of each finding, by kind."""
        for path in sorted(self.folder.glob("*.json")):
            yield json.loads(path.read_text("utf-8"))


class Count:
    """A counter in a file, which survives the counting process."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(COUNTED))
        with path.open("r+b") as file:
            self._held = mmap.mmap(file.fileno(), COUNTED)

    @property
    def value(self) -> int:
        return int.from_bytes(self._held[:], "little")

    def add(self) -> None:
        self._held[:] = (self.value + 1).to_bytes(COUNTED, "little")
