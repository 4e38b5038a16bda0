"""Answers from your own documents, on your own machine, with the retrieval checked before it answers.

    from localcrag import Localcrag

    with Localcrag() as app:
        app.add("handbook.pdf")
        run = app.ask("How long is the warranty?")
    print(run.answer, run.action, run.sources)

`Localcrag.stream` gives an answer as it is written, event by event; `docs/architecture.md` says what is where.

Importing this package changes the process: from then on nothing may leave this computer but what the app's own settings
allow (an audit hook, which cannot be taken out again), and the libraries behind it are told to send no telemetry.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from localcrag.privacy import egress_guard as _egress_guard  # noqa: F401 - nothing leaves, from here on
from localcrag.privacy.telemetry_off import silence as _silence

if TYPE_CHECKING:
    from localcrag.app.front_door import Localcrag
    from localcrag.records.enums import Action, Preset
    from localcrag.records.errors import IngestError, LocalcragError
    from localcrag.records.events import AnswerPiece, Event
    from localcrag.records.ingest import IngestResult
    from localcrag.records.passages import Source
    from localcrag.records.restriction import Restriction
    from localcrag.records.run import Run, Turn
    from localcrag.runs.recording import Recording

_silence()  # before any dependency is imported: they read these switches then

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
]
_WHERE = {
    "Action": "records.enums",
    "AnswerPiece": "records.events",
    "Event": "records.events",
    "IngestError": "records.errors",
    "IngestResult": "steps.ingest.ingest",
    "Localcrag": "app.front_door",
    "LocalcragError": "records.errors",
    "Preset": "records.enums",
    "Recording": "runs.recording",
    "Restriction": "records.restriction",
    "Run": "records.run",
    "Source": "records.passages",
    "Turn": "records.run",
}
"""The modules that the names come from, imported when a name is first asked for: `localcrag --help` stays quick."""


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
