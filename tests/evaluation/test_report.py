"""What an evaluation's report says, in its three forms, and that its page neither runs nor loads anything."""

from __future__ import annotations

import dataclasses
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from localcrag.evaluation import curves
from localcrag.evaluation.analysis import figures, worst
from localcrag.evaluation.diagnosis import Cause, diagnose
from localcrag.evaluation.plan import FULL, PLAIN, ablations
from localcrag.evaluation.report import comparison_summary, summary, write, write_comparison
from localcrag.evaluation.results import Evaluation
from localcrag.records.enums import Action
from localcrag.records.errors import EvaluationError
from localcrag.records.evaluation_set import AnswerLocation
from localcrag.records.passages import Thresholds
from localcrag.records.run import Run
from localcrag.text.places import SheetRow
from tests.support.made_evaluations import ASKED, HOLDS, LIMITS, evaluation, passage, question, run, varied

CAUSES = {
    "right": None,
    "gold": Cause.GOLD,
    "retrieval": Cause.RETRIEVAL,
    "evaluator": Cause.EVALUATOR,
    "strip": Cause.STRIP,
    "generator": Cause.GENERATOR,
    "verify": Cause.VERIFY,
    "abstained": Cause.ABSTAINED,
    "web": Cause.WEB,
    "web-right": None,
    "invented": Cause.INVENTED,
    "misjudged": Cause.EVALUATOR,
    "silent": None,
}


def parsed(path: Path) -> Any:
    return html.fromstring(path.read_text("utf-8"))  # type: ignore[no-untyped-call]


@pytest.fixture(scope="module")
def made() -> Evaluation:
    return varied()


@pytest.fixture(scope="module")
def written(made: Evaluation, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    return write(made, tmp_path_factory.mktemp("report") / "new" / "folder")


@pytest.fixture(scope="module")
def document(written: tuple[Path, Path, Path]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(written[2].read_bytes())
    return found


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_the_first_place_where_the_answer_was_lost(made: Evaluation, name: str) -> None:
    loss = diagnose(next(one for one in ASKED if one.id == name), made.runs[FULL][name])
    assert (loss.cause if loss else None) is CAUSES[name]


def test_every_cause_is_among_these_examples() -> None:
    assert set(Cause) <= set(CAUSES.values())


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("retrieval", "no passage of b.md was retrieved"),
        ("evaluator", "a.md holds it, and was graded incorrect: 0.10 < 0.20"),
        ("strip", "below the threshold, relevance 0.10"),
        ("verify", "another unit"),
        ("web", "none of 1 web results for “tank” holds it"),
        ("misjudged", "CORRECT was decided where nothing answers: best passage 0.90"),
    ],
)
def test_a_cause_comes_with_its_detail(made: Evaluation, name: str, why: str) -> None:
    loss = diagnose(next(one for one in ASKED if one.id == name), made.runs[FULL][name])
    assert loss is not None
    assert loss.why == why


def test_what_held_the_answer_is_named_with_its_page_or_rows() -> None:
    asked = question("q", AnswerLocation.DOCUMENTS, "42", documents=["talk.pptx", "a.xlsx"])
    held = passage("1", HOLDS, 0.1)
    paged = dataclasses.replace(held, document="talk.pptx", page=4)
    rowed = dataclasses.replace(held, document="a.xlsx", rows=(SheetRow(0, "Prices", 7),))
    for one, where in ((paged, "talk.pptx, slide 4"), (rowed, "a.xlsx, sheet Prices, row 7")):
        lost = run(asked, [one], "x", action=Action.INCORRECT)
        loss = diagnose(asked, lost)
        assert loss
        assert loss.why.startswith(f"{where} holds it, and was graded incorrect")
        (shown,) = worst(evaluation([asked], {FULL: {"q": lost}}), FULL, FULL)
        assert shown.passage
        assert shown.passage.where == where


def test_json_holds_every_figure_unrounded_with_interval_and_n(document: dict[str, Any]) -> None:
    plain, full = document["estimates"][PLAIN], document["estimates"][FULL]
    assert plain["documents hold the answer"]["answer_match"]["mean"] == 6 / 8
    assert full["documents hold the answer"]["answer_match"] == pytest.approx(
        {"mean": 1 / 8, "low": 0.0, "high": 0.375, "n": 8}
    )
    assert full["all questions"]["seconds"]["mean"] == pytest.approx(14 / 13)
    assert plain["neither holds it"]["invention"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 3}
    assert "action_right" not in plain["all questions"]
    assert document["groups"] == {
        "all questions": 13,
        "documents hold the answer": 8,
        "only the web holds it": 2,
        "neither holds it": 3,
    }
    assert document["about"]["sets"][0]["digest"] == "ab" * 32
    assert document["metrics"]["answer_match"]["definition"].startswith("An accepted string is in the answer.")


