"""Plots of a report as SVG that keeps text as text and follows the page's colours, light or dark.

matplotlib is imported by the first plot. It reads none of the user's settings and leaves no files behind; the same
figures give the same bytes.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from localcrag.evaluation.curves import Reliability, Sweep
from localcrag.text.translation import format_decimals

if TYPE_CHECKING:
    from matplotlib.figure import Figure


WIDTH = 5.4
"""Width in inches; a phone shows the plot at three quarters of this width, where 9 points are still legible."""
INK, QUIET, LINE, FIRST, SECOND = (f"#00000{place}" for place in range(1, 6))
_VARIABLES = {INK: "ink", QUIET: "quiet", LINE: "line", FIRST: "s1", SECOND: "s2"}
"""Placeholders for the page's CSS variables while matplotlib draws, because it knows none."""
_COLOUR = re.compile("|".join(_VARIABLES))
_FONT = re.compile(r" ?font-family: [^;\"]*;?")
_ID = re.compile(r' id="([^"]*)"')
_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_LOOK = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 9,
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color", "grid.color"), LINE),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor"), "none"),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.solid_capstyle": "round",
}


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot; `svg` is markup made by this module, `legend` maps the page's colours to their meanings."""

    svg: str
    alt: str
    legend: tuple[tuple[str, str], ...] = ()


def reliability(found: Reliability) -> Plot:
    """Return a plot of relevances against the share of passages with an answer, and of the number of passages."""
    alt = "Relevance against the share of passages that hold an answer, with 95 % intervals"

    def draw(figure: Figure) -> None:
        curve, counts = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        curve.plot([0, 1], [0, 1], color=LINE, linewidth=1, linestyle=(0, (4, 3)))
        bins = [one for one in found.bins if one.predicted is not None and one.held is not None]
        for one in bins:
            if one.held is not None and one.held.low is not None and one.held.high is not None:
                curve.plot([one.predicted] * 2, [one.held.low, one.held.high], color=FIRST, linewidth=1.2)
        curve.plot(
            [one.predicted for one in bins],
            [one.held.mean for one in bins if one.held],
            color=FIRST,
            marker="o",
            markersize=5,
            linewidth=1.6,
        )
        curve.set(xlim=(0, 1), ylim=(0, 1.03), ylabel="share that holds it")
        counts.bar([(one.low + one.high) / 2 for one in found.bins], [one.n for one in found.bins], 0.085, color=SECOND)
        counts.set(xlabel="relevance", ylabel="passages")
        counts.margins(y=0.3)
        for one in bins:
            middle = (one.low + one.high) / 2
            counts.annotate(f"{one.n}", (middle, one.n), (0, 2), textcoords="offset points", ha="center", size=7)
        counts.set_yticks([])
        for name, at in (("lower", found.thresholds.lower), ("upper", found.thresholds.upper)):
            curve.axvline(at, color=QUIET, linewidth=0.8, linestyle=(0, (2, 2)))
            curve.annotate(f"{name} {at:.2f}", (at, 1.0), (3, 0), textcoords="offset points", color=QUIET, size=8)
        figure.align_ylabels()

    return _plot(3.6, alt, draw)


def sweep(found: Sweep) -> Plot:
    """Return a plot of accuracy and web rate against the upper threshold."""
    alt = "Action accuracy and web rate against the upper threshold"

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        uppers = [point.upper for point in found.uppers]
        axes.plot(uppers, [point.accuracy for point in found.uppers], color=FIRST, linewidth=1.8)
        axes.plot(
            uppers, [point.web_rate for point in found.uppers], color=SECOND, linewidth=1.8, linestyle=(0, (5, 1.5))
        )
        axes.axvline(found.thresholds.upper, color=INK, linewidth=1)
        axes.plot([found.thresholds.upper], [found.in_force.accuracy], "o", color=FIRST, markersize=5)
        axes.plot([found.thresholds.upper], [found.in_force.web_rate], "o", color=SECOND, markersize=5)
        axes.annotate(
            f"in force {format_decimals(found.thresholds.upper)}",
            (found.thresholds.upper, 1.0),
            (4, 2),
            textcoords="offset points",
            color=INK,
            size=8,
        )
        axes.set(xlim=(0, 1), ylim=(0, 1.08), xlabel="upper threshold", ylabel="share of questions")
        axes.grid(axis="y")

    legend = (("s1", "action accuracy"), ("s2", "web asked (not CORRECT), dashed"))
    return _plot(2.7, alt, draw, legend)


def _plot(height: float, alt: str, draw: Callable[[Figure], None], legend: tuple[tuple[str, str], ...] = ()) -> Plot:
    """Return the plot that `draw` draws, and leave the settings of matplotlib as they were."""
    matplotlib, figure_class = _library()
    look = {name: value for name, value in matplotlib.rcParamsDefault.items() if name not in _NOT_LOOKS}
    # The salt becomes part of the ids of clip paths, which must differ between the plots of one page.
    with matplotlib.rc_context(look | _LOOK | {"svg.hashsalt": alt}):
        figure = figure_class(figsize=(WIDTH, height), layout="constrained")
        draw(figure)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata=_METADATA)
    return Plot(_svg_for_page(written.getvalue()), alt, legend)


_NOT_LOOKS = frozenset({"backend", "backend_fallback", "interactive", "toolbar", "timezone"})
"""rcParams about matplotlib's environment; reading the first one would make it look for a screen."""


def _library() -> tuple[Any, type[Figure]]:
    """Return matplotlib and its Figure, and remove the font list that matplotlib writes on import."""
    with tempfile.TemporaryDirectory(prefix="localcrag-") as folder:
        ours = os.environ.setdefault("MPLCONFIGDIR", folder) == folder
        try:
            import matplotlib as library  # noqa: PLC0415
            from matplotlib.figure import Figure  # noqa: PLC0415
        finally:
            if ours:
                del os.environ["MPLCONFIGDIR"]
    return library, Figure


def _svg_for_page(svg: str) -> str:
    """Return the SVG without its head, unused ids, fonts and sizes, and with the page's colours."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg \1 aria-hidden="true">', body, count=1)
    body = body.replace("xlink:href", "href")
    body = re.sub(r"<style[^>]*>.*?</style>", "", body, flags=re.DOTALL)
    used = {found for found in _ID.findall(body) if f"#{found}" in body}
    body = _ID.sub(lambda found: found[0] if found[1] in used else "", _FONT.sub("", body))
    return _COLOUR.sub(lambda found: f"var(--{_VARIABLES[found[0]]})", body).strip()
