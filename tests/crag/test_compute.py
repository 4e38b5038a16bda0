"""The step `compute` in the flow: what the run says, what it cites, and when it stands back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from localcrag.crag.context import Steps
from localcrag.documents.chunking import join_pages
from localcrag.interfaces.cli import terminal
from localcrag.interfaces.page.run_panel import panel
from localcrag.pipeline import answer
from localcrag.records.documents import Page
from localcrag.records.enums import Action, StripReason
from localcrag.records.errors import ModelError
from localcrag.records.events import Computed, RunFinished
from localcrag.records.protocols import Vectors
from localcrag.records.restriction import Restriction
from localcrag.records.run import Chat, ChatTurn, Run, TurnState
from localcrag.runs import export as report
from localcrag.runs import recording as record
from localcrag.runs.export import ExportForm, export
from tests.support.chunks import split_into_chunks
from tests.support.desk import Desk
from tests.support.fakes import FakeEmbedder, FakeScorer

ROWS = [
    f"2026-{1 + number // 10:02}-{1 + number % 10:02} | Client {number % 7} | {number}.50 €" for number in range(60)
]
ORDERS = "# Orders 2026\n\nDate | Customer | Amount\n" + "\n".join(ROWS)
QUESTION = "What is the total amount of orders in March?"


def desk(tmp_path: Path, **documents: str | list[str]) -> Desk:
    """Return a desk with these documents, cut into chunks; a list is the pages of one."""
    made = Desk(tmp_path)
    embedder = FakeEmbedder()
    for name, text in documents.items():
        pages = [Page(None, text)] if isinstance(text, str) else [Page(at, page) for at, page in enumerate(text, 1)]
        chunks = split_into_chunks(pages, embedder.count_tokens, title=name, target=60, limit=254)
        made.store.put(
            f"{name}.md", sha256=name, media_type="text/markdown", pages=None, text=join_pages(pages), chunks=chunks,
            vectors=embedder.embed([chunk.text for chunk in chunks]),
        )  # fmt: skip
    return made


def computed_by(run: Run) -> list[str]:
    return [step.name for step in run.steps]


def test_a_question_about_a_table_is_computed_on_all_its_rows(tmp_path: Path) -> None:
    made = desk(tmp_path, orders=ORDERS)
    events, run = made.ask(QUESTION)
    assert run.computation
    assert run.answer.startswith(
        "**Total of Amount: 250.00 €** over 10 rows of the table “Orders 2026” where Date is in"
    )
    assert (run.computation.document, run.computation.total_rows, run.computation.row_count) == ("orders.md", 60, 10)
    assert made.llm.prompts == []
    assert computed_by(run) == ["retrieve", "evaluate", "decide", "compute"]
    assert (run.action, run.abstained, run.uncertain) == (Action.CORRECT, False, False)
    assert len([event for event in events if isinstance(event, Computed)]) == 1


def test_days_are_counted_from_the_day_that_the_app_is_asked_on_and_shown(tmp_path: Path) -> None:
    _, run = desk(tmp_path, orders=ORDERS).ask("What was the total amount of orders last month?")
    said = "Asked on 4 May 2026, “last month” means April 2026."
    assert run.answer.startswith("**Total of Amount: 350.00 €** over 10 rows")
    assert "where Date is in April 2026" in run.answer
    assert said in run.answer
    assert said in panel(run)


def test_the_answer_cites_the_rows_that_count(tmp_path: Path) -> None:
    _, run = desk(tmp_path, orders=ORDERS).ask(QUESTION)
    march = [row for row in ROWS if row.startswith("2026-03")]
    cited = "\n".join(piece.text for piece in run.evidence)
    assert all(row in cited for row in march)
    assert not any(row in cited for row in ROWS if row not in march)
    assert f"[{run.evidence[-1].n}]" in run.answer
    known = {passage.id: passage for passage in run.passages}
    for strip in run.strips:
        assert known[strip.passage].text[strip.start : strip.end] == strip.text
        assert strip.reason is (StripReason.COMPUTED if strip.kept else StripReason.NOT_COMPUTED)
    assert {piece.source for piece in run.evidence} == {source.id for source in run.sources}


def test_a_row_that_no_retrieved_passage_has_is_fetched_and_evaluated(tmp_path: Path) -> None:
    made = desk(tmp_path, orders=ORDERS)
    made.settings = made.settings.model_copy(update={"k": 1, "reranked": 1})
    events, run = made.ask("Which order has the highest amount?")
    (computed,) = (event for event in events if isinstance(event, Computed))
    assert run.answer.startswith("**Highest value of Amount: 59.50 €** in 1 row")
    assert [passage.text.split("\n")[-1] for passage in computed.passages] == [ROWS[-1]]
    assert run.passages[-1] == computed.passages[0]
    assert ROWS[-1] in run.evidence[-1].text


def test_a_scorer_that_fails_does_not_stop_it(tmp_path: Path) -> None:
    class Failing(FakeScorer):
        def logits(self, question: str, texts: list[str]) -> Vectors:  # type: ignore[override]
            raise ModelError("The relevance model is damaged.")

    made = desk(tmp_path, orders=ORDERS)
    made.scorer = Failing()
    assert made.ask("Which order has the highest amount?")[1].computation


def test_the_run_is_stored_with_it_and_old_runs_stay_readable(tmp_path: Path) -> None:
    _, run = desk(tmp_path, orders=ORDERS).ask(QUESTION)
    assert record.read(record.dump(run)) == run
    told = record.to_json(run)
    assert told["computation"]["result"] == "250.00 €"
    assert told["computation"]["operation"] == "total"
    before = json.loads(record.dump(run))
    del before["computation"]
    assert record.read(json.dumps(before)).computation is None


def test_panel_and_terminal_show_table_operation_rows_and_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run = desk(tmp_path, orders=ORDERS.replace("Client 1", "<b>Client</b>")).ask(QUESTION)
    html = panel(run)
    for said in ("Computed from a table", "Orders 2026", "total of Amount", "Date is in March", "250.00 €", "60 rows"):
        assert said in html
    assert "<td>&lt;b&gt;Client&lt;/b&gt;</td>" in html
    assert "<b>Client" not in html
    assert html.count("<tr><td>2026-03") == 10
    assert "the language model was not used" not in html
    terminal.show_details(run)
    assert "computed total of Amount where Date is in March" in " ".join(capsys.readouterr().err.split())


def test_what_cannot_be_done_exactly_is_said_with_the_rows(tmp_path: Path) -> None:
    _, run = desk(tmp_path, orders=ORDERS.replace("21.50 €", "21.50 $")).ask(QUESTION)
    assert run.computation
    assert run.answer.startswith("**Not computed: total of Amount.** The reason: Amount has several units: €, $ [1]")
    assert "not computed: Amount has several units" in panel(run)


def test_of_several_tables_that_fit_none_is_guessed_and_that_is_said(tmp_path: Path) -> None:
    _, run = desk(tmp_path, orders=ORDERS, others=ORDERS.replace("2026", "2025")).ask(QUESTION)
    assert run.computation is None
    assert "generate" in computed_by(run) or run.answer
    assert any("Several tables fit this question equally" in warning for warning in run.warnings)


def test_a_fitting_table_that_retrieval_did_not_find_is_noticed(tmp_path: Path) -> None:
    made = desk(tmp_path, orders=ORDERS, others=ORDERS.replace("2026", "2025").replace("Client", "Firm"))
    made.settings = made.settings.model_copy(update={"k": 1, "reranked": 1})
    _, run = made.ask("What is the total amount of orders?")
    assert len(run.passages) == 1
    assert run.computation is None
    (warning,) = (one for one in run.warnings if "Several tables fit" in one)
    assert "orders.md" in warning
    assert "others.md" in warning


def test_a_fitting_table_behind_a_long_one_is_noticed(tmp_path: Path) -> None:
    many = "# Orders 2026\n\nDate | Customer | Amount\n" + "\n".join(ROWS * 20)
    short = "# Orders 2025\n\nDate | Customer | Amount\n" + "\n".join(ROWS[:4]).replace("2026", "2025")
    _, run = desk(tmp_path, orders=many, others=short).ask("What is the total amount of orders?")
    assert run.computation is None
    assert any("others.md" in warning for warning in run.warnings)


def test_a_fitting_table_on_another_page_is_noticed(tmp_path: Path) -> None:
    second = ORDERS.replace("Orders 2026", "Orders 2025").replace("2026-", "2025-")
    made = desk(tmp_path, orders=[ORDERS, "Nothing is here but a page of words.", second])
    made.settings = made.settings.model_copy(update={"k": 1, "reranked": 1})
    _, run = made.ask("What is the total amount of orders?")
    assert run.computation is None
    assert any("Several tables fit" in warning for warning in run.warnings)


def test_a_table_in_which_the_groups_would_be_single_rows_is_noticed(tmp_path: Path) -> None:
    header = "# Orders\n\nOrder | Customer | Amount\n"
    first = header + "A1 | Lund | 300\nA2 | Moss | 450\nA3 | Lund | 120"
    second = header + "B1 | Moss | 500\nB2 | Lund | 275\nB3 | Nash | 90"
    _, run = desk(tmp_path, earlier=first, later=second).ask("Which customer has the highest total?")
    assert run.computation is None
    assert any("Several tables fit" in warning for warning in run.warnings)
    assert desk(tmp_path / "alone", earlier=first).ask("Which customer has the highest total?")[1].computation


def test_a_table_without_any_row_that_is_meant_does_not_compete(tmp_path: Path) -> None:
    _, run = desk(tmp_path, orders=ORDERS, others=ORDERS.replace("2026-0", "2025-0")).ask(
        "What is the total amount of orders in March 2026?"
    )
    assert run.computation
    assert run.computation.document == "orders.md"


def test_groups_and_sides_are_shown_in_panel_and_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, run = desk(tmp_path, orders=ORDERS).ask("What is the total amount per month?")
    assert run.computation
    assert [group.result for group in run.computation.groups][:3] == ["50.00 €", "150.00 €", "250.00 €"]
    assert "| March 2026 | 250.00 € | 10 |" in run.answer
    assert record.read(record.dump(run)) == run
    html = panel(run)
    assert "total of Amount for each month of Date" in html
    assert "<td>March 2026</td><td>250.00 €</td><td>10</td>" in html
    terminal.show_details(run)
    assert "March 2026: 250.00 € (10 rows)" in " ".join(capsys.readouterr().err.split())


def test_the_same_table_twice_is_one(tmp_path: Path) -> None:
    assert desk(tmp_path, orders=ORDERS, copy=ORDERS).ask(QUESTION)[1].computation


def test_of_several_tables_the_one_that_is_named_is_taken(tmp_path: Path) -> None:
    text = ORDERS + "\n\n# Refunds 2026\n\n" + ORDERS.partition("\n\n")[2].replace("Amount", "Amount")
    _, run = desk(tmp_path, ledger=text).ask("What is the total amount of refunds in March?")
    assert run.computation
    assert run.computation.table == "Refunds 2026"


def test_a_table_over_several_pages_is_one(tmp_path: Path) -> None:
    header = "Date | Customer | Amount\n"
    pages = ["# Orders 2026\n\n" + header + "\n".join(ROWS[:25]), "\n".join(ROWS[25:45]), header + "\n".join(ROWS[45:])]
    _, run = desk(tmp_path, orders=pages).ask("What is the total amount of orders?")
    assert run.computation
    assert (run.computation.result, run.computation.pages) == ("1,800.00 €", (1, 2, 3))
    assert "page 3" in panel(run)


@pytest.mark.parametrize(
    "said",
    ["We had 61 orders in March, of which one was cancelled.", "There are forty customers in all."],
)
def test_a_number_that_a_sentence_says_is_not_counted(tmp_path: Path, said: str) -> None:
    noun = "orders in March" if "orders" in said else "customers"
    _, run = desk(tmp_path, orders=f"{ORDERS}\n\n## Remarks\n\n{said}\n").ask(f"How many {noun} are there?")
    assert run.computation is None


def test_a_sentence_of_a_passage_that_helps_less_than_the_table_says_nothing(tmp_path: Path) -> None:
    class LikesTables(FakeScorer):
        def logits(self, question: str, texts: Sequence[str]) -> Vectors:
            return np.array([0.0 if "|" in text else -4.0 for text in texts], dtype=np.float32)

    rows = ("Library | 82 € | 90 €", "Gardens | 150 € | 181 €", "Kitchen | 40 € | 40 €", "Archive | 9 € | 8 €")
    budget = "Department | Planned | Actual\n" + "\n".join(rows)
    leave = "Up to six days may be carried over, unless the head of your department says otherwise."
    made = desk(tmp_path, budget=budget, leave=leave)
    made.scorer = LikesTables()
    _, run = made.ask("Which department is furthest over budget?")
    assert run.computation
    assert [row.cells[0] for row in run.computation.rows] == ["Gardens"]


def test_where_another_document_answers_the_table_stands_back(tmp_path: Path) -> None:
    made = desk(tmp_path, orders=ORDERS, rules="What the highest amount of an order is: the highest amount is 500.")
    assert made.ask("What is the highest amount of an order?")[1].computation is None


@pytest.mark.parametrize("steps", [Steps(evaluate=False, refine=False, verify=False), Steps(refine=False)])
def test_an_evaluation_that_leaves_steps_out_computes_nothing(tmp_path: Path, steps: Steps) -> None:
    made = desk(tmp_path, orders=ORDERS)
    recording = answer(QUESTION, parts=made.parts(), settings=made.settings, steps=steps)
    list(recording)
    assert recording.run.computation is None


def test_other_questions_go_the_usual_way(tmp_path: Path) -> None:
    made = desk(tmp_path, orders=ORDERS)
    _, run = made.ask("What did Client 3 order?")
    assert run.computation is None
    assert "compute" not in computed_by(run)


def test_a_report_and_an_exported_chat_show_the_computation_and_which_documents_were_asked(tmp_path: Path) -> None:
    made = desk(tmp_path, orders=ORDERS.replace("Client 1", "<b>Client</b>"), others="# Notes\n\nNothing of orders.")
    events = list(
        answer(QUESTION, parts=made.parts(), settings=made.settings, restriction=Restriction(documents=("orders.md",)))
    )
    assert isinstance(events[-1], RunFinished)
    run = events[-1].run
    assert run.computation
    text = report.markdown(run)
    searched = "searched: 1 of 2 documents (orders"
    for said in (
        searched, "## Computed from a table", "operation: total of Amount", "where: Date is in March",
        "over 10 of 60 rows", "250.00 €", "| Date | Customer | Amount |",
    ):  # fmt: skip
        assert said in text.replace("\\", "")
    assert "<b>Client" not in text
    rows = text.partition("## Rows counted")[2].partition("##")[0].replace("\\", "")
    assert rows.count("| 2026-03") == 10
    chat = Chat(id=1, title="Orders", collection="default", created_at="2026-01-02T03:04", changed_at="x", turns=1)
    turn = ChatTurn(number=1, question=QUESTION, answer=run.answer, run_id=run.run_id, state=TurnState.ANSWERED)
    for form in ExportForm:
        exported = export(chat, [turn], {run.run_id: run}, form)
        for said in (
            searched,
            "total of Amount" if form is not ExportForm.JSON else '"operation": "total"',
            "250.00 €",
        ):
            assert said in exported.replace("\\", "")
    (told,) = json.loads(export(chat, [turn], {run.run_id: run}, ExportForm.JSON))["turns"]
    assert told["computation"]["row_count"] == 10
    assert told["computation"]["document"] == "orders.md"


def test_a_report_shows_the_results_of_groups_and_a_refusal(tmp_path: Path) -> None:
    made = desk(tmp_path, orders=ORDERS)
    text = report.markdown(made.ask("What is the total amount per month?")[1]).replace("\\", "")
    assert "| March 2026 | 250.00 € | 10 |" in text
    refused = desk(tmp_path / "refused", orders=ORDERS.replace("21.50 €", "21.50 $")).ask(QUESTION)[1]
    assert "result: not computed: Amount has several units" in report.markdown(refused).replace("\\", "")


def test_a_run_without_either_is_reported_as_before(tmp_path: Path) -> None:
    _, run = desk(tmp_path, orders=ORDERS).ask("What did Client 3 order?")
    assert "Computed from a table" not in report.markdown(run)
    assert "searched: " in report.markdown(run).replace("\\", "")


def test_a_cell_of_one_table_and_the_name_of_another_fit_equally(tmp_path: Path) -> None:
    sales = "# Sales\n\nDepartment | Cost\nKitchen | 200\nKitchen | 300\nGarden | 100\n"
    quote = "# Quote for a kitchen\n\nPart | Cost\nOven | 700\nTap | 90\nSink | 150\n"
    _, run = desk(tmp_path, sales=sales, quote=quote).ask("What is the average cost of Kitchen?")
    assert run.computation is None
    assert any(warning.startswith("Several tables fit") for warning in run.warnings)
