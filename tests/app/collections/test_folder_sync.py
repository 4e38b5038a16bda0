"""A collection follows a folder, with the real models: new, changed, renamed, gone, away, and asked meanwhile."""

from __future__ import annotations

import os
import shutil
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.collections.aliases import ResolvedName
from localcrag.records.errors import FolderError
from localcrag.records.ingest import FolderChange, FolderStatus, GoneFilePolicy, IngestProgress, Upload
from localcrag.records.restriction import Restriction
from localcrag.settings import load
from tests.support.first_start import started_before
from tests.support.folder_desk import FolderDesk
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.models

SHED, BOILER = "The deposit for the bicycle shed is 80 euros.", "The boiler was installed in 1998 by Hansen."
MEMORY = Path("/dev/shm")  # noqa: S108 - a disk of its own, where there is one
QUESTION = "How much is the deposit for the bicycle shed?"


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assembly]:
    made = Assembly(load(data_dir=started_before(tmp_path_factory.mktemp("folders") / "data"), web="never"))
    yield made
    made.close()


@pytest.fixture
def desk(assembly: Assembly, tmp_path: Path) -> FolderDesk:
    made = FolderDesk(tmp_path, assembly, tmp_path.name)
    made.write("shed.md", SHED)
    made.write("cellar/boiler.txt", BOILER)
    return made


def test_a_question_finds_what_a_changed_file_says_now(desk: FolderDesk) -> None:
    desk.bind()
    assert desk.sync() == [("added", "cellar/boiler.txt"), ("added", "shed.md")]
    assert "80 euros" in desk.ask(QUESTION).answer
    desk.write("shed.md", SHED.replace("80", "95"))
    assert desk.sync() == [("updated", "shed.md")]
    run = desk.ask(QUESTION)
    assert "95 euros" in run.answer
    assert "80 euros" not in "".join(passage.text for passage in run.passages)
    assert desk.sync() == []
    assert desk.read == ["cellar/boiler.txt", "shed.md", "shed.md"]


def test_renamed_and_moved_files_keep_chunks_and_tags_and_nothing_is_read(desk: FolderDesk) -> None:
    desk.bind()
    desk.sync()
    desk.assembly.collections.tags.change(["shed.md"], put=["signed"], collection=desk.collection)
    chunks, read = desk.chunk_ids(), [*desk.read]
    (desk.folder / "shed.md").rename(desk.folder / "bicycles  and prams.md")
    (desk.folder / "cellar").rename(desk.folder / "basement")
    assert desk.sync() == [("renamed", "basement/boiler.txt"), ("renamed", "bicycles  and prams.md")]
    assert desk.names() == ["basement/boiler.txt", "bicycles  and prams.md"]
    assert (desk.chunk_ids(), desk.read) == (chunks, read)
    assert desk.assembly.collections.documents(desk.collection)[1].tags == ("signed",)
    assert {source.document for source in desk.ask(QUESTION).sources} == {"bicycles  and prams.md"}


def test_files_that_take_each_others_names_are_told_apart_by_what_is_in_them(desk: FolderDesk) -> None:
    desk.bind()
    desk.sync()
    shed, boiler, away = desk.folder / "shed.md", desk.folder / "cellar/boiler.txt", desk.folder / ".away"
    shed.rename(away)
    boiler.rename(shed)
    away.rename(boiler)
    chunks = desk.chunk_ids()
    assert sorted(desk.sync()) == [("renamed", "cellar/boiler.txt"), ("renamed", "shed.md")]
    assert (desk.chunk_ids(), len(desk.read)) == (chunks, 2)
    assert desk.text("shed.md") == BOILER


def test_a_file_put_over_another_takes_its_place_and_a_new_one_takes_the_name_that_got_free(desk: FolderDesk) -> None:
    desk.bind()
    desk.sync()
    (desk.folder / "shed.md").rename(desk.folder / "cellar/boiler.txt")
    desk.write("shed.md", "The shed has two windows.")
    assert desk.sync() == [("renamed", "cellar/boiler.txt"), ("updated", "shed.md")]
    assert desk.names() == ["cellar/boiler.txt", "shed.md"]
    assert desk.text("cellar/boiler.txt") == SHED
    assert desk.text("shed.md") == "The shed has two windows."


