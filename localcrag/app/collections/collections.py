"""The collections of a data folder: their documents, adding files, reading scans, and re-indexing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

from localcrag.app.collections.aliases import DocumentNames, Tags, with_aliases
from localcrag.app.collections.locator import CollectionLocator, CollectionMover, move_documents
from localcrag.app.collections.open_collections import CollectionEmbedders, OpenCollections
from localcrag.app.models.hardware import cores, page_workers, workers
from localcrag.app.models.lifecycle import LoadedModels
from localcrag.app.shared_state import CurrentSettings, LazyCache
from localcrag.documents.ingest import ingest
from localcrag.documents.prepare import ReadingTools
from localcrag.documents.readers.process import ReaderProcesses
from localcrag.documents.scans import Recogniser, ScanTools, read_scans
from localcrag.records.documents import Document, Member, PagePicture, ScannedPage
from localcrag.records.errors import NameRefused
from localcrag.records.ingest import GrowingUploads, IngestEvent, IngestProgress, TimeEstimate, Upload
from localcrag.settings import DEFAULT_COLLECTION, ENGLISH_EMBEDDER
from localcrag.storage.collections import admin, queries
from localcrag.storage.collections.folder_store import FolderStore
from localcrag.storage.database import Database
from localcrag.storage.files import temporary_file
from localcrag.storage.protocol import CollectionBackend, Index, Store
from localcrag.text.lexicon import ENGLISH
from localcrag.text.places import place_name

ADVICE = (
    "Most documents of this collection are not in English, which the models in use were made for. "
    "`localcrag models get multilingual` brings those for other languages, "
    "`localcrag models use multilingual` chooses them"
)


PROGRESS_SECONDS = 0.2
"""Seconds between two progress reports while files are being counted."""


def model_loading_progress(
    load: Callable[[], object], uploads: Sequence[Upload] | GrowingUploads
) -> Iterator[IngestProgress]:
    """Run `load` in a thread; yield the growing number of files to add until it has finished.

    Errors of `load` are ignored, because the caller requests the loaded object next, which raises them.
    """
    count = TimeEstimate(uploads).count
    loading = threading.Thread(target=_quietly, args=[load], name="load", daemon=True)
    loading.start()
    while loading.is_alive():
        now = count()
        yield IngestProgress("", 0, now.files, "loading", now.files, None, None, more=not now.all)
        loading.join(PROGRESS_SECONDS)


def _quietly(load: Callable[[], object]) -> None:
    with suppress(Exception):  # The caller's next request raises the error again.
        load()


SCAN_DPI = 200
"""Resolution in dots per inch of pages for text recognition; rapidocr shrinks larger pictures anyway."""


def existing_collection(collection: str | None, settings: CurrentSettings, database: Database) -> str:
    """Return the name of a collection, or the name in the settings if it is None. Raises UnknownCollection."""
    name = settings.collection(collection)
    if name != DEFAULT_COLLECTION:
        queries.require_collection(database, name)
    return name


class Collections:
    """The collections of a data folder. Methods without a collection name use the one in the settings."""

    def __init__(self, settings: CurrentSettings, database: Database, models: LoadedModels, made: LazyCache) -> None:
        self._settings, self._database = settings, database
        self.homes = CollectionLocator(settings, database)
        self.embedders = CollectionEmbedders(settings, database, models, self.homes)
        self.opened = OpenCollections(self.homes, self.embedders, made)
        self.document_names = DocumentNames(settings, database, self.homes)
        self.tags = Tags(settings, self.homes, self.document_names)
        self.moving = CollectionMover(self.homes, database, self.opened.forget)
        self._readers, self._adding, self._recogniser = ReaderProcesses(), ReaderProcesses(gently=True), Recogniser()

    def names(self) -> list[str]:
        """Return the names of all collections that contain documents, or once did."""
        return queries.collection_names(self._database)

    def offered(self) -> list[str]:
        """Return the names to choose from, which always include the default collection and the one in the settings."""
        return sorted({DEFAULT_COLLECTION, self._settings.now.collection, *self.names()})

    def require(self, collection: str | None = None) -> None:
        """Raise UnknownCollection unless the collection exists; the default collection always does."""
        existing_collection(collection, self._settings, self._database)

    def require_past(self, collection: str) -> None:
        """Raise UnknownCollection unless the collection exists, or is deleted but left questions or labels."""
        if not queries.has_history(self._database, collection):
            self.require(collection)

    def new(self, name: str) -> str:
        """Create an empty collection and return its name. Raises NameRefused, also if the name is taken."""
        name = admin.normalised_name(name, "collection")
        if name in {DEFAULT_COLLECTION, *self.names()}:
            raise NameRefused(f"The collection “{name}” already exists. Choose another name.")
        # Opening the store creates the collection.
        self.store(name)
        return name

    def rename(self, old: str, new: str) -> None:
        """Rename a collection; the default one cannot be renamed. Raises NameRefused and UnknownCollection."""
        if old == DEFAULT_COLLECTION:
            raise NameRefused(f"The collection “{old}” is the default collection and cannot be renamed.")
        admin.rename_collection(self._database, old, new)
        self.opened.forget(old)

    def delete(self, name: str) -> None:
        """Remove a collection and its documents, wherever it is stored. Raises UnknownCollection and StoreError."""
        # Get the index before the deletion: asking for the index of a missing collection would create it again.
        home, index = self.homes.locate(name), self.index(name)
        home.delete()
        if home.server:
            # This database still has the collection's name and its location.
            admin.delete_collection(self._database, name)
        self.opened.forget(name)
        index.remove_file()

    def documents(self, collection: str | None = None) -> list[Document]:
        """Return the documents of a collection, sorted by name. Loads no model."""
        name = self._settings.collection(collection)
        return with_aliases(self._database, name, self.homes.locate(name).documents())

    def mostly_foreign(self, documents: Sequence[Document]) -> bool:
        """Return whether most documents are not in English although the English-only embedding model is in use.

        Documents of unknown language are not counted.
        """
        known = [document.language for document in documents if document.language]
        foreign = sum(language != ENGLISH for language in known)
        return self._settings.now.embedder == ENGLISH_EMBEDDER and 2 * foreign > len(known)

    def texts(self, collection: str) -> dict[str, str]:
        """Return the texts of a collection's documents, by document name. Loads no model."""
        return self._home(collection).texts()

    def text(self, document: str, collection: str | None = None) -> str:
        """Return the text of a document. Loads no model. Raises UnknownDocument."""
        return self._home(collection).text(document)

    def page_picture(
        self, document: str, page: int, texts: Sequence[str] = (), *, dpi: int = 110, collection: str | None = None
    ) -> PagePicture | None:
        """Return the picture of a page, with the position of each text on it; None for files without pages.

        Raises UnreadableDocument if the page does not exist, and StoreError.
        """
        home = self._home(collection)
        data = home.original(document)
        if data is None:
            return None
        scan = home.scanned_page(document, page)
        return self._readers.picture(data, document, page, texts, dpi=dpi, scan=scan)

    def add(
        self, uploads: Sequence[Upload] | GrowingUploads, collection: str | None = None
    ) -> Generator[IngestEvent, None, None]:
        """Add files to a collection; see localcrag.documents.ingest. Reports the file count while models load."""
        name = self._settings.collection(collection)
        yield from model_loading_progress(lambda: self.embedders.get(name), uploads)
        opened = self.opened.get(name)
        at_once = workers(self._settings.now.workers)
        readers = self._adding.shared(at_once)
        yield from ingest(
            uploads,
            ReadingTools(
                open_file=readers.open_document,
                embedder=opened.embedder,
                find=opened.store.find,
                chunk_tokens=self._settings.now.chunk_tokens,
                as_file=self._as_file,
                unlock=readers.unlocked,
                read_scans=self._settings.now.read_scans,
            ),
            shelf=opened.store,
            index=self.opened.following(name),
            workers=at_once,
            abandon=readers.abandon,
            transaction=self._home(collection).transaction,
        )

    def scanned(self) -> list[str]:
        """Return the collections with pages that wait for text recognition, or none if that is turned off."""
        if not self._settings.now.read_scans:
            return []
        return self.homes.has_pages_to_recognise(self.embedders.is_there)

    def read_scans(
        self, collection: str | None = None, *, checkpoint: Callable[[], None] = lambda: None, again: bool = False
    ) -> Generator[IngestEvent, None, None]:
        """Recognise the text of waiting pages; with `again`, also of pages that could not be read before.

        `checkpoint` is called every few lines: it may block, and its exceptions end the work; pages that were already
        read stay. See localcrag.documents.scans. Raises UnknownCollection.
        """
        name = self._settings.collection(collection)
        queries.require_collection(self._database, name)
        shelf = self.homes.locate(name).scans()
        if again:
            shelf.retry_failed()
        opened = self.opened.get(name)
        at_once = page_workers(self._settings.now.workers)
        readers, recogniser = self._adding.shared(at_once), self._recogniser.shared(at_once)
        threads = max(1, (self._settings.now.threads or cores()) // at_once)

        def read_page(original: bytes, document: Document, page: int) -> ScannedPage:
            picture = readers.picture(original, document.name, page, dpi=SCAN_DPI)
            return recogniser.read(picture.png, place_name(document.name, page), threads=threads, checkpoint=checkpoint)

        def abandon() -> None:
            readers.abandon()
            recogniser.abandon()

        try:
            yield from read_scans(
                ScanTools(
                    shelf=shelf,
                    index=self.opened.following(name),
                    embedder=opened.embedder,
                    chunk_tokens=self._settings.now.chunk_tokens,
                    open_file=readers.open_document,
                    read_page=read_page,
                    as_file=self._as_file,
                    workers=at_once,
                    abandon=abandon,
                )
            )
        finally:
            recogniser.close()  # Each recogniser process takes hundreds of megabytes, so none is kept.

    def _as_file(self, member: Member) -> AbstractContextManager[Path]:
        folder, name = self._settings.now.data_dir, member.name
        return temporary_file(member.data, folder, prefix=".within-", description=name, modified_at=member.changed)

    def delete_document(self, document: str, collection: str | None = None) -> int:
        """Remove a document with its attachments and all derived data; return the number of attachments.

        Raises UnknownCollection, UnknownDocument and StoreError, but no error after the deletion: if the index cannot
        be updated, `OpenCollections.follow` records the reason.
        """
        name = self._settings.collection(collection)
        queries.require_collection(self._database, name)
        attachments = self.store(name).delete(document)
        self.opened.follow(name)
        return attachments

    def rename_document(self, old: str, new: str, collection: str | None = None) -> None:
        """Rename a document. Raises NameRefused, UnknownDocument and StoreError."""
        name = self._settings.collection(collection)
        home = self.homes.locate(name)
        # A server's database cannot take part in a local transaction.
        with nullcontext() if home.server else self._database.transaction():
            home.rename_document(old, new)
            FolderStore(self._database).rename_documents(name, {old: admin.normalised_name(new, "document")})

    def move_documents(self, names: Sequence[str], origin: str, target: str) -> None:
        """Move documents into another collection, created if needed. Raises the errors of admin.move_documents.

        If one of the two is on a server and the move is interrupted, the same call finishes it.
        """
        self.store(target)
        homes = self.homes.locate(origin), self.homes.locate(target)
        if any(home.server for home in homes):
            move_documents(names, *homes)
        else:
            admin.move_documents(self._database, names, origin, target)
        self.opened.follow(origin)
        self.opened.follow(target)

    def reindex(self, collection: str | None = None) -> Generator[tuple[int, int], None, None]:
        """Re-index a collection, see `CollectionEmbedders.reindex`; yields (done, total).

        Raises UnknownCollection, ModelError and StoreError.
        """
        name = self._settings.collection(collection)
        queries.require_collection(self._database, name)
        last = 0
        for done, last in self.embedders.reindex(name):
            if done < last:
                # The last report is held back until the collection is open with its new vectors.
                yield done, last
        self.opened.forget(name)
        self.opened.follow(name)
        yield last, last

    def store(self, collection: str | None = None) -> Store:
        """Return the store of a collection's chunks, created if needed. Raises EmbedderMismatch."""
        return self.opened.store(self._settings.collection(collection))

    def index(self, collection: str | None = None) -> Index:
        """Return the vector index of a collection."""
        return self.opened.get(self._settings.collection(collection)).index

    def close(self) -> None:
        """End the reader processes and close the connections to servers."""
        self._readers.close()
        self._adding.close()
        self._recogniser.close()
        self.homes.close()

    def _home(self, collection: str | None) -> CollectionBackend:
        return self.homes.locate(self._settings.collection(collection))
