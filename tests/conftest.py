"""What many tests share: their order, the real models loaded once, a collection with a real PDF."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import localcrag
from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.privacy.guard import allow_all_programs
from localcrag.settings import load
from tests.support.documents import handbook_pdf
from tests.support.first_start import shared_folder, started_before

TESTS = Path(__file__).parent
SLOWEST_FIRST = ("browser", "process", "lab", "models", "contract")
"""Markers of the kinds of tests, by the time that a file of each takes. A test without one of them is fast."""
NEEDS_SEARX = "searx"
"""The fixture that starts Debian's searx."""

pytest_plugins = [
    "tests.support.refusals",
    "tests.support.fixtures_search",
    "tests.support.fixtures_egress",
    "tests.support.fixtures_app",
    "tests.support.fixtures_browser",
    "tests.support.fixtures_handbook",
    "tests.support.fixtures_postgres",
]


def pytest_configure(config: pytest.Config) -> None:
    """Make tests independent of the shell that they are started from."""
    if shared := shared_folder():
        config.add_cleanup(shared.cleanup)
    allow_all_programs("tests start browsers, servers and the app itself")
    # A developer's own settings must not reach the tests.
    for name in [name for name in os.environ if name.startswith("LOCALCRAG_")]:
        del os.environ[name]
    # Before a test imports a library that reads the switches for telemetry. Processes of the tests are guarded, too.
    localcrag.guard()
    # Started in the background by a shell, tests ignore Ctrl-C, and so would the programs that they interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need Debian's searx with `search`, and sort the tests by kind.

    The files that take longest come first, so that the workers that share them end at about the same time.
    """
    for item in items:
        if NEEDS_SEARX in getattr(item, "fixturenames", ()):
            item.add_marker("search")
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    """Return the place of a test's kind in the order."""
    kinds = [number for number, kind in enumerate(SLOWEST_FIRST) if item.get_closest_marker(kind)]
    return min(kinds, default=len(SLOWEST_FIRST))


@pytest.fixture(scope="session")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PDF of twelve pages that the tests ask about."""
    path = tmp_path_factory.mktemp("handbook") / "handbook.pdf"
    handbook_pdf(path)
    return path


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory, handbook: Path) -> Iterator[Assembly]:
    """The app with its real models and the handbook in its collection; tests only ask."""
    assembly = Assembly(load(data_dir=started_before(tmp_path_factory.mktemp("library"))))
    for _ in assembly.ingest(uploads_from([handbook])):
        pass
    yield assembly
    assembly.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--screens", type=Path, default=TESTS.parent / ".artifacts" / "screens",
        help="where the browser tests put their screenshots",
    )  # fmt: skip


@pytest.fixture(scope="session")
def screens(request: pytest.FixtureRequest) -> Path:
    """The folder for screenshots."""
    folder: Path = request.config.getoption("--screens")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