def test_a_document_is_tagged_deleted_and_forgotten_by_any_of_its_names(desk: FolderDesk) -> None:
    # In no other test's documents: what is searched for are words of this one alone.
    for name in ("shed.md", "z/copy of shed.md"):
        desk.write(name, "Quillfeather opens the cucumber frame of the shed.")
    desk.bind()
    desk.sync()
    collections, document_deletion = desk.assembly.collections, desk.assembly.document_deletion
    other = "z/copy of shed.md"
    assert collections.document_names.resolve([other, "shed.md"], desk.collection) == [
        ResolvedName("shed.md", (other,))
    ]
    assert collections.document_names.resolve(["nowhere.md"], desk.collection) == [ResolvedName("nowhere.md")]
    collections.tags.change([other], put=["garden"], collection=desk.collection)
    assert [one.tags for one in collections.documents(desk.collection)] == [(), ("garden",)]
    assert document_deletion.verify(other, desk.collection).places
    document_deletion.delete([other], desk.collection)
    assert desk.names() == ["cellar/boiler.txt"]
    desk.write("z/boiler again.txt", BOILER)
    desk.sync()
    assert document_deletion.forget(["z/boiler again.txt"], desk.collection).documents == ("cellar/boiler.txt",)


def test_two_files_with_one_content_are_stored_once_and_the_document_stays_with_the_one_that_stays(
    desk: FolderDesk,
) -> None:
    desk.write("z/copy of shed.md", SHED)
    desk.bind(GoneFilePolicy.REMOVE)
    assert ("same", "z/copy of shed.md") in desk.sync()
    assert desk.names() == ["cellar/boiler.txt", "shed.md"]
    assert [one.also for one in desk.assembly.collections.documents(desk.collection)] == [(), ("z/copy of shed.md",)]
    run = desk.ask(QUESTION, Restriction(documents=("z/copy of shed.md",)))
    assert [(source.document, source.also) for source in run.sources] == [("shed.md", ("z/copy of shed.md",))]
    (desk.folder / "shed.md").unlink()
    assert desk.sync() == [("renamed", "z/copy of shed.md")]
    assert desk.names() == ["cellar/boiler.txt", "z/copy of shed.md"]
    desk.write("z/another.md", SHED)
    assert desk.sync() == [("same", "z/another.md")]
    desk.write("z/copy of shed.md", "Something else is in it now.")
    assert desk.sync() == [("renamed", "z/another.md"), ("updated", "z/copy of shed.md")]
    assert desk.read == ["cellar/boiler.txt", "shed.md", "z/copy of shed.md"]


@pytest.mark.parametrize(
    ("gone", "said", "there"),
    [
        (GoneFilePolicy.ASK, "gone", ["cellar/boiler.txt", "shed.md"]),
        (GoneFilePolicy.KEEP, "kept", ["cellar/boiler.txt", "shed.md"]),
        (GoneFilePolicy.REMOVE, "removed", ["cellar/boiler.txt"]),
    ],
)
def test_what_becomes_of_a_document_whose_file_is_gone_is_chosen(
    desk: FolderDesk, gone: GoneFilePolicy, said: str, there: list[str]
) -> None:
    desk.bind(gone)
    desk.sync()
    (desk.folder / "shed.md").unlink()
    assert desk.sync() == [(said, "shed.md")]
    assert desk.sync() == [], "it is said once"
    assert desk.names() == there


def test_a_file_that_was_asked_about_may_come_back_or_go_or_stay(desk: FolderDesk) -> None:
    bound = desk.bind()
    desk.sync()
    (desk.folder / "shed.md").rename(desk.folder / ".away")
    desk.sync()
    (state,) = desk.states()
    assert (state.gone, state.counts.gone) == (("shed.md",), 1)
    (desk.folder / ".away").rename(desk.folder / "shed.md")
    assert desk.folders.decide(bound, GoneFilePolicy.REMOVE) == [], "it is there again, though nobody has looked yet"
    assert desk.sync() == [("back", "shed.md")]
    (desk.folder / "shed.md").unlink()
    (desk.folder / "cellar/boiler.txt").unlink()
    desk.write("left.txt", "Left.")
    desk.sync()
    assert [one.status for one in desk.folders.decide(bound, GoneFilePolicy.REMOVE, ["shed.md"])] == [
        FolderStatus.REMOVED
    ]
    assert [one.status for one in desk.folders.decide(bound, GoneFilePolicy.KEEP)] == [FolderStatus.KEPT]
    assert desk.names() == ["cellar/boiler.txt", "left.txt"]
    assert desk.states()[0].counts.gone == 0


