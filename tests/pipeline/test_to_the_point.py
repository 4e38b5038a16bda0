"""An answer is held against the best sentence of the evidence; and what puts questions in other words can be chosen."""

from __future__ import annotations

import pytest

from localcrag.app.assembly import Assembly
from localcrag.crag.answer.verify import misses_the_point
from localcrag.records.enums import Rewriter
from localcrag.records.events import RunFinished
from localcrag.records.run import Run
from localcrag.settings import with_changes

pytestmark = pytest.mark.models

QUESTION = "How many households had the island's ferry service in 1994?"
BEST = "By 1994 there were 3.5 million households with the ferry service, a record."
BESIDE = "Within two months of the launch the service gained 400,000 new subscribers."


def test_a_sentence_that_is_beside_the_point_is_told_from_one_that_is_not(library: Assembly) -> None:
    assert misses_the_point(BESIDE, BEST, QUESTION, library.models.scorer)
    assert not misses_the_point(
        "In 1994, 3.5 million households had the ferry service.", BEST, QUESTION, library.models.scorer
    )


def test_a_short_answer_with_all_the_facts_is_to_the_point_whatever_its_score(library: Assembly) -> None:
    assert not misses_the_point(
        "195 euros, London.", "The limit in London is 195 euros.", "What limit?", library.models.scorer
    )


@pytest.mark.parametrize(("rewriter", "calls"), [(Rewriter.AUTO, 0), (Rewriter.RULES, 0), (Rewriter.LLM, 1)])
def test_a_second_look_is_worded_by_what_the_settings_name(library: Assembly, rewriter: Rewriter, calls: int) -> None:
    events = library.ask("Who painted the Mona Lisa?", settings=with_changes(library.settings, rewriter=rewriter))
    runs: list[Run] = [event.run for event in events if isinstance(event, RunFinished)]
    assert [step.llm_calls for step in runs[0].steps if step.name == "retry"] == [calls]
