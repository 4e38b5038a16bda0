"""The script that measures what is made of answerable and unanswerable questions, on a small set with real models."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "scripts" / "measure_answers.py"
ROWS = [
    {
        "title": "Ferries: of Brackwater",
        "passage": "The ferry to Brackwater leaves at 7:45 from the north pier. It takes two hours.",
        "questions": [
            {
                "question": "When does the ferry to Brackwater leave?",
                "answers": ["7:45", "at 7:45"],
                "answerable": True,
            },
            {"question": "Who owns the ferry to Brackwater?", "answers": [], "answerable": False},
        ],
    }
]


def measure(data: Path, work: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(data), "--questions", "1", "--work", str(work)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_prints_its_table_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with gzip.open(data / "squad2.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in ROWS)
    done = measure(data, tmp_path / "work")
    assert done.returncode == 0, done.stderr
    assert "| questions | 1 | 1 |" in done.stdout
    assert "answers with an unsupported and unmarked sentence | 0.00 | 0.00 |" in done.stdout
    again = measure(data, tmp_path / "work")
    assert (again.stdout, "of 2" in again.stderr) == (done.stdout, False)


def test_a_folder_without_the_data_is_said(tmp_path: Path) -> None:
    done = measure(tmp_path, tmp_path / "work")
    assert done.returncode == 1
    assert "squad2.jsonl.gz" in done.stderr
    assert "Traceback" not in done.stderr
