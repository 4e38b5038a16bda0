"""Pictures that are written into web pages and Markdown as data: URLs."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import quote

import pytest
from PIL import Image

from localcrag.backends.readers.open_document import open_document
from localcrag.records.documents import ARCHIVE
from localcrag.records.errors import EmptyDocument
from tests.support import scans

SCAN = scans.png(scans.picture(scans.LEASE, size=(1240, 500)))
LOGO = scans.png(Image.new("RGB", (120, 90), "red"))
LONG = "The tenant pays the rent on the first of the month, and keeps the stairs clean. " * 30


def url(data: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def read(path: Path, name: str, text: str) -> tuple[str, list[tuple[str, bytes]]]:
    path.write_text(text)
    document = open_document(path, name)
    said = "".join(page.text for page in document.pages)
    return said, [(member.name, member.data) for member in document.members]


@pytest.mark.parametrize(
    "tag",
    [
        pytest.param(f"<img src='{url(SCAN)}'>", id="between quotation marks"),
        pytest.param(f"<img src={url(SCAN)}>", id="without them"),
        pytest.param(f'<img src="{url(SCAN).replace("A", chr(10) + " A")}">', id="over several lines"),
        pytest.param(f'<img src="data:image/png;base64,{quote(base64.b64encode(SCAN))}">', id="escaped"),
        pytest.param(f"<img src='{url(SCAN)}'><img src='{url(SCAN)}'><img src='{url(LOGO)}'>", id="twice, and a logo"),
        pytest.param(f'<img src="{url(SCAN, "x-png")}"><img src="https://example.org/a.png">', id="and one elsewhere"),
    ],
)
def test_a_scan_in_a_web_page_is_a_document_beside_its_text(tmp_path: Path, tag: str) -> None:
    assert read(tmp_path / "a", "a.html", f"<p>{LONG}</p>{tag}") == (LONG.strip(), [("picture.png", SCAN)])


def test_a_scan_in_markdown_is_one_too_and_its_letters_are_no_text(tmp_path: Path) -> None:
    written = f"![The lease]({url(SCAN)}) is here.\n\n[logo]: <{url(LOGO)}>\n"
    assert read(tmp_path / "a", "a.md", written) == (
        "![The lease](data:image/png) is here.\n\n[logo]: <data:image/png>\n", [("picture.png", SCAN)],
    )  # fmt: skip


@pytest.mark.parametrize(
    "written",
    [
        '"data:image/png;base64, and behind it the letters of the picture, which are very many"',
        'url = "data:image/png;base64," + data',
        "'data:image/png;base64,\\n' is what stands in front of it.",
        '"data:image/png;base64,AAAA is not closed and goes on',
    ],
)
def test_what_is_told_about_such_urls_is_text(tmp_path: Path, written: str) -> None:
    assert read(tmp_path / "a", "a.md", written)[0] == written
    assert read(tmp_path / "b", "b.txt", written)[0] == written


def test_words_behind_a_picture_whose_quotation_mark_is_missing_are_text(tmp_path: Path) -> None:
    said, _ = read(tmp_path / "a", "a.txt", f'"{url(LOGO)} shows our logo\nin red')
    assert said == '"data:image/png shows our logo\nin red'


def test_a_web_page_of_nothing_but_a_scan_is_an_archive_of_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(f"<img src='{url(SCAN)}'>")
    document = open_document(tmp_path / "a", "a.html")
    assert (document.media_type, [member.name for member in document.members]) == (ARCHIVE, ["picture.png"])
    with pytest.raises(EmptyDocument):
        read(tmp_path / "a", "a.html", f"<img src='{url(LOGO)}'>")


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("data:image/png;base64," + "A " * 300_000, id="no end"),
        pytest.param("'data:image/png;base64,AAAA " * 20_000, id="very many without an end"),
        pytest.param("data:image/" + "x" * 300_000, id="a long kind"),
        pytest.param("data:image/png" + ";charset=x" * 50_000, id="very many parameters"),
        pytest.param(
            f"<img src='{url(SCAN[:20] + bytes(2000))}'><img src='data:image/png;base64,=%%=='>", id="damaged"
        ),
    ],
)
def test_what_is_no_picture_is_no_harm(tmp_path: Path, written: str) -> None:
    assert read(tmp_path / "a", "a.html", f"<p>Text.</p>{written}")[1] == []
    assert read(tmp_path / "b", "a.md", f"Text. {written}")[1] == []
