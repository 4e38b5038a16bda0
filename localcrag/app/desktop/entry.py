"""What a desktop entry consists of on every system: name, icon, commands, and file types.

The entry of each system has `install`, which replaces an earlier one and returns the files created, and `remove`, which
returns the files that existed. Both raise OSError.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

NAME = "localcrag"
ICONS = Path(__file__).parent / "icons"
SVG = ICONS / "localcrag.svg"
SIZES = (16, 24, 32, 48, 64, 128, 256, 512)
"""Sizes of the PNG icons in pixels."""
FILE_TYPES: dict[str, tuple[str, ...]] = {
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
"""File types that localcrag offers to open: media types and file name extensions. localcrag is never the default."""


def icon_images(sizes: Iterable[int]) -> list[Image.Image]:
    """Return the icon in these sizes, fully loaded, with the files closed."""
    drawn: list[Image.Image] = [Image.open(ICONS / f"{size}.png") for size in sizes]
    for one in drawn:
        one.load()
    return drawn


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands that run localcrag: `opens` accepts files as further arguments, `ends` quits the running instance."""

    opens: tuple[str, ...]
    ends: tuple[str, ...]
