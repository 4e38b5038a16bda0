"""A report as one HTML file, styles and plots included, that loads and runs nothing."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from localcrag.evaluation.report.page import Page, Section, Tone
from localcrag.evaluation.report.plots import Plot

_TEMPLATES = Environment(
    loader=PackageLoader("localcrag.evaluation.report"),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_SIGNS = {Tone.BETTER: "▲", Tone.WORSE: "▼", Tone.NONE: ""}


def html(page: Page) -> str:
    """Return the page as HTML; its policy forbids scripts, and anything from elsewhere."""
    style = Markup(_TEMPLATES.get_template("report.css").render())  # noqa: S704  a file of this package
    return _TEMPLATES.get_template("report.html").render(page=page, style=style, drawn=_drawn, signs=_SIGNS)


def _drawn(section: Section) -> list[tuple[Plot, Markup]]:
    plots = [plot() for plot in section.plots]
    # matplotlib has escaped what is text in it.
    return [(plot, Markup(plot.svg)) for plot in plots]  # noqa: S704
