"""Count the questions about tables that are computed rightly, wrongly or not at all.

    python scripts/lab/everyday/measure_tables.py [--part dev|held-out] [--together] [--show]

It reads scripts/lab/everyday/table_questions.jsonl.gz: tables of everyday kinds with questions and expected results.
Their author wrote them before looking at the rules. The rules were tuned on the part "dev", but not on "held out". Each
table is a file (CSV, Excel, Markdown or HTML) in its own collection; with --together, all tables of a part are in one.
The embedded models find and judge passages, as in the app; no language model is used.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any

from localcrag.records.run import Computation, Run
from tests.support.office_files import make_xlsx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.everyday.bench import Bench, opened
from lab.everyday.questions import rows as read_rows

QUESTIONS = Path(__file__).resolve().parent / "table_questions.jsonl.gz"
PARTS = {"dev": "dev", "held-out": "held out"}
USUAL, REFUSE = "usual", "refuse"
ASKED = "2026-09-01"
"""Date on which a question is asked if it names none."""
SEVERAL = "Several tables fit"
"""Beginning of the app's reason for not computing if several tables fit."""


class Came(StrEnum):
    """The outcome of a question."""

    RIGHT = "computed, right"
    WRONG = "computed, wrong"
    REFUSED = "refused"
    LEFT = "left to the usual flow"


@dataclass(frozen=True)
class Asked:
    """A question with its expected result from the file, and its outcome."""

    table: str
    question: str
    kind: str
    label: Mapping[str, Any]
    came: Came
    said: str


def written(table: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write a table's files, and return their paths."""
    paths = []
    for file in table["files"]:
        path = folder / file["name"]
        if "sheets" in file:
            sheets = {
                name: [[tuple(cell) if isinstance(cell, list) else cell for cell in row] for row in rows]
                for name, rows in file["sheets"].items()
            }
            make_xlsx(path, sheets)
        else:
            path.write_text(file["text"], "utf-8", newline="\n")
        paths.append(path)
    return paths


def number_in(text: str, like: Decimal) -> tuple[Decimal, int] | None:
    """Return a result's number and its decimals; of two possible readings, the one nearer to `like`."""
    found = re.search(r"[-−]?[€$£]?\s?\d[\d.,]*", text)
    if not found:
        return None
    digits = re.sub(r"[^\d.,-]", "", found[0].replace("−", "-")).rstrip(".,")
    readings = [digits.replace(",", ""), digits.replace(".", "").replace(",", ".")]
    values = [Decimal(one) for one in readings if re.fullmatch(r"-?\d+(\.\d+)?", one)]
    best = min(values, key=lambda value: abs(value - like), default=None)
    return None if best is None else (best, max(0, -int(best.as_tuple().exponent)))


def is_number(text: str, label: str) -> bool:
    """Return whether a result equals the expected number to its own decimals: 13.86 equals 13.8570."""
    expected = Decimal(label)
    found = number_in(text, expected)
    if found is None:
        return False
    value, decimals = found
    exact = expected == expected.to_integral()
    least = Decimal(0) if exact or decimals == 0 else Decimal(1).scaleb(-decimals) / 2
    return abs(abs(value) - abs(expected)) <= least


def is_right(done: Computation, label: Mapping[str, Any]) -> bool:
    """Return whether a computation has the question's expected result."""
    if "number" in label:
        return bool(done.result) and is_number(done.result, label["number"])
    if "rows" in label:
        at = done.header.index(label["key"]) if label["key"] in done.header else None
        named = [row.cells[at] for row in done.rows] if at is not None else []
        return sorted(named) == sorted(label["rows"]) and not done.groups
    if "groups" in label:
        expected = {name.casefold(): value for name, value in label["groups"].items()}
        found = {re.sub(r" (?:19|20)\d\d\Z", "", group.name).casefold(): group.result for group in done.groups}
        return found.keys() == expected.keys() and all(is_number(found[name], expected[name]) for name in found)
    values = {done.result} if done.result else set(done.values)
    return {*re.split(r", | and ", done.result)} == set(label["values"]) or values == set(label["values"])


def came_of(run: Run, label: Mapping[str, Any]) -> Came:
    """Return the outcome of a question."""
    done = run.computation
    if done is None:
        return Came.REFUSED if any(warning.startswith(SEVERAL) for warning in run.warnings) else Came.LEFT
    if done.refused:
        return Came.REFUSED
    is_one = label["kind"] not in (USUAL, REFUSE)
    return Came.RIGHT if is_one and is_right(done, label) else Came.WRONG


def asked_of(bench: Bench, table: Mapping[str, Any], collection: str) -> Iterable[Asked]:
    """Ask the questions about a table in a collection, and yield their outcomes."""
    for label in table["questions"]:
        run, _seconds = bench.ask(label["question"], collection, asked_on=date.fromisoformat(label.get("asked", ASKED)))
        said = run.answer.split("\n\n")[0] if run.computation else "; ".join(run.warnings)
        yield Asked(table["id"], label["question"], label["kind"], label, came_of(run, label), said)


def figures(asked: Sequence[Asked]) -> list[str]:
    """Return a line for each kind of question: the number of questions and their outcomes."""
    lines = []
    groups = {
        "to be computed": [one for one in asked if one.kind not in (USUAL, REFUSE)],
        "to be refused": [one for one in asked if one.kind == REFUSE],
        "none for a table (near misses)": [one for one in asked if one.kind == USUAL],
    }
    for name, some in groups.items():
        came = Counter(one.came for one in some)
        lines.append(f"| {name} | {len(some)} | " + " | ".join(str(came[one]) for one in Came) + " |")
    return lines


def shown(asked: Sequence[Asked]) -> list[str]:
    """Return a line for each question with a wrong outcome."""
    good = {USUAL: (Came.LEFT,), REFUSE: (Came.REFUSED, Came.LEFT)}
    return [
        f"    {one.came} ({one.kind}) {one.table}: {one.question} => {one.said}"
        for one in asked
        if one.came not in good.get(one.kind, (Came.RIGHT,))
    ]


def kinds(asked: Sequence[Asked]) -> list[str]:
    """Return how many questions of each kind were computed rightly."""
    every = Counter(one.kind for one in asked if one.kind not in (USUAL, REFUSE))
    right = Counter(one.kind for one in asked if one.came is Came.RIGHT)
    return [f"{kind} {right[kind]}/{number}" for kind, number in every.most_common()]


def measured(part: str, *, together: bool) -> list[Asked]:
    """Ask all questions of a part, and return their outcomes."""
    tables = [table for table in read_rows(QUESTIONS) if table["part"] == PARTS[part]]
    with opened({}, silent=True) as bench, tempfile.TemporaryDirectory() as folder:
        for table in tables:
            bench.add(written(table, Path(folder)), "all" if together else table["id"])
        return [one for table in tables for one in asked_of(bench, table, "all" if together else table["id"])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=list(PARTS), help="one part alone")
    parser.add_argument("--together", action="store_true", help="all tables of a part in one collection")
    parser.add_argument("--show", action="store_true", help="list what did not come to what it must")
    arguments = parser.parse_args()
    for part in [arguments.part] if arguments.part else PARTS:
        asked = measured(part, together=arguments.together)
        print(f"{PARTS[part]}: {len({one.table for one in asked})} tables, {len(asked)} questions")
        print("| questions | number | " + " | ".join(Came) + " |\n| --- |" + " --: |" * (1 + len(Came)))
        print("\n".join(figures(asked)))
        print("right by kind: " + ", ".join(kinds(asked)))
        if arguments.show:
            print("\n".join(shown(asked)))


if __name__ == "__main__":
    main()
