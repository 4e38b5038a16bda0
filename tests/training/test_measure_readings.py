"""scripts/lab/measuring/measure_readings.py, really run on two documents of our own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.support.scripts import run_script

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
    assert "follow-ups, second part: 32, by the rules" in done.stdout


def test_with_the_documents_the_doubtful_ones_are_read_both_ways(folder: Path) -> None:
    done = run_script("lab/measuring/measure_readings", str(folder), "--part", "dev", "--documents")
    assert done.returncode == 0, done.stderr
    assert "first form: 4, by the rules alone 0.750, doubtful 0.250, follow-up 0.000" in done.stdout
    assert "  in the end taken for follow-ups: 0.000" in done.stdout
    assert "as it is read 1" in done.stdout
