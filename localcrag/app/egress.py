"""Texts about what may leave this computer, and what left it or was refused.

All interfaces take these texts from here: first screen, settings, `localcrag privacy` and `localcrag doctor`. The
module contacts no server.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from localcrag.app.assembly import Assembly
from localcrag.models.server_address import parse_server
from localcrag.privacy.addresses import format_address, is_this_computer
from localcrag.privacy.egress_log import EgressAttempt, Purpose
from localcrag.records.enums import Preset, WebMode
from localcrag.records.errors import EndpointRefused, ServerError, StoreError
from localcrag.records.models import is_served
from localcrag.search import parse_endpoint
from localcrag.storage.collections import admin
from localcrag.storage.egress import EgressSummary
from localcrag.storage.postgres.address import parse_postgres
from localcrag.text.translation import gettext as _
from localcrag.text.translation import gettext_noop, ngettext

_FOR = {
    Purpose.SET_UP: gettext_noop("for set-up"),
    Purpose.LANGUAGE_MODEL: gettext_noop("for the language model on another computer"),
    Purpose.RELEVANCE_MODEL: gettext_noop("for the reranker on another computer"),
    Purpose.COLLECTION: gettext_noop("for a collection on another computer"),
}


def summary_line(summary: EgressSummary) -> str:
    """Return a summary such as "0 connections to other machines; 3 searches through 127.0.0.1:8080".

    Downloads during set-up are counted separately: "0 connections to other machines since set-up (2 model downloads)".
    """
    parts = [_connections(summary)]
    parts += [
        ngettext("%(num)s search through %(place)s", "%(num)s searches through %(place)s", times, place=place)
        for place, times in summary.searches
    ]
    parts += [
        ngettext(
            "%(num)s request to the model server %(place)s",
            "%(num)s requests to the model server %(place)s",
            times,
            place=place,
        )
        for place, times in summary.to_models
    ]
    parts += [
        ngettext(
            "%(num)s connection to the PostgreSQL server %(place)s",
            "%(num)s connections to the PostgreSQL server %(place)s",
            times,
            place=place,
        )
        for place, times in summary.to_collections
    ]
    if summary.refused:
        parts.append(ngettext("%(num)s attempt refused", "%(num)s attempts refused", summary.refused))
    return "; ".join(parts)


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


def describe_attempt(attempt: EgressAttempt) -> str:
    """Return one line that describes an attempt."""
    verdict = _("allowed") if attempt.allowed else _("refused")
    parts = [_(attempt.kind.value), attempt.destination, verdict]
    if attempt.query_bytes is not None:
        parts.append(ngettext("a query of %(num)s byte", "a query of %(num)s bytes", attempt.query_bytes))
    if attempt.purpose in _FOR:
        parts.append(_(_FOR[attempt.purpose]))
    return ", ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A server that may receive data.

    `host` is its host and port. `agreed`: the user approved it, otherwise it gets nothing. `in_use`: the settings
    choose it; a chat may choose an approved server that they do not. `here`: it is on this computer, but passes on what
    it gets (SearXNG). `asks_first`: the user approves each query. `collections`: the collections on the server.
    """

    purpose: Purpose
    host: str
    agreed: bool = True
    in_use: bool = True
    here: bool = False
    asks_first: bool = False
    collections: tuple[str, ...] = ()


def outgoing(assembly: Assembly) -> list[Outgoing]:
    """Return the servers that may receive data, except those that keep it on this computer. Raises StoreError."""
    return [*_collection_servers(assembly), *_model_servers(assembly), *_search_server(assembly)]


def may_leave(servers: Sequence[Outgoing]) -> str:
    """Return a few sentences about what may leave this computer, for the first screen."""
    allowed = [one for one in servers if one.agreed]
    if not allowed:
        return _("Everything stays on this computer.")
    sentences = list(dict.fromkeys(describe_outgoing(one) for one in allowed))
    return " ".join([*sentences, _("Everything else stays on this computer.")])


def describe_outgoing(server: Outgoing) -> str:
    """Return a sentence about what a server may receive."""
    if not server.agreed:
        return _("Nothing goes to %(place)s until you approve it.", place=server.host)
    match server.purpose:
        case Purpose.COLLECTION:
            names = ", ".join(_("“%(name)s”", name=name) for name in server.collections)
            return _(
                "The documents of %(names)s are kept on %(place)s, and questions about them go there.",
                names=names, place=server.host,
            )  # fmt: skip
        case Purpose.WEB_SEARCH:
            asks = _("You approve each query.") if server.asks_first else _("They are sent without asking you.")
            return f"{_search(server)} {asks}"
    if server.in_use:
        return _("Questions and excerpts go to %(place)s, which you approved.", place=server.host)
    return _("Questions and excerpts can go to %(place)s, which you approved.", place=server.host)


def _search(server: Outgoing) -> str:
    if server.here:
        return _(
            "Web queries can go to your SearXNG on this computer (%(place)s), which passes them on to search engines.",
            place=server.host,
        )
    return _("Web queries can go to your SearXNG on %(place)s.", place=server.host)


def _collection_servers(assembly: Assembly) -> Iterator[Outgoing]:
    kept = defaultdict(list)
    # Collections that are being moved to or from a server are partly on it, so they count.
    for name, address in admin.server_addresses(assembly.database):
        with suppress(StoreError):  # An invalid address leads nowhere.
            server = parse_postgres(address)
            if not server.here:
                kept[server.at].append(name)
    for host, names in kept.items():
        yield Outgoing(purpose=Purpose.COLLECTION, host=host, collections=tuple(names))


def _model_servers(assembly: Assembly) -> Iterator[Outgoing]:
    settings, presets = assembly.settings, map(assembly.collection_settings.preset, assembly.collections.offered())
    # With documents-only, no question goes to another computer, unless a chat overrides its collection's preset.
    used = any(preset is not Preset.DOCUMENTS_ONLY for preset in presets)
    agreed, chosen = settings.agreed_servers, set()
    for name, purpose in ((settings.llm, Purpose.LANGUAGE_MODEL), (settings.relevance, Purpose.RELEVANCE_MODEL)):
        with suppress(ServerError):  # An address that is not valid is never contacted.
            if is_served(name) and not (server := parse_server(name)).here:
                chosen.add(server.at)
                yield Outgoing(
                    purpose=purpose, host=server.at, agreed=server.at in settings.agreed_servers, in_use=used
                )
    for host in agreed:
        if host not in chosen:
            yield Outgoing(purpose=Purpose.LANGUAGE_MODEL, host=host, in_use=False)


def _search_server(assembly: Assembly) -> Iterator[Outgoing]:
    settings = assembly.settings
    if not settings.searxng_url:
        return
    # Presets do not count here: a chat may use another preset than its collection.
    modes = {assembly.collection_settings.web_mode(name) for name in assembly.collections.offered()} - {WebMode.NEVER}
    if not modes:
        return
    with suppress(EndpointRefused):  # No query goes to an invalid address.
        endpoint = parse_endpoint(settings.searxng_url)
        yield Outgoing(
            purpose=Purpose.WEB_SEARCH, host=format_address(*endpoint.place), here=is_this_computer(endpoint.url.host),
            asks_first=modes == {WebMode.ASK},
        )  # fmt: skip
