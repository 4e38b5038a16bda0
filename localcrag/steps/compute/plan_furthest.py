"""Two columns of a row whose difference is the greatest or smallest: "furthest over budget"."""

from __future__ import annotations

from localcrag.records.enums import Operation
from localcrag.steps.compute.matching import meaningful
from localcrag.steps.compute.plan_columns import Plan, asks_for_rows, asks_who, label_of
from localcrag.steps.compute.plan_versus import IN_TIME, PLANS, compared_columns
from localcrag.steps.compute.reading import Reading, Test
from localcrag.steps.compute.said_conditions import Relation


def of_furthest(reading: Reading) -> Plan | None:
    """Return a plan for the rows with the greatest or smallest difference; None where it is not clear of what."""
    known, said = reading.known, reading.request.forms.versus
    columns = compared_columns(reading)
    if said is None or columns is None or said.word in IN_TIME or not _asks_for_rows(reading, said.start):
        return None
    tests = tuple(reading.tests)
    if said.relation:
        tests += (Test(columns[0], said.relation, "", than=columns[1], start=said.split),)
    if said.relation is Relation.EQUAL:
        return None
    base = [column for column in columns if PLANS & known.header_words(column)]
    base = [columns[1]] if said.relation else base
    if said.in_percent and len(base) != 1:
        return None  # Of which of the two prices is it a percentage?
    return Plan(
        known, Operation.DIFFERENCE, columns[0], tests, pick=said.end,
        side_columns=columns[::-1] if said.relation is Relation.BELOW else columns,
        percent_of=base[0] if said.in_percent else None,
    )  # fmt: skip


def _asks_for_rows(reading: Reading, end: int) -> bool:
    """Whether what is asked for in the words up to a place, if anything is, is a row."""
    if asks_who(reading):
        return reading.known.are_people(label_of(reading.known))
    noun = meaningful([word for word in reading.target if word.start < end])
    return not noun or asks_for_rows(reading, noun)
