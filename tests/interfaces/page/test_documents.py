"""The column of documents: what a tab is told while files go in, of the collection that it shows by then."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar, cast

import gradio as gr

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import Uploads
from localcrag.interfaces.page import renderers
from localcrag.interfaces.page.documents import DocumentEvents
from localcrag.records.documents import Document
from localcrag.records.enums import IngestStatus
from localcrag.records.ingest import GrowingUploads, IngestEvent, IngestResult, Upload


class NoTags:
    """Of no folder. Not real: it stores nothing."""

    def folder_tags(self, collection: str) -> dict[str, list[str]]:
        return {}


class FakeHomes:
    """All collections are on this computer."""

    def on_server(self, collection: str) -> None:
        return None


class FakeOpened:
    """Whose index files are all written."""

    index_errors: ClassVar[dict[str, str]] = {}


class FakeCollections:
    """Collections of one document each, which is called as its collection is. Not real: it stores nothing."""

    tags, homes, opened = NoTags(), FakeHomes(), FakeOpened()

    def documents(self, collection: str) -> list[Document]:
        return [Document(1, f"of the {collection}", "", "text/plain", None, 1, 1, "2026-01-02T03:04:05+00:00")]

    def mostly_foreign(self, documents: list[Document]) -> bool:
        return False

    def offered(self) -> list[str]:
        return ["attic", "cellar"]


def test_files_that_go_in_leave_the_collection_that_is_shown_by_then(tmp_path: Path) -> None:
    go = threading.Event()

    def taken_in(uploads: Sequence[Upload] | GrowingUploads, collection: str) -> Generator[IngestEvent, None, None]:
        assert go.wait(60)
        yield IngestResult(next(iter(uploads)).name, IngestStatus.ADDED, None, 1)

    uploads = Uploads(taken_in)
    assembly = SimpleNamespace(collections=FakeCollections(), document_deletion=None)
    events = DocumentEvents(cast(Assembly, assembly), uploads, lambda: "")
    tab, other = gr.Request(session_hash="one"), gr.Request(session_hash="two")
    (tmp_path / "a.txt").write_text("x")
    uploads.add([tmp_path / "a.txt"], "attic")
    told, others = events.follow("attic", tab), events.follow("attic", other)
    assert "of the attic" in next(told)[1]
    assert "of the attic" in next(others)[1]
    assert "of the cellar" in events.choose("cellar", tab)
    go.set()
    assert "of the cellar" in list(told)[-1][1]
    assert "of the attic" in list(others)[-1][1]


def test_folders_and_file_name_stand_apart_in_the_list() -> None:
    there = [Document(1, "papers.zip/rental/lease.md", "", "text/plain", None, 1, 1, "2026-01-02T03:04:05+00:00")]
    html = renderers.documents(there, "attic", [])
    assert '<span class="lc-folder">papers.zip/rental/</span><span class="lc-file">lease.md</span>' in html
    only = dataclasses.replace(there[0], name="lease.md")
    assert "lc-folder" not in renderers.documents([only], "attic", [])


def test_a_folder_is_listed_with_its_tags_which_its_documents_have_from_it() -> None:
    one = Document(1, "papers/rental/lease.md", "", "text/plain", None, 1, 1, "2026-01-02T03:04:05", tags=("A", "own"))
    html = renderers.documents([one], "attic", [], {"papers": ["a"], "gone": ["b"]})
    assert [name in html for name in ('"gone/"', '"papers/"', '"papers/rental/"')] == [True, True, True]
    assert 'data-tags="A, own" data-own="own"' in html
    assert '<span class="lc-tag lc-from-folder" title="from the folder papers">A</span>' in html


def test_a_collection_elsewhere_says_where_it_lives_and_who_writes_to_it() -> None:
    shown = renderers.documents((), "lease", ["lease"], place="192.168.1.20:5432", writer="localcrag on <desk>")
    assert "This collection is stored on the PostgreSQL server at 192.168.1.20:5432." in shown
    assert "localcrag on &lt;desk&gt; is writing to this collection" in shown
    assert "They are stored on that server." in shown
    assert "for everybody who uses it?" in shown
    assert "lives in" not in renderers.documents((), "lease", ["lease"])


def test_what_cannot_be_listed_leaves_the_way_to_other_collections() -> None:
    shown = renderers.documents((), "lease", ["lease"], problem="The server <x> does not answer.")
    assert "The server &lt;x&gt; does not answer." in shown
    assert "New collection" in shown
    assert "No documents yet" not in shown