def test_json_holds_the_verdict_with_what_is_not_proved(document: dict[str, Any]) -> None:
    (verdict,) = document["verdicts"]
    found = {(one["metric"], one["group"]): one for one in verdict["figures"]}
    match = found["answer_match", "documents hold the answer"]
    assert match["difference"]["mean"] == -5 / 8
    # Six got worse and one better: 2 * (1 + 7) / 2 ** 7.
    assert match["difference"]["p"] == pytest.approx(0.125)
    assert match["ratio"] == pytest.approx(1 / 6)
    assert "8 questions are too few" in match["not_proved"]
    seconds = found["seconds", "all questions"]
    assert seconds["difference"]["p"] < 0.001
    assert seconds["not_proved"] is None
    assert seconds["ratio"] == pytest.approx(14 / 52)
    assert found["action_right", "all questions"]["difference"] is None


def test_json_holds_decisions_causes_time_and_strips(document: dict[str, Any]) -> None:
    assert document["actions"][FULL]["documents"] == {"CORRECT": 6, "AMBIGUOUS": 1, "INCORRECT": 1}
    assert PLAIN not in document["actions"]
    losses = document["losses"][FULL]
    assert losses["right"] == 3
    assert losses["causes"] == {cause.value: list(CAUSES.values()).count(cause) for cause in Cause}
    assert document["steps"][FULL]["generate"]["prompt_tokens"] == 100
    assert [(one["least"], one["most"]) for one in document["retention"]] == [(1, 1), (2, 3)]


def test_the_worst_come_first_and_are_shown_with_what_they_rest_on(document: dict[str, Any]) -> None:
    names = [one["id"] for one in document["worst"]]
    assert len(names) == 10
    assert names[0] in {"strip", "verify", "misjudged"}
    assert set(names[-2:]) == {"abstained", "evaluator"}
    assert names.index("gold") == 7
    strip = document["worst"][names.index("strip")]
    assert strip["passage"]["text"] == HOLDS
    assert strip["passage"]["holds"]
    assert [piece["holds"] for piece in strip["evidence"]] == [False]
    assert strip["first_right"]


def test_relevances_are_set_against_what_passages_hold() -> None:
    asked = question("q", AnswerLocation.DOCUMENTS, "42", documents=["a.md"])
    nowhere = question("n", AnswerLocation.NOWHERE)
    found = curves.relevance_reliability(
        [
            (
                asked,
                run(asked, [passage("1", HOLDS, 0.85), passage("2", HOLDS, 0.25, document="b.md")], "x",
                    action=Action.CORRECT),
            ),
            (nowhere, run(nowhere, [passage("1", HOLDS, 0.88), passage("2", "x", 1.0)], "x", action=Action.CORRECT)),
        ]
    )  # fmt: skip
    assert found is not None
    counted = {place: (one.n, one.held.mean) for place, one in enumerate(found.bins) if one.held}
    # "b.md" is not named, and a question that is answered nowhere has no passage that holds an answer.
    assert counted == {2: (1, 0.0), 8: (2, 0.5), 9: (1, 0.0)}
    assert found.error == pytest.approx((0.25 + 2 * abs(0.865 - 0.5) + 1.0) / 4)


def test_plain_rag_has_no_relevances_and_no_decisions(made: Evaluation) -> None:
    assert curves.relevance_reliability(made.pairs(PLAIN)) is None
    assert curves.sweep(made.pairs(PLAIN)) is None
    assert curves.retention(made.pairs(PLAIN)) == ()


def test_other_thresholds_decide_on_the_stored_relevances() -> None:
    held, not_held = question("q", AnswerLocation.DOCUMENTS, "42"), question("n", AnswerLocation.NOWHERE)
    pairs = [
        (held, run(held, [passage("1", HOLDS, 0.6)], "x", action=Action.CORRECT)),
        (not_held, run(not_held, [passage("1", "x", 0.55)], "x", action=Action.CORRECT)),
        (not_held, run(not_held, [passage("1", "x", 0.1)], "x", action=Action.INCORRECT)),
    ]
    found = curves.sweep(pairs)
    assert found is not None
    assert found.thresholds == Thresholds(upper=LIMITS.upper, lower=LIMITS.lower, strip=LIMITS.strip)
    assert [found.in_force.accuracy, found.in_force.web_rate] == pytest.approx([2 / 3, 1 / 3])
    at = {point.upper: [point.accuracy, point.web_rate, point.lower] for point in found.uppers}
    assert at[0.58] == pytest.approx([1.0, 2 / 3, LIMITS.lower])
    assert at[0.62] == pytest.approx([2 / 3, 1.0, LIMITS.lower])
    assert at[0.02] == pytest.approx([1 / 3, 0.0, 0.02])


