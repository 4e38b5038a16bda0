"""Which documents a question is put to: the line that says it, and the form to choose them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from localcrag.app.assemble import Assembly
from localcrag.records.documents import Document
from localcrag.records.restriction import EVERYWHERE, Restriction, folders_of
from localcrag.text.translation import gettext as _
from localcrag.ui.html import TEMPLATES

MOST_OFFERED = 200
"""Folders, tags or kinds that the form shows: with more, the terminal's options are the better way to name one."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The line, and what is chosen as JSON: a tab keeps that when the server is started anew."""

    line: gr.HTML
    chosen: gr.HTML

    @property
    def outputs(self) -> list[Any]:
        """Return what `values` are the values of."""
        return [self.chosen, self.line]


def scope_line(script: str) -> Scope:
    """Make the components."""
    chosen = gr.HTML("", visible="hidden", elem_id="lc-chosen-documents")
    return Scope(gr.HTML(everywhere(), elem_id="lc-scope", js_on_load=script), chosen)


def html(restriction: Restriction, documents: Sequence[Document], *, form: bool = False) -> str:
    """Return the line, with the `form` where that is open; `documents` are all of the collection."""
    offered = {
        "folders": (
            _("Folders"),
            _sorted(folder for one in documents for name in one.names for folder in folders_of(name)),
        ),
        "tags": (_("Tags"), _sorted(tag for one in documents for tag in one.tags)),
        "kinds": (_("Kinds"), _sorted(one.kind for one in documents)),
    }
    # What is chosen is offered as well, also when no document has it any more.
    lists: Mapping[str, tuple[str, list[str]]] = {
        "documents": (_("Documents"), list(restriction.documents)),
        **{
            name: (label, [*dict.fromkeys([*getattr(restriction, name), *there[:MOST_OFFERED]])])
            for name, (label, there) in offered.items()
        },
    }
    return TEMPLATES.get_template("scope.html").render(
        restriction=restriction,
        words=restriction.in_words(),
        chosen={name: set(getattr(restriction, name)) for name in lists},
        number=sum(restriction.allows(one) for one in documents),
        of=len(documents),
        form=form,
        lists=lists,
    )


def everywhere() -> str:
    """Return the line of a question that is put to all documents."""
    return html(EVERYWHERE, ())


def values(assembly: Assembly, collection: str, restriction: Restriction) -> tuple[str, str]:
    """Return the values of `Scope.outputs`. Raises StoreError."""
    documents = assembly.collections.documents(collection) if restriction else ()
    return json.dumps(restriction.plain()) if restriction else "", html(restriction, documents)


def read(chosen: str) -> Restriction:
    """Return the restriction that the hidden component holds."""
    return Restriction.of(json.loads(chosen)) if chosen else EVERYWHERE


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(set(names), key=str.casefold)
