"""Files added behind page and API: one list for all, and what earlier starts left to do."""

from __future__ import annotations

import threading
from collections.abc import Callable

from localcrag.app.assemble import Assembly
from localcrag.app.files_to_add import FoundFiles
from localcrag.app.folders.keeper import FolderKeeper
from localcrag.app.overwriting import Overwriting
from localcrag.app.re_embedding import ReEmbeddings
from localcrag.app.uploads import Uploads


def files_in_background(assembly: Assembly, keeper: FolderKeeper, busy: Callable[[], bool]) -> Uploads:
    """Return the files to be added, none as yet; text recognition rests while it is `busy` answering."""
    collections = assembly.collections
    return Uploads(
        lambda upload, collection: assembly.ingest([upload], collection),
        ingest_folder=lambda folder, collection: assembly.ingest(FoundFiles([folder]), collection),
        read_scans=lambda collection, go_on: collections.read_scans(collection, go_on=go_on),
        scanned=collections.scanned,
        follow=keeper.events,
        busy=busy,
    )


def go_on(assembly: Assembly, files: Uploads, embeddings: ReEmbeddings) -> None:
    """Go on with what an earlier start left to do: scans, collections to be embedded anew."""
    if assembly.collections.homes.elsewhere():
        # Their servers are asked, and may be away: nobody waits for that.
        threading.Thread(target=_take_up, args=(assembly, files, embeddings), daemon=True).start()
    else:
        _take_up(assembly, files, embeddings)


def _take_up(assembly: Assembly, files: Uploads, embeddings: ReEmbeddings) -> None:
    for collection in assembly.collections.embedders.left_to_do():
        embeddings.start(collection)
    files.recognise(assembly.collections.scanned())


def overwriting_beside(assembly: Assembly, files: Uploads, busy: Callable[[], bool]) -> Overwriting:
    """Return what overwrites the words of changed documents when no file is added; it rests as recognition does."""
    return Overwriting(assembly.database, asked=busy, working=lambda: any(one.open for one in files.items()))
