"""What became of each strip is shown on the page and on the terminal, printed as JSON, and read again."""

from __future__ import annotations

import dataclasses
import json

import pytest

from localcrag.crag.refine.refine import KEPT_REASONS, recompose
from localcrag.interfaces.cli import terminal
from localcrag.interfaces.page import run_panel
from localcrag.records.enums import Action, StripReason
from localcrag.records.passages import Strip, Thresholds
from localcrag.records.run import Run
from localcrag.runs import recording
from tests.support.made_records import graded

TEXT = "Cats purr. Cats sleep."


def run_with(*reasons: StripReason | None, points: tuple[str, ...] = ()) -> Run:
    passage = graded(0.9, TEXT, id="p")
    strips = [
        Strip("p", start, end, TEXT[start:end], 0.0, 0.042 + 0.3 * place, reason in KEPT_REASONS, reason, points)
        for place, (reason, start, end) in enumerate(zip(reasons, (0, 11), (10, 22), strict=True))
    ]
    evidence, sources = recompose([passage], strips)
    return Run(
        run_id="1", created_at="now", collection="default", question="Do cats purr?",
        standalone_question="Do cats purr?", action=Action.CORRECT, thresholds=Thresholds(0.7, 0.3, 0.5),
        passages=(passage,), strips=tuple(strips), evidence=evidence, sources=sources,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "title", "note"),
    [
        (StripReason.KEPT, "kept, relevance 0.04", "0.04"),
        (StripReason.BEST, "kept (best of its passage), relevance 0.04", "0.04 · best of its passage"),
        (StripReason.RETENTION, "kept (minimum per passage), relevance 0.04", "0.04 · minimum per passage"),
        (StripReason.KEY_POINT, "kept (has a key point), relevance 0.04", "0.04 · has a key point"),
        (StripReason.BELOW, "dropped (below the threshold), relevance 0.04", "0.04"),
        (StripReason.NO_KEY_POINT, "dropped (has no key point), relevance 0.04", "0.04"),
        (StripReason.OVER_CAP, "dropped (above the limit), relevance 0.04", "0.04 · above the limit"),
        (StripReason.OVER_TOKENS, "dropped (above the token limit), relevance 0.04", "0.04 · above the token limit"),
        (StripReason.DUPLICATE, "dropped (duplicate), relevance 0.04", "0.04 · duplicate"),
        (None, "dropped, relevance 0.04", "0.04"),
    ],
)
def test_the_panel_says_every_fate_when_asked_and_the_unexpected_ones_at_once(
    reason: StripReason | None, title: str, note: str
) -> None:
    html = run_panel.panel(run_with(reason, StripReason.KEPT))
    assert f'title="{title}"' in html
    assert f"Cats purr.<small>{note}</small>" in html
    assert ("the threshold was lowered to 0.042 here" in html) == (reason is StripReason.RETENTION)


def test_a_key_point_is_shown_as_text() -> None:
    html = run_panel.panel(run_with(StripReason.KEY_POINT, StripReason.NO_KEY_POINT, points=('"><b>x</b>',)))
    assert "key point: &#34;&gt;&lt;b&gt;x&lt;/b&gt;" in html


def test_the_terminal_counts_the_fates(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.show_details(run_with(StripReason.RETENTION, StripReason.DUPLICATE))
    assert "sentences: 1 of 2 kept (1 minimum per passage, 1 duplicate)" in capsys.readouterr().err


def test_a_strip_is_printed_with_its_reason_and_points() -> None:
    run = run_with(StripReason.KEY_POINT, StripReason.DUPLICATE, points=("Cats purr",))
    strips = recording.to_json(run)["strips"]
    assert [strip["reason"] for strip in strips] == ["has a key point", "duplicate"]
    assert strips[0]["points"] == ["Cats purr"]
    assert recording.read(recording.dump(run)) == run


def test_a_run_stored_before_strips_had_reasons_is_still_read() -> None:
    stored = json.loads(recording.dump(run_with(StripReason.KEPT, StripReason.BELOW)))
    for strip in stored["strips"]:
        del strip["reason"], strip["points"]
    run = recording.read(json.dumps(stored))
    assert [(strip.kept, strip.reason) for strip in run.strips] == [(True, None), (False, None)]
    assert 'title="kept, relevance 0.04"' in run_panel.panel(run)
    terminal.show_details(dataclasses.replace(run, strips=run.strips[:1]))


def test_the_panel_names_the_title_that_a_passage_was_read_under_unless_it_says_it_itself() -> None:
    run = run_with(StripReason.KEPT, StripReason.KEPT)
    (passage,) = run.passages
    for title, named in (("The <KX-40>", True), (passage.text, False), (None, False)):
        shown = dataclasses.replace(run, passages=(dataclasses.replace(passage, title=title),))
        assert ("Section:</small> The &lt;KX-40&gt;<" in run_panel.panel(shown)) is named


def test_the_panel_names_the_section_of_a_passage_and_of_its_evidence() -> None:
    run = run_with(StripReason.KEPT, StripReason.CONTEXT)
    passage = dataclasses.replace(run.passages[0], title="The KX-40", section="Care › <Filter>")
    pieces = tuple(dataclasses.replace(piece, section="Care › <Filter>") for piece in run.evidence)
    html = run_panel.panel(dataclasses.replace(run, passages=(passage,), evidence=pieces))
    assert "Section:</small> The KX-40 › Care › &lt;Filter&gt;<" in html
    assert html.count("Care › &lt;Filter&gt;") == 2
    assert "0.34 · goes with a kept sentence" in html
