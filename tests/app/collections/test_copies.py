"""Collections copied, merged, exported and imported with the real app: asked afterwards, and nothing embedded anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.collections.locator import TransferProgress
from localcrag.app.uploads import uploads_from
from localcrag.records.enums import Preset
from localcrag.records.errors import NameRefused, StoreError, UnknownCollection
from localcrag.records.events import RunFinished
from localcrag.records.run import Run
from localcrag.runs.labels import LabelKind
from localcrag.settings import load, with_changes
from tests.support.command_line import localcrag
from tests.support.documents import make_pdf
from tests.support.first_start import started_before
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.models

QUESTION = "How many people may the boat carry?"
FERRY = "When does the ferry leave?"


@pytest.fixture
def assembly(tmp_path: Path) -> Iterator[Assembly]:
    assembly = Assembly(load(data_dir=started_before(tmp_path / "data")))
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, leaves in ((one, "nine"), (two, "noon")):
        (folder / "island").mkdir(parents=True)
        (folder / "island" / "ferry.txt").write_text(f"The ferry to the island leaves at {leaves} every day.")
        (folder / "island" / "same.txt").write_text("The lighthouse on the island is white.")
    make_pdf(one / "boat.pdf", ["The boat may carry six people.", "It is tied up at the jetty in winter."])
    for folder in (one, two):
        for _ in assembly.ingest(uploads_from([folder]), folder.name):
            pass
    assembly.collections.tags.change(["boat.pdf"], put=["water"], collection="one")
    assembly.collections.tags.change(["island/"], put=["far"], collection="one")
    yield assembly
    assembly.close()


def asked(assembly: Assembly, question: str, collection: str) -> Run:
    events = assembly.ask(question, settings=with_changes(assembly.settings, collection=collection))
    (finished,) = [event for event in events if isinstance(event, RunFinished)]
    return finished.run


def held(assembly: Assembly, collection: str) -> list[object]:
    home = assembly.collections.homes.locate(collection)
    return [home.stored(one.name) for one in home.documents()]


def test_a_copy_has_all_that_the_collection_has(assembly: Assembly) -> None:
    assembly.collection_settings.set_preset(Preset.STRICT, "one")
    *_, last = assembly.collection_copies.copy("one", "again")
    assert (last.done, last.total) == (3, 3)
    assert held(assembly, "again") == held(assembly, "one")
    assert assembly.collections.tags.folder_tags("again") == {"island": ["far"]}
    assert assembly.collection_settings.preset("again") is Preset.STRICT
    assert "six" in asked(assembly, QUESTION, "again").answer
    assert assembly.collections.page_picture("boat.pdf", 2, collection="again")
    # They are two collections.
    assembly.collections.delete_document("boat.pdf", "again")
    assert "boat.pdf" in [one.name for one in assembly.collections.documents("one")]
    with pytest.raises(NameRefused, match="already"):
        next(assembly.collection_copies.copy("one", "two"))
    with pytest.raises(UnknownCollection):
        next(assembly.collection_copies.copy("none", "new"))


def test_a_copy_that_is_broken_off_leaves_nothing(assembly: Assembly) -> None:
    steps = assembly.collection_copies.copy("one", "again")
    next(steps)
    next(steps)
    steps.close()
    assert "again" not in assembly.collections.names()
    assert list(assembly.collection_copies.copy("one", "again"))[-1] == TransferProgress(3, 3)


def test_two_documents_of_one_name_are_both_found_after_a_merge(assembly: Assembly) -> None:
    run = asked(assembly, FERRY, "one")
    assembly.learning.label(run.run_id, LabelKind.ANSWER, good=True)
    merged = assembly.collection_copies.merge("one", "two")
    assert merged.renamed == (("island/ferry.txt", "island/ferry (one).txt"),)
    assert merged.same == ("island/same.txt",)
    assert merged.documents == 2
    assert "one" not in assembly.collections.names()
    names = ["boat.pdf", "island/ferry (one).txt", "island/ferry.txt", "island/same.txt"]
    assert [one.name for one in assembly.collections.documents("two")] == names
    tags = {one.name: one.tags for one in assembly.collections.documents("two")}
    assert tags == {"boat.pdf": ("water",), **dict.fromkeys(names[1:], ("far",))}
    found = {one.document: one.text for one in asked(assembly, FERRY, "two").passages}
    assert "nine" in found["island/ferry (one).txt"]
    assert "noon" in found["island/ferry.txt"]
    assert "six" in asked(assembly, QUESTION, "two").answer
    assert assembly.runs.get(run.run_id).collection == "two"
    assert [label.collection for label in assembly.learning.labels.find()] == ["two"]
    with pytest.raises(NameRefused, match="into itself"):
        assembly.collection_copies.merge("two", "two")


def test_a_file_brings_a_collection_to_another_data_folder(assembly: Assembly, tmp_path: Path) -> None:
    file = tmp_path / "one.localcrag"
    *_, last = assembly.collection_copies.export("one", file)
    assert last.total == 3
    other = Assembly(load(data_dir=started_before(tmp_path / "other")))
    try:
        (*_, (name, _)) = other.collection_copies.import_file(file)
        assert name == "one"
        assert held(other, "one") == held(assembly, "one")
        assert other.collections.tags.folder_tags("one") == {"island": ["far"]}
        assert "six" in asked(other, QUESTION, "one").answer
        assert other.collections.page_picture("boat.pdf", 1, collection="one")
        with pytest.raises(NameRefused, match="already"):
            list(other.collection_copies.import_file(file))
        file.write_bytes(file.read_bytes()[:-4096])
        with pytest.raises(StoreError, match="was not imported"):
            list(other.collection_copies.import_file(file, "again"))
        assert other.collections.names() == ["one"]
    finally:
        other.close()


def test_a_collection_in_a_server_is_merged_copied_and_exported(
    assembly: Assembly, postgres: PostgresServer, tmp_path: Path
) -> None:
    before = held(assembly, "one")
    for _ in assembly.collections.moving.move("one", postgres.new()):
        pass
    list(assembly.collection_copies.copy("one", "again"))
    assert held(assembly, "again") == before
    list(assembly.collection_copies.export("one", tmp_path / "one.localcrag"))
    list(assembly.collection_copies.import_file(tmp_path / "one.localcrag", "third"))
    assert held(assembly, "third") == before
    merged = assembly.collection_copies.merge("two", "one")
    assert merged.renamed == (("island/ferry.txt", "island/ferry (two).txt"),)
    found = {one.document: one.text for one in asked(assembly, FERRY, "one").passages}
    assert "noon" in found["island/ferry (two).txt"]
    merged = assembly.collection_copies.merge("one", "again")
    assert (merged.documents, len(merged.same)) == (1, 3)
    assert assembly.collections.homes.locate("again").server is None
    assert assembly.collections.names() == ["again", "third"]


def test_the_commands_say_what_they_did(assembly: Assembly, tmp_path: Path) -> None:
    data, file = assembly.settings.data_dir, str(tmp_path / "file")
    assembly.close()

    def said(*arguments: str, status: int = 0) -> str:
        done = localcrag(data, "collection", *arguments)
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    assert said("copy", "one", "again") == "again: 3 documents copied from one.\n"
    assert "3 documents written to" in said("export", "one", file)
    assert said("import", file, "third") == "third: 3 documents imported.\n"
    assert "there is one" in said("import", file, status=1) or "already" in said("import", file, status=1)
    assert "renamed: island/ferry.txt is now island/ferry (one).txt" in said("merge", "one", "two")
    assert said("list").split() == ["again", "local", "third", "local", "two", "local"]
