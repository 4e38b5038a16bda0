"""scripts/lab/everyday/eval_everyday.py, really run with the embedded models on two documents of our own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripts import run_script

BATH = """\
# Swimming bath of Ellerby

## Tickets

| Ticket | Adults | Children |
|---|---|---|
| Single | 4.20 | 2.00 |
| Ten visits | 36.00 | 17.00 |

## Lockers

A locker costs 1 euro. The coin is given back when you return the key.
"""
FERRY = """\
Ferry to Sorrel Island

The ferry leaves Tarn harbour at 8:15 and at 16:40.

When it does not sail because of fog, ring the harbour office on 0200 55 and wait for its call.
"""


def question(text: str, *evidence: str, answer: str = "", short: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"question": text, "type": "fact", "evidence": evidence, "answer": answer, "short": short}


def packed(documents: list[dict[str, Any]]) -> bytes:
    return gzip.compress("".join(json.dumps(one) + "\n" for one in documents).encode())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("everyday")
    bath = [
        question("What does a locker cost at the Ellerby swimming bath?", "A locker costs 1 euro.", short=("1 euro",)),
        question("How warm is the water at the Ellerby swimming bath?"),
    ]
    leaves = "The ferry leaves Tarn harbour at 8:15 and at 16:40."
    fog = "When it does not sail because of fog, ring the harbour office on 0200 55 and wait for its call."
    ferry = [
        question("When does the ferry to Sorrel Island leave Tarn harbour?", leaves, short=("8:15", "16:40")),
        question("What do I do when the ferry to Sorrel Island does not sail because of fog?", fog),
    ]
    (folder / "everyday").mkdir()
    (folder / "everyday" / "dev.jsonl.gz").write_bytes(
        packed([{"id": "bath", "kind": "tariff", "text": BATH, "questions": bath}])
    )
    (folder / "everyday" / "train.jsonl.gz").write_bytes(
        packed([{"id": "ferry", "kind": "leaflet", "plain": True, "text": FERRY, "questions": ferry}])
    )
    (folder / "train").mkdir()
    (folder / "train" / "handbooks.jsonl.gz").write_bytes(
        packed(
            [
                {"id": "bath", "text": BATH, "questions": bath},
                {"id": "ferry", "plain": True, "text": FERRY, "questions": ferry},
            ]
        )
    )
    return folder


def printed(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def test_questions_are_asked_and_every_figure_is_printed(data: Path, tmp_path: Path) -> None:
    failures = tmp_path / "questions.jsonl"
    done = run_script(
        "lab/everyday/eval_everyday",
        str(data),
        "--set",
        "handbooks",
        "--types",
        "--failures",
        str(failures),
        "--settings",
        "relevance_format=fp32",
    )
    assert done.returncode == 0, done.stderr
    (one,) = printed(done.stdout)
    assert one["questions"] == {"answerable": 1, "near miss": 1, "document taken out": 2}
    found = one["figures"]["all"]
    assert found == one["figures"]["fact"]
    assert found["needed lines among the passages"] == 1.0
    assert found["seconds a question, plain RAG"] > 0
    assert 0 < found["tokens of evidence / of passages (questions with evidence)"] <= 1
    assert "| needed lines among the passages | 1.00 | 1.00 |" in done.stdout
    asked = [json.loads(line) for line in failures.read_text("utf-8").splitlines()]
    assert {row["case"]["kind"] for row in asked} >= {"answerable", "near miss", "document taken out"}
    assert all(row["passages"] and row["shown"]["text"] for row in asked)


def test_without_a_language_model_a_question_ends_with_its_evidence(data: Path) -> None:
    done = run_script(
        "lab/everyday/eval_everyday",
        str(data),
        "--no-llm",
        "--set",
        "handbooks",
        "--set",
        "one-collection",
        "--settings",
        "k=3",
        "relevance_format=fp32",
    )
    assert done.returncode == 0, done.stderr
    halves, whole = printed(done.stdout)
    assert halves["llm"] is None
    assert halves["settings"] == {"k": "3", "relevance_format": "fp32"}
    assert "answerable: CORRECT" in halves["figures"]["all"]
    assert "all needed lines in the shown answer" not in halves["figures"]["all"]
    assert whole["figures"]["all"]["needed lines among the passages, all documents in one collection"] == 1.0


def test_a_folder_without_the_data_is_named(tmp_path: Path) -> None:
    done = run_script("lab/everyday/eval_everyday", str(tmp_path))
    assert done.returncode == 1
    assert "dev.jsonl.gz cannot be read" in done.stderr
