"""Make a collection from passages of labelled data; each is a document of one chunk, without a file."""

from __future__ import annotations

from collections.abc import Mapping

from localcrag.app.assembly import Assembly
from localcrag.records.documents import Chunk

EMBEDDED_AT_ONCE = 64


def put_passages(
    assembly: Assembly, passages: Mapping[str, str], titles: Mapping[str, str | None] | None = None
) -> None:
    """Add passages, by document name, to the collection in use, unless they are there.

    A passage with a title is embedded with the title before it, as in the app.
    """
    store = assembly.collections.store()
    known = {document.name for document in assembly.collections.documents()}
    todo = [name for name in passages if name not in known]
    for start in range(0, len(todo), EMBEDDED_AT_ONCE):
        names = todo[start : start + EMBEDDED_AT_ONCE]
        headed = [
            f"{title}\n\n{passages[name]}" if (title := (titles or {}).get(name)) else passages[name] for name in names
        ]
        for name, whole, vector in zip(names, headed, assembly.models.embedder.embed(headed), strict=True):
            text = passages[name]
            store.put(
                name, sha256=name, media_type="text/plain", pages=None, text=whole,
                chunks=[Chunk(None, len(whole) - len(text), len(whole), text)], vectors=vector[None],
            )  # fmt: skip
    assembly.collections.index().refresh()
