"""The entry on Linux, by freedesktop.org: a .desktop file, and icons by size."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from localcrag.backends.desktop.entry import ICONS, NAME, OPENS, SIZES, SVG, Commands
from localcrag.backends.desktop.xdg_defaults import FILE as DEFAULTS
from localcrag.backends.desktop.xdg_defaults import is_ours, keep_defaults
from localcrag.privacy.egress_guard import passage
from localcrag.privacy.egress_log import Purpose
from localcrag.text import translation
from localcrag.text.translation import later

FILE = "localcrag.desktop"
REFRESH_LIMIT = 30
"""Seconds that the desktop's own programs get to take notice."""
TEXTS = {
    "GenericName": later("Answers from documents"),
    "Comment": later("Answers from your own documents, on this computer"),
}
QUIT = later("Quit localcrag")
# What a quoted argument of Exec may hold only behind a backslash, which a string of the file writes twice.
ESCAPED = str.maketrans({one: f"\\\\{one}" for one in '"`$'} | {"\\": "\\\\\\\\", "%": "%%"})


@dataclass(frozen=True, slots=True)
class XdgEntry:
    """In `data`, the folder of this user's entries and icons (XDG_DATA_HOME)."""

    data: Path

    def install(self, commands: Commands) -> Sequence[Path]:
        """Write the entry and its icons."""
        self.remove()
        kept = keep_defaults(self.data, OPENS)
        icons = {self._icon(f"{size}x{size}", "png"): ICONS / f"{size}.png" for size in SIZES}
        icons[self._icon("scalable", "svg")] = SVG
        for path, drawn in icons.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(drawn, path)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(written(commands), "utf-8")
        self._told()
        return [self._file, *icons, *([kept] if kept else [])]

    def remove(self) -> Sequence[Path]:
        """Remove them, and the folders that are empty then."""
        there = [path for path in self._paths() if path.is_file()]
        for path in there:
            path.unlink()
        self._told()
        for path in there:
            for folder in path.relative_to(self.data).parents[:-1]:
                if (here := self.data / folder).is_dir() and not any(here.iterdir()):
                    here.rmdir()
        return there

    def _paths(self) -> Iterator[Path]:
        yield self._file
        yield from (self._icon(f"{size}x{size}", "png") for size in SIZES)
        yield self._icon("scalable", "svg")
        if is_ours(defaults := self._file.with_name(DEFAULTS)):
            yield defaults

    @property
    def _file(self) -> Path:
        return self.data / "applications" / FILE

    def _icon(self, size: str, kind: str) -> Path:
        return self.data / "icons" / "hicolor" / size / "apps" / f"{NAME}.{kind}"

    def _told(self) -> None:
        """Have the desktop look anew, where it has programs for it; else it does so by itself, some day."""
        applications, icons = self._file.parent, self.data / "icons" / "hicolor"
        _run(applications, "update-desktop-database", "-q", str(applications))
        cache = icons / "icon-theme.cache"
        if cache.is_file():
            _run(icons, "gtk-update-icon-cache", "-q", "-t", "-f", str(icons))
        # Written for our types alone, it is nobody's when it is empty.
        left = applications / "mimeinfo.cache"
        if left.is_file() and left.read_text("utf-8", "replace").strip() == "[MIME Cache]":
            left.unlink()


def xdg_data_home(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of this user's data; a path that is not absolute counts as none (XDG Base Directory)."""
    given = environment.get("XDG_DATA_HOME", "")
    return Path(given) if Path(given).is_absolute() else Path.home() / ".local" / "share"


def written(commands: Commands) -> str:
    """Return the .desktop file."""
    lines = [
        "[Desktop Entry]",
        "Type=Application",
        f"Name={NAME}",
        *_in_all_languages("GenericName", TEXTS["GenericName"]),
        *_in_all_languages("Comment", TEXTS["Comment"]),
        f"Exec={_quoted(commands.opens)} %F",
        f"Icon={NAME}",
        "Terminal=false",
        "StartupNotify=true",
        # As the window's browser is told to call itself (app_window.py): so the window has this icon.
        f"StartupWMClass={NAME}",
        "Categories=Office;",
        f"MimeType={';'.join(OPENS)};",
        # Of two that can open a file and of which none was chosen, KDE takes the one with more.
        "InitialPreference=1",
        "Actions=quit;",
        "",
        "[Desktop Action quit]",
        *_in_all_languages("Name", QUIT),
        f"Exec={_quoted(commands.ends)}",
    ]
    return "\n".join(lines) + "\n"


def _in_all_languages(key: str, text: str) -> list[str]:
    others = [one for one in translation.LANGUAGES if one != translation.ENGLISH]
    return [f"{key}={text}", *(f"{key}[{one}]={translation.text_in(one, text)}" for one in others)]


def _quoted(command: Sequence[str]) -> str:
    """Return a command as Exec has it: every argument in quotation marks."""
    return " ".join(f'"{one.translate(ESCAPED)}"' for one in command)


def _run(folder: Path, *command: str) -> None:
    program = shutil.which(command[0])
    if program and folder.is_dir():
        with passage(Purpose.NONE, programs=True):
            subprocess.run([program, *command[1:]], check=False, capture_output=True, timeout=REFRESH_LIMIT)
