"""Plots of a report as SVG that keeps text as text and follows the page's colours, light or dark.

matplotlib is imported by the first plot. It reads none of the user's settings and leaves no files behind; the same
figures give the same bytes.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from localcrag.evaluation.analysis import Actions, Losses, Time
from localcrag.evaluation.curves import Length, Reliability, Sweep
from localcrag.evaluation.diagnosis import Cause
from localcrag.records.enums import Action
from localcrag.records.passages import Thresholds
from localcrag.text.translation import format_decimals
from localcrag.text.words import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WIDTH = 5.4
"""Width in inches; a phone shows the plot at three quarters of this width, where 9 points are still legible."""
ROW, MARGIN = 0.26, 0.55
"""Height in inches of a bar, and of the margins above and below all bars."""
NAME_CHARACTERS = 26
"""Number of characters shown of a configuration's name."""
STEPS = ("condense", "retrieve", "evaluate", "decide", "retry", "search", "refine", "reconcile", "generate", "verify")
"""Steps in the order of the flow."""

INK, QUIET, LINE, CORRECT, AMBIGUOUS, INCORRECT = (f"#00000{place}" for place in range(1, 7))
_NAMES = {INK: "ink", QUIET: "quiet", LINE: "line", CORRECT: "good", AMBIGUOUS: "middling", INCORRECT: "bad"}
SERIES = tuple(f"#0000{place:02x}" for place in range(16, 26))
"""Placeholders for the page's colours --s1 to --s10 while matplotlib draws, because it knows no CSS variables."""
_STEP_COLOURS = dict(zip(STEPS, (SERIES[place] for place in (9, 3, 2, 8, 4, 1, 6, 7, 0, 5)), strict=True))
"""Colours of the steps; generate, which takes longest, has the first colour."""
_VARIABLES = _NAMES | {colour: f"s{place}" for place, colour in enumerate(SERIES, start=1)}
_COLOUR = re.compile("|".join(_VARIABLES))
_FONT = re.compile(r" ?font-family: [^;\"]*;?")
_ID = re.compile(r' id="([^"]*)"')
_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_LOOK = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": LINE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": LINE,
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


def times(found: Mapping[str, Time]) -> Plot:
    """Return a plot of mean seconds by step, with a bar for each configuration."""
    there = [step for step in STEPS if any(time.steps.get(step, {}).get("seconds") for time in found.values())]
    parts = {step: [time.steps.get(step, {}).get("seconds", 0.0) for time in found.values()] for step in there}
    colours = {step: _STEP_COLOURS[step] for step in there}
    return _bars(list(found), parts, colours, "mean seconds", "Mean seconds of each step, by configuration")


def actions(found: Mapping[str, Actions]) -> Plot:
    """Return a plot of the share of each action, with a bar for each configuration."""
    parts = {action.value: [one.decided[action.value].share for one in found.values()] for action in Action}
    colours = dict(zip(parts, (CORRECT, AMBIGUOUS, INCORRECT), strict=True))
    return _bars(list(found), parts, colours, "share of questions", "Share of each action, by configuration")


def losses(found: Mapping[str, Losses]) -> Plot:
    """Return a plot of where answers were lost, and how many, with a bar for each configuration."""
    there = [cause.value for cause in Cause if any(one.causes[cause.value] for one in found.values())]
    parts = {cause: [float(one.causes[cause]) for one in found.values()] for cause in there}
    colours = {cause.value: SERIES[place] for place, cause in enumerate(Cause)}
    return _bars(list(found), parts, colours, "questions", "Where answers were lost, by configuration")


def reliability(found: Reliability) -> Plot:
    """Return a plot of relevances against the share of passages with an answer, and of the number of passages."""
    alt = "Relevance against the share of passages that hold an answer, with 95 % intervals"
    with _figure(3.6, alt) as (figure, drawn):
        curve, counts = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        curve.plot([0, 1], [0, 1], color=LINE, linewidth=1, linestyle=(0, (4, 3)))
        bins = [one for one in found.bins if one.predicted is not None and one.held is not None]
        for one in bins:
            if one.held is not None and one.held.low is not None and one.held.high is not None:
                curve.plot([one.predicted] * 2, [one.held.low, one.held.high], color=SERIES[0], linewidth=1.2)
        curve.plot(
            [one.predicted for one in bins],
            [one.held.mean for one in bins if one.held],
            color=SERIES[0],
            marker="o",
            markersize=5,
            linewidth=1.6,
        )
        curve.set(xlim=(0, 1), ylim=(0, 1.03), ylabel="share that holds it")
        counts.bar(
            [(one.low + one.high) / 2 for one in found.bins], [one.n for one in found.bins], 0.085, color=SERIES[1]
        )
        counts.set(xlabel="relevance", ylabel="passages")
        counts.margins(y=0.3)
        for one in bins:
            middle = (one.low + one.high) / 2
            counts.annotate(f"{one.n}", (middle, one.n), (0, 2), textcoords="offset points", ha="center", size=7)
        counts.set_yticks([])
        _limits(curve, found.thresholds)
        figure.align_ylabels()
    return Plot(drawn[0], alt)


