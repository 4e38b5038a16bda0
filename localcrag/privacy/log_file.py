"""The log file: why threads, servers and background tasks ended, without content of documents.

Log calls of localcrag pass constant texts, numbers and localcrag's own names. For an exception, the file records its
kind and the places in the code, but never its message, which may quote a document. The file stays below `MOST_BYTES`;
older lines are kept in `KEPT` more files.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from localcrag.privacy.process import kinds_and_places

FOLDER, NAME = "logs", "localcrag.log"
MOST_BYTES = 256 * 1024
"""Bytes of the log file before it is rotated: some 2,000 lines."""
KEPT = 2
"""Rotated files to keep."""

_hook = threading.excepthook
_log = logging.getLogger("localcrag")


class _NoMessages(logging.Formatter):
    """A format that shows the kind and the places of an exception, and not its message."""

    def formatException(  # noqa: N802 - the name is logging's
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
    ) -> str:
        return kinds_and_places(ei[1])


def log_to_file(data_dir: Path) -> Path:
    """Write what localcrag logs from now on to the log file of a data folder, and return its path.

    Exceptions that end a thread are logged, too. A second call for the same folder changes nothing; one for another
    folder moves the log there. If the file cannot be written, localcrag runs without a log.
    """
    path = data_dir / FOLDER / NAME
    for handler in [one for one in _log.handlers if isinstance(one, RotatingFileHandler)]:
        if Path(handler.baseFilename) == path.absolute():
            return path
        _log.removeHandler(handler)
        handler.close()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return path
    # `delay`: a command that has nothing to log leaves no file behind.
    handler = RotatingFileHandler(path, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8", delay=True)
    handler.setFormatter(_NoMessages("%(asctime)s %(levelname)s %(process)d %(threadName)s %(name)s: %(message)s"))
    _log.addHandler(handler)
    _log.setLevel(logging.INFO)
    threading.excepthook = _log_thread_error
    return path


def _log_thread_error(ended: threading.ExceptHookArgs) -> None:
    """Log the exception that ended a thread, then call the previous exception hook."""
    if ended.exc_value is not None:
        _log.error("a thread ended with an error", exc_info=ended.exc_value)
    _hook(ended)


@contextmanager
def logged(server: str) -> Iterator[None]:
    """Log the start and the end of one of localcrag's servers; `server` is a constant name."""
    _log.info("%s starts", server)
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as stopped:
        _log.info("%s was stopped (%s)", server, type(stopped).__name__)
        raise
    except BaseException as error:
        _log.exception("%s ended with an error", server, exc_info=error)
        raise
    _log.info("%s ended", server)


def last_lines(data_dir: Path, number: int, *levels: str) -> list[str]:
    """Return the last lines of the log file that begin an entry of one of these levels, oldest first."""
    lines: deque[str] = deque(maxlen=number)
    try:
        with (data_dir / FOLDER / NAME).open(encoding="utf-8", errors="replace") as file:
            for line in file:
                parts = line.split(" ", 3)
                if len(parts) == 4 and parts[2] in levels:
                    lines.append(line.rstrip("\n"))
    except OSError:
        return []
    return list(lines)
