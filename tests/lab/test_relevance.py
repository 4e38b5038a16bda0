"""Relevance models are calibrated and measured on little sets of our own; and the formulas behind the figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from lab.relevance import calibration, metrics, rows
from lab.relevance import sample as sampled

from localcrag.evaluation import calibration as thresholds
from localcrag.evaluation.curves import Places
from localcrag.models.encoders import read_calibration
from localcrag.settings import REPOSITORY_MODELS
from tests.support.compressed_lines import write
from tests.support.labelled_sets import write_sets
from tests.support.scripts import run_script

pytestmark = pytest.mark.lab

SETS = ("squad2", "nq_oracle", "fairytaleqa", "pubmedqa")
FORMS = {
    "temperature": rows.LogisticForm((0,), bias=False),
    "logit": rows.LogisticForm((0,)),
    "both": rows.LogisticForm((0, 1)),
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The embedded relevance model in a folder that may be written to, without its calibration."""
    folder = tmp_path / "model"
    folder.mkdir()
    for path in (REPOSITORY_MODELS / "relevance-v3").iterdir():
        if path.name not in ("calibration.json", "CARD.md"):
            (folder / path.name).symlink_to(path)
    return folder


def test_a_model_is_calibrated_and_then_measured_with_its_calibration(model: Path, tmp_path: Path) -> None:
    card = tmp_path / "CARD.md"
    card.write_text("# A model\n\n## Licence\n\nFree.\n")
    common = (
        str(write_sets(tmp_path / "sets")), "--work", str(tmp_path / "work"), "--model", f"{model}:fp32",
        "--questions", "4", "--card", str(card),
    )  # fmt: skip
    done = run_script("lab/relevance/calibrate_relevance", *common)
    assert done.returncode == 0, done.stderr
    calibrated = read_calibration(model)
    assert calibrated.fitted
    done = run_script("lab/relevance/eval_relevance", *common, "--no-speed", "--json", str(tmp_path / "figures.json"))
    assert done.returncode == 0, done.stderr
    (figures,) = json.loads((tmp_path / "figures.json").read_text())["models"]
    assert figures["thresholds"]["upper"] == calibrated.thresholds.upper
    assert list(figures["by_logit"]["mrr"]) == [*SETS, "all"]
    assert all(0 <= figures["by_relevance"][figure]["all"]["value"] <= 1 for figure in ("mrr", "auc"))
    assert [line for line in card.read_text().splitlines() if line.startswith("## ")] == [
        "## Licence", "## Calibration", "## Figures",
    ]  # fmt: skip


