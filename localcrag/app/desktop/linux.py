"""The desktop entry on Linux, which leaves the default programs for files unchanged.

Without an explicit choice, a desktop opens a file with the first entry for its type, and the user's entries come before
the system's (Association between MIME types and applications, 1.0.1). So a new entry would take over every type without
a choice. Therefore localcrag writes the current default programs to `mimeapps.list`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from configparser import ConfigParser, Error
from dataclasses import dataclass
from pathlib import Path

from localcrag.app.desktop.entry import FILE_TYPES, ICONS, NAME, SIZES, SVG, Commands
from localcrag.privacy.egress_log import Purpose
from localcrag.privacy.guard import allow_egress
from localcrag.text import translation
from localcrag.text.translation import gettext_noop

DEFAULTS_FILE = "mimeapps.list"
MARK = "# Written by localcrag desktop install: what opened these by itself before, still does.\n"
CHOSEN_SECTION, CACHE_SECTION = "Default Applications", "MIME Cache"


def keep_defaults(data: Path, types: Collection[str], environment: Mapping[str, str] = os.environ) -> Path | None:
    """Write the current default programs into the user's list; return its path, or None if nothing is needed.

    A list at that path that localcrag did not write stays unchanged.
    """
    path = data / "applications" / DEFAULTS_FILE
    if path.is_file() and not is_ours(path):
        return None
    path.unlink(missing_ok=True)
    folders = (data, *_data_dirs(environment))
    # In a ChainMap, earlier sections take precedence.
    chosen = ChainMap(*(_section(one, CHOSEN_SECTION) for one in _lists(data, environment)))
    # A default program is one that was chosen, or else the first in the caches.
    caches = (_section(one / "applications" / "mimeinfo.cache", CACHE_SECTION) for one in folders)
    opens = ChainMap(chosen, *caches)
    wider = _pairs(folders, "subclasses")
    names: dict[str, list[str]] = {}
    for alias, kind in _pairs(folders, "aliases"):
        names.setdefault(kind, [kind]).append(alias)
    lines = []
    for kind in types:
        own = names.get(kind, [kind])
        # A program for a more general type also opens the specific one: a text editor opens Markdown.
        more = [name for one, parent in wider if one in own for name in names.get(parent, [parent])]
        today = next((opens[name] for name in (*own, *more) if opens.get(name)), "")
        if today and not any(name in chosen for name in own):
            lines.append(f"{kind}={today.split(';')[0]}\n")
    if not lines:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{MARK}[{CHOSEN_SECTION}]\n{''.join(lines)}", "utf-8")
    return path


def is_ours(path: Path) -> bool:
    """Return whether localcrag wrote this list. The user's own choices are stored in the configuration folder."""
    return path.is_file() and path.read_text("utf-8", "replace").startswith(MARK)


