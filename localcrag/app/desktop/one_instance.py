"""One instance: the start that comes first over a data folder, and what later ones hand over to it."""

from __future__ import annotations

import http.client
import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from localcrag.privacy.private_folder import write_private
from localcrag.records.errors import LocalcragError

HOST = "127.0.0.1"
FOLDER = "running"
"""In the data folder, for this user alone."""
OPEN = "/localcrag/open"
"""Where the page's server takes what is handed over."""
START_LIMIT, BETWEEN = 120.0, 0.1
"""Seconds that a start may take until its page answers, and between two looks whether it does."""


class NotHandedOver(LocalcragError):
    """The instance that runs did not take what was handed to it."""


@dataclass(frozen=True, slots=True)
class HandedIn:
    """What a later start hands over: files or folders to add, or that the first is to end."""

    files: tuple[str, ...] = ()
    quit: bool = False


NOTHING = HandedIn()


@dataclass(frozen=True, slots=True)
class Place:
    """Where the first answers, and the token that it takes."""

    port: int
    token: str


class OneInstance:
    """The only instance over a data folder, as long as it holds the folder's lock, which ends with its process."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir.absolute() / FOLDER
        self._place = self._folder / "page.json"
        self._lock = FileLock(self._folder / "lock")

    @property
    def window_folder(self) -> Path:
        """Where the window's browser keeps what it keeps."""
        return self._folder / "window"

    def claim(self) -> bool:
        """Be the first from now on; return False when another is."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            return False
        self._place.unlink(missing_ok=True)
        return True

    def tell(self, place: Place) -> None:
        """Write down where the first answers, for this user alone."""
        write_private(self._place, json.dumps(asdict(place)))

    def release(self) -> None:
        """Let another be the first. Does nothing for who is not."""
        if self._lock.is_locked:
            self._place.unlink(missing_ok=True)
            self._lock.release()

    def await_end(self) -> None:
        """Wait until the first has ended. Raises NotHandedOver."""
        try:
            self._lock.acquire(timeout=START_LIMIT)
        except Timeout as error:
            raise NotHandedOver(
                "The localcrag that runs was told to end, and will: after the file that it is adding, or the models "
                "that it is loading. Nothing needs to be done."
            ) from error
        self.release()

    def remove_window(self) -> bool:
        """Remove what the window's browser kept; return False when an instance is running, and it stays."""
        if not self.window_folder.exists():
            return True  # Nothing is made here, either: no lock.
        if not self.claim():
            return False
        shutil.rmtree(self.window_folder, ignore_errors=True)
        self.release()
        return True

    def hand_over(self, handed: HandedIn) -> bool:
        """Hand over to the first, or become the first; return whether it was handed over.

        One that is starting is waited for. Raises NotHandedOver.
        """
        deadline = time.monotonic() + START_LIMIT
        while not self.claim():
            place = self._told()
            if place and _sent(place, handed):
                return True
            if time.monotonic() > deadline:
                raise NotHandedOver(
                    f"Another localcrag holds the data folder {self._folder.parent} and does not answer. "
                    "End its process, and start localcrag again."
                )
            time.sleep(BETWEEN)
        return False

    def _told(self) -> Place | None:
        try:
            return Place(**json.loads(self._place.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None  # Not yet, or no more.


def absolute(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return paths as the first can open them, which runs in another folder."""
    return tuple(str(path.absolute()) for path in paths)


def _sent(place: Place, handed: HandedIn) -> bool:
    """Return whether the first took it; False while nobody answers. Raises NotHandedOver with what it said."""
    connection = http.client.HTTPConnection(HOST, place.port, timeout=START_LIMIT)
    headers = {"Authorization": f"Bearer {place.token}", "Content-Type": "application/json"}
    try:
        connection.request("POST", OPEN, json.dumps(asdict(handed)), headers)
        answer = connection.getresponse()
        said = answer.read().decode("utf-8", "replace").strip()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    if answer.status != http.client.NO_CONTENT:
        raise NotHandedOver(said)
    return True
