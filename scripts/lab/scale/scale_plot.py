"""Plot how a collection grows: milliseconds, memory and disk by the number of chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl

Figures = Mapping[str, float]

PANELS: tuple[tuple[str, Mapping[str, str], float | None], ...] = (
    (
        "nearest 300, p95, ms",
        {
            "in all": "nearest, p95 ms",
            "in 1 %": "nearest in 1% of the documents, p95 ms",
            "in half": "nearest in 50% of the documents, p95 ms",
        },
        15,
    ),
    (
        "by words, p95, ms",
        {
            "in all": "by words, p95 ms",
            "in 1 %": "by words in 1% of the documents, p95 ms",
            "in half": "by words in 50% of the documents, p95 ms",
        },
        30,
    ),
    ("memory, MiB", {"its own": "memory after all searches, MiB", "mapped files": "and of mapped files, MiB"}, 1536),
    ("disk, MiB", {"database": "database, MiB", "index": "index, MiB"}, None),
)
"""Panels: title, figures of `bench_scale.py` by their label, and the target."""


def draw(sizes: Sequence[Figures], path: Path) -> None:
    """Write an SVG with the figures measured for each size."""
    mpl.use("svg")
    from matplotlib.figure import Figure  # noqa: PLC0415 - after the choice of what draws

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "scale", "font.size": 9}):
        figure = Figure(figsize=(9, 5.4), layout="constrained")
        chunks = [size["chunks"] for size in sizes]
        for axes, (title, lines, most) in zip(figure.subplots(2, 2).flat, PANELS, strict=True):
            for name, key in lines.items():
                axes.plot(chunks, [size[key] for size in sizes], marker="o", markersize=3, label=name)
            if most is not None:
                axes.axhline(most, color="grey", linestyle="--", linewidth=0.8, label="asked for: below")
            axes.set(title=title, xscale="log", xlabel="chunks", ylim=(0, None))
            axes.legend(frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None})
