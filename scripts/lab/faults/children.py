"""Processes of the app to be killed: forks of this one with its models, which report what they do."""

from __future__ import annotations

import faulthandler
import json
import os
import random
import select
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from lab.faults import folder, work
from localcrag.app.assembly import Assembly
from localcrag.settings import Settings, load

PATIENCE = 60.0
"""Seconds without a line after which a process counts as hanging."""
INDEX_KWARGS = {"most_recent": 12, "rows_per_write": 20}
"""Settings that rewrite an index file after few new chunks; the default of 5,000 would take minutes to reach."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that a process reported, and its time on the monotonic clock in seconds."""

    what: str
    given: dict[str, Any]
    at: float


class Models:
    """The models, loaded once and used by every fork; with one thread, since a fork loses all others."""

    def __init__(self, scratch: Path, *, with_answers: bool = True) -> None:
        settings = settings_of(scratch)
        assembly = Assembly(settings)
        self._embedder, self._scorer = assembly.models.embedder, assembly.models.scorer
        self._llm: Any = assembly.models.llm if with_answers else None
        self._embedder.embed(["warm"])
        self._scorer.logits("warm", ["up"])
        assembly.close()

    def opened(self, data: Path) -> Assembly:
        """Open a data folder as the app does, with these models, in a fork. Raises LocalcragError."""
        # After a fork, torch makes a new thread pool, and two threads that request it at once get none.
        torch.set_num_threads(1)
        assembly = Assembly(settings_of(data))
        assembly.models.share(embedder=self._embedder, scorer=self._scorer)
        if self._llm:
            assembly._made.put(f"llm {assembly.settings.llm}", self._llm)
        return assembly


def settings_of(data: Path) -> Settings:
    """Return a data folder's settings with one thread and fp32, since int8's library has locks that may hang a fork."""
    return load(data_dir=data, threads=1, web="never", workers=1, relevance_format="fp32")


class Child:
    """A process that works in a data folder until it is killed."""

    def __init__(self, run: Callable[[work.Tell], None], log: Path) -> None:
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _be(run, writing, log)
        os.close(writing)
        self._pipe, self._rest, self._told = reading, b"", deque[Line]()

    def lines(self, seconds: float) -> Iterator[Line]:
        """Yield its lines for some seconds, or until it ends."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._told:
                yield self._told.popleft()
                continue
            if not select.select([self._pipe], [], [], left)[0]:
                return
            piece = os.read(self._pipe, 1 << 16)
            if not piece:
                return
            self._told += self._whole(piece)

    def _whole(self, piece: bytes) -> Iterator[Line]:
        *whole, self._rest = (self._rest + piece).split(b"\n")
        for line in whole:
            given = json.loads(line)
            yield Line(given.pop("what"), given, given.pop("at"))

    def end(self) -> tuple[list[Line], int]:
        """Kill it; return its remaining lines and its exit status."""
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        lines = [*self._told]
        while piece := os.read(self._pipe, 1 << 16):
            lines += self._whole(piece)
        os.close(self._pipe)
        return lines, os.waitstatus_to_exitcode(status)


def _be(run: Callable[[work.Tell], None], pipe: int, log: Path) -> None:
    """Run as the forked process, and end it."""
    try:
        os.setsid()
        with log.open("ab", 0) as file:
            for stream in (1, 2):
                os.dup2(file.fileno(), stream)
        faulthandler.dump_traceback_later(PATIENCE - 10)

        def tell(what: str, **given: Any) -> None:
            # A short line is written completely or not at all, even if the process is killed; the pipe outlives it.
            os.write(pipe, json.dumps({"what": what, "at": time.monotonic(), **given}).encode() + b"\n")

        run(tell)
    except BaseException as error:  # noqa: BLE001 - told, whatever it is
        traceback.print_exc()
        os.write(pipe, json.dumps({"what": "failed", "at": time.monotonic(), "error": repr(error)}).encode() + b"\n")
    finally:
        os._exit(0)


def working(
    models: Models, data: Path, files: Path, *, seed: int, first: str, words: Mapping[str, str] = MappingProxyType({})
) -> Callable[[work.Tell], None]:
    """Return the function of a process: check the folder, report its content, then work without end.

    `words` maps checksums of all documents ever added to a word in each; a deleted document's word must not be found.
    """

    def run(tell: work.Tell) -> None:
        from localcrag.storage.collections.vector_index import ChunkIndex  # noqa: PLC0415 - takes a while to import

        (ChunkIndex.__init__.__kwdefaults__ or {}).update(INDEX_KWARGS)
        assembly = models.opened(data)
        facts = folder.facts_of(data, assembly.database)
        there = set(facts.values())
        gone = [word for checksum, word in words.items() if checksum not in there]
        problems = list(folder.problems_of(assembly, gone))
        # Long reports are split: a line is only written in one piece if it is shorter than the pipe's limit.
        for at in range(0, len(facts), 20):
            tell("facts", facts=dict(list(facts.items())[at : at + 20]))
        tell("looked", problems=[one[:300] for one in problems[:5]], number=len(problems), gone=len(gone))
        doing = work.Work(assembly, files, seed, tell)
        doing.go_on()
        for kind in work.without_end(doing, first, random.Random(seed)):
            doing.do(kind)

    return run
