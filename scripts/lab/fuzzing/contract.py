"""Check a reader's answer, frame by frame, against the readers' contract, whatever the file was."""

from __future__ import annotations

import io
import math
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise
from typing import Any

from PIL import Image

from localcrag.documents.readers.text import UNWANTED
from localcrag.privacy.worker_process import Frame
from localcrag.records.documents import ARCHIVE
from localcrag.text.blocks import Heading, split_blocks

_ENDS = ("end", "error")


def broken(frames: Sequence[Frame]) -> Iterator[str]:
    """Yield a sentence for each violation of the contract in the answer to a request for a document."""
    contents = [content for content, _ in frames]
    if [place for place, content in enumerate(contents) if any(end in content for end in _ENDS)] != [len(frames) - 1]:
        yield "the answer has not one end, and that last"
        return
    yield from _said(contents[-1])
    if "media_type" not in contents[0]:
        if len(frames) > 1:
            yield "there are pages of a file that was not opened"
        return
    yield from _properties(contents[0])
    pages = [(content, attached) for content, attached in frames if "number" in content]
    for content, attached in pages:
        yield from _page(content, attached)
    yield from _numbers(contents[0]["pages"], [content["number"] for content, _ in pages], whole="end" in contents[-1])
    members = [(content, attached) for content, attached in frames if "member" in content]
    yield from _members(members)
    shows = members or any(content["unread"] or said.strip() for content, said in pages)
    if "end" in contents[-1] and not shows and contents[0]["media_type"] != ARCHIVE:
        yield "a file without any text is not said to be empty"


def broken_picture(frame: Frame) -> Iterator[str]:
    """Yield a sentence for each violation in a rendered page."""
    content, png = frame
    if "error" in content:
        yield from _said(content)
        return
    with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
        if image.size != (content["width"], content["height"]):
            yield "a picture has another size than is said"
    if not all(math.isfinite(number) for box in content["boxes"] for number in box):
        yield "a box on a picture has no place"


def _said(content: dict[str, Any]) -> Iterator[str]:
    said = content.get("error") and content["said"]
    if said is not None and (not said.strip() or not _is_scalar(said)):
        yield "an error says nothing, or what cannot be shown"


def _properties(content: dict[str, Any]) -> Iterator[str]:
    title, dated = content["title"], content["dated"]
    if title is not None and (not title.strip() or UNWANTED.search(title) or "\n" in title):
        yield "the title is empty, or holds what no title may"
    try:
        if dated is not None:
            date.fromisoformat(dated)
    except ValueError:
        yield "the date is none"


def _page(content: dict[str, Any], attached: bytes) -> Iterator[str]:
    text = attached.decode("utf-8", "surrogatepass")
    if not _is_scalar(text):
        yield "a text holds half a character (a lone surrogate)"
    elif UNWANTED.search(text):
        yield "a text holds controls or what is no character"
    elif not unicodedata.is_normalized("NFC", text):
        yield "a text is not in NFC"
    headings = [Heading(*heading) for heading in content["headings"]]
    if any(not 0 <= one.start < one.end <= len(text) for one in headings):
        yield "a heading lies outside of its text, or is empty"
        return
    if any(one.start >= other.start or one.end > other.start for one, other in pairwise(headings)):
        yield "headings are not in order, or overlap"
    if any(one.level < 0 or not text[one.start : one.end].strip() for one in headings):
        yield "a heading says nothing, or has no level"
    ends = 0
    for start, end, confidence in content["recognised"]:
        if not ends <= start <= end <= len(text) or not 0 <= confidence <= 1:
            yield "a recognised part lies outside of its text, or has no confidence"
        ends = end
    yield from _blocks(text, headings)


def _blocks(text: str, headings: Sequence[Heading]) -> Iterator[str]:
    """Split a text into blocks as the app's main process does; no file may break that."""
    ends = 0
    for block in split_blocks(text, headings):
        if not ends <= block.start < block.end <= len(text):
            yield "a text cannot be cut into blocks"
            return
        ends = block.end


def _numbers(count: int | None, numbers: Sequence[int | None], *, whole: bool) -> Iterator[str]:
    if count is None and any(number is not None for number in numbers):
        yield "pages have numbers, and the file has none"
    elif count is not None and (list(numbers) != [*range(1, len(numbers) + 1)] or (whole and len(numbers) != count)):
        yield "pages are not numbered from 1 to as many as there are"


def _members(members: Sequence[Frame]) -> Iterator[str]:
    names = [content["member"] for content, _ in members]
    if len(set(names)) != len(names):
        yield "two files within have one name"
    for content, _ in members:
        name, changed, failed = content["member"], content["changed"], content["failed"]
        parts = name.split("/")
        if not _is_scalar(name) or UNWANTED.search(name) or "" in parts or ".." in parts:
            yield "the name of a file within leads out of it, or cannot be shown"
        if changed is not None and not math.isfinite(changed):
            yield "a file within was changed at no time"
        if failed is not None and not failed.strip():
            yield "a file within cannot be read, and nothing is said"


def _is_scalar(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
