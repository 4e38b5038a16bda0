"""Why background work failed, in words for the page."""

from __future__ import annotations

from localcrag.privacy import unexpected
from localcrag.records.errors import LocalcragError


def why(error: BaseException, happened: str) -> str:
    """Return what the page says of an error; of one that nobody foresaw `happened`, and the terminal gets the rest."""
    if isinstance(error, LocalcragError):
        return str(error)
    unexpected.tell(error)
    return f"{happened}: {type(error).__name__}: {error}. The terminal says more."
