"""Fixture: a folder with the document of the README's first question."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.documents import make_pdf
from tests.support.first_start import started_before

WARRANTY = "three years"
"""What the handbook answers."""


@pytest.fixture
def beside_the_handbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the README's document, where a reader would try it; the data folder is in it."""
    make_pdf(tmp_path / "handbook.pdf", [f"Bicycle handbook. The warranty is {WARRANTY}. Tyres are not part of it."])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCALCRAG_DATA_DIR", str(started_before(tmp_path / "data")))
    return tmp_path
