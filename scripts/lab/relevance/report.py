"""Format the figures of rerankers as Markdown for a model card. Records in, text out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lab.relevance.data import RANKED
from lab.relevance.figures import POOLED, Calibrated, Decided, Ranked
from lab.relevance.metrics import Figure
from lab.relevance.sample import RETRIEVED
from localcrag.records.enums import Action
from localcrag.records.passages import Thresholds

DEFINITIONS = f"""\
Of each set {{questions}} questions, drawn with seed {{seed}}, against the bi-encoder's {RANKED} nearest passages of the
whole set; in brackets 95 % bootstrap intervals over the questions, `all` is the mean of the sets. Relevant is the
question's own passage alone; *clear* leaves out questions whose answer stands in another of the passages, too.
*Removed* is the same question with its own passage taken out. *Action* is right when CORRECT is said with the own
passage there, or not said with it removed; of {RANKED} passages, or of the {RETRIEVED} that the app retrieves.
Calibration errors (10 bins of equal width) are over the {RETRIEVED} passages that the app retrieves, every second
question without its own; those of the best passage over both. Their intervals lie high, since drawing questions again
adds scatter to the bins. Strips are the sentences of the own passage, and for their calibration error of two more."""


RANKED_FIGURES = {
    "mrr": f"MRR of the {RANKED}",
    "hit": "hit at 1",
    "auc": "AUC, best there against removed",
    "auc_clear": "the same, clear",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """One model in one number format; `answerable` and `speed` (pairs a second) are None where not measured."""

    name: str
    fitted: bool
    thresholds: Thresholds
    by_logit: Ranked
    by_relevance: Ranked
    decided: tuple[Decided, ...]
    passages: Calibrated
    best_passages: Calibrated
    strips: Calibrated
    strips_auc: dict[str, Figure]
    strips_alone_auc: dict[str, Figure]
    answerable: Figure | None
    speed: float | None


def report(names: Sequence[str], baseline: Ranked, models: Sequence[Measured], *, questions: int, seed: int) -> str:
    """Return the section `Figures` of a model card; `baseline` is the bi-encoder alone."""
    header = ["what", "model", "by", *names, POOLED]
    rows: list[list[str]] = []
    for field, what in RANKED_FIGURES.items():
        rows.append([what, "bi-encoder", "cosine", *_cells(getattr(baseline, field), header[3:])])
        for model in models:
            for by, figures in (("logit", model.by_logit), ("relevance", model.by_relevance)):
                rows.append([what, model.name, by, *_cells(getattr(figures, field), header[3:])])
    for model in models:
        for decided in model.decided:
            what = f"action right, of {decided.most}"
            rows.append([what, model.name, "relevance", *_cells(decided.right, header[3:])])
    for what, errors in (
        ("calibration error, passages", [model.passages.error for model in models]),
        ("calibration error, the best passage", [model.best_passages.error for model in models]),
        ("calibration error, strips", [model.strips.error for model in models]),
        ("AUC, answer's sentence against others", [model.strips_auc for model in models]),
        ("the same, each read by itself", [model.strips_alone_auc for model in models]),
    ):
        by = "relevance" if what.startswith("calibration") else "logit"
        rows += [[what, model.name, by, *_cells(part, header[3:])] for model, part in zip(models, errors, strict=True)]
    rows += [
        ["AUC, answerable against unanswerable, same passage", model.name, "logit", _cell(model.answerable)]
        + [""] * (len(header) - 4)
        for model in models
        if model.answerable
    ]
    parts = ["## Figures", DEFINITIONS.format(questions=questions, seed=seed), table(header, rows)]
    parts += [_actions(model, header[3:]) for model in models]
    parts += [_curves(model) for model in models]
    timed = [[model.name, f"{model.speed:.1f}"] for model in models if model.speed]
    if timed:
        parts += ["### Speed", table(["model", "pairs a second (passages of about 160 tokens)"], timed)]
    return "\n\n".join(parts) + "\n"


def _actions(model: Measured, columns: Sequence[str]) -> str:
    scale = "" if model.fitted else " (no calibration: the bare sigmoid)"
    rows = []
    for decided in model.decided:
        for place, shares in (("there", decided.there), ("removed", decided.removed)):
            said = {name: " / ".join(f"{row[action]:.2f}" for action in Action) for name, row in shares.items()}
            rows.append([f"{place}, of {decided.most}", *(said[name] for name in columns)])
        rows.append([f"precision of CORRECT, of {decided.most}", *_cells(decided.precision, columns)])
    chosen = model.thresholds
    return (
        f"### Actions of {model.name}\n\n"
        f"CORRECT / AMBIGUOUS / INCORRECT, shares of the questions, at upper {chosen.upper:g} and "
        f"lower {chosen.lower:g}{scale}.\n\n" + table(["own passage", *columns], rows)
    )


def _curves(model: Measured) -> str:
    rows = [
        [label, f"{one.predicted:.2f}", f"{one.relevant:.2f}", f"{one.share:.3f}", str(one.count)]
        for label, part in (
            ("passages", model.passages),
            ("best passages", model.best_passages),
            ("strips", model.strips),
        )
        for one in part.curve
    ]
    return f"### Reliability of {model.name}\n\nAll sets, each counting the same.\n\n" + table(
        ["of", "mean relevance said", "share relevant", "share of all", "count"], rows
    )


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


def _cells(values: Mapping[str, Figure] | Mapping[str, float], columns: Sequence[str]) -> list[str]:
    return [_cell(values.get(name)) for name in columns]


def _cell(value: Figure | float | None) -> str:
    if value is None or math.isnan(value.value if isinstance(value, Figure) else value):
        return ""
    if isinstance(value, Figure):
        return f"{value.value:.3f} ({value.low:.2f}–{value.high:.2f})"
    return f"{value:.3f}"


def put_section(card: str, section: str) -> str:
    """Return `card` with `section` replacing the one with the same heading (its first line), or at the end."""
    heading, level = section.splitlines()[0], re.match("#+", section)
    if level is None:
        raise ValueError(f"a section begins with a heading, not with {heading!r}")
    found = re.search(rf"^{re.escape(heading)}[ \t]*$", card, flags=re.MULTILINE)
    if found is None:
        return f"{card.rstrip()}\n\n{section}" if card.strip() else section
    following = re.compile(rf"^#{{1,{len(level[0])}}} ", flags=re.MULTILINE).search(card, found.end())
    rest = card[following.start() :] if following else ""
    return card[: found.start()] + section.rstrip() + "\n" + (f"\n{rest}" if rest else "")
