"""Warming up with the real models: the first question finds read what every prompt begins with."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.crag.answer.generate import prompt
from localcrag.records.passages import Evidence
from localcrag.records.protocols import Decoding
from localcrag.settings import load
from tests.support.first_start import started_before

pytestmark = pytest.mark.models


def test_what_every_prompt_begins_with_is_known_before_the_first_question(tmp_path: Path) -> None:
    with closing(Assembly(load(data_dir=started_before(tmp_path)))) as assembly:
        assembly.warm_up()
        asked = prompt("When does it open?", "When does it open?", [Evidence(1, "It opens at nine.", "p", "s", 0.9)])
        stream = assembly.models.llm.stream(asked, Decoding(max_tokens=1))
        assert "".join(stream)
        assert stream.usage.cached_tokens > stream.usage.prompt_tokens / 2
