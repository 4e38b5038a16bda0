"""A single running instance per data folder: later starts hand over their files to it."""

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
RUNNING_FOLDER = "running"
"""Subfolder of the data folder, accessible to this user only."""
OPEN_PATH = "/localcrag/open"
"""URL path at which the app's server accepts a hand-over."""
START_LIMIT, RETRY_SECONDS = 120.0, 0.1
"""Seconds to wait until another instance's page answers, and seconds between two attempts."""


class HandOverRefused(LocalcragError):
    """The running instance did not accept the hand-over."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """The request of a later start: files or folders to add, or to quit."""

    files: tuple[str, ...] = ()
    quit: bool = False


NO_REQUEST = HandOver()


@dataclass(frozen=True, slots=True)
class InstanceAddress:
    """Port of the running instance, and the token that it requires."""

    port: int
    token: str


class OneInstance:
    """The single-instance lock of a data folder. The lock ends with the process that holds it.

    `window_folder` is the folder of the browser profile for the app window.
    """

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir.absolute() / RUNNING_FOLDER
        self._place = self._folder / "page.json"
        self.window_folder = self._folder / "window"
        self._lock = FileLock(self._folder / "lock")

    def claim(self) -> bool:
        """Become the running instance; return False if there is one already."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            # The address of a killed instance is still there; later starts must not use it.
            return False
        self._place.unlink(missing_ok=True)
        return True

    def publish(self, place: InstanceAddress) -> None:
        """Write the address of this instance to a file that only this user can read."""
        write_private(self._place, json.dumps(asdict(place)))

    def release(self) -> None:
        """Release the single-instance lock. No-op if this process does not hold it."""
        if self._lock.is_locked:
            self._place.unlink(missing_ok=True)
            self._lock.release()

    def await_end(self) -> None:
        """Wait until the running instance has ended. Raises HandOverRefused."""
        try:
            self._lock.acquire(timeout=START_LIMIT)
        except Timeout as error:
            raise HandOverRefused(
                "The running localcrag will quit when it has added its current file or loaded its models. You need "
                "not do anything."
            ) from error
        self.release()

    def remove_window(self) -> bool:
        """Remove the browser profile of the window; return False if an instance is running, which needs it."""
        if not self.window_folder.exists():
            return True  # Return before `claim`, which would create a folder and a lock.
        if not self.claim():
            return False
        shutil.rmtree(self.window_folder, ignore_errors=True)
        self.release()
        return True

    def hand_over(self, handed: HandOver) -> bool:
        """Hand over to the running instance and return True, or become it and return False.

        Waits for an instance that is starting. Raises HandOverRefused.
        """
        deadline = time.monotonic() + START_LIMIT
        while not self.claim():
            place = self._read_endpoint()
            if place and _send(place, handed):
                return True
            if time.monotonic() > deadline:
                raise HandOverRefused(
                    f"Another localcrag is using the data folder {self._folder.parent} and does not respond. "
                    "End its process, and start localcrag again."
                )
            time.sleep(RETRY_SECONDS)
        return False

    def _read_endpoint(self) -> InstanceAddress | None:
        try:
            return InstanceAddress(**json.loads(self._place.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None  # Not written yet, or removed already.


def absolute_paths(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return absolute paths, because the running instance has another working directory."""
    return tuple(str(path.absolute()) for path in paths)


def _send(place: InstanceAddress, handed: HandOver) -> bool:
    """Send the request and return True; return False if nothing answers.

    Raises HandOverRefused with the reason, if the instance refuses.
    """
    connection = http.client.HTTPConnection(HOST, place.port, timeout=START_LIMIT)
    headers = {"Authorization": f"Bearer {place.token}", "Content-Type": "application/json"}
    try:
        connection.request("POST", OPEN_PATH, json.dumps(asdict(handed)), headers)
        answer = connection.getresponse()
        reason = answer.read().decode("utf-8", "replace").strip()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    if answer.status != http.client.NO_CONTENT:
        raise HandOverRefused(reason)
    return True
