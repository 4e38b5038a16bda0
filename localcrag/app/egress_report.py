"""What left this computer, in words: for `localcrag privacy`, the settings and the line below the chats."""

from __future__ import annotations

from localcrag.backends.store.egress_ledger import EgressSummary
from localcrag.privacy.egress_log import Attempt
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext


def line(summary: EgressSummary) -> str:
    """Return for instance "0 connections to other machines; 3 searches through 127.0.0.1:8080"."""
    said = [
        ngettext("%(num)s connection to other machines", "%(num)s connections to other machines", summary.connections)
    ]
    said += [
        ngettext("%(num)s search through %(place)s", "%(num)s searches through %(place)s", times, place=place)
        for place, times in summary.searches
    ]
    if summary.refused:
        said.append(ngettext("%(num)s attempt refused", "%(num)s attempts refused", summary.refused))
    return "; ".join(said)


def described(attempt: Attempt) -> str:
    """Return one attempt in a line."""
    verdict = _("let through") if attempt.allowed else _("refused")
    told = [_(attempt.kind.value), attempt.destination, verdict]
    if attempt.query_bytes is not None:
        told.append(ngettext("a query of %(num)s byte", "a query of %(num)s bytes", attempt.query_bytes))
    return ", ".join(told)