def test_a_drive_that_is_not_there_empties_no_collection(desk: FolderDesk, tmp_path: Path) -> None:
    desk.bind(GoneFilePolicy.REMOVE)
    desk.sync()
    for empty in (False, True):  # a mount point is missing, or is there and empty
        desk.folder.rename(tmp_path / "away")
        if empty:
            desk.folder.mkdir()
        assert desk.sync() == [("away", str(desk.folder))]
        assert desk.sync() == [("away", str(desk.folder))]
        (state,) = desk.states()
        assert state.folder.away_since
        assert ("empty" in str(state.folder.away_why)) is empty
        assert desk.names() == ["cellar/boiler.txt", "shed.md"]
        if desk.folder.exists():
            desk.folder.rmdir()
        (tmp_path / "away").rename(desk.folder)
        assert desk.sync() == []
        assert desk.states()[0].folder.away_since is None
    assert len(desk.read) == 2


def test_another_disk_in_the_folders_place_empties_no_collection(desk: FolderDesk, tmp_path: Path) -> None:
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this system has no other disk to put in its place")
    desk.bind(GoneFilePolicy.REMOVE)
    desk.sync()
    desk.folder.rename(tmp_path / "away")
    with TemporaryDirectory(dir=MEMORY) as other:
        (Path(other) / "photo.txt").write_text("A photo of the shed.")
        desk.folder.symlink_to(other)
        assert desk.sync() == [("away", str(desk.folder))]
        assert "another disk" in str(desk.states()[0].folder.away_why)
    assert desk.names() == ["cellar/boiler.txt", "shed.md"]
    desk.folder.unlink()
    (tmp_path / "away").rename(desk.folder)
    assert desk.sync() == []
    assert len(desk.read) == 2


def test_a_collection_in_postgresql_follows_a_folder_as_one_here_does(
    desk: FolderDesk, postgres: PostgresServer
) -> None:
    desk.write("z/copy of shed.md", SHED)
    desk.bind(GoneFilePolicy.REMOVE)
    for _ in desk.assembly.collections.moving.move(desk.collection, postgres.new()):
        pass
    assert desk.assembly.collections.homes.locate(desk.collection).server
    assert desk.sync() == [("added", "cellar/boiler.txt"), ("added", "shed.md"), ("same", "z/copy of shed.md")]
    run = desk.ask(QUESTION, Restriction(documents=("z/copy of shed.md",)))
    assert "80 euros" in run.answer
    assert [(source.document, source.also) for source in run.sources] == [("shed.md", ("z/copy of shed.md",))]
    (desk.folder / "shed.md").rename(desk.folder / "bicycles.md")
    (desk.folder / "z/copy of shed.md").unlink()
    assert desk.sync() == [("renamed", "bicycles.md")]
    desk.write("bicycles.md", SHED.replace("80", "95"))
    (desk.folder / "cellar/boiler.txt").unlink()
    assert desk.sync() == [("removed", "cellar/boiler.txt"), ("updated", "bicycles.md")]
    assert desk.names() == ["bicycles.md"]
    assert "95 euros" in desk.ask(QUESTION).answer
    assert desk.sync() == []


def test_a_folder_that_was_emptied_on_purpose_is_so_when_that_is_said(desk: FolderDesk) -> None:
    desk.bind(GoneFilePolicy.REMOVE)
    desk.sync()
    shutil.rmtree(desk.folder / "cellar")
    (desk.folder / "shed.md").unlink()
    assert desk.sync() == [("away", str(desk.folder))]
    assert sorted(desk.sync(emptied=True)) == [("removed", "cellar/boiler.txt"), ("removed", "shed.md")]
    assert desk.names() == []


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everybody's folders are open to root")
def test_a_folder_within_that_cannot_be_opened_loses_no_document(desk: FolderDesk) -> None:
    desk.bind(GoneFilePolicy.REMOVE)
    desk.sync()
    (desk.folder / "cellar").chmod(0)
    try:
        assert desk.sync() == []
    finally:
        (desk.folder / "cellar").chmod(0o700)
    assert desk.names() == ["cellar/boiler.txt", "shed.md"]


def test_what_failed_is_remembered_with_the_reason_and_tried_again_when_it_changes(desk: FolderDesk) -> None:
    desk.bind()
    (desk.folder / "torn.pdf").write_bytes(b"%PDF-1.7 and no more")
    desk.write("empty.txt", "")
    statuses = {name: status for status, name in desk.sync()}
    assert (statuses["torn.pdf"], statuses["empty.txt"]) == ("failed", "failed")
    (state,) = desk.states()
    assert [name for name, _ in state.failed] == ["empty.txt", "torn.pdf"]
    assert all(error for _, error in state.failed)
    read = len(desk.read)
    assert desk.sync() == []
    assert len(desk.read) == read
    desk.write("empty.txt", "Not empty.")
    assert desk.sync() == [("added", "empty.txt")]