def sweep(found: Sweep) -> Plot:
    """Return a plot of accuracy and web rate against the upper threshold."""
    alt = "Action accuracy and web rate against the upper threshold"
    with _figure(2.7, alt) as (figure, drawn):
        axes = figure.subplots()
        uppers = [point.upper for point in found.uppers]
        axes.plot(uppers, [point.accuracy for point in found.uppers], color=SERIES[0], linewidth=1.8)
        axes.plot(
            uppers, [point.web_rate for point in found.uppers], color=SERIES[1], linewidth=1.8, linestyle=(0, (5, 1.5))
        )
        axes.axvline(found.thresholds.upper, color=INK, linewidth=1)
        axes.plot([found.thresholds.upper], [found.in_force.accuracy], "o", color=SERIES[0], markersize=5)
        axes.plot([found.thresholds.upper], [found.in_force.web_rate], "o", color=SERIES[1], markersize=5)
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
    return Plot(drawn[0], alt, legend)


def retention(found: Sequence[Length]) -> Plot:
    """Return a plot of the share kept of all strips, and of strips with an answer, by strips per passage."""
    alt = "Share of strips kept, by strips in the passage"
    with _figure(2.5, alt) as (figure, drawn):
        axes = figure.subplots()
        for side, (name, colour) in enumerate((("retention", SERIES[1]), ("recall", SERIES[0]))):
            for place, length in enumerate(found):
                one = getattr(length, name)
                if one is None:
                    continue
                at = place + (side - 0.5) * 0.36
                axes.bar(at, one.mean, 0.34, color=colour)
                if one.low is not None and one.high is not None and one.high > one.low:
                    axes.plot([at, at], [one.low, one.high], color=INK, linewidth=1)
        axes.set_xticks(range(len(found)), [f"{spelt(length)}\nn = {length.passages}" for length in found])
        axes.tick_params(length=0)
        axes.set(ylim=(0, 1.03), xlabel="strips in the passage", ylabel="share kept")
        axes.grid(axis="y")
    legend = (("s2", "of all strips"), ("s1", "of those that hold an accepted answer"))
    return Plot(drawn[0], alt, legend)


def spelt(length: Length) -> str:
    """Return a range of numbers of strips in words: "2–3", "11 or more"."""
    if length.most is None:
        return f"{length.least} or more"
    return str(length.least) if length.least == length.most else f"{length.least}–{length.most}"


def _bars(
    names: Sequence[str], parts: Mapping[str, Sequence[float]], colours: Mapping[str, str], unit: str, alt: str
) -> Plot:
    with _figure(MARGIN + ROW * len(names), alt) as (figure, drawn):
        axes = figure.subplots()
        left = [0.0] * len(names)
        for name, values in parts.items():
            axes.barh(range(len(names)), values, left=left, height=0.7, color=colours[name])
            left = [before + value for before, value in zip(left, values, strict=True)]
        axes.set_yticks(range(len(names)), [shorten(name, NAME_CHARACTERS) for name in names])
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlim(0, max([*left, 1e-9]) * 1.02)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(unit)
        axes.grid(axis="x")
    return Plot(drawn[0], alt, tuple((_VARIABLES[colours[name]], name) for name in parts))


def _limits(axes: Axes, thresholds: Thresholds) -> None:
    for name, at in (("lower", thresholds.lower), ("upper", thresholds.upper)):
        axes.axvline(at, color=QUIET, linewidth=0.8, linestyle=(0, (2, 2)))
        axes.annotate(f"{name} {at:.2f}", (at, 1.0), (3, 0), textcoords="offset points", color=QUIET, size=8)


@contextmanager
def _figure(height: float, alt: str) -> Iterator[tuple[Figure, list[str]]]:
    """Yield a figure, and a list that contains its SVG afterwards; then restore matplotlib's settings."""
    matplotlib, figure_class = _library()
    look = {name: value for name, value in matplotlib.rcParamsDefault.items() if name not in _NOT_LOOKS}
    # The salt becomes part of the ids of clip paths, which must differ between the plots of one page.
    with matplotlib.rc_context(look | _LOOK | {"svg.hashsalt": alt}):
        figure = figure_class(figsize=(WIDTH, height), layout="constrained")
        drawn: list[str] = []
        yield figure, drawn
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata=_METADATA)
        drawn.append(_for_a_page(written.getvalue()))


_NOT_LOOKS = frozenset({"backend", "backend_fallback", "interactive", "toolbar", "timezone"})
"""rcParams about matplotlib's environment; reading the first one would make it look for a screen."""


def _library() -> tuple[Any, type[Figure]]:
    """Return matplotlib and its Figure, and remove the font list that matplotlib writes on import."""
    if "matplotlib" in sys.modules or "MPLCONFIGDIR" in os.environ:
        import matplotlib as library  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415

        return library, Figure
    with tempfile.TemporaryDirectory(prefix="localcrag-") as folder:
        os.environ["MPLCONFIGDIR"] = folder
        try:
            import matplotlib as library  # noqa: PLC0415
            from matplotlib.figure import Figure  # noqa: PLC0415
        finally:
            del os.environ["MPLCONFIGDIR"]
    return library, Figure


def _for_a_page(svg: str) -> str:
    """Return the SVG without its head, unused ids, fonts and sizes, and with the page's colours."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg \1 aria-hidden="true">', body, count=1)
    body = body.replace("xlink:href", "href")
    body = re.sub(r"<style[^>]*>.*?</style>", "", body, flags=re.DOTALL)
    used = {found for found in _ID.findall(body) if f"#{found}" in body}
    body = _ID.sub(lambda found: found[0] if found[1] in used else "", _FONT.sub("", body))
    return _COLOUR.sub(lambda found: f"var(--{_VARIABLES[found[0]]})", body).strip()
