"""Taking documents in, with the real readers and the real embedder; processes really killed."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import zipfile
from contextlib import closing
from email.message import EmailMessage
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.documents.ingest import EMBED_TOGETHER
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import EmbedderMismatch, UnreadableDocument
from localcrag.records.ingest import IngestProgress, IngestResult
from localcrag.settings import load
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.vector_index import ChunkIndex
from tests.support.documents import make_docx, make_image_pdf, make_pages_pdf, make_pdf
from tests.support.odd_pdfs import make_mapped_pdf
from tests.support.office_files import make_doc, make_epub, make_pptx, make_xlsx

pytestmark = pytest.mark.models


@pytest.fixture
def assembly(tmp_path: Path) -> Assembly:
    return Assembly(load(data_dir=tmp_path / "data"))


def results(events: object) -> list[IngestResult]:
    return [event for event in events if isinstance(event, IngestResult)]  # type: ignore[attr-defined]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_every_supported_kind_of_file_goes_in_and_is_found(assembly: Assembly, tmp_path: Path) -> None:
    make_pdf(tmp_path / "a.pdf", ["The lighthouse keeper is called Ada.", "The second page mentions herring."])
    make_docx(tmp_path / "b.docx", ["The bakery opens at six in the morning."])
    write(tmp_path, "c.md", "# Bees\n\nThe hive stands behind the barn.")
    write(tmp_path, "d.html", "<body><p>The tractor is <b>green</b>.</p><script>alert(1)</script></body>")
    write(tmp_path, "e.txt", "The ferry leaves at noon.")
    slides = [("Welcome", ["We repair bicycles."], ""), ("Your first week", ["The key lies in room 12."], "")]
    make_pptx(tmp_path / "f.pptx", slides)
    make_xlsx(tmp_path / "g.xlsx", {"Lamps": [["Article", "Price"], ["Harbour lamp", (1234.5, '#,##0.00 "€"')]]})
    make_doc(tmp_path / "h.doc", "The attic is let to a violin maker.")
    make_epub(tmp_path / "i.epub", ["<h1>Spring</h1><p>The beech trees come into leaf in April.</p>"])
    write(tmp_path, "j.eml", "From: Ada\nSubject: Dentist\n\nThe dentist has moved to Mill Lane.")
    write(tmp_path, "k.csv", "Train,Platform\nNight express,7\n")
    write(tmp_path, "l.py", "# The retry waits ninety seconds.\nWAIT = 90\n")
    paths = sorted(tmp_path.glob("?.*"))
    done = results(assembly.ingest(uploads_from(paths)))
    assert [(result.document, result.status) for result in done] == [(p.name, IngestStatus.ADDED) for p in paths]
    pages = {document.name: document.pages for document in assembly.collections.store().documents()}
    assert {name: count for name, count in pages.items() if count} == {"a.pdf": 2, "f.pptx": 2}
    store, index = assembly.collections.store(), assembly.collections.index()
    for question, name, page in (
        ("Who keeps the lighthouse?", "a.pdf", 1),
        ("herring", "a.pdf", 2),
        ("When does the bakery open?", "b.docx", None),
        ("Where is the hive?", "c.md", None),
        ("What colour has the tractor?", "d.html", None),
        ("ferry", "e.txt", None),
        ("Where is the key?", "f.pptx", 2),
        ("What does the harbour lamp cost?", "g.xlsx", None),
        ("Who lives in the attic?", "h.doc", None),
        ("When do the beeches come into leaf?", "i.epub", None),
        ("Where is the dentist?", "j.eml", None),
        ("Which platform does the night express leave from?", "k.csv", None),
        ("How long does the retry wait?", "l.py", None),
    ):
        best, _ = index.nearest(assembly.models.embedder.embed([question])[0], 1)[0]
        document, chunk = store.chunks([best])[best]
        assert (document, chunk.page) == (name, page), question
        assert assembly.collections.text(name)[chunk.start : chunk.end] == chunk.text
    assert store.full_text("alert", 5) == []


def test_files_within_files_go_in_are_found_and_leave_nothing_behind(assembly: Assembly, tmp_path: Path) -> None:
    letter = EmailMessage()
    letter["Subject"] = "The move"
    letter.set_content("The van comes at eight.")
    letter.add_attachment("The piano goes last.", filename="plan.txt")
    letter.add_attachment(b"\x89PNG\r\n", maintype="image", subtype="png", filename="photo.png")
    packed = b"At the bottom is a well."
    for depth in range(5):
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w") as archive:
            archive.writestr("well.txt" if not depth else f"{depth}.zip", packed)
            if depth == 4:
                archive.writestr("house/letter.eml", letter.as_bytes())
                archive.writestr("house/same.txt", "The van comes at eight.")
        packed = held.getvalue()
    path = tmp_path / "papers.zip"
    path.write_bytes(packed)
    done = results(assembly.ingest(uploads_from([path])))
    assert [(one.document.removeprefix("papers.zip"), one.status.value) for one in done] == [
        ("/4.zip/3.zip/2.zip", "failed"),
        ("/4.zip/3.zip", "failed"),
        ("/4.zip", "failed"),
        ("/house/letter.eml", "added"),
        ("/house/letter.eml/plan.txt", "added"),
        ("/house/letter.eml/photo.png", "failed"),
        ("/house/same.txt", "added"),
        ("", "unpacked"),
    ]
    assert str(done[0].error).startswith(
        "papers.zip/4.zip/3.zip/2.zip is nested within 3 other files, so its contents were"
    )
    assert done[1].error == "papers.zip/4.zip/3.zip holds no file that could be added."
    assert done[5].error == (
        "papers.zip/house/letter.eml/photo.png cannot be read as a picture: it is damaged, cut off or very large. "
        "Get a fresh copy, or save a smaller version in a program that can open it."
    )
    assert done[-1].note == "2 files in it are in the collection."
    store, index = assembly.collections.store(), assembly.collections.index()
    best, _ = index.nearest(assembly.models.embedder.embed(["What is loaded last?"])[0], 1)[0]
    assert store.chunks([best])[best][0] == "papers.zip/house/letter.eml/plan.txt"
    # Broken off between two of them, and added again.
    with closing(assembly.ingest(uploads_from([path]), "other")) as events:
        assert next(one for one in events if isinstance(one, IngestResult) and one.status is IngestStatus.ADDED)
        assert list((tmp_path / "data").glob(".within-*"))
    assert not list((tmp_path / "data").glob(".within-*"))
    again = results(assembly.ingest(uploads_from([path])))
    assert [one.status.value for one in again] == ["failed"] * 3 + ["unchanged"] * 2 + ["unpacked"]
    assert again[-1].note == done[-1].note


def test_an_archive_of_nothing_that_can_be_read_has_failed(assembly: Assembly, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "music.zip", "w") as archive:
        archive.writestr("song.mp3", b"ID3\x04")
    song, whole = results(assembly.ingest(uploads_from([tmp_path / "music.zip"])))
    assert str(song.error).startswith("music.zip/song.mp3 was left out: there is no reader for files that end in .mp3.")
    assert whole.error == "music.zip holds no file that could be added."


def test_the_index_holds_what_a_question_asked_meanwhile_has_found(assembly: Assembly, tmp_path: Path) -> None:
    for name in ("ferry.txt", "hive.txt"):
        path = write(tmp_path, name, f"The {name} is about something of its own.")
        for event in assembly.ingest(uploads_from([path])):
            if isinstance(event, IngestResult):
                assert assembly.collections.index().nearest(assembly.models.embedder.embed([name])[0], 1)
    store = assembly.collections.store()
    assert isinstance(store, DocumentStore)
    again = ChunkIndex(store, assembly.settings.data_dir / "index")
    again.refresh()
    assert len(again) == len(assembly.collections.index()) == len(store.chunk_ids()) == 2


def test_the_same_file_again_is_unchanged_and_a_changed_one_replaces_its_chunks(
    assembly: Assembly, tmp_path: Path
) -> None:
    path = write(tmp_path, "note.txt", "The password of the shed is tulip.")
    statuses = []
    for text in (None, None, "The shed was torn down in May."):
        if text:
            path.write_text(text, encoding="utf-8")
        statuses += [result.status for result in results(assembly.ingest(uploads_from([path])))]
    assert statuses == [IngestStatus.ADDED, IngestStatus.UNCHANGED, IngestStatus.UPDATED]
    assert assembly.collections.store().full_text("tulip", 5) == []
    assert len(assembly.collections.index()) == 1


def test_files_that_fail_say_why_and_the_others_still_go_in(assembly: Assembly, tmp_path: Path) -> None:
    assembly.change(read_scans=False)
    make_pdf(tmp_path / "locked.pdf", ["secret"], password="x")  # noqa: S106
    make_image_pdf(tmp_path / "scan.pdf")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing follows")
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "song.mp3").write_bytes(b"ID3\x03" + bytes(100))
    write(tmp_path, "good.txt", "This one is fine.")
    names = ["locked.pdf", "scan.pdf", "broken.pdf", "empty.txt", "song.mp3", "gone.txt", "good.txt"]
    done = results(assembly.ingest(uploads_from([tmp_path / name for name in names])))
    assert [result.status for result in done] == [IngestStatus.FAILED] * 6 + [IngestStatus.ADDED]
    for result in done[:6]:
        assert result.error is not None
        assert result.document in result.error
    assert [document.name for document in assembly.collections.store().documents()] == ["good.txt"]


def test_pages_that_hold_no_text_are_named(assembly: Assembly, tmp_path: Path) -> None:
    assembly.change(read_scans=False)
    kinds = ["text", "blank", "scan", "text", "space", "ruled", "scan", "scan", "outlines", "text"]
    make_pages_pdf(tmp_path / "some.pdf", kinds)
    make_pages_pdf(tmp_path / "one.pdf", ["scan", "text"])
    make_pages_pdf(tmp_path / "blank.pdf", ["text", "blank", "text"])
    make_mapped_pdf(tmp_path / "odd.pdf", ["The ferry leaves at noon.", "\uf76f\uf76e " * 60])
    names = ["some.pdf", "one.pdf", "blank.pdf", "odd.pdf"]
    done = results(assembly.ingest(uploads_from([tmp_path / name for name in names])))
    assert {result.document: result.warnings for result in done} == {
        "some.pdf": ("Pages 3, 7–9 hold no text (scans?): they cannot be found or quoted.",),
        "one.pdf": ("Page 1 holds no text (a scan?): it cannot be found or quoted.",),
        "blank.pdf": (),
        "odd.pdf": ("Page 2 holds no text (a scan?): it cannot be found or quoted.",),
    }


def test_text_without_meaning_to_the_embedder_is_no_text_and_ends(assembly: Assembly, tmp_path: Path) -> None:
    assembly.change(read_scans=False)
    nothing = "\uf76f\uf76e\uf764 " * 200
    make_mapped_pdf(tmp_path / "some.pdf", ["The ferry leaves at noon.", nothing])
    make_mapped_pdf(tmp_path / "none.pdf", [nothing])
    write(tmp_path, "none.txt", nothing)
    write(tmp_path, "some.txt", f"The mill stands still. {nothing}")
    names = ["some.pdf", "none.pdf", "none.txt", "some.txt"]
    done = results(assembly.ingest(uploads_from([tmp_path / name for name in names])))
    assert [(result.status, result.chunks) for result in done] == [
        (IngestStatus.ADDED, 1), (IngestStatus.FAILED, 0), (IngestStatus.FAILED, 0), (IngestStatus.ADDED, 1),
    ]  # fmt: skip
    assert "lettering without meaning" in (done[1].error or "")
    assert done[2].error == "none.txt contains no text that could be searched."


def test_files_of_a_folder_keep_their_path_and_hidden_ones_stay_out(assembly: Assembly, tmp_path: Path) -> None:
    for name in ("one/readme.txt", "two/readme.txt", ".git/config.txt"):
        write(tmp_path / "folder", name, f"Text of {name}.")
    done = results(assembly.ingest(uploads_from([tmp_path / "folder"])))
    assert [(result.document, result.status) for result in done] == [
        ("one/readme.txt", IngestStatus.ADDED),
        ("two/readme.txt", IngestStatus.ADDED),
    ]
    (tmp_path / "nothing").mkdir()
    with pytest.raises(UnreadableDocument, match="contains no files"):
        uploads_from([tmp_path / "nothing"])


def test_two_files_of_one_name_do_not_replace_each_other(assembly: Assembly, tmp_path: Path) -> None:
    paths = [write(tmp_path, "a/x.txt", "First text."), write(tmp_path, "b/x.txt", "Second text.")]
    done = results(assembly.ingest(uploads_from(paths)))
    assert [result.status for result in done] == [IngestStatus.ADDED, IngestStatus.FAILED]
    assert "Rename one of them" in (done[1].error or "")


def test_the_same_content_under_another_name_is_taken_in_and_noted(assembly: Assembly, tmp_path: Path) -> None:
    paths = [write(tmp_path, name, "The very same text.") for name in ("x.txt", "y.txt")]
    done = results(assembly.ingest(uploads_from(paths)))
    assert done[1].note == "The same content is in the collection as “x.txt”."


def test_progress_names_file_page_and_chunk_and_guesses_the_remaining_time(assembly: Assembly, tmp_path: Path) -> None:
    make_pdf(tmp_path / "a.pdf", [f"Page {n} talks about topic number {n}. " * 30 for n in range(1, 5)])
    write(tmp_path, "b.txt", "Some words follow here. " * 900)
    progress = [e for e in assembly.ingest(uploads_from([tmp_path / "a.pdf", tmp_path / "b.txt"]))
                if isinstance(e, IngestProgress)]  # fmt: skip
    of_files = [p for p in progress if p.phase != "loading"]
    assert {(p.document, p.number, p.files) for p in of_files} == {("a.pdf", 1, 2), ("b.txt", 2, 2)}
    reading = [(p.done, p.total) for p in progress if p.document == "a.pdf" and p.phase == "reading" and p.done]
    assert list(dict.fromkeys(reading)) == [(1, 4), (2, 4), (3, 4), (4, 4)]
    embedding = [(p.done, p.total) for p in progress if p.document == "b.txt" and p.phase == "embedding"]
    assert embedding[0][0] == 0
    assert embedding[-1][0] == embedding[-1][1]
    assert progress[-1].seconds_left == pytest.approx(0.0)
    assert of_files[0].seconds_left is None


def test_cancelling_leaves_nothing_half_done(assembly: Assembly, tmp_path: Path) -> None:
    first = write(tmp_path, "first.txt", "A finished document.")
    second = write(tmp_path, "second.txt", "A document that is cancelled. " * 1000)
    with closing(assembly.ingest(uploads_from([first, second]))) as events:
        for event in events:
            if isinstance(event, IngestProgress) and event.document == "second.txt" and event.phase == "embedding":
                break
    there = [document.name for document in assembly.collections.store().documents()]
    assert there in ([], ["first.txt"]), "they may be embedded together"
    assert len(assembly.collections.index()) == len(there)
    assert assembly.collections.index().is_consistent() or not there
    assert [result.status for result in results(assembly.ingest(uploads_from([second])))] == [IngestStatus.ADDED]


def test_a_deleted_document_is_gone_everywhere(assembly: Assembly, tmp_path: Path) -> None:
    paths = [write(tmp_path, "a.txt", "The zebra crossing is new."), write(tmp_path, "b.txt", "The pond is old.")]
    results(assembly.ingest(uploads_from(paths)))
    assembly.collections.delete_document("a.txt")
    rows = assembly.database.rows
    assert rows("SELECT count(*) FROM documents")[0][0] == 1
    assert rows("SELECT count(*) FROM chunks")[0][0] == 1
    assert rows("SELECT count(*) FROM vectors")[0][0] == 1
    assert rows("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'zebra'")[0][0] == 0
    assert len(assembly.collections.index()) == 1


def test_a_collection_can_be_embedded_anew_for_another_embedder(assembly: Assembly, tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "The zebra crossing is new.")
    results(assembly.ingest(uploads_from([path])))
    with assembly.database.transaction() as connection:
        connection.execute("UPDATE collections SET embedder = 'an older one', dimension = 3")
        connection.execute("UPDATE vectors SET vector = zeroblob(12)")
    again = Assembly(assembly.settings)
    with pytest.raises(EmbedderMismatch, match="an older one"):
        again.collections.store()
    assert list(again.collections.reindex())[-1] == (1, 1)
    assert len(again.collections.index().nearest(again.models.embedder.embed(["zebra"])[0], 3)) == 1


KILLED = """
import sys
from pathlib import Path
from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.records.ingest import IngestResult
from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.records.ingest import IngestResult
from localcrag.settings import load
assembly = Assembly(load(data_dir=sys.argv[1]))
for event in assembly.ingest(uploads_from([Path(sys.argv[2])])):
    kind = "done" if isinstance(event, IngestResult) else "busy"
    print(kind, event.document, getattr(event, "phase", ""), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["busy 003.txt reading", "busy 004.txt embedding", "done 005.txt "])
