"""What left this computer, in words: for `localcrag privacy`, the settings and the page."""

from __future__ import annotations

from localcrag.backends.store.egress_ledger import EgressSummary
from localcrag.privacy.egress_log import Attempt, Purpose
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later, ngettext

_FOR = {
    Purpose.SET_UP: later("for set-up"),
    Purpose.LANGUAGE_MODEL: later("for the language model on another computer"),
    Purpose.RELEVANCE_MODEL: later("for the relevance model on another computer"),
    Purpose.COLLECTION: later("for a collection on another computer"),
}


def line(summary: EgressSummary) -> str:
    """Return for instance "0 connections to other machines; 3 searches through 127.0.0.1:8080".

    What set-up downloaded is named apart: "0 connections to other machines since set-up (2 model downloads)".
    """
    said = [_connections(summary)]
    said += [
        ngettext("%(num)s search through %(place)s", "%(num)s searches through %(place)s", times, place=place)
        for place, times in summary.searches
    ]
    said += [
        ngettext(
            "%(num)s request to the model server %(place)s",
            "%(num)s requests to the model server %(place)s",
            times,
            place=place,
        )
        for place, times in summary.to_models
    ]
    said += [
        ngettext(
            "%(num)s connection to the PostgreSQL server %(place)s",
            "%(num)s connections to the PostgreSQL server %(place)s",
            times,
            place=place,
        )
        for place, times in summary.to_collections
    ]
    if summary.refused:
        said.append(ngettext("%(num)s attempt refused", "%(num)s attempts refused", summary.refused))
    return "; ".join(said)


def _connections(summary: EgressSummary) -> str:
    if not summary.set_up:
        return ngettext(
            "%(num)s connection to other machines", "%(num)s connections to other machines", summary.connections
        )
    since = ngettext(
        "%(num)s connection to other machines since set-up",
        "%(num)s connections to other machines since set-up",
        summary.connections,
    )
    downloads = ngettext("%(num)s model download", "%(num)s model downloads", summary.set_up)
    return f"{since} ({downloads})"


def described(attempt: Attempt) -> str:
    """Return one attempt in a line."""
    verdict = _("let through") if attempt.allowed else _("refused")
    told = [_(attempt.kind.value), attempt.destination, verdict]
    if attempt.query_bytes is not None:
        told.append(ngettext("a query of %(num)s byte", "a query of %(num)s bytes", attempt.query_bytes))
    if attempt.purpose in _FOR:
        told.append(_(_FOR[attempt.purpose]))
    return ", ".join(told)
