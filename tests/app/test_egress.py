"""localcrag states truly what may leave this computer, for each configuration: first screen, settings, commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.egress import Outgoing, may_leave, outgoing
from localcrag.app.health import examine_privacy
from localcrag.interfaces.page.chat.html import empty_chat
from localcrag.interfaces.page.settings.storage import StorageSettings
from localcrag.privacy.egress_log import Purpose
from localcrag.records.enums import Preset, WebMode
from localcrag.settings import ENGLISH_EMBEDDER, load
from localcrag.storage.collections import admin
from localcrag.storage.collections.admin import MoveState, ServerLocation
from localcrag.text import translation
from tests.support.command_line import as_json, localcrag

MODEL, RERANKER = "http://192.168.1.5:8080/v1#large", "http://192.168.1.6:9000/rerank#order"
AT_MODEL, AT_RERANKER = "192.168.1.5:8080", "192.168.1.6:9000"
AT_SEARCH, AT_DATABASE = "192.168.1.7:80", "10.0.0.8:5432"
SEARCH, SEARCH_HERE = "http://name:secret@192.168.1.7", "http://127.0.0.1:8888"
STAYS, REST = "Everything stays on this computer.", "Everything else stays on this computer."
GO = "Questions and excerpts go to {}, which you approved."
CAN_GO = "Questions and excerpts can go to {}, which you approved."
QUERIES = f"Web queries can go to your SearXNG on {AT_SEARCH}."
QUERIES_HERE = (
    "Web queries can go to your SearXNG on this computer (127.0.0.1:8888), which passes them on to search engines."
)
APPROVED, NOT_ASKED = "You approve each query.", "They are sent without asking you."
KEPT = f"The documents of “shared” are kept on {AT_DATABASE}, and questions about them go there."


@dataclass(frozen=True)
class Case:
    """A configuration, and what the first screen says of it; `collections` are kept at these addresses."""

    says: list[str]
    settings: dict[str, Any] = field(default_factory=dict)
    collections: dict[str, str] = field(default_factory=dict)
    modes: dict[str, WebMode] = field(default_factory=dict)
    preset: Preset | None = None


REMOTE = f"postgresql://anna@{AT_DATABASE}/localcrag"
CASES = {
    "nothing is set": Case([STAYS]),
    "a SearXNG": Case([QUERIES, APPROVED, REST], {"searxng_url": SEARCH}),
    "a SearXNG that is always asked": Case([QUERIES, NOT_ASKED, REST], {"searxng_url": SEARCH, "web": "always"}),
    "a SearXNG that is never asked": Case([STAYS], {"searxng_url": SEARCH, "web": "never"}),
    "a SearXNG that one collection always asks": Case(
        [QUERIES, NOT_ASKED, REST], {"searxng_url": SEARCH}, modes={"default": WebMode.ALWAYS}
    ),
    "a SearXNG that no collection asks": Case([STAYS], {"searxng_url": SEARCH}, modes={"default": WebMode.NEVER}),
    "a SearXNG at an address that is not valid": Case([STAYS], {"searxng_url": "ftp://nowhere"}),
    "a SearXNG on this computer": Case([QUERIES_HERE, APPROVED, REST], {"searxng_url": SEARCH_HERE}),
    "a model server on this computer": Case([STAYS], {"llm": "http://localhost:8080/v1#large"}),
    "a remote model server": Case([GO.format(AT_MODEL), REST], {"llm": MODEL, "agreed_servers": (AT_MODEL,)}),
    "a remote model server that was not approved": Case([STAYS], {"llm": MODEL}),
    "a remote model server that was approved, and is not chosen": Case(
        [CAN_GO.format(AT_MODEL), REST], {"agreed_servers": (AT_MODEL,)}
    ),
    "a remote model server, and documents-only": Case(
        [CAN_GO.format(AT_MODEL), REST], {"llm": MODEL, "agreed_servers": (AT_MODEL,)}, preset=Preset.DOCUMENTS_ONLY
    ),
    "a remote reranker": Case(
        [GO.format(AT_RERANKER), REST], {"relevance": RERANKER, "agreed_servers": (AT_RERANKER,)}
    ),
    "a model and a reranker on one remote server": Case(
        [GO.format(AT_MODEL), REST],
        {"llm": MODEL, "relevance": f"http://{AT_MODEL}/rerank#order", "agreed_servers": (AT_MODEL,)},
    ),
    "PostgreSQL on another computer": Case([KEPT, REST], collections={"shared": REMOTE}),
    "PostgreSQL on this computer": Case([STAYS], collections={"shared": "postgresql://anna@127.0.0.1/localcrag"}),
    "PostgreSQL behind a socket": Case([STAYS], collections={"shared": "postgresql://anna@/localcrag?host=/run/pg"}),
    "all of it": Case(
        [KEPT, GO.format(AT_MODEL), GO.format(AT_RERANKER), QUERIES, APPROVED, REST],
        {
            "llm": MODEL, "relevance": RERANKER, "agreed_servers": (AT_MODEL, AT_RERANKER), "searxng_url": SEARCH,
        },
        {"shared": REMOTE},
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def language() -> Iterator[None]:
    yield
    translation.choose(translation.ENGLISH)


def made(folder: Path, case: Case) -> Assembly:
    """Return the app in a configuration."""
    assembly = Assembly(load(data_dir=folder, **case.settings))
    for number, (name, address) in enumerate(case.collections.items()):
        admin.add_server_collection(
            assembly.database, name, ServerLocation(address, number, MoveState.THERE),
            embedder=ENGLISH_EMBEDDER, dimension=384,
        )  # fmt: skip
    for name, mode in case.modes.items():
        assembly.collection_settings.set_web_mode(mode, name)
    if case.preset:
        for name in assembly.collections.offered():
            assembly.collection_settings.set_preset(case.preset, name)
    return assembly


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_may_leave_is_said_truly(tmp_path: Path, case: Case) -> None:
    with closing(made(tmp_path, case)) as assembly:
        said = may_leave(outgoing(assembly))
        assert said == " ".join(case.says)
        assert "secret" not in said
        assert examine_privacy(assembly).detail.startswith(said)


# A PostgreSQL server on this computer is asked for its documents, and there is none.
@pytest.mark.parametrize("name", sorted(set(CASES) - {"PostgreSQL behind a socket", "PostgreSQL on this computer"}))
def test_the_first_screen_says_it(tmp_path: Path, name: str) -> None:
    with closing(made(tmp_path, CASES[name])) as assembly:
        assert f"<dd>{' '.join(CASES[name].says)}</dd>" in unescape(empty_chat(assembly))


def test_the_first_screen_says_it_in_german(tmp_path: Path) -> None:
    with closing(made(tmp_path, CASES["nothing is set"])) as assembly:
        translation.choose("de")
        assert "<dd>Alles bleibt auf diesem Rechner.</dd>" in unescape(empty_chat(assembly))
        assembly.change(llm=MODEL, agreed_servers=(AT_MODEL,), searxng_url=SEARCH)
        said = (
            f"Fragen und Auszüge gehen an {AT_MODEL}; dem haben Sie zugestimmt. Suchanfragen können an Ihr SearXNG auf "
            f"{AT_SEARCH} gehen. Sie bestätigen jede Anfrage vorher. Alles andere bleibt auf diesem Rechner."
        )
        assert f"<dd>{said}</dd>" in unescape(empty_chat(assembly))


def test_each_server_is_a_record_with_purpose_host_and_approval(tmp_path: Path) -> None:
    case = Case(
        [], {"llm": MODEL, "relevance": RERANKER, "agreed_servers": (AT_RERANKER, "10.0.0.9:1")}, {"shared": REMOTE}
    )
    with closing(made(tmp_path, case)) as assembly:
        assert outgoing(assembly) == [
            Outgoing(purpose=Purpose.COLLECTION, host=AT_DATABASE, collections=("shared",)),
            Outgoing(purpose=Purpose.LANGUAGE_MODEL, host=AT_MODEL, agreed=False),
            Outgoing(purpose=Purpose.RELEVANCE_MODEL, host=AT_RERANKER),
            Outgoing(purpose=Purpose.LANGUAGE_MODEL, host="10.0.0.9:1", in_use=False),
        ]
        assert examine_privacy(assembly).detail.endswith(f"Nothing goes to {AT_MODEL} until you approve it.")


def test_the_settings_list_it(tmp_path: Path) -> None:
    with closing(made(tmp_path, CASES["a remote model server"])) as assembly:
        listed = unescape(StorageSettings(assembly).listed())
        assert f'<ul class="lc-outgoing"><li>{GO.format(AT_MODEL)}</li></ul>' in listed
        assembly.change(llm=None, agreed_servers=None)
        assert f"<p>{STAYS}</p>" in unescape(StorageSettings(assembly).listed())


def test_the_command_lists_it(tmp_path: Path) -> None:
    own = {"LOCALCRAG_LLM": MODEL, "LOCALCRAG_AGREED_SERVERS": f'["{AT_MODEL}"]', "LOCALCRAG_SEARXNG_URL": SEARCH}
    said = localcrag(tmp_path, "privacy", **own).stdout
    assert GO.format(AT_MODEL) in said
    assert f"{QUERIES} {APPROVED}" in said
    assert STAYS in localcrag(tmp_path, "privacy").stdout
    listed = as_json(localcrag(tmp_path, "privacy", "--json", **own))["may_leave"]
    assert [(one["purpose"], one["host"], one["agreed"]) for one in listed] == [
        ("language model", AT_MODEL, True),
        ("web search", AT_SEARCH, True),
    ]
