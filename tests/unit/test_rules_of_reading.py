"""The number of the rules by which files are read: another one where they changed, so that files added again are read.

Without it, whoever adds a file again after an update is told that it is in already, and keeps what was read before.
"""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

import pytest

from localcrag.backends.readers.open_document import open_document
from localcrag.records.documents import FROM_TEXT, LAYOUT, Document
from localcrag.ui import lists
from tests.support import ROOT
from tests.support.documents import handbook_pdf

SAMPLES = ROOT / "localcrag" / "app" / "samples" / "documents"
READ = "ece98acb234a2ad0"
"""What reading the samples and the tests' handbook gives, by the rules whose number is LAYOUT."""


def test_what_is_read_from_files_has_not_changed_without_a_new_number(tmp_path: Path) -> None:
    handbook_pdf(tmp_path / "handbook.pdf")
    said = hashlib.sha256()
    for path in [*sorted(SAMPLES.iterdir()), tmp_path / "handbook.pdf"]:
        for page in open_document(path, path.name).pages:
            said.update(f"{path.name} {page.number} {page.headings} {page.text}\n".encode())
    assert said.hexdigest()[:16] == READ, (
        "Files are read otherwise than before. If that is meant: count LAYOUT (records/documents.py) up, and put this "
        "digest into READ."
    )


PDF = Document(1, "a.pdf", "", "application/pdf", 3, 1, 1, "2026-01-02T03:04:05+00:00")


@pytest.mark.parametrize(
    ("document", "gains"),
    [
        (PDF, False),
        (dataclasses.replace(PDF, layout=4), True),
        (dataclasses.replace(PDF, layout=5), False),
        (dataclasses.replace(PDF, name="a.csv", media_type="text/csv", layout=5), True),
        (dataclasses.replace(PDF, name="a.csv", media_type="text/csv"), False),
        (dataclasses.replace(PDF, name="a.md", media_type="text/markdown", layout=LAYOUT - 1), False),
        (dataclasses.replace(PDF, name="a.md", media_type="text/markdown", layout=FROM_TEXT), True),
    ],
)
def test_the_list_says_which_files_are_read_better_when_they_are_added_again(document: Document, gains: bool) -> None:
    html = lists.documents([document, dataclasses.replace(PDF, name="b.pdf")], "attic", [])
    assert ("1 document was read by an earlier version." in html) is gains
    assert html.count(">read by an earlier version<") == gains
    assert ("or whose letters mean nothing, are recognised then, too." in html) is (gains and document.kind == "PDF")
