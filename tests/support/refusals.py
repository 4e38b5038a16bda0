"""A refusal of the egress guard that no test has named fails the test, whichever process it was in.

A pytest plugin. The guard adds each refusal to a file that the environment names (`egress_log.REFUSALS`), in this
process and in all that it starts; the file is read when a test, with what its fixtures started, is done. A test names
what it expects to be refused: `@pytest.mark.refused("192.0.2.*:80", "nobody.example")`, patterns of destinations.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from localcrag.privacy import egress_log

MARKER = "refused"
FILE_NAME = "refusals.jsonl"


class Refusals:
    """What was refused since the last look."""

    def __init__(self, file: Path) -> None:
        self._file, self._read = file, 0

    def since(self) -> list[egress_log.EgressAttempt]:
        """Return what was refused since this was last asked."""
        with self._file.open("rb") as file:
            file.seek(self._read)
            lines = file.read()
        whole = lines[: lines.rfind(b"\n") + 1]
        self._read += len(whole)
        return [egress_log.EgressAttempt(**json.loads(line)) for line in whole.splitlines()]


KEPT = pytest.StashKey[Refusals]()


@pytest.hookimpl(trylast=True)  # After tests/conftest.py has cleared the environment.
def pytest_configure(config: pytest.Config) -> None:
    """Have refusals written to a file of this process of pytest: each worker of xdist has its own."""
    config.addinivalue_line("markers", f"{MARKER}(*destinations): the guard is to refuse these; patterns")
    folder = TemporaryDirectory(prefix="localcrag-refusals-")
    config.add_cleanup(folder.cleanup)
    file = Path(folder.name) / FILE_NAME
    os.environ[egress_log.REFUSALS_VARIABLE] = str(file)
    egress_log._refusals = opened = egress_log._opened(str(file))
    assert opened is not None
    config.add_cleanup(lambda: _stop(opened))
    config.stash[KEPT] = Refusals(file)


def _stop(opened: int) -> None:
    egress_log._refusals = None
    os.close(opened)
    del os.environ[egress_log.REFUSALS_VARIABLE]


@pytest.hookimpl(wrapper=True, tryfirst=True)  # Outermost: whatever the test's fixtures started has ended by then.
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Fail a test in which anything was refused that it does not name."""
    try:
        return (yield)
    finally:
        named = [str(pattern) for marker in item.iter_markers(MARKER) for pattern in marker.args]
        refused = [one for one in item.config.stash[KEPT].since() if not _any_matches(named, one.destination)]
        if refused:
            said = "".join(f"\n    {one.kind} {one.destination}, asked for by {one.asked_by}" for one in refused)
            pytest.fail(
                f"The egress guard refused what this test does not name:{said}\nEither something wants to leave, "
                f"which is a fault, or the test expects it: @pytest.mark.{MARKER}(destination, …).",
                pytrace=False,
            )


def _any_matches(patterns: list[str], destination: str) -> bool:
    return any(fnmatchcase(destination, pattern) for pattern in patterns)
