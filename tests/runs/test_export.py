"""A conversation in a file: complete, and nothing in it but text."""

from __future__ import annotations

import json

import pytest

from localcrag.records.enums import Action
from localcrag.records.evaluation_set import AnswerLocation
from localcrag.records.run import Chat, ChatTurn, TurnState, Version
from localcrag.runs.export import ExportForm, export
from tests.support.made_evaluations import HOSTILE, passage, question, run

CHAT = Chat(id=1, title=f"Tanks {HOSTILE}", collection="work", created_at="2026-01-02T03:04", changed_at="x", turns=2)
RUN = run(
    question("tank", AnswerLocation.DOCUMENTS, "42"),
    [passage("p1", f"It holds 42 litres. {HOSTILE}", 0.9)],
    "It holds 42 litres [1].",
    action=Action.CORRECT,
)
TURNS = (
    ChatTurn(
        number=1, question=f"How many? {HOSTILE}", answer="It holds 42 litres [1].", run_id=RUN.run_id,
        state=TurnState.ANSWERED,
    ),
    ChatTurn(number=2, question="And the other?", state=TurnState.STOPPED),
)  # fmt: skip


def written(form: ExportForm) -> str:
    return export(CHAT, TURNS, {RUN.run_id: RUN}, form)


@pytest.mark.parametrize("form", list(ExportForm))
def test_everything_that_was_said_is_in_it_with_its_source(form: ExportForm) -> None:
    text = written(form)
    for said in ("And the other?", "work", "2026-01-02", "a.md", "CORRECT"):
        assert said in text
    assert text.count("It holds 42 litres") >= 2  # answer and source


def test_nothing_in_the_html_is_anything_but_text() -> None:
    text = written(ExportForm.HTML)
    assert "<script" not in text
    assert "<img" not in text
    assert text.count("&lt;script") == 4  # twice the title, question, source
    assert "default-src 'none'" in text


def test_nothing_in_the_markdown_is_markup() -> None:
    assert "\\<script\\>" in written(ExportForm.MARKDOWN)
    assert "<script" not in written(ExportForm.MARKDOWN).replace("\\<script", "")


def test_the_json_has_the_visible_branch_alone_counted_from_one() -> None:
    versions = (Version(1, TurnState.ANSWERED), Version(3, TurnState.ANSWERED))
    branch = [ChatTurn(number=3, question="Eins?", versions=versions), ChatTurn(number=4, parent=3, question="Zwei?")]
    turns = json.loads(export(CHAT, branch, {}, ExportForm.JSON))["turns"]
    assert [(turn["number"], turn["question"]) for turn in turns] == [(1, "Eins?"), (2, "Zwei?")]
    assert {"parent", "versions"}.isdisjoint(turns[0])


def test_the_json_can_be_read_again() -> None:
    read = json.loads(written(ExportForm.JSON))
    assert [turn["state"] for turn in read["turns"]] == ["answered", "stopped"]
    assert read["turns"][0]["sources"][0]["n"] == 1
    assert read["turns"][0]["action"] == "CORRECT"
    assert read["title"] == CHAT.title


def test_a_chat_whose_runs_are_gone_is_still_written() -> None:
    for form in ExportForm:
        assert "It holds 42 litres" in export(CHAT, TURNS, {}, form)
