"""Pictures that are written into web pages and Markdown as data: URLs."""

from __future__ import annotations

import base64
import json
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import quote

import pytest
from PIL import Image

from localcrag.documents.readers.open_document import open_document
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


def as_letters(data: bytes) -> str:
    return base64.encodebytes(data).decode()  # In lines, as notebooks have it.


def notebook(*cells: dict[str, object]) -> str:
    return json.dumps({"cells": cells, "nbformat": 4, "metadata": {}})


def shows(picture: bytes) -> dict[str, object]:
    data = {"image/png": as_letters(picture), "text/plain": ["<Figure>"]}
    return {"cell_type": "code", "source": "show()", "outputs": [{"output_type": "display_data", "data": data}]}


def test_pictures_that_a_notebook_shows_are_documents_each_once_and_charts_too_small_are_not(tmp_path: Path) -> None:
    other = scans.png(scans.picture(["Another page"], size=(1240, 500)))
    attached = {"lease.png": {"image/png": as_letters(SCAN)}}
    text = {"cell_type": "markdown", "source": f"# Leases\n\n![it](attachment:lease.png) <img src='{url(other)}'>"}
    written = notebook({**text, "attachments": attached}, shows(SCAN), shows(LOGO))
    said, found = read(tmp_path / "a", "a.ipynb", written)
    assert found == [("lease.png", SCAN), ("picture.png", other)]
    assert said.endswith("```\nshow()\n```\n\n```\n<Figure>\n```")
    assert len(said) < 200, "no letters of a picture are text"


def test_a_notebook_of_an_unknown_kind_has_no_pictures(tmp_path: Path) -> None:
    assert read(tmp_path / "a", "a.ipynb", '{"cells": [{"source": "x", "attachments": [1]}]}')[1] == []
    assert read(tmp_path / "b", "b.ipynb", notebook({"source": "x", "outputs": [{"data": {"image/png": 5}}]}))[1] == []


def web_archive(html: str, *pictures: tuple[str, bytes]) -> str:
    made = EmailMessage()
    made["From"], made["Subject"] = "<Saved by a browser>", "Ferries"
    made.make_related()
    made.add_related(html, subtype="html", headers=["Content-Location: https://example.org/ferries"])
    for place, data in pictures:
        made.add_related(data, maintype="image", subtype="png", headers=[f"Content-Location: {place}"])
    return made.as_string()


def test_a_scan_in_a_web_page_saved_with_its_pictures_is_a_document_named_as_there(tmp_path: Path) -> None:
    pictures = [("https://example.org/pictures/the%20lease.png?size=2", SCAN), ("https://example.org/logo.png", LOGO)]
    other = scans.png(scans.picture(["Another page"], size=(1240, 500)))
    archive = web_archive(f"<p>{LONG}</p><img src='{url(SCAN)}'><img src='{url(other)}'>", *pictures, pictures[0])
    said, found = read(tmp_path / "a", "a.mhtml", archive)
    assert (said.strip(), found) == (LONG.strip(), [("the lease.png", SCAN), ("picture.png", other)])


def test_a_saved_web_page_of_nothing_but_a_scan_is_an_archive_of_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(web_archive("<img src='a'>", ("a", SCAN)))
    document = open_document(tmp_path / "a", "a.mht")
    assert (document.media_type, [member.data for member in document.members]) == (ARCHIVE, [SCAN])
    with pytest.raises(EmptyDocument):
        read(tmp_path / "a", "a.mht", web_archive("<img src='a'>", ("a", LOGO)))


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
