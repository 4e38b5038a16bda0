"""Report files: report.html, .md and .json of an evaluation; comparison.html, .md and .json of two.

The HTML file stands by itself: nothing is loaded, nothing runs. The JSON file holds every figure unrounded.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from localcrag.evaluation import comparison
from localcrag.evaluation.analysis import figures
from localcrag.evaluation.comparison import Comparison
from localcrag.evaluation.figures import Figures
from localcrag.evaluation.report.page import Page
from localcrag.evaluation.report.page_html import html
from localcrag.evaluation.report.page_markdown import markdown
from localcrag.evaluation.report.sections import page
from localcrag.evaluation.report.sections_of_comparison import comparison_page
from localcrag.evaluation.report.summary import comparison_summary, summary
from localcrag.evaluation.results import Evaluation
from localcrag.records.errors import EvaluationError

__all__ = ["comparison_summary", "summary", "to_json", "write", "write_comparison"]

_FIGURES = TypeAdapter(Figures)
_COMPARISON = TypeAdapter(Comparison)


def write(evaluation: Evaluation, folder: Path) -> tuple[Path, Path, Path]:
    """Write the report of an evaluation, finished or not, and return the paths of HTML, Markdown and JSON.

    Raises EvaluationError where the folder cannot be written.
    """
    found = figures(evaluation)
    return _write(folder, "report", page(found), to_json(found))


def write_comparison(
    before: tuple[Evaluation, str], after: tuple[Evaluation, str], folder: Path
) -> tuple[Path, Path, Path]:
    """Write what differs between two evaluations, each with the configuration that is meant, and return the paths.

    Raises EvaluationError where the folder cannot be written, or where no question was asked in both.
    """
    found = comparison.compare(before, after)
    document = _COMPARISON.dump_json(found, indent=1)
    return _write(folder, "comparison", comparison_page(found), document)


def to_json(found: Figures) -> bytes:
    """Return every figure, unrounded."""
    return _FIGURES.dump_json(found, indent=1)


def _write(folder: Path, name: str, made: Page, document: bytes) -> tuple[Path, Path, Path]:
    paths = (folder / f"{name}.html", folder / f"{name}.md", folder / f"{name}.json")
    contents = (html(made).encode(), markdown(made).encode(), document + b"\n")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
    except OSError as error:
        raise EvaluationError(
            f"The report could not be written to {folder}: {error.strerror}. Check that the folder is writable and the "
            "disk not full, and give the command again: what was asked is kept."
        ) from error
    return paths
