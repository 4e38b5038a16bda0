"""A procedure that is longer than a chunk: found, made whole and shown to its end, with the real models."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.records.enums import Action
from localcrag.records.events import RunFinished
from localcrag.settings import load
from tests.support.first_start import started_before

pytestmark = pytest.mark.models

STEPS = (
    "Switch the boiler off at the main switch and wait until the lamp on the front is dark.",
    "Let the water cool down for three hours at least; hot water in the hose is dangerous.",
    "Close the blue valve of the cold water pipe below the boiler by turning it to the right.",
    "Push one end of the hose over the drain valve and hold it with the clamp from the bag.",
    "Lay the other end of the hose into the floor drain, lower than the boiler itself.",
    "Open the hot tap of the highest basin in the house, so that air can get into the pipe.",
    "Open the drain valve slowly, a quarter of a turn, until water runs out of the hose.",
    "Open it fully when the hose lies still, and stay with it until no more water comes.",
    "Unscrew the six nuts of the flange with the spanner and take the heating rod out.",
    "Scrape the scale off the rod with the wooden spatula; metal would scratch the coating.",
    "Rinse the bottom of the tank with a bucket of clear water and let it run off.",
    "Put a new seal onto the flange and fasten the six nuts crosswise, not too tightly.",
    "Close the drain valve, take off the hose and open the blue valve again.",
    "Wait until water comes out of the hot tap without air, then close the tap.",
    "Switch the boiler on again and look for drops at the flange after an hour.",
)
MANUAL = (
    "# Ostrava 80 water boiler\n\n## Descaling\n\nThe boiler is descaled once a year. Do this in the order given:\n\n"
    + "\n".join(f"{number}. {step}" for number, step in enumerate(STEPS, start=1))
    + "\n\n## Guarantee\n\nThe guarantee runs for five years and covers the tank, not the heating rod.\n"
)


def test_all_steps_are_in_one_passage_and_in_the_answer(tmp_path: Path) -> None:
    (tmp_path / "boiler.md").write_text(MANUAL, "utf-8")
    with closing(Assembly(load(data_dir=started_before(tmp_path / "data")))) as assembly:
        for _ in assembly.ingest(uploads_from([tmp_path / "boiler.md"])):
            pass
        last = list(assembly.ask("How is the Ostrava 80 boiler descaled, step by step?"))[-1]
        assert isinstance(last, RunFinished)
        run = last.run
        assert run.action is Action.CORRECT
        whole = [passage for passage in run.passages if all(step in passage.text for step in STEPS)]
        assert len(whole) == 1, "and the chunks that it is made of are not shown beside it"
        assert assembly.collections.text("boiler.md")[whole[0].start : whole[0].end] == whole[0].text
        for number, step in enumerate(STEPS, start=1):
            assert f"{number}. {step}" in run.answer
        assert "guarantee" not in run.answer.lower()
