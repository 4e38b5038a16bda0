"""Run one fuzzing process for each kind of file; if one crashes, keep its input and start another."""

from __future__ import annotations

import faulthandler
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.fuzzing.changes import changed
from lab.fuzzing.findings import Count, Findings
from lab.fuzzing.kinds import MOST_BYTES, PASSWORD, digest_of, names_of
from lab.fuzzing.reading import Finding, Reading
from localcrag.documents.readers.process import PATIENCE
from localcrag.privacy.worker_process import MOST_MEMORY

STANDS_STILL = 60
"""Seconds of CPU time without a sign of life after which a process is ended and its input kept."""
LEAST = 2
"""Fewest remaining seconds for which a process is started."""
TOLD = 4_000
"""Most characters kept of a crashed process's last output."""


class Fuzzing:
    """Fuzzes kinds of files one after the other in a work folder; `engine` is atheris."""

    def __init__(self, engine: Any, work: Path) -> None:
        self._engine, self._work, self._findings = engine, work, Findings(work / "findings")
        self._current, self._log = work / "current", work / "log"

    def fuzz(self, kind: str, seconds: float) -> None:
        """Fuzz one kind for some seconds, starting a new process whenever one crashes."""
        (self._work / "count").mkdir(exist_ok=True)
        (self._work / "corpus" / kind).mkdir(parents=True, exist_ok=True)
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > LEAST:
            self._current.unlink(missing_ok=True)
            status = self._run(kind, int(left))
            if status == 0:
                return
            said = self._log.read_text("utf-8", "replace")[-TOLD:]
            if not self._current.exists():
                sys.exit(f"Fuzzing did not begin (exit status {status}):\n{said}")
            self._broke(kind, self._current.read_bytes(), status, said)

    def _run(self, kind: str, seconds: int) -> int:
        """Run a process that tries inputs for some seconds; return its exit status."""
        sys.stderr.flush()
        if process := os.fork():
            return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        status = 1
        try:
            with self._log.open("wb", buffering=0) as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            self._try_inputs(kind, seconds)
            status = 0
        finally:
            os._exit(status)

    def _try_inputs(self, kind: str, seconds: int) -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, hard))
        faulthandler.enable(2)
        # The signal ends the process inside any library. It counts CPU time, so a busy machine does not trigger it.
        faulthandler.register(signal.SIGPROF, file=2, chain=True)
        count, names = Count(self._work / "count" / kind), names_of(kind)

        def heard() -> None:
            signal.setitimer(signal.ITIMER_PROF, STANDS_STILL)
            faulthandler.dump_traceback_later(PATIENCE, exit=True, file=2)

        def one_input(data: bytes) -> None:
            self._current.write_bytes(data)
            count.add()
            for name in names:
                heard()
                for finding in Reading(self._current, name, PASSWORD, heard).read():
                    self._findings.keep(kind, data, finding)
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.cancel_dump_traceback_later()

        def change(data: bytes, most: int, seed: int) -> bytes:
            return changed(bytes(data), most, random.Random(seed), self._engine.Mutate)

        limits = ("-rss_limit_mb=0", "-timeout=1200", "-report_slow_units=1200")  # Our own limits are set above.
        told = (f"-max_total_time={seconds}", f"-max_len={MOST_BYTES}", *limits)
        folders = (str(self._work / "corpus" / kind), str(self._work / "seeds" / kind))
        self._engine.Setup([sys.argv[0], *told, *folders], one_input, custom_mutator=change)
        self._engine.Fuzz()  # This call does not return.

    def _broke(self, kind: str, data: bytes, status: int, said: str) -> None:
        """Store the input that crashed a process, and remove it from the seeds."""
        sort = "hang" if status == -signal.SIGPROF or "Timeout (" in said else "crash"
        places = [line.strip() for line in said.splitlines() if line.startswith("  File ")]
        place = places[0] if places else f"exit status {status}"
        self._findings.keep(kind, data, Finding(sort, place, f"exit status {status}\n{said}"))
        for folder in ("corpus", "seeds"):
            (self._work / folder / kind / digest_of(data)).unlink(missing_ok=True)


def table(work: Path, kinds: Sequence[str]) -> str:
    """Return the number of inputs tried by kind, and each finding, as Markdown."""
    findings = list(Findings(work / "findings").all())
    lines = ["| kind | seeds | inputs tried | kept as new | findings |", "| --- | --: | --: | --: | --: |"]
    rows = []
    for kind in kinds:
        files = [sum(1 for _ in (work / folder / kind).glob("*")) for folder in ("seeds", "corpus")]
        found = sum(one["kind"] == kind for one in findings)
        rows.append((files[0], Count(work / "count" / kind).value, files[1], found))
        lines.append(f"| {kind} | {' | '.join(f'{number:,}' for number in rows[-1])} |")
    lines.append(f"| all | {' | '.join(f'{sum(numbers):,}' for numbers in zip(*rows, strict=True))} |")
    lines += [f"- {one['file']}: {one['sort']}, {one['place']} ({one['times']:,} times)" for one in findings]
    return "\n".join(lines)
