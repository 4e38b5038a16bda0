"""The log file says what ended threads, servers and tasks, and holds no word of documents or questions."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from localcrag.app.facade import begin
from localcrag.app.tasks import Job
from localcrag.privacy import log_file
from tests.support.command_line import as_json, localcrag

pytestmark = pytest.mark.process

DIARY = "the diary of a beekeeper"


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """A data folder that is logged in; the log goes back to nowhere afterwards."""
    logger, before = logging.getLogger("localcrag"), [*logging.getLogger("localcrag").handlers]
    begin(data_dir=tmp_path / "data")
    yield tmp_path / "data"
    for handler in [one for one in logger.handlers if one not in before]:
        logger.removeHandler(handler)
        handler.close()
    threading.excepthook = threading.__excepthook__


def text(data: Path) -> str:
    return (data / "logs" / "localcrag.log").read_text("utf-8")


def test_a_job_that_fails_leaves_kind_and_place_and_not_its_message(data: Path) -> None:
    def work() -> Generator[int, None, None]:
        yield 1
        raise ValueError(DIARY)

    with pytest.raises(ValueError, match=DIARY):
        list(Job(work, name="a job").follow())
    assert "job a job ended" in text(data)
    assert "ValueError" in text(data)
    assert "in work" in text(data)
    assert DIARY not in text(data)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_that_ends_a_thread_is_logged(data: Path) -> None:
    def work() -> None:
        raise KeyError(DIARY)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "a thread ended with an error" in text(data)
    assert "KeyError" in text(data)
    assert DIARY not in text(data)


def test_a_server_logs_its_start_and_what_ended_it(data: Path) -> None:
    with pytest.raises(RuntimeError), log_file.logged("a server"):
        raise RuntimeError(DIARY)
    assert "a server starts" in text(data)
    assert "a server ended with an error" in text(data)
    assert DIARY not in text(data)


def test_the_file_is_rotated_and_private(data: Path) -> None:
    logger = logging.getLogger("localcrag.test")
    for number in range(15_000):
        logger.warning("line %d of a long log that is rotated before it becomes too large", number)
    files = sorted(path.name for path in (data / "logs").iterdir())
    assert files == ["localcrag.log", "localcrag.log.1", "localcrag.log.2"]
    assert all(path.stat().st_size <= log_file.MOST_BYTES for path in (data / "logs").iterdir())
    if sys.platform != "win32":
        assert all(path.stat().st_mode & 0o077 == 0 for path in (data / "logs").iterdir())


def test_doctor_names_the_file_and_its_last_errors(data: Path) -> None:
    logging.getLogger("localcrag.test").error("something ended", exc_info=ValueError(DIARY))
    (log,) = [one for one in as_json(localcrag(data, "doctor", "--json")) if one["name"] == "log"]
    assert "something ended" in log["detail"]
    assert DIARY not in log["detail"]
