"""Unexpected errors on the terminal: where they happened, without what was being worked on.

The message of such an error may hold words of a document or a question; it is shown with the setting `debug` alone.
"""

from __future__ import annotations

import sys
import traceback
from typing import Any


def keep_to_oneself() -> None:
    """Print Gradio's unexpected errors without their messages, too."""
    traceback.print_exc = _print_places


def tell(error: BaseException) -> None:
    """Print where an error happened; all of it, unless messages are kept to oneself."""
    if traceback.print_exc is _print_places:
        print(places(error), file=sys.stderr, flush=True)  # noqa: T201
    else:
        traceback.print_exception(error)


def _print_places(*_arguments: Any, **_named: Any) -> None:
    print(places(sys.exc_info()[1]), file=sys.stderr, flush=True)  # noqa: T201


def places(error: BaseException | None) -> str:
    """Return kind and place of an error and its causes, without their messages."""
    said: list[str] = []
    while error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        said.append("".join(traceback.format_list(frames)) + type(error).__name__)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    hint = "(the messages may hold words of your documents: LOCALCRAG_DEBUG=1 shows them)"
    return "\n".join(["Unexpected error, the last cause first", *reversed(said), hint])
