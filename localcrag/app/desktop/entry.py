"""An entry of the desktop, whichever system it is for: name, icon, commands, and what it opens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from PIL import Image

NAME = "localcrag"
ICONS = Path(__file__).parent / "icons"
SVG = ICONS / "localcrag.svg"
SIZES = (16, 24, 32, 48, 64, 128, 256, 512)
"""Pixels of the PNG files beside it."""
OPENS: dict[str, tuple[str, ...]] = {
    "application/pdf": ("pdf",),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ("docx",),
    "application/msword": ("doc",),
    "application/vnd.oasis.opendocument.text": ("odt",),
    "application/rtf": ("rtf",),
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ("pptx",),
    "application/vnd.ms-powerpoint": ("ppt",),
    "application/vnd.oasis.opendocument.presentation": ("odp",),
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ("xlsx",),
    "application/vnd.ms-excel": ("xls",),
    "application/vnd.oasis.opendocument.spreadsheet": ("ods",),
    "text/csv": ("csv",),
    "text/tab-separated-values": ("tsv",),
    "application/epub+zip": ("epub",),
    "message/rfc822": ("eml",),
    "application/vnd.ms-outlook": ("msg",),
    "application/mbox": ("mbox",),
    "application/x-mimearchive": ("mhtml", "mht"),
    "text/markdown": ("md", "markdown"),
    "text/x-rst": ("rst",),
    "text/html": ("html", "htm"),
    "application/xhtml+xml": ("xhtml",),
    "text/plain": ("txt",),
    "image/png": ("png",),
    "image/jpeg": ("jpg", "jpeg"),
    "image/tiff": ("tif", "tiff"),
    "image/gif": ("gif",),
    "image/bmp": ("bmp",),
    "image/webp": ("webp",),
    "application/zip": ("zip",),
}
"""What it is offered for, by media type, with the ends of names. It is nowhere made the one that opens by itself."""


def drawings(sizes: Iterable[int]) -> list[Image.Image]:
    """Return the icon in these sizes, the files closed."""
    drawn: list[Image.Image] = [Image.open(ICONS / f"{size}.png") for size in sizes]
    for one in drawn:
        one.load()
    return drawn


@dataclass(frozen=True, slots=True)
class Commands:
    """How localcrag is started: `opens` takes files behind it, `ends` ends the one that runs."""

    opens: tuple[str, ...]
    ends: tuple[str, ...]


class Entry(Protocol):
    """The entry of one system's desktop, for this user."""

    def install(self, commands: Commands) -> Sequence[Path]:
        """Make it, in the place of an earlier one; return what was made. Raises OSError."""

    def remove(self) -> Sequence[Path]:
        """Remove all that was made; return what was there. Raises OSError."""
