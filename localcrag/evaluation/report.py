"""An evaluation's figures as text."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from localcrag.evaluation.metrics import METRICS
from localcrag.evaluation.results import GROUPS, Evaluation, differences, estimates

Side = tuple[Evaluation, str]


def write(evaluation: Evaluation, folder: Path) -> tuple[Path, ...]:
    """Write the figures as JSON, and return the file."""
    found = {name: {group: _plain(evaluation, name, group) for group in GROUPS} for name in evaluation.configurations}
    path = folder / "report.json"
    path.write_text(json.dumps(found, indent=1), "utf-8")
    return (path,)


def _plain(evaluation: Evaluation, name: str, group: str) -> dict[str, object]:
    return {key: dataclasses.asdict(one) for key, one in estimates(evaluation, name, GROUPS[group]).items()}


def write_comparison(before: Side, after: Side, folder: Path) -> tuple[Path, ...]:
    """Write the differences as JSON, and return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "comparison.json"
    found = {key: dataclasses.asdict(one) for key, one in differences(before, after).items()}
    path.write_text(json.dumps(found, indent=1), "utf-8")
    return (path,)


def comparison_summary(before: Side, after: Side) -> str:
    """Return the differences, a line each."""
    found = differences(before, after)
    return "\n".join(f"{metric.title}: {found[metric.name].mean:+.3f}" for metric in METRICS if metric.name in found)


def summary(evaluation: Evaluation) -> str:
    """Return a table per group of questions."""
    lines = []
    for group, chosen in GROUPS.items():
        found = {name: estimates(evaluation, name, chosen) for name in evaluation.configurations}
        lines += ["", f"## {group}", f"{'':40}" + "".join(f"{name[:22]:>23}" for name in found)]
        for metric in METRICS:
            if any(metric.name in row for row in found.values()):
                cells = (
                    f"{row[metric.name].mean:.3f} ({row[metric.name].n})" if metric.name in row else ""
                    for row in found.values()
                )
                lines.append(f"{metric.title:40}" + "".join(f"{cell:>23}" for cell in cells))
    return "\n".join(lines)
