"""Answers from your own documents, on your own machine, with the retrieval checked before it answers.

    from localcrag import Localcrag

    with Localcrag() as app:
        app.add("handbook.pdf")
        run = app.ask("How long is the warranty?")
    print(run.answer, run.action, run.sources)

`Localcrag.stream` yields the events of an answer while it is generated.

Importing this package changes nothing in the process. From the first `Localcrag()` on, or after `localcrag.guard()`, an
audit hook blocks all connections of the process to other computers except those that the app's settings allow; the hook
cannot be removed. The libraries that localcrag uses are also set to send no telemetry.
"""

from __future__ import annotations

import os as _os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localcrag.app.facade import Localcrag
    from localcrag.privacy.guard import guard
    from localcrag.records.enums import Action, Preset
    from localcrag.records.errors import IngestError, LocalcragError
    from localcrag.records.events import AnswerPiece, Event
    from localcrag.records.ingest import IngestResult
    from localcrag.records.passages import Source
    from localcrag.records.restriction import Restriction
    from localcrag.records.run import Run, Turn
    from localcrag.runs.recording import Recording


__version__ = "0.1.0"
__all__ = [
    "Action",
    "AnswerPiece",
    "Event",
    "IngestError",
    "IngestResult",
    "Localcrag",
    "LocalcragError",
    "Preset",
    "Recording",
    "Restriction",
    "Run",
    "Source",
    "Turn",
    "__version__",
    "guard",
]
_WHERE = {
    "Action": "records.enums",
    "AnswerPiece": "records.events",
    "Event": "records.events",
    "IngestError": "records.errors",
    "IngestResult": "records.ingest",
    "Localcrag": "app.facade",
    "LocalcragError": "records.errors",
    "Preset": "records.enums",
    "Recording": "runs.recording",
    "Restriction": "records.restriction",
    "Run": "records.run",
    "Source": "records.passages",
    "Turn": "records.run",
    "guard": "privacy.guard",
}
"""Modules of the public names; each is imported at its name's first use, so that `localcrag --help` stays fast."""


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return __all__


# A guarded process (privacy/guard.py) sets this variable, so that its workers are guarded, however they are started.
if "LOCALCRAG_GUARDED" in _os.environ:
    __getattr__("guard")()