def test_a_process_killed_in_the_middle_loses_nothing_that_was_reported_done(tmp_path: Path, moment: str) -> None:
    folder, data = tmp_path / "in", tmp_path / "data"
    for number in range(EMBED_TOGETHER + 44):
        write(folder, f"{number:03}.txt", f"Document {number} says something about subject {number}.")
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(data), str(folder)], stdout=subprocess.PIPE, text=True, env=os.environ.copy()
    )
    assert process.stdout is not None
    done = set()
    for line in process.stdout:
        if line.startswith("done"):
            done.add(line.split()[1])
        if line.startswith(moment):
            process.send_signal(signal.SIGKILL)
            break
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    assembly = Assembly(load(data_dir=data))
    there = {document.name for document in assembly.collections.store().documents()}
    assert done <= there
    assert len(there) < EMBED_TOGETHER + 44
    chunks = assembly.database.rows("SELECT count(*) FROM chunks")[0][0]
    assert assembly.database.rows("SELECT count(*) FROM vectors")[0][0] == chunks
    found = assembly.collections.index().nearest(assembly.models.embedder.embed(["subject"])[0], 999)
    assert len(found) == chunks
    again = results(assembly.ingest(uploads_from([folder])))
    assert {result.document for result in again if result.status is IngestStatus.UNCHANGED} == there
    assert len(assembly.collections.store().documents()) == EMBED_TOGETHER + 44


def test_a_file_name_that_is_no_utf_8_is_taken_in_under_a_readable_one(assembly: Assembly, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    path.write_text("The kettle is on.")
    done = results(assembly.ingest(uploads_from([path])))
    assert [(result.document, result.status) for result in done] == [("caf�.txt", IngestStatus.ADDED)]