def test_a_changed_file_that_cannot_be_read_leaves_the_old_chunks_until_it_can(desk: FolderDesk) -> None:
    desk.bind()
    desk.sync()
    desk.write("shed.md", "")
    assert desk.sync() == [("failed", "shed.md")]
    assert "80 euros" in desk.ask(QUESTION).answer
    desk.write("shed.md", SHED.replace("80", "95"))
    assert desk.sync() == [("updated", "shed.md")]
    assert "95 euros" in desk.ask(QUESTION).answer


def test_questions_find_the_old_chunks_until_the_new_ones_are_there(desk: FolderDesk) -> None:
    bound = desk.bind()
    desk.sync()
    desk.write("shed.md", SHED.replace("80", "95"))
    asked = 0
    for event in desk.folders.sync(bound):
        if isinstance(event, IngestProgress) and event.phase == "reading":
            assert "80 euros" in desk.ask(QUESTION).answer
            asked += 1
        if isinstance(event, FolderChange):
            assert "95 euros" in desk.ask(QUESTION).answer
    assert asked


def test_files_that_are_being_written_are_waited_for(desk: FolderDesk) -> None:
    bound = desk.bind()
    now = (desk.folder / "shed.md").stat().st_mtime
    os.utime(desk.folder / "cellar/boiler.txt", (now - 60, now - 60))
    early = desk.with_clock(now + 1)
    events = [one for one in early.sync(bound) if isinstance(one, FolderChange)]
    assert [(one.status, one.document) for one in events] == [
        (FolderStatus.ADDED, "cellar/boiler.txt"), (FolderStatus.WAITING, "shed.md"),
    ]  # fmt: skip
    assert desk.states()[0].folder.in_step_at is None
    assert desk.sync() == [("added", "shed.md")]
    assert desk.states()[0].folder.in_step_at


def test_files_are_followed_through_a_clock_that_went_ahead_and_was_set_back(desk: FolderDesk) -> None:
    desk.bind()
    desk.sync()
    ahead, early = 4_000_000_000, 1_000_000_000  # seconds: the years 2096 and 2001
    os.utime(desk.write("shed.md", SHED.replace("80", "95")), (ahead, ahead))
    assert desk.sync() == [("updated", "shed.md")], "not waited for until then"
    desk.folders = desk.with_clock(early + 60)
    os.utime(desk.write("shed.md", SHED.replace("80", "70")), (early, early))
    assert desk.sync() == [("updated", "shed.md")], "older than what is stored, and another"
    assert "70 euros" in desk.text("shed.md")
    assert desk.sync() == []


def test_a_file_that_grows_while_it_is_compared_is_waited_for(desk: FolderDesk) -> None:
    bound = desk.bind()
    changes = []
    for event in desk.folders.sync(bound):
        if isinstance(event, IngestProgress) and event.phase == "comparing" and event.document == "shed.md":
            (desk.folder / "shed.md").write_text(SHED * 2)
        if isinstance(event, FolderChange):
            changes.append((event.status, event.document))
    assert (FolderStatus.WAITING, "shed.md") in changes
    assert desk.sync() == [("added", "shed.md")]


def test_an_archive_keeps_its_documents_under_its_new_name_and_loses_what_it_holds_no_more(desk: FolderDesk) -> None:
    desk.bind(GoneFilePolicy.REMOVE)

    def pack(**texts: str) -> None:
        with zipfile.ZipFile(desk.folder / "box.zip", "w") as archive:
            for name, text in texts.items():
                archive.writestr(f"{name}.txt", text)
        later = time.time() + len(texts)
        os.utime(desk.folder / "box.zip", (later, later))

    pack(lamp="The lamp is green.", rope="The rope is long.")
    desk.sync()
    (desk.folder / "box.zip").rename(desk.folder / "chest.zip")
    assert desk.sync() == [("renamed", "chest.zip")]
    assert desk.names() == ["cellar/boiler.txt", "chest.zip/lamp.txt", "chest.zip/rope.txt", "shed.md"]
    assert desk.read.count("chest.zip") == 0
    (desk.folder / "chest.zip").unlink()
    assert desk.sync() == [("removed", "chest.zip")]
    pack(lamp="The lamp is green.", rope="The rope is long.", sail="The sail is white.")
    desk.sync()
    pack(lamp="The lamp is green.")
    assert desk.sync() == [("updated", "box.zip")]
    assert desk.names() == ["box.zip/lamp.txt", "cellar/boiler.txt", "shed.md"]


