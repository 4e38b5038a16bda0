"""Pages of PDFs as pictures, and where a sentence stands on them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from localcrag.documents.readers.pdf.reader import picture
from localcrag.records.documents import Box
from localcrag.records.errors import UnreadableDocument
from tests.support.documents import A4, lab, make_pdf
from tests.support.odd_pdfs import make_coded_pdf

LINES = ("The lighthouse stands on a rock. Its first keep-", "er was Kari Lund. She had a dog.")


@pytest.fixture(scope="module")
def pdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pdf") / "light.pdf"
    canvas = lab.pdfgen.canvas.Canvas(str(path), pagesize=A4)
    for number, line in enumerate(LINES):
        canvas.drawString(72, A4[1] - 100 - 14 * number, line)
    canvas.showPage()
    canvas.drawString(72, 400, "Page two is about boats.")
    canvas.save()
    return path


def test_a_page_is_a_picture_of_the_size_asked_for(pdf: Path) -> None:
    drawn = picture(pdf.read_bytes(), "light.pdf", 2, dpi=72)
    image = Image.open(io.BytesIO(drawn.png))
    assert image.size == (drawn.width, drawn.height)
    assert abs(drawn.width - A4[0]) < 2
    assert picture(pdf.read_bytes(), "light.pdf", 2, dpi=144).width == pytest.approx(2 * drawn.width, abs=2)
    assert drawn.boxes == ()


def test_a_sentence_is_found_over_a_hyphen_and_the_end_of_a_line(pdf: Path) -> None:
    boxes = picture(pdf.read_bytes(), "light.pdf", 1, ["Its first keeper was Kari Lund."]).boxes
    assert len(boxes) == 2
    first, second = boxes
    assert first.left > 0.3  # behind the first sentence
    assert second.left == pytest.approx(72 / A4[0], abs=0.01)
    assert second.top - first.top == pytest.approx(14 / A4[1], abs=0.004)
    for box in boxes:
        assert_within_the_page(box)
        assert 0.005 < box.height < 0.03


def test_what_is_marked_is_not_empty(pdf: Path) -> None:
    drawn = picture(pdf.read_bytes(), "light.pdf", 1, ["She had a dog."], dpi=144)
    (box,) = drawn.boxes
    image = Image.open(io.BytesIO(drawn.png)).convert("L")
    corner = (box.left * drawn.width, box.top * drawn.height)
    far = (corner[0] + box.width * drawn.width, corner[1] + box.height * drawn.height)
    darkest, _ = image.crop((int(corner[0]), int(corner[1]), int(far[0]), int(far[1]))).getextrema()
    assert isinstance(darkest, (int, float))
    assert darkest < 50


@pytest.mark.parametrize("text", ["Nobody said this.", "", "…"])
def test_a_text_that_is_not_there_is_not_marked(pdf: Path, text: str) -> None:
    assert picture(pdf.read_bytes(), "light.pdf", 1, [text]).boxes == ()


def test_a_text_beside_codes_that_are_no_characters_is_marked(tmp_path: Path) -> None:
    path = make_coded_pdf(tmp_path / "codes.pdf", "She had a dog.", [0x81308130, 0xFFFFFFF0])
    assert len(picture(path.read_bytes(), "codes.pdf", 1, ["She had a dog."]).boxes) == 1


def test_of_a_row_with_bars_each_cell_is_marked(tmp_path: Path) -> None:
    page = "The desk pays.\n\n| City | Night |\n|---|---|\n| Hamburg | 140 euros |\n| Gdynia | 95 euros |"
    source = make_pdf(tmp_path / "limits.pdf", [page]).read_bytes()
    first, second = picture(source, "limits.pdf", 1, ["| Gdynia | 95 euros |"]).boxes
    assert first.left + first.width < second.left
    assert first.top == pytest.approx(second.top, abs=0.01)


@pytest.mark.parametrize("page", [0, 3, -1])
def test_a_page_that_there_is_not_is_an_error_that_says_which_there_are(pdf: Path, page: int) -> None:
    with pytest.raises(UnreadableDocument, match="1 to 2"):
        picture(pdf.read_bytes(), "light.pdf", page)


def test_a_page_as_large_as_a_wall_is_drawn_smaller(tmp_path: Path) -> None:
    path = tmp_path / "wall.pdf"
    canvas = lab.pdfgen.canvas.Canvas(str(path), pagesize=(14_000, 9_000))
    canvas.drawString(72, 400, "Large.")
    canvas.save()
    assert picture(path.read_bytes(), "wall.pdf", 1).width == 4000


def assert_within_the_page(box: Box) -> None:
    assert 0 <= box.left < box.left + box.width <= 1
    assert 0 <= box.top < box.top + box.height <= 1


def black_on_white(mode: str) -> Image.Image:
    """A picture of a mode of Pillow's: white, or whatever paper is there, with a black square."""
    grey = Image.new("L", (60, 40), 255)
    grey.paste(0, (10, 10, 30, 30))
    if mode in {"LA", "RGBA", "P with a transparent colour"}:
        clear = Image.merge("LA", (Image.new("L", grey.size, 0), Image.eval(grey, lambda value: 255 - value)))
        return clear.convert("RGBA").quantize(4) if mode.startswith("P") else clear.convert(mode)
    if mode == "I;16":
        return Image.fromarray((np.asarray(grey).astype(np.uint16)) * 257)
    if mode == "F":
        return Image.fromarray(np.asarray(grey).astype(np.float32) / 255)
    return grey.convert(mode)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("1", "TIFF"), ("L", "PNG"), ("P", "GIF"), ("LA", "PNG"), ("RGBA", "WEBP"), ("P with a transparent colour", "PNG"),
     ("CMYK", "JPEG"), ("I;16", "PNG"), ("I;16", "TIFF"), ("I", "TIFF"), ("F", "TIFF"), ("RGB", "BMP")],
)  # fmt: skip
def test_a_picture_of_any_kind_is_shown_black_on_white(mode: str, kind: str) -> None:
    file = io.BytesIO()
    black_on_white(mode).save(file, kind)
    shown = np.asarray(Image.open(io.BytesIO(picture(file.getvalue(), "a", 1).png)).convert("L"))
    assert shown.shape == (40, 60)
    assert shown[20, 20] < 60
    assert shown[5, 50] > 200


def test_a_fax_of_several_pages_shows_each_and_a_page_that_there_is_not_says_so() -> None:
    file = io.BytesIO()
    pages = [Image.new("L", (60, 40), shade) for shade in (0, 128, 255)]
    pages[0].save(file, "TIFF", save_all=True, append_images=pages[1:])
    shades = [Image.open(io.BytesIO(picture(file.getvalue(), "fax.tif", page).png)).convert("L") for page in (1, 2, 3)]
    assert [shade.getpixel((5, 5)) for shade in shades] == [0, 128, 255]
    with pytest.raises(UnreadableDocument, match=r"fax\.tif has no page 4: its pages are 1 to 3\."):
        picture(file.getvalue(), "fax.tif", 4)


def test_a_photo_is_shown_the_right_side_up() -> None:
    image, file = Image.new("RGB", (60, 40), "white"), io.BytesIO()
    exif = image.getexif()
    exif[0x0112] = 6  # turned by 90 degrees
    image.save(file, "JPEG", exif=exif)
    drawn = picture(file.getvalue(), "photo.jpg", 1)
    assert (drawn.width, drawn.height) == (40, 60)
