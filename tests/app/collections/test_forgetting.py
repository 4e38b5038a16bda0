"""A document forgotten: it was asked, labelled, pinned, evaluated, cached, recognised; then all bytes are searched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import UnknownDocument
from localcrag.records.events import RunFinished
from localcrag.records.ingest import IngestResult
from localcrag.records.run import ChatTurn, Run, Turn, TurnState
from localcrag.runs.labels import LabelKind
from localcrag.settings import load
from tests.support.command_line import localcrag
from tests.support.documents import make_pdf
from tests.support.first_start import started_before
from tests.support.postgres import PostgresServer
from tests.support.scans import picture

pytestmark = [pytest.mark.models, pytest.mark.slow]

RARE = "zanthoxylwick"
RARE_WORDS = (RARE, "quormvellity", "brindlequaff")
"""Words that are in one document alone."""
LINES = [
    f"The {RARE} contract was signed in Brackwater by the harbour master.",
    "The fee for the quormvellity is 4711 euros a year, due in March.",
]
SCANNED = "The brindlequaff is kept in the cellar."
QUESTION = f"Where was the {RARE} contract signed?"


@pytest.fixture
def assembly(tmp_path: Path) -> Iterator[Assembly]:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "tarn.txt").write_text("The quillwort grows in the tarn above the village.")
    make_pdf(folder / "contract.pdf", LINES)
    assembly = Assembly(load(data_dir=started_before(tmp_path / "data")))
    added(assembly, folder)
    yield assembly
    assembly.close()


def added(assembly: Assembly, *paths: Path) -> None:
    results = [event for event in assembly.ingest(uploads_from(paths)) if isinstance(event, IngestResult)]
    assert {one.status for one in results} == {IngestStatus.ADDED}


def asked(assembly: Assembly, question: str = QUESTION, history: tuple[Turn, ...] = ()) -> Run:
    events = assembly.ask(question, history=history)
    (finished,) = [event for event in events if isinstance(event, RunFinished)]
    return finished.run


def holding(data: Path, words: tuple[str, ...] = RARE_WORDS) -> set[str]:
    """Return the files that have one of the words, or its end: full text keeps of a word what its neighbour lacks."""
    forms = [form for word in words for part in (word, word[4:]) for form in _forms(part)]
    files = [path for path in data.rglob("*") if path.is_file()]
    return {path.relative_to(data).as_posix() for path in files if any(form in path.read_bytes() for form in forms)}


def _forms(word: str) -> list[bytes]:
    return [form for one in (word, word.upper(), word.title()) for form in (one.encode(), one.encode("utf-16-le"))]


def in_a_chat(assembly: Assembly, run: Run) -> int:
    chat = assembly.chats.begin("default")
    turn = assembly.chats.ask(chat.id, run.question)
    assembly.chats.put(
        chat.id, ChatTurn(number=turn.number, question=run.question, answer=run.answer, run_id=run.run_id,
                          state=TurnState.ANSWERED),
    )  # fmt: skip
    return chat.id


def test_nothing_of_a_forgotten_document_is_in_any_file(assembly: Assembly, tmp_path: Path) -> None:
    data = assembly.settings.data_dir
    scan = tmp_path / "note.png"
    picture([SCANNED]).save(scan)
    added(assembly, scan)
    for _ in assembly.collections.read_scans():
        pass
    assert RARE_WORDS[2] in assembly.collections.text("note.png")
    run, about_scan = asked(assembly), asked(assembly, f"Where is the {RARE_WORDS[2]} kept?")
    other = asked(assembly, "What grows in the tarn?")
    asked(assembly, "What grows in the tarn above it?", (Turn(run.question, run.answer),))
    mixed, alone = in_a_chat(assembly, other), in_a_chat(assembly, run)
    kept = assembly.chats.ask(mixed, QUESTION)
    assembly.chats.put(mixed, ChatTurn(number=kept.number, question=QUESTION, answer=run.answer, run_id=run.run_id))
    for one in (run, about_scan, other):
        assembly.learning.label(one.run_id, LabelKind.ANSWER, good=True)
        assembly.learning.label(one.run_id, LabelKind.PASSAGE, one.passages[0].id, good=True)
    assembly.learning.pin(run.run_id, ["Brackwater"])
    assembly.learning.pin(other.run_id, ["quillwort"])
    with assembly.database.transaction() as connection:
        connection.execute(
            "INSERT INTO web_cache VALUES ('http://127.0.0.1', ?, '{}', '2026-11-28T00:00:00', ?)",
            (QUESTION, json.dumps({"results": [{"content": LINES[0]}]})),
        )
    evaluated = localcrag(data, "eval", "--pinned")
    assert evaluated.returncode == 0, evaluated.stderr
    (data / "evaluations" / "other").mkdir()
    (data / "evaluations" / "other" / "runs.jsonl").write_text('{"question": "What grows in the tarn?"}\n')
    copy = assembly.storage.back_up().path
    assert assembly.collections.page_picture("contract.pdf", 1)
    assert f"backups/{copy.name}" in holding(data)

    forgotten = assembly.document_deletion.forget(["contract.pdf", "note.png"])
    assert forgotten.left == ()
    assert forgotten.backups == (f"backups/{copy.name}",)
    removed = forgotten.removed
    assert (removed.pins, removed.chats, removed.turns, removed.web_answers) == (1, 1, 2, 1)
    assert len(removed.folders) == 1
    assert removed.redacted == 1  # The question about the tarn had found it, too.
    assert [one.run_id for one in assembly.runs.newest()] == [other.run_id]
    assert {one.document for one in assembly.runs.get(other.run_id).passages} == {"tarn.txt"}
    assert forgotten.searched.marks > 5
    copy.unlink()
    assert holding(data) == set()
    # What is of others stays.
    assert [one.name for one in assembly.collections.documents()] == ["tarn.txt"]
    assert [one.id for one in assembly.chats.chats()] == [mixed]
    assert (data / "evaluations" / "other").is_dir()
    assert {mixed, alone} - {one.id for one in assembly.chats.chats()} == {alone}
    assert "quillwort" in asked(assembly, "What grows in the tarn?").answer


def test_what_is_deleted_is_only_where_it_is_quoted(assembly: Assembly) -> None:
    data = assembly.settings.data_dir
    assembly.document_deletion.delete(["contract.pdf"])
    assert holding(data) == set()


def test_a_command_that_adds_a_newer_version_leaves_nothing_of_the_older_one(
    assembly: Assembly, tmp_path: Path
) -> None:
    data = assembly.settings.data_dir
    make_pdf(tmp_path / "in" / "contract.pdf", ["The lantern contract was signed in Oakham by the harbour master."])
    assert localcrag(data, "ingest", str(tmp_path / "in" / "contract.pdf")).returncode == 0
    assert holding(data) == set()


def test_what_changed_is_in_no_copy_and_in_no_file_once_the_app_is_closed(assembly: Assembly, tmp_path: Path) -> None:
    data = assembly.settings.data_dir
    make_pdf(tmp_path / "in" / "contract.pdf", ["The lantern contract was signed in Oakham by the harbour master."])
    for _ in assembly.ingest(uploads_from([tmp_path / "in" / "contract.pdf"])):
        pass
    assert holding(data)
    copy = assembly.storage.back_up().path
    assert f"backups/{copy.name}" not in holding(data)
    assembly.close()
    assert holding(data) == set()


def test_a_deleted_document_that_runs_quote_can_be_forgotten_later(assembly: Assembly) -> None:
    data = assembly.settings.data_dir
    asked(assembly)
    assembly.document_deletion.delete(["contract.pdf"])
    assert holding(data) == {"localcrag.sqlite3"}
    forgotten = assembly.document_deletion.forget(["contract.pdf"])
    assert (forgotten.documents, forgotten.left, forgotten.removed.runs) == ((), (), 1)
    assert forgotten.searched.marks > 1
    assert holding(data) == set()
    with pytest.raises(UnknownDocument, match="and no run found anything in one"):
        assembly.document_deletion.forget(["contract.pdf"])


def test_the_search_says_in_which_file_and_where(assembly: Assembly) -> None:
    data = assembly.settings.data_dir
    (data / "notes.log").write_bytes(b"\0\0" + LINES[0].encode("utf-16-le"))
    found = assembly.document_deletion.verify("contract.pdf")
    tables = {one.table for one in found.places if one.table}
    assert {"documents.text", "chunks.text", "originals.data", "vectors.vector"} <= tables
    (place, *_) = [one for one in found.places if one.file == "notes.log"]
    assert place.at is not None
    assert assembly.document_deletion.verify("no such words").places == ()
    forgotten = assembly.document_deletion.forget(["contract.pdf"])
    assert {one.file for one in forgotten.left} == {"notes.log"}


def test_a_copy_elsewhere_is_named_and_what_quotes_it_stays(assembly: Assembly, tmp_path: Path) -> None:
    for _ in assembly.ingest(uploads_from([tmp_path / "in" / "contract.pdf"]), "other"):
        pass
    forgotten = assembly.document_deletion.forget(["contract.pdf"])
    assert forgotten.copies == (("contract.pdf", "other"),)
    assert forgotten.searched.marks == 0
    assert RARE in assembly.collections.text("contract.pdf", "other")


def test_a_collection_in_a_server_has_nothing_left(assembly: Assembly, postgres: PostgresServer) -> None:
    for _ in assembly.collections.moving.move("default", postgres.new()):
        pass
    assert postgres.holds(RARE.encode())
    run = asked(assembly)
    assert run.passages
    forgotten = assembly.document_deletion.forget(["contract.pdf"])
    assert forgotten.left == ()
    assert forgotten.removed.runs + forgotten.removed.redacted == 1
    assert not postgres.holds(RARE.encode())
    # Of what was here before it moved, too.
    assert holding(assembly.settings.data_dir) == set()


def test_the_command_forgets_and_says_what_it_searched(assembly: Assembly) -> None:
    data = assembly.settings.data_dir
    assembly.close()

    def said(*arguments: str, status: int = 0) -> str:
        done = localcrag(data, "forget", *arguments)
        assert done.returncode == status, done.stderr
        return done.stdout

    assert "table documents.text" in said("--verify", "contract.pdf", status=1)
    assert "in all tables: found nothing" in said("contract.pdf", "--verify")
    said("--verify", LINES[0])
    said()
    said("--verify", status=2)
    said("--verify", "words", "name.txt", status=2)
    said("no-such.pdf", status=1)
