"""What the source view marks of a piece of evidence whose strips do not stand together."""

from __future__ import annotations

from localcrag.crag.refine.refine import recompose
from localcrag.interfaces.page.run_panel import panel
from localcrag.interfaces.page.source import cited_texts
from localcrag.records.enums import StripReason
from localcrag.records.passages import Strip
from tests.support.made_records import graded, some_run

TEXT = "| Room | Fee |\n|---|---|\n| Single | 80 |\n| Double | 110 |\n| Suite | 190 |\n\nDogs are free. Cats are not."
KEPT = ("| Room | Fee |\n|---|---|", "| Double | 110 |", "| Suite | 190 |", "Cats are not.")


def strip(text: str) -> Strip:
    start = TEXT.index(text)
    return Strip("p", start, start + len(text), text, 0.0, 0.8, text in KEPT, StripReason.KEPT)


PIECES = (*KEPT[:1], "| Single | 80 |", *KEPT[1:3], "Dogs are free.", KEPT[3])
STRIPS = tuple(strip(text) for text in PIECES)
PASSAGE = graded(0.9, TEXT, id="p")
EVIDENCE, SOURCES = recompose([PASSAGE], STRIPS)
RUN = some_run(passages=(PASSAGE,), strips=STRIPS, evidence=EVIDENCE, sources=SOURCES)


def test_each_part_that_is_cited_is_marked_as_it_stands_in_the_passage() -> None:
    assert [piece.n for piece in RUN.evidence] == [1, 2]
    assert cited_texts(RUN, PASSAGE, 1) == ["| Room | Fee |\n|---|---|", "| Double | 110 |\n| Suite | 190 |"]
    assert cited_texts(RUN, PASSAGE, 2) == ["Cats are not."]
    assert all(text in TEXT for n in (1, 2) for text in cited_texts(RUN, PASSAGE, n))
    assert cited_texts(RUN, PASSAGE, 9) == []


def test_evidence_without_strips_is_marked_whole() -> None:
    assert cited_texts(some_run(evidence=EVIDENCE), PASSAGE, 2) == ["Cats are not."]


def test_the_panel_numbers_a_piece_where_it_begins() -> None:
    html = panel(RUN)
    for piece in RUN.evidence:
        assert html.count(f'id="evidence-{RUN.run_id}-{piece.n}"') == 1
    assert html.index(f"evidence-{RUN.run_id}-1") < html.index("Single")
