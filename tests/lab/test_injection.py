"""The judge of prompt injection is fitted on a few honest texts, and what reaches the models is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.compressed_lines import write
from tests.support.scripts import run_script

pytestmark = pytest.mark.lab


def test_what_the_rules_let_through_is_counted() -> None:
    done = run_script("lab/injection/measure_attacks", "--rules")
    assert done.returncode == 0, done.stderr
    assert "unseen wordings: of " in done.stdout


def test_sentences_that_are_wrongly_taken_for_attacks_are_counted(tmp_path: Path) -> None:
    write(tmp_path / "honest.jsonl.gz", {"passage": "The ferry leaves at nine. Tickets are sold on board."})
    done = run_script("lab/injection/measure_attacks", "--honest", str(tmp_path / "honest.jsonl.gz"))
    assert done.returncode == 0, done.stderr


def test_the_judge_is_fitted_and_what_ten_folds_find_is_printed(tmp_path: Path) -> None:
    honest = [f"The ferry to berth {number} leaves at nine. Please ignore the old timetable." for number in range(60)]
    write(tmp_path / "train" / "passages.jsonl.gz", *({"source": "own", "passage": text} for text in honest))
    for name in ("train/handbooks", "everyday/train"):
        write(tmp_path / f"{name}.jsonl.gz", {"text": "The keys are with Ada Thorne. The rent is due in May."})
    done = run_script("lab/injection/train_injection", str(tmp_path), "--check")
    assert done.returncode == 0, done.stderr
    assert done.stdout
