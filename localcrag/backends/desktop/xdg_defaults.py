"""What opens a kind of file by itself stays so: where nobody chose, today’s program is written down.

Without a choice a desktop takes the first entry that can open a kind, and a user's entries come before the system's:
one more would take over every kind that was never chosen (Association between MIME types and applications, 1.0.1).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from configparser import ConfigParser, Error
from pathlib import Path

FILE = "mimeapps.list"
MARK = "# Written by localcrag desktop install: what opened these by itself before, still does.\n"
CHOSEN, FIRST = "Default Applications", "MIME Cache"


def keep_defaults(data: Path, types: Collection[str], environment: Mapping[str, str] = os.environ) -> Path | None:
    """Write today's programs into the list that everybody's choices go before; return it, where there is need of it.

    A list in that place that is not ours stays as it is.
    """
    path = data / "applications" / FILE
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
        yield folder / FILE
        yield from (folder / f"{desktop}-{FILE}" for desktop in desktops)


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
