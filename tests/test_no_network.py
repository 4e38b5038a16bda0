"""Private by proof from outside: a whole session in a network of its own, in which every packet is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import cut_off
from tests.cut_off import SEARCH, SEARCH_NAME


@pytest.mark.browser
@pytest.mark.search
def test_a_whole_session_sends_no_packet_and_looks_up_no_name(tmp_path: Path) -> None:
    said = json.loads(cut_off.run("tests.cut_off_session", str(tmp_path)).splitlines()[-1])
    assert set(said["control_expected"]) <= set(said["control"]), "the counter does not count"
    assert said["before"] == []
    assert said["session"] == []
    # All of it worked, with no network at all.
    assert said["problems"] == []
    assert "8,849" in said["chat"]
    assert said["exported"] == 2
    privacy = said["privacy"]
    (search,) = privacy["searches"]
    assert search["destination"].startswith(f"{SEARCH_NAME}:")
    assert (search["times"], privacy["connections"], privacy["refused"]) == (1, 0, 0)
    # To the ledger, the search server is another machine: its name, its address and the search are rows.
    kinds = {(one["kind"], one["destination"].rsplit(":", 1)[0]) for one in privacy["attempts"]}
    assert kinds == {("name look-up", SEARCH_NAME), ("connection", SEARCH), ("web search", SEARCH_NAME)}
