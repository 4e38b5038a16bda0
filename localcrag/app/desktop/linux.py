"""What opens a kind of file by itself stays so: where nobody chose, today’s program is written down.

Without a choice a desktop takes the first entry that can open a kind, and a user's entries come before the system's:
one more would take over every kind that was never chosen (Association between MIME types and applications, 1.0.1).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from configparser import ConfigParser, Error
from dataclasses import dataclass
from pathlib import Path

from localcrag.app.desktop.entry import ICONS, NAME, OPENS, SIZES, SVG, Commands
from localcrag.privacy.egress_log import Purpose
from localcrag.privacy.guard import passage
from localcrag.text import translation
from localcrag.text.translation import later

DEFAULTS_FILE = "mimeapps.list"
MARK = "# Written by localcrag desktop install: what opened these by itself before, still does.\n"
CHOSEN, FIRST = "Default Applications", "MIME Cache"


def keep_defaults(data: Path, types: Collection[str], environment: Mapping[str, str] = os.environ) -> Path | None:
    """Write today's programs into the list that everybody's choices go before; return it, where there is need of it.

    A list in that place that is not ours stays as it is.
    """
    path = data / "applications" / DEFAULTS_FILE
    if path.is_file() and not is_ours(path):
        return None
    path.unlink(missing_ok=True)
    folders = (data, *_data_dirs(environment))
    chosen = _first_of(_section(one, CHOSEN) for one in _lists(data, environment))
    opens = _first_of(_section(one / "applications" / "mimeinfo.cache", FIRST) for one in folders) | chosen
    wider = _pairs(folders, "subclasses")
    names: dict[str, list[str]] = {}
    for alias, kind in _pairs(folders, "aliases"):
        names.setdefault(kind, [kind]).append(alias)
    lines = []
    for kind in types:
        own = names.get(kind, [kind])
        # A program for a wider kind opens the narrower one as well: an editor of text opens Markdown.
        more = [name for one, parent in wider if one in own for name in names.get(parent, [parent])]
        today = next((opens[name] for name in (*own, *more) if opens.get(name)), "")
        if today and not any(name in chosen for name in own):
            lines.append(f"{kind}={today.split(';')[0]}\n")
    if not lines:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{MARK}[{CHOSEN}]\n{''.join(lines)}", "utf-8")
    return path


def is_ours(path: Path) -> bool:
    """Return whether a list was written here: what a person chooses is written into their configuration, not here."""
    return path.is_file() and path.read_text("utf-8", "replace").startswith(MARK)


def _lists(data: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the lists of choices, those of the desktop that is running as well."""
    config = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    configs = (environment.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    folders = [config, *map(Path, configs), *(one / "applications" for one in (data, *_data_dirs(environment)))]
    desktops = [one.lower() for one in environment.get("XDG_CURRENT_DESKTOP", "").split(":") if one]
    for folder in folders:
        yield folder / DEFAULTS_FILE
        yield from (folder / f"{desktop}-{DEFAULTS_FILE}" for desktop in desktops)


def _data_dirs(environment: Mapping[str, str]) -> list[Path]:
    return [Path(one) for one in (environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":") if one]


def _first_of(sections: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the values of sections of which the earlier win."""
    found: dict[str, str] = {}
    for one in sections:
        found = {**one, **found}
    return found


def _pairs(folders: Iterable[Path], name: str) -> list[tuple[str, str]]:
    """Return the pairs of kinds that the database of kinds has in a file."""
    texts = [path.read_text("utf-8", "replace") for one in folders if (path := one / "mime" / name).is_file()]
    pairs = (line.split() for text in texts for line in text.splitlines())
    return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]


def _section(path: Path, name: str) -> dict[str, str]:
    """Return a part of a file, empty where there is none or where it cannot be read."""
    parser = ConfigParser(interpolation=None, delimiters=("=",), strict=False, allow_no_value=True)
    try:
        parser.read_string(path.read_text("utf-8", "replace"))
    except (OSError, Error):
        return {}
    return {kind: value or "" for kind, value in parser[name].items()} if name in parser else {}


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
        if is_ours(defaults := self._file.with_name(DEFAULTS_FILE)):
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
