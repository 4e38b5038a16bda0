"""What a version of localcrag is measured in, with the real models: told in lines of JSON, it answers in such lines."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import pytest
from lab.speed.child import OPEN, Measured, serve
from lab.speed.comparison import SHOWN
from lab.speed.texts import write_documents

import localcrag
from tests.support.first_start import started_before


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    """What is answered when it is opened, given documents, and asked in both ways."""
    folder = tmp_path_factory.mktemp("speed")
    (question, *_) = write_documents(folder / "documents", 10, random.Random(1))
    asked = [(OPEN, ""), ("ingested", str(folder / "documents")), ("corrected", question), ("plain", question)]
    lines = io.StringIO("".join(json.dumps({"do": what, "given": given}) + "\n" for what, given in asked))
    said = io.StringIO()
    serve(lines, said, Measured(started_before(folder / "data")))
    return [json.loads(line) for line in said.getvalue().splitlines()]


def test_it_says_which_localcrag_it_measures(answers: list[dict[str, object]]) -> None:
    assert answers[0] == {"figures": {}, "package": str(Path(localcrag.__file__).parent)}


def test_everything_that_is_compared_is_measured(answers: list[dict[str, object]]) -> None:
    found = dict(zip(("ingested", "corrected", "plain"), answers[1:], strict=True))
    for (what, figure), step in SHOWN.items():
        if what in found:
            figures = found[what].get("figures")
            assert isinstance(figures, dict), found[what]
            assert figures[figure] > 0, step


def test_what_it_lacks_it_says_and_goes_on() -> None:
    said = io.StringIO()
    serve(io.StringIO(json.dumps({"do": "corrected", "given": "?"}) + "\n"), said, Measured(Path("nowhere")))
    assert json.loads(said.getvalue())["failed"].startswith("AttributeError: 'NoneType'")
