"""What a terminal shows of a run, at the widths that terminals have."""

from __future__ import annotations

import dataclasses

import pytest

from localcrag.interfaces.cli import terminal
from localcrag.records.enums import IngestStatus
from localcrag.records.ingest import IngestResult
from localcrag.records.run import Run
from tests.support.fakes import CALIBRATION
from tests.support.scored_runs import scored_run

NAME = f"Minutes of the {'quarterly ' * 7}report (v2).pdf"
TEXT = "The ferry to Brackwater leaves from the north pier at 7:45 every morning, and from the south pier on Sundays."
LEAST = 0.35
"""Of the width, for the text."""


def run_of(document: str) -> Run:
    run = scored_run(1, [0.4, 0.1], CALIBRATION.passage)
    passages = (
        dataclasses.replace(one, document=document, page=12, text=TEXT, dated="2025-03-09") for one in run.passages
    )
    return dataclasses.replace(run, passages=tuple(passages))


def table(shown: str) -> list[str]:
    lines = shown.splitlines()
    first, after = (
        next(number for number, line in enumerate(lines) if line.startswith(words))
        for words in ("relevance", "2 passages")
    )
    return lines[first:after]


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("document", [NAME, NAME.replace(" ", "_")], ids=["words", "no spaces"])
def test_a_long_name_leaves_the_text_its_room_and_shows_its_ends_and_page(
    width: int, document: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(document) == 100
    monkeypatch.setenv("COLUMNS", str(width))
    terminal.show_details(run_of(document))
    shown = capsys.readouterr().err
    head, *rows = table(shown)
    at, source = head.index("text"), head.index("from")
    assert width - at >= LEAST * width
    assert max(map(len, rows)) <= width
    texts = " ".join(row[at:].strip() for row in rows)
    assert " ".join(texts.split()).count(TEXT) == 2
    sources = "".join(row[source:at].strip() for row in rows).replace(" ", "").replace("_", "")
    assert sources.count("Minutesof") == 2
    assert shown.count("correct ") == shown.count("ambiguous ") == 1
    assert sources.count(".pdf,p.12(2025-03-09)") == 2


def test_a_short_name_is_shown_as_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    terminal.show_details(run_of("[ferry].md"))
    assert "[ferry].md, p. 12" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pages", "chunks", "said"),
    [
        pytest.param(1, 1, "1 page, 1 chunk, ", id="one of each"),
        pytest.param(3, 12, "3 pages, 12 chunks, ", id="several"),
        pytest.param(None, 1, "note.txt: 1 chunk, ", id="no pages"),
    ],
)
def test_one_is_one_page_and_one_chunk(
    capsys: pytest.CaptureFixture[str], pages: int | None, chunks: int, said: str
) -> None:
    result = IngestResult("note.txt", IngestStatus.ADDED, pages, chunks, seconds=0.2)
    terminal.show_ingest(iter([result]), quiet=False)
    assert said in capsys.readouterr().err
