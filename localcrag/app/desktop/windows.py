"""The desktop entry on Windows: a shortcut in the Start menu, and “Open with” in the user's registry."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from localcrag.app.desktop.entry import FILE_TYPES, NAME, SIZES, Commands, icon_images
from localcrag.privacy.egress_log import Purpose
from localcrag.privacy.guard import allow_egress

CLASSES = r"Software\Classes"
PROGID = "localcrag.Document"
"""Program id for opening files (https://learn.microsoft.com/windows/win32/shell/fa-progids)."""
EXTENSIONS = tuple(end for ends in FILE_TYPES.values() for end in ends)
MAX_ICO_SIZE = 256
ASSOCIATIONS_CHANGED = 0x08000000
"""Value of SHCNE_ASSOCCHANGED."""
# COM creates the shortcut, here through PowerShell. The values are passed in the environment, so none needs quoting.
SHORTCUT = """
$link = (New-Object -ComObject WScript.Shell).CreateShortcut($env:LOCALCRAG_LINK)
$link.TargetPath = $env:LOCALCRAG_TARGET
$link.Arguments = $env:LOCALCRAG_ARGUMENTS
$link.IconLocation = $env:LOCALCRAG_ICON
$link.WorkingDirectory = $env:USERPROFILE
$link.Save()
"""


@dataclass(frozen=True, slots=True)
class WindowsEntry:
    """The shortcut in `programs`, a folder of the Start menu, and its icon in the separate folder `icon_folder`."""

    programs: Path
    icon_folder: Path

    def install(self, commands: Commands) -> Sequence[Path]:
        """Write the icon, the shortcut and the registry entries."""
        self.icon_folder.mkdir(parents=True, exist_ok=True)
        write_ico(self._icon)
        self.programs.mkdir(parents=True, exist_ok=True)
        values = {
            "LOCALCRAG_LINK": str(self._link),
            "LOCALCRAG_TARGET": commands.opens[0],
            "LOCALCRAG_ARGUMENTS": subprocess.list2cmdline(commands.opens[1:]),
            "LOCALCRAG_ICON": str(self._icon),
        }
        command = ["powershell", "-NoProfile", "-NonInteractive", "-Command", SHORTCUT]
        with allow_egress(Purpose.NONE, programs=True):
            subprocess.run(command, env={**os.environ, **values}, check=True, capture_output=True)
        _write_registry(registry(commands, self._icon))
        return [self._link, self._icon]

    def remove(self) -> Sequence[Path]:
        """Remove the icon, the shortcut and the registry entries."""
        there = [path for path in (self._link, self._icon) if path.exists()]
        self._link.unlink(missing_ok=True)
        shutil.rmtree(self.icon_folder, ignore_errors=True)
        _remove_registry()
        return there

    @property
    def _link(self) -> Path:
        return self.programs / f"{NAME}.lnk"

    @property
    def _icon(self) -> Path:
        return self.icon_folder / f"{NAME}.ico"


def registry(commands: Commands, icon: Path) -> list[tuple[str, str, str]]:
    """Return the values below HKEY_CURRENT_USER: key, name and text."""
    progid = rf"{CLASSES}\{PROGID}"
    return [
        (progid, "", NAME),
        (rf"{progid}\DefaultIcon", "", str(icon)),
        (rf"{progid}\Application", "ApplicationName", NAME),
        (rf"{progid}\Application", "ApplicationIcon", str(icon)),
        (rf"{progid}\shell\open", "FriendlyAppName", NAME),
        (rf"{progid}\shell\open\command", "", f'{subprocess.list2cmdline(commands.opens)} "%1"'),
        # This only adds localcrag to the programs that can open the file; the user chooses the default.
        *((rf"{CLASSES}\.{end}\OpenWithProgids", PROGID, "") for end in EXTENSIONS),
    ]


def write_ico(path: Path) -> None:
    """Write the icon in all sizes into one file."""
    drawn = icon_images(size for size in SIZES if size <= MAX_ICO_SIZE)
    drawn[-1].save(path, append_images=drawn[:-1], sizes=[one.size for one in drawn])


def _write_registry(values: Sequence[tuple[str, str, str]]) -> None:
    if sys.platform == "win32":
        import winreg  # noqa: PLC0415

        for key, name, text in values:
            with winreg.CreateKey(winreg.HKEY_CURRENT_USER, key) as opened:
                winreg.SetValueEx(opened, name, 0, winreg.REG_SZ, text)
        _tell_shell()


def _remove_registry() -> None:
    if sys.platform == "win32":
        import winreg  # noqa: PLC0415

        for end in EXTENSIONS:
            key = rf"{CLASSES}\.{end}\OpenWithProgids"
            with (
                suppress(FileNotFoundError),
                winreg.OpenKey(winreg.HKEY_CURRENT_USER, key, 0, winreg.KEY_SET_VALUE) as opened,
            ):
                winreg.DeleteValue(opened, PROGID)
        for below in (r"shell\open\command", r"shell\open", "shell", "Application", "DefaultIcon", ""):
            with suppress(FileNotFoundError):
                winreg.DeleteKey(winreg.HKEY_CURRENT_USER, rf"{CLASSES}\{PROGID}\{below}".rstrip("\\"))
        _tell_shell()


def _tell_shell() -> None:
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415

        ctypes.windll.shell32.SHChangeNotify(ASSOCIATIONS_CHANGED, 0, None, None)
