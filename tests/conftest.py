"""What many tests share: folders as markers, the real models loaded once, a collection with a real PDF."""

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
SLOWEST_FIRST = ("browser", "process", "lab", "models", "contracts", "unit")
"""The folders, by what one of their files takes."""
NEEDS_SEARX = "searx"
"""The fixture that starts Debian's searx."""

pytest_plugins = [
    "tests.support.refusals",
    "tests.support.fixtures_search",
    "tests.support.fixtures_egress",
    "tests.support.fixtures_app",
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
    """Mark each test with the folder that it is in, and with `search` when it asks Debian's searx.

    The files that take longest come first: workers that share them out then end at about the same time.
    """
    for item in items:
        item.add_marker(folder(item))
        if NEEDS_SEARX in getattr(item, "fixturenames", ()):
            item.add_marker("search")
    items.sort(key=lambda item: SLOWEST_FIRST.index(folder(item)))


def folder(item: pytest.Item) -> str:
    """Return the name of the folder that a test is in."""
    return item.path.relative_to(TESTS).parts[0]


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
