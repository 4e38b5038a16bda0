"""Each script that measures a step runs on the smallest input that it has figures for."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
from lab.measuring import measure_idle, measure_layout, measure_results

from localcrag.settings import Settings, load
from tests.support.compressed_lines import write
from tests.support.first_start import started_before
from tests.support.scans import make_scan, picture
from tests.support.scripts import run_script

pytestmark = pytest.mark.lab

DOCUMENTS = {
    "lease": ("# Lease\n\nThe rent is due on the third of the month. The deposit is two rents.", [
        {"question": "When is the rent due?", "also": "when do they want it?", "answer": "On the third.",
         "evidence": ["The rent is due on the third of the month."]},
        {"question": "How big is the deposit of the lease?", "answer": "Two rents.", "evidence": ["The deposit"]},
    ]),
    "pool": ("# Pool\n\nThe pool opens at nine. They lend out bathing caps in hall 2.", [
        {"question": "Do they lend out bathing caps in hall 2?", "answer": "Yes.", "evidence": ["They lend out"]},
        {"question": "What does the sauna cost at the pool?", "answer": "", "evidence": []},
    ]),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [
        json.dumps({"id": name, "kind": "made", "text": text, "questions": questions})
        for name, (text, questions) in DOCUMENTS.items()
    ]
    for part in ("train", "dev"):
        (tmp_path / f"{part}.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    return tmp_path


def test_the_shares_by_the_rules_are_printed_without_a_model(folder: Path) -> None:
    done = run_script("lab/measuring/measure_readings", str(folder), "--show")
    assert done.returncode == 0, done.stderr
    assert "first form: 4, by the rules alone 0.750, doubtful 0.250, follow-up 0.000" in done.stdout
    assert "other form: 1, by the rules alone 0.000, doubtful 0.000, follow-up 1.000" in done.stdout
    assert "    follow-up: when do they want it?" in done.stdout


def test_follow_ups_that_are_condensed_are_counted(tmp_path: Path) -> None:
    def turns(*texts: str) -> list[dict[str, str]]:
        return [{"speaker": "user" if at % 2 == 0 else "agent", "text": text} for at, text in enumerate(texts)]

    def task(*texts: str, gold: str) -> str:
        return json.dumps({"input": turns(*texts), "contexts": [{"document_id": gold, "text": f"All about {gold}."}]})

    lines = [
        task("Who built the Eiffel Tower?", gold="towers"),
        task("Who built the Eiffel Tower?", "A company.", "When was it built?", gold="towers"),
        task("What do cats eat?", "Mice.", "Do they eat grass?", "Yes.", "Why?", gold="cats"),
    ]
    data = tmp_path / "conversations.jsonl.gz"
    data.write_bytes(gzip.compress("\n".join(lines).encode()))
    done = run_script("lab/measuring/measure_followups", str(data), "--without-model")
    assert done.returncode == 0, done.stderr
    assert "first questions behind another conversation: 1, taken for follow-ups: 0.000" in done.stdout
    assert "follow-ups with passages: 2, condensed: 1.000" in done.stdout
    assert "condensed (2), 2 passages" in done.stdout


def test_contradictions_are_found_and_false_alarms_counted() -> None:
    done = run_script("lab/measuring/eval_conflicts")
    assert done.returncode == 0, done.stderr
    assert "facts second" in done.stdout


def asked_in_german(folder: Path) -> Path:
    towns = ("Arvik", "Bolmen", "Dalsa")
    rows = [
        {
            "lang": "de",
            "question": f"Was kostet die Fähre nach {town}?",
            "passage": f"Die Fähre nach {town} kostet {n}.",
        }
        for n, town in enumerate(towns)
    ]
    write(folder / "multilingual.jsonl.gz", *rows)
    return folder / "multilingual.jsonl.gz"


def test_models_are_measured_on_another_language(tmp_path: Path) -> None:
    done = run_script("lab/measuring/measure_languages", str(asked_in_german(tmp_path)), "--relevance", "relevance-v3")
    assert done.returncode == 0, done.stderr
    assert "| de | 3 | " in done.stdout


def test_the_search_by_words_is_measured_on_another_language(tmp_path: Path) -> None:
    done = run_script("lab/measuring/measure_word_search", str(asked_in_german(tmp_path)))
    assert done.returncode == 0, done.stderr
    assert "| de | 3 | 3 | " in done.stdout


def test_idle_models_are_unloaded_and_loaded_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        measure_idle, "load", lambda data_dir: load(data_dir=started_before(data_dir), answer_tokens=16)
    )
    monkeypatch.setattr(sys, "argv", ["measure_idle", "--times", "1"])
    measure_idle.main()
    assert "loaded again in" in capsys.readouterr().out


def test_the_layout_of_a_page_is_compared_with_what_it_was_made_from(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = measure_layout.documents()[:1]
    monkeypatch.setattr(measure_layout, "documents", lambda: first)
    monkeypatch.setattr(sys, "argv", ["measure_layout"])
    measure_layout.main()
    assert f"| {first[0].name} | 1.000 | " in capsys.readouterr().out


def test_a_scanned_page_is_read_and_timed(tmp_path: Path) -> None:
    path = make_scan(tmp_path / "lease.pdf", picture(("The deposit is 2,070 euros.",)))
    done = run_script("lab/measuring/measure_ocr", str(path))
    assert done.returncode == 0, done.stderr
    assert "| lease.pdf, page 1 | 1 | " in done.stdout


def test_files_are_counted_by_what_becomes_of_them(tmp_path: Path) -> None:
    (tmp_path / "ferry.md").write_text("# Ferry\n\nIt leaves at nine.\n")
    (tmp_path / "empty.md").touch()
    done = run_script("lab/measuring/measure_readers", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "md" in done.stdout


NO_VALUES: dict[str, dict[str, object]] = {
    group: {} for group in ("only the web holds it", "neither holds it", "all questions")
}
FIGURES = {
    "about": {
        "sets": [{"name": "samples", "questions": 2, "documents": 3}],
        "models": {"embedder": "e", "relevance": "r", "llm": "l", "calibration": "upper 0.12"},
    },
    "verdicts": [{"figures": [{"metric": "seconds", "ratio": 0.25}]}],
    "estimates": {
        "plain RAG": {
            **NO_VALUES, "documents hold the answer": {"answer_match": {"mean": 0.0, "low": 0.0, "high": 0.0, "n": 2}},
        },
        "localcrag": {
            **NO_VALUES, "documents hold the answer": {"answer_match": {"mean": 0.5, "low": 0.0, "high": 1.0, "n": 2}},
        },
    },
}  # fmt: skip


def test_the_results_page_has_the_figures_and_what_they_were_measured_with() -> None:
    text = measure_results.page([(FIGURES, FIGURES)], command="run it", commit="abc1234", day="2026-11-29")
    assert "Measured on 2026-11-29 at commit abc1234 with\n\n    run it\n" in text
    assert "Models: e, r, l; upper 0.12." in text
    assert "## Samples: 2 questions, 3 documents" in text
    assert "documents answer (2) | 0.00 | 0.50 (0.00 to 1.00) | 0.00 | 0.50 (0.00 to 1.00) |" in text
    assert "| time, localcrag / plain RAG | | 0.25 | | **0.25** |" in text


def test_the_results_are_those_of_the_models_that_ship() -> None:
    text = measure_results.PAGE.read_text("utf-8")
    models = [Settings.model_fields[role].default for role in ("embedder", "relevance", "llm")]
    assert f"Models: {', '.join(models)}; " in text, "run scripts/lab/measuring/measure_results.py"