def test_a_calibration_is_fitted_on_documents_and_general_texts(model: Path, tmp_path: Path) -> None:
    rows = [
        {"id": name, "text": f"# {name}\n\nA locker in {name} costs {fee} euros.\n\nThe bath of {name} is warm.\n",
         "questions": [
             {"question": f"what does a locker in {name} cost", "type": "fact",
              "evidence": [f"A locker in {name} costs {fee} euros."]},
             {"question": f"what does a towel in {name} cost", "type": "fact", "evidence": []},
        ]}
        for fee, name in enumerate(("Tarn", "Ostley", "Sorrel", "Ellerby"), start=3)
    ]  # fmt: skip
    write(tmp_path / "documents.jsonl.gz", *rows)
    (tmp_path / "apart.json").write_text(json.dumps([f"{row['id']}.md" for row in rows]))
    done = run_script(
        "lab/relevance/calibrate_documents", f"{model}:fp32", "--documents", str(tmp_path / "documents.jsonl.gz"),
        "--apart", str(tmp_path / "apart.json"), "--general", str(write_sets(tmp_path / "sets")),
        "--work", str(tmp_path / "work"), "--questions", "4",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert read_calibration(model).fitted


def test_the_form_that_made_the_data_has_the_lowest_held_out_log_loss() -> None:
    results = calibration.held_out(made(0.8, -1.0, 2.0), FORMS)
    assert calibration.best_form(results, FORMS).name == "both"
    assert [one.log_loss for one in results] == sorted(one.log_loss for one in results)


def made(slope: float, bias: float, second: float, *, questions: int = 800, sets: int = 2) -> rows.Rows:
    """Return rows whose relevance truly is a logistic function of logit and second input, five to a question."""
    chosen = np.random.default_rng(7)
    number = questions * 5 * sets
    features = np.stack([chosen.normal(0, 3, number), chosen.normal(0, 1, number)], axis=1)
    true = 1 / (1 + np.exp(-(slope * features[:, 0] + second * features[:, 1] + bias)))
    places = np.arange(number)
    return rows.Rows(features, chosen.random(number) < true, places // 5 % questions, places // (5 * questions))


def test_a_fit_finds_the_coefficients_that_made_the_data() -> None:
    fitted = rows.fit(made(0.8, -1.0, 2.0), FORMS["both"])
    assert [fitted.logit, fitted.bias, fitted.cosine] == pytest.approx([0.8, -1.0, 2.0], abs=0.1)
    assert rows.fit(made(0.8, 0.0, 0.0), FORMS["temperature"]).bias == 0.0


def test_sets_count_the_same_however_many_rows_they_have() -> None:
    marks = np.zeros(6, dtype=bool)
    scored = rows.Rows(np.zeros((6, 2)), marks, np.arange(6), np.array([0, 0, 0, 0, 2, 2]))
    assert scored.weights[:4].sum() == pytest.approx(scored.weights[4:].sum())
    assert scored.weights.mean() == pytest.approx(1.0)


def test_the_reliability_curve_counts_by_weight() -> None:
    predicted = np.array([0.1, 0.1, 0.1, 0.1, 0.85, 0.85])
    low, high = rows.reliability(predicted, np.array([False, False, False, True, True, True]))
    assert [low.count, low.predicted, low.relevant] == pytest.approx([4, 0.1, 0.25])
    assert [high.count, high.share] == pytest.approx([2, 1 / 3])
    certain, marks = np.array([1.0, 0.0]), np.array([False, False])
    assert rows.calibration_error(certain, marks, np.array([1.0, 3.0])) == pytest.approx(0.25)


def test_held_out_means_that_a_question_is_never_predicted_from_itself() -> None:
    scored = made(0.8, -1.0, 2.0, questions=20)
    before = calibration.held_out(scored, {"both": FORMS["both"]})[0]
    first = scored.questions == 0
    turned = rows.Rows(scored.features, scored.marks ^ first, scored.questions, scored.sets)
    after = calibration.held_out(turned, {"both": FORMS["both"]})
    same = next(one for one in after if one.name == before.name)
    assert (same.probabilities[first] == before.probabilities[first]).all()
    assert not (same.probabilities[scored.questions == 1] == before.probabilities[scored.questions == 1]).all()


def test_upper_is_measured_by_right_decisions_and_the_precision_of_correct() -> None:
    best, there = np.array([0.9, 0.8, 0.6, 0.4, 0.2]), np.array([True, True, False, True, False])
    steps = calibration.sweep_upper(best, there, np.ones(5))
    (at,) = (step for step in steps if step.threshold == 0.5)
    assert [at.objective, at.constraint] == pytest.approx([0.6, 2 / 3])
    assert not at.admissible
    assert thresholds.choose(steps, 0.7) == 0.7


@pytest.mark.parametrize(
    ("scores", "own", "expected"),
    [
        pytest.param([0.9, 0.5, 0.1], 2, 1 / 3, id="last"),
        pytest.param([0.5, 0.5, 0.5], 1, 1 / 2, id="of equal scores the earlier is better"),
        pytest.param([0.9, 0.5], None, 0.0, id="not among them"),
    ],
)
def test_the_reciprocal_rank_is_that_of_the_own_passage(scores: list[float], own: int | None, expected: float) -> None:
    assert metrics.reciprocal_rank(np.array(scores), own) == pytest.approx(expected)


def test_a_bootstrap_interval_holds_the_value_and_draws_whole_groups() -> None:
    values = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 0.0])

    def mean(drawn: Places) -> float:
        assert np.count_nonzero(drawn == 0) == np.count_nonzero(drawn == 1)
        return float(values[drawn].mean())

    figure = metrics.bootstrap(metrics.grouped(np.array([0, 0, 1, 1, 2, 3])), mean)
    assert figure.value == pytest.approx(0.5)
    assert figure.low < 0.5 < figure.high


RANKING = sampled.Ranking(
    logits=np.array([[3.0, 1.0, 2.0, 0.0], [0.0, 1.0, 2.0, 3.0]]),
    cosines=np.array([[0.9, 0.8, 0.7, 0.6], [0.9, 0.8, 0.7, 0.6]]),
    overlaps=np.array([[1.0, 0.5, 0.4, 0.3], [1.0, 0.5, 0.4, 0.3]]),
    own=np.array([[True, False, False, False], [False, False, False, True]]),
    unclear=np.array([[False, True, False, False], [False, False, False, False]]),
)


def test_the_best_score_is_among_the_nearest_passages_with_the_own_one_or_without() -> None:
    assert list(RANKING.best(RANKING.logits, there=True, most=3)) == [3.0, 2.0]
    assert list(RANKING.best(RANKING.logits, there=False, most=3)) == [2.0, 2.0], "the next one takes its place"
    assert list(RANKING.best(RANKING.logits, there=False, most=2)) == [2.0, 1.0]
    assert list(RANKING.clear(2)) == [False, True]


def test_a_calibration_sees_every_second_question_without_its_own_passage_and_no_unclear_ones() -> None:
    rows = sampled.passage_rows([RANKING, RANKING])
    assert list(rows.questions) == [0, 0, 1, 1, 1, 1] * 2
    assert list(rows.marks) == [False, False, False, False, False, True] * 2
    assert list(rows.sets) == [0] * 6 + [1] * 6
    assert rows.features[0] == pytest.approx([2.0, 0.7, 0.4])
