"""Write docs/results.md: how often localcrag and plain RAG are right, with the shipped models.

    .venv/bin/python scripts/lab/measuring/measure_results.py [SET …] [--out FILE]

SET is a folder with documents/ and questions.jsonl; the default is the sample set of the repository. Each set is
evaluated twice by `localcrag eval`, with the adapter of the embedded language model and without it, in a temporary data
folder with default settings. The adapter was trained on selected sentences, so plain RAG, which reads whole passages,
is at a disadvantage with it. Two evaluations of the sample set take about 7 minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from localcrag.evaluation.wording import NONE, Estimate, interval, number

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "localcrag" / "app" / "samples"
PAGE = ROOT / "docs" / "results.md"
WITHOUT_ADAPTER = "smollm2-135m-instruct"
"""The embedded language model as published, without localcrag's adapter."""
PLAIN, FULL = "plain RAG", "localcrag"
IN_DOCUMENTS, ON_WEB, NOWHERE, ALL = (
    "documents hold the answer", "only the web holds it", "neither holds it", "all questions",
)  # fmt: skip
ROWS = (
    ("answer_match", IN_DOCUMENTS, "answered rightly, of the questions that the documents answer"),
    ("answer_match", ON_WEB, "answered rightly, of those that only the recorded web results answer"),
    ("invention", NOWHERE, "answer made up, of the questions that neither answers"),
    ("action_right", ALL, "decision (CORRECT or not) right"),
    ("seconds", ALL, "seconds per question"),
    ("prompt_tokens", ALL, "tokens that the language model reads"),
)
"""The rows of a table: a metric, the group of questions that it is taken over, and the row's name."""

HEAD = """# Results

How often localcrag is right, compared with plain RAG, with the models that ship with it. These are the current
figures; older ones and other questions are in the [lab notebook](lab/README.md). [Metrics](reference/metrics.md)
defines each figure, and [evaluate](reference/evaluate.md) says how to measure your own questions.

Measured on {date} at commit {commit} with

    {command}

Machine: {machine}. Models: {models}. All settings are the defaults.
"""
TAIL = """## How to read this

- **Plain RAG** is the same retrieval, language model and prompt, with every retrieved passage whole: no evaluation,
  no second search, no web, nothing verified. “Without adapter” is the embedded language model as published. The
  shipped adapter was trained on the sentences that localcrag selects, so plain RAG, which reads whole passages, is
  better judged without it.
- **Answered rightly** means that an accepted answer is in the text that is shown. localcrag also shows sentences of
  the documents as they stand; the embedded model (135 million parameters) writes little that is right from whole
  passages. With larger models the difference is smaller ([evaluation](lab/evaluation.md#everyday-documents)).
- **The sample set is small**, and its documents and questions were written for localcrag, with its rules in view. One
  question of 20 is 0.05, and none of 10 made up still allows a true share of up to 0.31 (exact 95 % interval). On other
  people's questions (200 of general-1, 26 November 2026, relevance-v3), localcrag answered 0.85 and 0.67 rightly and
  made up 0.38 ([evaluation](lab/evaluation.md#what-relevance-v2-and-v3-changed)).
- **Seconds** depend on the machine and on what else it does; all configurations of one evaluation are asked in turn,
  question by question.
"""


def evaluated(folder: Path, llm: str | None) -> dict[str, Any]:
    """Return the figures of `localcrag eval` for a set, as its --json prints them."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCALCRAG_")}
    chosen = ["--llm", llm] if llm else []
    with tempfile.TemporaryDirectory(prefix="localcrag-results-") as data:
        command = [sys.executable, "-m", "localcrag", "eval", str(folder), "--json", "--data-dir", data, *chosen]
        printed = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True).stdout
    figures: dict[str, Any] = json.loads(printed)
    return figures


def section(shipped: Mapping[str, Any], published: Mapping[str, Any]) -> str:
    """Return the section of a set: its figures with the shipped language model, and with the published one."""
    (used,) = shipped["about"]["sets"]
    sides = ((published, PLAIN), (published, FULL), (shipped, PLAIN), (shipped, FULL))
    lines = [
        f"## {used['name'].capitalize()}: {used['questions']} questions, {used['documents']} documents",
        "",
        "| | plain RAG, without adapter | localcrag, without adapter | plain RAG | **localcrag** |",
        "| --- | --: | --: | --: | --: |",
    ]
    for metric, group, name in ROWS:
        values = [figures["estimates"][side][group].get(metric) for figures, side in sides]
        asked = max((one["n"] for one in values if one), default=0)
        lines.append(f"| {name} ({asked}) | {' | '.join(cell(metric, one) for one in values)} |")
    ratios = [ratio(published), ratio(shipped)]
    lines.append(f"| time, localcrag / plain RAG | | {ratios[0]} | | **{ratios[1]}** |")
    return "\n".join([*lines, "", "In brackets: the number of questions, and the 95 % interval over questions."])


def cell(metric: str, one: Mapping[str, Any] | None) -> str:
    """Return a mean with its interval, such as "0.85 (0.70 to 1.00)"."""
    if one is None:
        return NONE
    within = interval(metric, Estimate(**one))
    return number(metric, one["mean"]) + (f" ({within})" if within else "")


def ratio(figures: Mapping[str, Any]) -> str:
    """Return the mean seconds of localcrag divided by those of plain RAG."""
    (verdict,) = figures["verdicts"]
    found = [one["ratio"] for one in verdict["figures"] if one["metric"] == "seconds"]
    return f"{found[0]:.2f}"


def machine() -> str:
    """Return the class of this machine: cores, memory, architecture and system, without a name."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} CPU cores ({platform.machine()}), {memory:.0f} GiB of memory, {platform.system()}, {gpu}"


def page(sets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], *, command: str, commit: str, day: str) -> str:
    """Return the text of docs/results.md."""
    models = sets[0][0]["about"]["models"]
    named = ", ".join(models[role] for role in ("embedder", "relevance", "llm")) + f"; {models['calibration']}"
    head = HEAD.format(date=day, commit=commit, command=command, machine=machine(), models=named)
    return "\n".join([head, *(section(*one) + "\n" for one in sets), TAIL])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", type=Path, metavar="SET", help="default: the sample set")
    parser.add_argument("--out", type=Path, default=PAGE, help="default: docs/results.md")
    arguments = parser.parse_args()
    folders: list[Path] = arguments.sets or [SAMPLES]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    sets = [(evaluated(folder, None), evaluated(folder, WITHOUT_ADAPTER)) for folder in folders]
    names = "".join(f" {folder.name}" for folder in arguments.sets)
    command = f".venv/bin/python scripts/lab/measuring/measure_results.py{names}"
    arguments.out.write_text(page(sets, command=command, commit=commit, day=f"{datetime.now(UTC):%Y-%m-%d}"), "utf-8")


if __name__ == "__main__":
    main()
