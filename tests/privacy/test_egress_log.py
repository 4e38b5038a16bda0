"""The ledger: what left or was refused becomes rows, of any process, once each; and how it is told."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcrag.app import egress
from localcrag.app.assembly import Assembly
from localcrag.privacy import egress_log
from localcrag.privacy.egress_log import EgressAttempt, Kind, Purpose
from localcrag.records.errors import NoResults
from localcrag.search import SearXNG
from localcrag.settings import load
from localcrag.storage import egress as egress_ledger
from localcrag.storage.database import Database
from localcrag.storage.egress import ConnectionLog, EgressSummary
from localcrag.text import translation
from tests.support.search_servers import answer_reply, closed_port, scripted_search

pytestmark = pytest.mark.process

QUERY = "größte Insel"


def noted(
    destination: str, *, allowed: bool = True, kind: Kind = Kind.CONNECTION, purpose: Purpose = Purpose.NONE
) -> None:
    egress_log.note(EgressAttempt(kind=kind, destination=destination, purpose=purpose, allowed=allowed))


@pytest.fixture
def ledger(egress_folder: Path) -> Iterator[ConnectionLog]:
    database = Database(egress_folder / "localcrag.sqlite3")
    yield ConnectionLog(database, egress_folder)
    database.close()


@pytest.mark.refused("b:2")
def test_attempts_become_rows_once_and_in_their_order(ledger: ConnectionLog, tmp_path: Path) -> None:
    noted("a:1")
    noted("b:2", allowed=False)
    assert [(one.destination, one.allowed) for one in ledger.newest(9)] == [("b:2", False), ("a:1", True)]
    # What was taken over is looked at again as long as somebody may still be writing to it, and is no other row then.
    assert list((tmp_path / egress_log.FOLDER_NAME).glob("*.jsonl"))
    assert len(ledger.newest(9)) == 2
    assert [one.destination for one in ledger.newest(1)] == ["b:2"]


def test_a_file_that_nobody_writes_to_any_more_is_removed(ledger: ConnectionLog, tmp_path: Path) -> None:
    noted("a:1")
    folder = tmp_path / egress_log.FOLDER_NAME
    (folder / egress_log.FILE_NAME).rename(folder / "1.jsonl")  # Moved away in 1970.
    assert len(ledger.newest(9)) == 1
    assert list(folder.iterdir()) == []


def test_what_cannot_be_taken_over_stays_for_the_next_time(ledger: ConnectionLog, tmp_path: Path) -> None:
    noted("a:1")
    with pytest.raises(ZeroDivisionError), egress_log.drained_attempts(tmp_path) as taken:
        raise ZeroDivisionError(len(taken))
    assert [one.destination for one in ledger.newest(9)] == ["a:1"]


def test_many_threads_and_processes_lose_nothing(ledger: ConnectionLog) -> None:
    def work(number: int) -> None:
        for step in range(20):
            noted(f"{number}:{step}")
            if step % 5 == 0:
                ledger.collect()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    children = []
    for number in range(4, 6):
        if (child := os.fork()) == 0:
            for step in range(20):
                noted(f"{number}:{step}")
            os._exit(0)
        children.append(child)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for child in children:
        os.waitpid(child, 0)
    assert {one.destination for one in ledger.newest()} == {
        f"{number}:{step}" for number in range(6) for step in range(20)
    }


def test_the_oldest_rows_go_when_there_are_too_many(ledger: ConnectionLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_ledger, "MOST_ROWS", 3)
    for number in range(5):
        noted(f"{number}:1")
    assert [one.destination for one in ledger.newest(9)] == ["4:1", "3:1", "2:1"]


def test_a_search_is_counted_with_the_bytes_of_its_query_and_without_the_query(
    ledger: ConnectionLog, tmp_path: Path
) -> None:
    with scripted_search(*[answer_reply()] * 3) as server:
        client = SearXNG(server.url, timeout=5, results=5)
        for _ in range(2):
            client.check()
        place = server.url.removeprefix("http://")
        with pytest.raises(NoResults):
            client.search(QUERY)
        client.close()
    assert ledger.summary() == EgressSummary(0, ((place, 3),), 0)
    (last, *_) = ledger.newest(9)
    assert (last.kind, last.purpose, last.query_bytes) == (Kind.SEARCH, Purpose.WEB_SEARCH, len(QUERY.encode()))
    assert QUERY not in str(ledger.newest(9))
    assert QUERY.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_search_to_where_nobody_listens_counts_as_one_that_left(ledger: ConnectionLog) -> None:
    with closed_port() as url:
        client = SearXNG(url, timeout=5, results=5)
        assert client.check().error
        client.close()
        assert ledger.summary().searches == ((url.removeprefix("http://"), 1),)


@pytest.mark.refused("c:1")
def test_what_set_up_downloads_is_counted_apart_and_listed(ledger: ConnectionLog) -> None:
    noted("pip download a", kind=Kind.PROGRAM, purpose=Purpose.SET_UP)
    assert ledger.summary() == EgressSummary(0, (), 0, set_up=1)
    noted("pip download b", kind=Kind.PROGRAM, purpose=Purpose.MODEL_DOWNLOAD)
    noted("hub:443", purpose=Purpose.MODEL_DOWNLOAD)
    noted("c:1", purpose=Purpose.SET_UP, allowed=False)
    assert ledger.summary() == EgressSummary(2, (), 1, set_up=1)
    assert len(ledger.newest(9)) == 4
    assert egress.describe_attempt(ledger.newest(9)[-1]) == "program, pip download a, allowed, for set-up"


@pytest.mark.parametrize(
    ("summary", "english", "german"),
    [
        pytest.param(
            EgressSummary(0, (), 0),
            "0 connections to other machines",
            "0 Verbindungen zu anderen Rechnern",
            id="nothing",
        ),
        pytest.param(
            EgressSummary(0, (("127.0.0.1:8080", 3),), 0),
            "0 connections to other machines; 3 searches through 127.0.0.1:8080",
            "0 Verbindungen zu anderen Rechnern; 3 Suchen über 127.0.0.1:8080",
            id="searches",
        ),
        pytest.param(
            EgressSummary(0, (), 0, set_up=2),
            "0 connections to other machines since set-up (2 model downloads)",
            "0 Verbindungen zu anderen Rechnern seit der Einrichtung (2 Modell-Downloads)",
            id="set-up",
        ),
        pytest.param(
            EgressSummary(1, (("127.0.0.1:8080", 1),), 0, set_up=1),
            "1 connection to other machines since set-up (1 model download); 1 search through 127.0.0.1:8080",
            "1 Verbindung zu anderen Rechnern seit der Einrichtung (1 Modell-Download); 1 Suche über 127.0.0.1:8080",
            id="set-up and since",
        ),
        pytest.param(
            EgressSummary(1, (("127.0.0.1:8080", 1), ("searx.lan:80", 2)), 1),
            "1 connection to other machines; 1 search through 127.0.0.1:8080; 2 searches through searx.lan:80; "
            "1 attempt refused",
            "1 Verbindung zu anderen Rechnern; 1 Suche über 127.0.0.1:8080; 2 Suchen über searx.lan:80; "
            "1 Versuch abgewiesen",
            id="all",
        ),
    ],
)
def test_the_line_says_what_left(summary: EgressSummary, english: str, german: str) -> None:
    try:
        translation.choose("en")
        assert egress.summary_line(summary) == english
        translation.choose("de")
        assert egress.summary_line(summary) == german
    finally:
        translation.choose("en")


def test_deleting_everything_empties_it_and_going_back_to_a_copy_does_not(egress_folder: Path) -> None:
    assembly = Assembly(load(data_dir=egress_folder))
    noted("before:1")
    copy = assembly.storage.back_up().path
    noted("after:2")
    assembly.storage.restore(copy)
    assert {one.destination for one in assembly.egress.newest()} == {"before:1", "after:2"}
    noted("last:3")
    assembly.storage.erase()
    assert assembly.egress.newest() == []
    assert not (egress_folder / egress_log.FOLDER_NAME).exists()
    assembly.close()
