"""Numbered places and dates that a question names: how they are found, and what is answered."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from localcrag.crag.references import dates_in, find_references
from localcrag.records.documents import Page
from localcrag.records.enums import Action, StripReason
from localcrag.records.events import LookedUp
from localcrag.records.run import Run
from localcrag.runs import recording
from tests.support.chunks import split_into_chunks
from tests.support.desk import Desk
from tests.support.fakes import FakeEmbedder

LEASE = """# Lease of Mill House

## Rent

3.1 The rent is 840 euros a month.

3.2 It is paid on the first working day.

## Notice

10.3 All notices are given in writing.

10.4 This lease follows the laws of Denmark. The courts of Copenhagen decide.

10.5 The parties keep a copy each:

(a) the tenant at home,

(b) the landlord.

Signed for the landlord

Name:
"""
PAGES = [
    "# Handbook of the hall\n\nThe hall opens at nine.",
    "Mr. Brook speaks for 32 homes.",
    "The hall closes at six.",
]
LOG = "# Weather of the hall\n\ndate | high | low | weather\n" + "\n".join(
    f"2012-01-{day:02} | {day % 9}.5 | -{day % 4}.5 | {'snow' if day % 5 == 0 else 'rain'}" for day in range(1, 31)
)


def desk(folder: Path, **documents: str | list[str]) -> Desk:
    made, embedder = Desk(folder), FakeEmbedder()
    for name, text in documents.items():
        pages = [Page(None, text)] if isinstance(text, str) else [Page(at, page) for at, page in enumerate(text, 1)]
        chunks = split_into_chunks(pages, embedder.count_tokens, title=name, target=40, limit=254)
        made.store.put(
            f"{name}.md", sha256=name, media_type="text/markdown", pages=None, text="\f".join(p.text for p in pages),
            chunks=chunks, vectors=embedder.embed([chunk.text for chunk in chunks]),
        )  # fmt: skip
    return made


@pytest.mark.parametrize(
    ("question", "places"),
    [
        ("What does clause 10.4 of the lease say?", [("part", "10.4")]),
        ("Was steht in § 37 Absatz 4 der Satzung?", [("part", "37"), ("part", "4")]),
        ("On page 2, who speaks?", [("page", "2")]),
        ("What does note (d) say about the † footnote?", [("note", "d"), ("note", "†")]),
        ("What is exercise 1 in appendix B?", [("item", "1"), ("part", "B")]),
        ("What is the heaviest box I can send?", []),
        ("What does the hopper slide H-403 cost?", []),
        ("Who gets point 3.5 % of the fee?", []),
    ],
)
def test_places_are_numbers_after_a_word_for_a_part_of_a_document(question: str, places: list[tuple[str, str]]) -> None:
    assert [(one.kind.value, one.number) for one in find_references(question)] == places


def test_dates_need_a_month_and_a_day_or_year() -> None:
    found = dates_in("Was it May in 2024, on 20 January 2012, on July 31st, in 2024-07-24 or in March 2025?")
    assert [str(one) for one in found] == ["20 January 2012", "31 July", "24 July 2024", "March 2025"]
    assert found[0].first == date(2012, 1, 20)


def looked_up(made: Desk, question: str) -> Run:
    events, run = made.ask(question)
    folded = run
    for event in events:
        folded = recording.apply(folded, event)
    assert folded == run
    assert any(isinstance(event, LookedUp) for event in events)
    return run


def test_a_clause_that_is_asked_for_by_its_number_is_quoted(tmp_path: Path) -> None:
    run = looked_up(desk(tmp_path, lease=LEASE, handbook=PAGES), "What does clause 10.4 of the lease say?")
    assert run.action is Action.CORRECT
    assert "the question names clause 10.4" in run.rule
    assert run.answer == "“10.4 This lease follows the laws of Denmark. The courts of Copenhagen decide.” [1]"
    kept = [strip for strip in run.strips if strip.kept]
    assert [strip.reason for strip in kept] == [StripReason.NAMED]
    assert [source.document for source in run.sources] == ["lease.md"]
    assert not run.abstained


def test_the_last_clause_ends_with_its_parts(tmp_path: Path) -> None:
    run = looked_up(desk(tmp_path, lease=LEASE, handbook=PAGES), "What does clause 10.5 of the lease say?")
    assert "the tenant at home" in run.answer
    assert "the landlord" in run.answer
    assert "Signed" not in run.answer


def test_a_number_that_no_place_has_is_not_looked_up(tmp_path: Path) -> None:
    events, run = desk(tmp_path, lease=LEASE).ask("What does clause 12.4 of the lease say?")
    assert not any(isinstance(event, LookedUp) for event in events)
    assert run.action is not None


def test_a_question_about_more_than_the_place_is_answered_from_its_passages(tmp_path: Path) -> None:
    events, run = desk(tmp_path, handbook=PAGES, lease=LEASE).ask("On page 2 of the handbook: how many homes?")
    assert not any(isinstance(event, LookedUp) for event in events)
    assert run.passages[0].page == 2


def test_the_row_of_a_date_is_found_and_shown_first(tmp_path: Path) -> None:
    made = desk(tmp_path, weather=LOG, handbook=PAGES, lease=LEASE)
    run = made.ask("What was the weather of the hall on 20 January 2012?")[1]
    assert "2012-01-20" in run.passages[0].text
    shown = run.answer.partition("In the words of the sources:")[0]
    assert "| 2012-01-20 | 2.5 | -0.5 | snow |" in shown
    assert shown.count("2012-01-") == 1, "no other day"