def test_patterns_say_which_files_are_followed(desk: FolderDesk) -> None:
    desk.write("drafts/a.md", "A draft.")
    desk.write("notes/old/b.MD", "An old note.")

    def bind(*exclude: str) -> None:
        desk.bound = desk.folders.bind(
            desk.folder, collection=desk.collection, include=["*.md"], exclude=exclude, gone=GoneFilePolicy.REMOVE
        )

    bind("drafts")
    assert desk.sync() == [("added", "notes/old/b.MD"), ("added", "shed.md")]
    bind("drafts", "notes/old/*")
    assert desk.sync() == [("removed", "notes/old/b.MD")]


def test_documents_that_were_there_before_are_the_folders_where_they_have_its_names(
    desk: FolderDesk, tmp_path: Path
) -> None:
    (tmp_path / "by hand.md").write_text(SHED)
    before = {"by hand.md": tmp_path / "by hand.md", "cellar/boiler.txt": desk.folder / "cellar/boiler.txt"}
    for _ in desk.assembly.ingest([Upload(path, name) for name, path in before.items()], desk.collection):
        pass
    desk.bind(GoneFilePolicy.REMOVE)
    assert desk.sync() == [("same", "shed.md")]
    assert desk.read == []
    (desk.folder / "shed.md").unlink()
    (desk.folder / "cellar/boiler.txt").unlink()
    desk.write("left.txt", "Left.")
    desk.sync()
    assert desk.names() == ["by hand.md", "left.txt"]


def test_a_document_that_a_person_renamed_keeps_its_name_and_follows_its_file(desk: FolderDesk) -> None:
    desk.bind()
    desk.sync()
    for old, new in (("shed.md", "Rules of the shed.md"), ("cellar/boiler.txt", "Boiler")):
        desk.assembly.collections.rename_document(old, new, desk.collection)
    assert desk.sync() == []
    desk.write("shed.md", SHED.replace("80", "95"))
    assert desk.sync() == [("updated", "Rules of the shed.md")]
    # Without its ending nobody would know what kind of file it is.
    desk.write("cellar/boiler.txt", BOILER.replace("Hansen", "Jansen"))
    assert desk.sync() == [("updated", "cellar/boiler.txt")]
    assert desk.names() == ["Rules of the shed.md", "cellar/boiler.txt"]


def test_a_file_moved_to_another_folder_of_the_collection_is_not_read_again(desk: FolderDesk, tmp_path: Path) -> None:
    desk.bind()
    desk.sync()
    attic = tmp_path / "attic"
    attic.mkdir()
    other = desk.bind(folder=attic)
    (desk.folder / "shed.md").rename(attic / "shed.md")
    chunks = desk.chunk_ids()
    assert desk.sync() == [("gone", "shed.md")]
    assert desk.sync(other) == [("same", "attic/shed.md"), ("renamed", "attic/shed.md")]
    assert desk.names() == ["attic/shed.md", "cellar/boiler.txt"]
    assert (desk.chunk_ids(), len(desk.read)) == (chunks, 2)


def test_a_folder_is_let_go_with_its_documents_or_without(desk: FolderDesk) -> None:
    bound = desk.bind()
    desk.sync()
    assert desk.folders.unbind(bound, documents=False) == 0
    assert desk.names() == ["cellar/boiler.txt", "shed.md"]
    desk.bound = None
    bound = desk.bind()
    assert desk.sync() == []
    assert desk.folders.unbind(bound, documents=True) == 2
    assert (desk.names(), desk.folders.all(desk.collection)) == ([], [])


def test_what_cannot_be_followed_is_refused_with_a_sentence(desk: FolderDesk, tmp_path: Path) -> None:
    desk.bind()
    for path, said in (
        (tmp_path / "nowhere", "is not a folder"),
        (desk.assembly.settings.data_dir.parent, "localcrag's own data folder"),
        (desk.folder / "cellar", "shares files with"),
    ):
        with pytest.raises(FolderError, match=said):
            desk.folders.bind(path, collection=desk.collection)
    with pytest.raises(FolderError, match=f"“{desk.collection}” already watches"):
        desk.folders.bind(desk.folder, collection="other")
    with pytest.raises(FolderError, match="No collection watches"):
        desk.folders.find_by_path(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_to_a_file_outside_is_not_opened(desk: FolderDesk, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("Nobody's business.")
    (desk.folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    desk.bind()
    assert ("failed", "link.txt") in desk.sync()
    assert "link.txt" not in desk.read