def test_the_html_file_refers_to_nothing_outside(written: tuple[Path, Path, Path]) -> None:
    text = written[0].read_text("utf-8")
    page = parsed(written[0])
    assert not page.xpath("//script | //link | //img | //iframe | //object | //embed | //form | //base")
    assert not page.xpath("//@src | //@srcset | //@action | //@data | //@poster")
    targets = page.xpath("//@href") + page.xpath("//@*[local-name() = 'href']")
    assert targets
    assert all(target.startswith("#") for target in targets)
    assert all(page.xpath(f"//*[@id='{target[1:]}']") for target in targets)
    assert not page.xpath("//@*[starts-with(name(), 'on')]")
    inside = "".join([*page.xpath("//style/text()"), *page.xpath("//@style")])
    assert "@import" not in inside
    assert all(found.startswith("#") for found in re.findall(r"url\(([^)]*)", inside + text))
    (policy,) = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids))


def test_the_html_file_has_its_sections_plots_and_tables(written: tuple[Path, Path, Path]) -> None:
    page = parsed(written[0])
    assert page.xpath("//h2/text()") == [
        "Verdict", "What was asked", "All figures", "Paired differences", "Decisions", "Can relevances be believed?",
        "Other thresholds", "Strips kept, by length of the passage", "Time and tokens", "Where answers were lost",
        "Worst questions of localcrag",
    ]  # fmt: skip
    assert all(len(section.xpath("./p[@class='says']/text()")) == 1 for section in page.xpath("//section"))
    assert len(page.xpath("//figure//*[local-name() = 'svg']")) == 2
    words = set(page.xpath("//figure//*[local-name() = 'text']/text()"))
    assert {"relevance", "share that holds it", "passages", "upper threshold", "share of questions"} <= words
    assert len(page.xpath("//figure//*[local-name() = 'rect']")) == 10
    assert all(box.xpath("ancestor::div[contains(@class, 'scroll')]") for box in page.xpath("//table"))
    assert not re.search(r"#0000[012][0-9a-f]", written[0].read_text("utf-8"))


def test_markdown_shows_what_others_wrote_as_text(written: tuple[Path, Path, Path]) -> None:
    text = written[1].read_text("utf-8")
    assert "document.title" in text
    assert not re.search(r"(?<!\\)<\w", text)
    assert not re.search(r"(?<!\\)`x", text)
    assert "http://" not in text
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        columns = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(columns) == 1