def _lists(data: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the lists of chosen programs, including those for the current desktop."""
    config = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    configs = (environment.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    folders = [config, *map(Path, configs), *(one / "applications" for one in (data, *_data_dirs(environment)))]
    desktops = [one.lower() for one in environment.get("XDG_CURRENT_DESKTOP", "").split(":") if one]
    for folder in folders:
        yield folder / DEFAULTS_FILE
        yield from (folder / f"{desktop}-{DEFAULTS_FILE}" for desktop in desktops)


def _data_dirs(environment: Mapping[str, str]) -> list[Path]:
    return [Path(one) for one in (environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":") if one]


def _pairs(folders: Iterable[Path], name: str) -> list[tuple[str, str]]:
    """Return the pairs of types in a file of the MIME database."""
    texts = [path.read_text("utf-8", "replace") for one in folders if (path := one / "mime" / name).is_file()]
    pairs = (line.split() for text in texts for line in text.splitlines())
    return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]


def _section(path: Path, name: str) -> dict[str, str]:
    """Return a section of a file; empty if it is missing or cannot be read."""
    parser = ConfigParser(interpolation=None, delimiters=("=",), strict=False, allow_no_value=True)
    try:
        parser.read_string(path.read_text("utf-8", "replace"))
    except (OSError, Error):
        return {}
    return {kind: value or "" for kind, value in parser[name].items()} if name in parser else {}


FILE = "localcrag.desktop"
REFRESH_LIMIT = 30
"""Seconds to wait for each of the desktop's refresh programs."""
TEXTS = {
    "GenericName": gettext_noop("Answers from documents"),
    "Comment": gettext_noop("Answers from your own documents, on this computer"),
}
QUIT = gettext_noop("Quit localcrag")
# Characters that need a backslash inside a quoted argument of Exec; in a string of the file each backslash is doubled.
ESCAPED = str.maketrans({one: f"\\\\{one}" for one in '"`$'} | {"\\": "\\\\\\\\", "%": "%%"})


@dataclass(frozen=True, slots=True)
class XdgEntry:
    """The entry in `data`, the folder of the user's entries and icons (XDG_DATA_HOME)."""

    data: Path

    def install(self, commands: Commands) -> Sequence[Path]:
        """Write the entry and its icons."""
        self.remove()
        kept = keep_defaults(self.data, FILE_TYPES)
        for path, drawn in self._icons.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(drawn, path)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(desktop_file(commands), "utf-8")
        self._refresh_desktop()
        return [self._file, *self._icons, *([kept] if kept else [])]

    def remove(self) -> Sequence[Path]:
        """Remove the entry and its icons, and folders that are empty afterwards."""
        defaults = self._file.with_name(DEFAULTS_FILE)
        paths = (self._file, *self._icons, *([defaults] if is_ours(defaults) else []))
        there = [path for path in paths if path.is_file()]
        for path in there:
            path.unlink()
        self._refresh_desktop()
        for path in there:
            for folder in path.relative_to(self.data).parents[:-1]:
                if (here := self.data / folder).is_dir() and not any(here.iterdir()):
                    here.rmdir()
        return there

    @property
    def _file(self) -> Path:
        return self.data / "applications" / FILE

    @property
    def _icons(self) -> dict[Path, Path]:
        """The icons to copy, by where they go."""
        folder = self.data / "icons" / "hicolor"
        icons = {folder / f"{size}x{size}" / "apps" / f"{NAME}.png": ICONS / f"{size}.png" for size in SIZES}
        return icons | {folder / "scalable" / "apps" / f"{NAME}.svg": SVG}

    def _refresh_desktop(self) -> None:
        """Have the desktop refresh its caches, if it has programs for that; otherwise the desktop will do so later."""
        applications, icons = self._file.parent, self.data / "icons" / "hicolor"
        _run(applications, "update-desktop-database", "-q", str(applications))
        cache = icons / "icon-theme.cache"
        if cache.is_file():
            _run(icons, "gtk-update-icon-cache", "-q", "-t", "-f", str(icons))
        # This cache was created only for localcrag's types; if it is empty, nothing else needs it.
        left = applications / "mimeinfo.cache"
        if left.is_file() and left.read_text("utf-8", "replace").strip() == "[MIME Cache]":
            left.unlink()


def xdg_data_home(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the user's data; a relative path is ignored (XDG Base Directory specification)."""
    given = environment.get("XDG_DATA_HOME", "")
    return Path(given) if Path(given).is_absolute() else Path.home() / ".local" / "share"


def desktop_file(commands: Commands) -> str:
    """Return the content of the .desktop file."""
    lines = [
        "[Desktop Entry]",
        "Type=Application",
        f"Name={NAME}",
        *_translated_lines("GenericName", TEXTS["GenericName"]),
        *_translated_lines("Comment", TEXTS["Comment"]),
        f"Exec={_quoted(commands.opens)} %F",
        f"Icon={NAME}",
        "Terminal=false",
        "StartupNotify=true",
        # The window's browser uses the same class (window.py), so the window gets this icon.
        f"StartupWMClass={NAME}",
        "Categories=Office;",
        f"MimeType={';'.join(FILE_TYPES)};",
        # If two programs can open a file and none was chosen, KDE prefers the entry with the higher number.
        "InitialPreference=1",
        "Actions=quit;",
        "",
        "[Desktop Action quit]",
        *_translated_lines("Name", QUIT),
        f"Exec={_quoted(commands.ends)}",
    ]
    return "\n".join(lines) + "\n"


def _translated_lines(key: str, text: str) -> list[str]:
    others = [one for one in translation.LANGUAGES if one != translation.ENGLISH]
    return [f"{key}={text}", *(f"{key}[{one}]={translation.translate_to(one, text)}" for one in others)]


def _quoted(command: Sequence[str]) -> str:
    """Return a command in the syntax of Exec, with every argument in quotation marks."""
    return " ".join(f'"{one.translate(ESCAPED)}"' for one in command)


def _run(folder: Path, *command: str) -> None:
    program = shutil.which(command[0])
    if program and folder.is_dir():
        with allow_egress(Purpose.NONE, programs=True):
            subprocess.run([program, *command[1:]], check=False, capture_output=True, timeout=REFRESH_LIMIT)
