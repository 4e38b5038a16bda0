"""Install and remove the desktop entry for the current system."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localcrag.app.desktop import linux, macos, windows
from localcrag.app.desktop.entry import ICONS, Commands
from localcrag.app.desktop.one_instance import OneInstance
from localcrag.records.errors import LocalcragError
from localcrag.settings import default_data_dir

FAVICON = ICONS / "128.png"


class NotInstalled(LocalcragError):
    """The desktop entry could not be created or removed."""


def install(data_dir: Path) -> Sequence[Path]:
    """Add localcrag to this user's menu and “Open with”; return the files. Raises NotInstalled."""
    try:
        return _entry().install(commands(data_dir))
    except (OSError, subprocess.SubprocessError) as error:
        raise NotInstalled(f"localcrag could not be added to the menu: {error}.") from error


@dataclass(frozen=True, slots=True)
class Removed:
    """The removed files; `runs` means that the browser profile stayed because localcrag is running."""

    paths: Sequence[Path]
    runs: bool


def remove(data_dir: Path) -> Removed:
    """Remove the entry and the window's browser profile; return what was removed. Raises NotInstalled."""
    try:
        gone = _entry().remove()
    except OSError as error:
        raise NotInstalled(f"localcrag could not be removed from the menu: {error}.") from error
    return Removed(gone, runs=not OneInstance(data_dir).remove_window())


def commands(data_dir: Path) -> Commands:
    """Return the commands that start this installation from anywhere, with this data folder."""
    python = Path(sys.executable)
    if sys.platform == "win32" and (silent := python.with_name("pythonw.exe")).is_file():
        python = silent  # This runs without a console window.
    # -P keeps the current folder out of the import path.
    start = (str(python), "-P", "-m", "localcrag", "desktop")
    where = () if data_dir.absolute() == default_data_dir().absolute() else ("--data-dir", str(data_dir.absolute()))
    return Commands(opens=(*start, "open", *where), ends=(*start, "quit", *where))


def _entry() -> linux.XdgEntry | macos.MacEntry | windows.WindowsEntry:
    if sys.platform == "win32":
        programs = Path(os.environ["APPDATA"]) / "Microsoft" / "Windows" / "Start Menu" / "Programs"
        return windows.WindowsEntry(programs, Path(os.environ["LOCALAPPDATA"]) / "localcrag-desktop")
    if sys.platform == "darwin":
        return macos.MacEntry(Path.home() / "Applications")
    return linux.XdgEntry(linux.xdg_data_home())