def test_the_same_evaluation_makes_the_same_files(
    made: Evaluation, written: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    again = write(made, tmp_path)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_an_unfinished_evaluation_says_what_is_missing(made: Evaluation, tmp_path: Path) -> None:
    begun = {"right", "gold", "silent"}
    runs = {PLAIN: dict(made.runs[PLAIN]), FULL: {name: one for name, one in made.runs[FULL].items() if name in begun}}
    paths = write(dataclasses.replace(made, runs=runs), tmp_path)
    page = parsed(paths[0])
    alert = "Unfinished: 10 of 26 runs are missing."
    assert page.xpath("string((//p[@class='alert'])[1])").startswith(alert)
    assert f"> **{alert}" in paths[1].read_text("utf-8")
    found = json.loads(paths[2].read_bytes())
    assert found["missing"] == 10
    assert found["asked"] == {PLAIN: 13, FULL: 3}
    assert found["against_first"][0]["differences"]["all questions"]["seconds"]["n"] == 3
    assert "Unfinished: 10 runs are missing." in summary(dataclasses.replace(made, runs=runs))


def test_an_evaluation_of_which_nothing_was_asked_yet_has_a_report(made: Evaluation, tmp_path: Path) -> None:
    paths = write(dataclasses.replace(made, runs={}), tmp_path)
    assert json.loads(paths[2].read_bytes())["missing"] == 26
    assert summary(dataclasses.replace(made, runs={})) == "Nothing was asked yet."


def test_one_configuration_alone_has_no_verdict(made: Evaluation, tmp_path: Path) -> None:
    alone = evaluation(made.questions, {FULL: dict(made.runs[FULL])})
    paths = write(alone, tmp_path)
    headings = parsed(paths[0]).xpath("//h2/text()")
    assert headings[0] == "What was asked"
    assert "Paired differences" not in headings
    assert json.loads(paths[2].read_bytes())["verdicts"] == []
    assert "better" not in summary(alone)


def test_plain_rag_alone_has_no_sections_on_scores_and_strips(made: Evaluation, tmp_path: Path) -> None:
    paths = write(evaluation(made.questions, {PLAIN: dict(made.runs[PLAIN])}), tmp_path)
    assert parsed(paths[0]).xpath("//h2/text()") == [
        "What was asked", "All figures", "Time and tokens", "Where answers were lost", f"Worst questions of {PLAIN}",
    ]  # fmt: skip


def test_an_ablation_says_what_each_step_adds_to_the_one_before_it(made: Evaluation, tmp_path: Path) -> None:
    names = [configuration.name for configuration in ablations()]
    stepwise = evaluation(
        made.questions, {name: dict(made.runs[PLAIN if name == PLAIN else FULL]) for name in names}
    )  # fmt: skip
    found = figures(stepwise)
    assert [(paired.first, paired.second) for paired in found.against_former] == list(pairwise(names))
    assert found.against_former[1].differences["all questions"]["seconds"].mean == 0.0
    paths = write(stepwise, tmp_path)
    text = paths[1].read_text("utf-8")
    assert "What each step adds to the one before it" in text
    assert "|  | plain RAG | \\+ evaluation | \\+ refinement |" in text, "a name that begins like a list item"
    lines = summary(stepwise).splitlines()
    assert [line.split("  ")[0] for line in lines[2:8]] == names


def test_the_summary_sets_two_configurations_side_by_side(made: Evaluation) -> None:
    lines = summary(made).splitlines()
    assert lines[0].split() == [*PLAIN.split(), FULL, "difference"]
    match = next(line for line in lines if line.startswith("answer match, documents"))
    assert match.split()[6:9] == ["0.75", "0.12", "−0.62"]
    assert "−2.92▲" in next(line for line in lines if line.startswith("seconds"))


def test_a_folder_that_cannot_be_written_is_named(made: Evaluation, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EvaluationError, match=r"report could not be written to .*file"):
        write(dataclasses.replace(made, runs={}), tmp_path / "file")


def test_two_evaluations_are_compared_question_by_question(made: Evaluation, tmp_path: Path) -> None:
    after = dict(made.runs[FULL])
    after["strip"], after["right"] = made.runs[FULL]["right"], made.runs[FULL]["strip"]
    after["retrieval"] = dataclasses.replace(after["retrieval"], action=Action.INCORRECT)
    other = evaluation(made.questions, {FULL: after}, name="later")
    other = dataclasses.replace(other, about=dataclasses.replace(other.about, settings={"k": 8, "upper": None}))
    paths = write_comparison((made, FULL), (other, FULL), tmp_path)
    assert [path.name for path in paths] == ["comparison.html", "comparison.md", "comparison.json"]
    found = json.loads(paths[2].read_bytes())
    assert (found["first"], found["second"], found["questions"]) == ("made", "later", 13)
    assert [(one["id"], one["change"]) for one in found["changed"]] == [
        ("right", "right before, wrong now"),
        ("strip", "wrong before, right now"),
        ("retrieval", "another action, and as right or wrong as before"),
    ]
    assert found["changed"][0]["after"]["cause"] == Cause.STRIP.value
    assert {"name": "setting k", "before": "6", "after": "8"} in found["differing"]
    assert found["paired"]["differences"]["all questions"]["answer_match"]["mean"] == 0.0
    said = comparison_summary((made, FULL), (other, FULL))
    assert "1 right before, wrong now\n  How many litres?\n" in said
    assert said.splitlines()[0].split() == ["made", "later", "difference"]
    headings = parsed(paths[0]).xpath("//h2/text()")
    assert headings == ["Verdict", "What was changed", "All differences", "Questions that changed"]


def test_evaluations_without_a_common_question_are_not_compared(made: Evaluation, tmp_path: Path) -> None:
    alone = question("x", AnswerLocation.NOWHERE)
    runs: dict[str, dict[str, Run]] = {FULL: {"x": run(alone, [], "x", action=Action.INCORRECT)}}
    with pytest.raises(EvaluationError, match="no question in common"):
        write_comparison((made, FULL), (evaluation([alone], runs), FULL), tmp_path)
    assert not list(tmp_path.iterdir())
