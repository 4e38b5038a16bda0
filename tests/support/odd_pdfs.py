"""Functions that make PDFs whose fonts say odd things of their letters, byte by byte: no program writes such files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PAGE = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {} 0 R /Resources << /Font << {} >> >> >>"
HELVETICA = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding{} >>"
IDENTITY = "/Registry (Adobe) /Ordering (Identity) /Supplement 0"
CMAP = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n{}\nendcmap end end"
FIRST_CODE = 0x21


def make_mapped_pdf(path: Path, pages: Sequence[str]) -> Path:
    """Write a PDF whose font says of its letters that they are those of `pages`, private or half a character as well.

    At most some 220 different ones.
    """
    letters = sorted({letter for page in pages for letter in page} - {"\n"})
    codes = {letter: FIRST_CODE + number for number, letter in enumerate(letters)}
    spelled = [f"<{code:02X}> <{letter.encode('utf-16-be', 'surrogatepass').hex()}>" for letter, code in codes.items()]
    # A map holds at most 100 entries a block.
    blocks = [spelled[at : at + 100] for at in range(0, len(spelled), 100)]
    entries = "\n".join(f"{len(block)} beginbfchar\n" + "\n".join(block) + "\nendbfchar" for block in blocks)
    meanings = CMAP.format(f"1 begincodespacerange <00> <FF> endcodespacerange\n{entries}")
    drawn = [
        _drawn([("F", "".join(f"{codes[letter]:02X}" for letter in line)) for line in page.split("\n")])
        for page in pages
    ]
    return _write(path, drawn, "/F 3 0 R", [HELVETICA.format(" /ToUnicode 4 0 R"), _stream(meanings)])


def make_coded_pdf(path: Path, text: str, codes: Sequence[int]) -> Path:
    """Write a PDF with a line of `text`, and one in a font of four-byte codes that mean no character."""
    two_ranges = "2 begincodespacerange <00> <0F> <10000000> <FFFFFFFF> endcodespacerange"
    fonts = [
        HELVETICA.format(""),
        "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding 6 0 R /DescendantFonts [5 0 R] >>",
        f"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 500 /CIDSystemInfo << {IDENTITY} >> >>",
        _stream(CMAP.format(two_ranges), "/Type /CMap /CMapName /Codes "),
    ]
    drawn = _drawn([("F", text.encode("cp1252").hex()), ("G", "".join(f"{code:08X}" for code in codes))])
    return _write(path, [drawn], "/F 3 0 R /G 4 0 R", fonts)


def _drawn(lines: Sequence[tuple[str, str]]) -> str:
    """Return what draws lines, given by font and codes, below each other."""
    return "BT 1 0 0 1 72 760 Tm 14 TL " + " ".join(f"/{font} 11 Tf <{codes}> Tj T*" for font, codes in lines) + " ET"


def _stream(content: str, entries: str = "") -> str:
    return f"<< {entries}/Length {len(content)} >>\nstream\n{content}\nendstream"


def _write(path: Path, drawn: Sequence[str], names: str, fonts: Sequence[str]) -> Path:
    first = 3 + len(fonts)
    pages = [(first + 2 * number, first + 2 * number + 1) for number in range(len(drawn))]
    kids = " ".join(f"{page} 0 R" for page, _ in pages)
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>", *fonts]
    for (_, content), drawing in zip(pages, drawn, strict=True):
        objects += [PAGE.format(content, names), _stream(drawing)]
    return write_objects(path, [written.encode("ascii") for written in objects])


def write_objects(path: Path, objects: Sequence[bytes]) -> Path:
    """Write a PDF of objects, numbered from 1, of which the first is its catalog."""
    data, places = b"%PDF-1.7\n", []
    for number, written in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, written)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    end += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
    path.write_bytes(data + end.encode("ascii"))
    return path
