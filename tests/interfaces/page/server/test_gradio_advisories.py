"""What is publicly known to have been wrong with Gradio, each tried against the running app.

From Gradio's own advisories, GitHub's advisory database, the Python packaging authority's and the CVE list, as of
November 2026. Most were mended long before the version used here: a row shows that the app would not have minded.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.raw_http import Answer, ask, config, said

pytestmark = pytest.mark.process

PASSWD, LINK_LOCAL = "/etc/passwd", "http://169.254.169.254/latest/meta-data/"
_FILE = {"path": PASSWD, "meta": {"_type": "gradio.FileData"}}
CALLED = {"component_id": "1", "data": PASSWD, "fn_name": "move_resource_to_block_cache", "session_hash": "x"}
_FETCH = {"path": LINK_LOCAL, "url": LINK_LOCAL, "meta": {"_type": "gradio.FileData"}}


@dataclass(frozen=True, slots=True)
class Get:
    """A request that has to stay outside."""

    target: str
    method: str = "GET"
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    def refused(self, app: str) -> str:
        answer = ask(app, self.target, method=self.method, body=self.body, **dict(self.headers))
        return _outside(answer)


@dataclass(frozen=True, slots=True)
class Say:
    """What is put into the queue as the input of a component, and has to be refused."""

    data: Any

    def refused(self, app: str) -> str:
        return _outside(said(app, {"data": [self.data], "fn_index": 1, "session_hash": "tries", "event_data": None}))


@dataclass(frozen=True, slots=True)
class Lacks:
    """Components that the page must not have: the advisory is about them."""

    components: tuple[str, ...]

    def refused(self, app: str) -> str:
        there = sorted({one["type"] for one in config(app)["components"]} & set(self.components))
        return f"the page has {there}" if there else ""


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that may come in, and must not keep the server busy: it and the next one get an answer."""

    request: Get

    def refused(self, app: str) -> str:
        one = self.request
        status = ask(app, one.target, method=one.method, body=one.body, **dict(one.headers)).status
        return "" if status < 500 and ask(app).status == 200 else f"status {status}"


def _outside(answer: Answer) -> str:
    """Return what is wrong with an answer, nothing when it is a refusal that tells nothing."""
    if answer.status not in {400, 403, 404, 405, 408, 413, 422}:
        return f"status {answer.status}"
    leaks = [word for word in ("root:", "Traceback", "site-packages", LINK_LOCAL, "[fonts]") if word in answer.text]
    allowed = [
        name for name in answer.headers if name in {"location", "set-cookie"} or name.startswith("access-control")
    ]
    return f"answered with {leaks or allowed}" if leaks or allowed else ""


def from_site(target: str, origin: str, **headers: str) -> Get:
    return Get(target, "POST", b"{}", (("Origin", origin), *headers.items()))


def multipart(boundary: str, tail: bytes = b"") -> Answered:
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nx\r\n'
    kind = f"multipart/form-data; boundary={boundary}"
    return Answered(Get("/gradio_api/upload", "POST", f"{head}--{boundary}".encode() + tail, (("Content_Type", kind),)))


API = "/gradio_api"
SHARING = (Get("/gradio_api/token"), Get("/login"))
LEAKY = tuple(
    "downloadbutton audio imageeditor video model3d chatbot code paramviewer dataset multimodaltextbox".split()
)
ROWS: dict[str, tuple[str, list[Get | Say | Lacks | Answered]]] = {
    "CVE-2021-43831": ("files of the computer through /file", [Get(f"/file/{PASSWD}"), Get(f"/file{PASSWD}")]),
    "CVE-2022-24770": ("formulas in a file of flagged inputs", [Lacks(("flagging", "dataframe"))]),
    "CVE-2023-25823": ("a key for share links in every copy", [*SHARING]),
    "CVE-2023-34239": (
        "files through /file=, any address through /proxy=",
        [Get(f"/file={PASSWD}"), Get(f"{API}/proxy=http://example.com/"), Get("/proxy=http://example.com/")],
    ),
    "CVE-2023-41626": ("any file could be uploaded and served", [Get(f"{API}/file=uploads/x.html")]),
    "CVE-2023-51449": (
        "traversal and requests through /file=",
        [Get(f"{API}/file=..%2f..%2f..%2f..{PASSWD}"), Get(f"{API}/file={LINK_LOCAL}")],
    ),
    "CVE-2023-6572": ("commands in Gradio's own build", [Get("/.github/workflows/deploy.yml")]),
    "CVE-2024-0964": ("a file's path in what is put into the queue", [Say(_FILE), Say([_FILE])]),
    "CVE-2024-1183": ("ports found by what /file= answers", [Get(f"{API}/file=http://127.0.0.1:22/")]),
    "CVE-2024-1540": ("commands in Gradio's own build", [Get("/.github/workflows/test-functional.yml")]),
    "CVE-2024-1561": (
        "any method of a component called through /component_server",
        [
            Get(f"{API}/component_server", "POST", json.dumps(CALLED).encode()),
            Get("/component_server", "POST", b"{}"),
        ],
    ),
    "CVE-2024-1727": ("uploads from other sites", [from_site(f"{API}/upload", "http://evil.example")]),
    "CVE-2024-1728": ("a file's path in what an upload button gets", [Say([{**_FILE, "orig_name": "a"}])]),
    "CVE-2024-1729": ("passwords guessed by the time of the answer", [Get("/login", "POST", b"username=a&password=b")]),
    "CVE-2024-2206": (
        "proxied addresses set by a header",
        [
            Get(f"{API}/proxy={LINK_LOCAL}", headers=(("X_Direct_Url", LINK_LOCAL),)),
            Get("/config", headers=(("X_Direct_Url", LINK_LOCAL),)),
        ],
    ),
    "CVE-2024-34510": (
        "credentials sent to a Windows share",
        [Say({**_FILE, "path": r"\\evil.example\share\x"}), Get(f"{API}/file=//evil.example/x")],
    ),
    "CVE-2024-34511": ("functions that are not meant for the page", [Get(f"{API}/component_server/", "POST", b"{}")]),
    "CVE-2024-39236": (
        "code in a component's description",
        [Get(f"{API}/custom_component/x/client/component/index.js")],
    ),
    "CVE-2024-4253": ("commands in Gradio's own build", [Get("/.github/workflows/test-hygiene.yml")]),
    "CVE-2024-4254": ("secrets of Gradio's own build", [Get("/.github/workflows/deploy-website.yml")]),
    "CVE-2024-4325": ("requests by a path that is an address", [Say(_FETCH)]),
    "CVE-2024-4940": (
        "sent on to any site by /file=",
        [Get("/file=http://evil.example/"), Get(f"{API}/file=http://evil.example/")],
    ),
    "CVE-2024-4941": ("a file's path within JSON", [Say({"a": [{"b": _FILE}]}), Lacks(("json",))]),
    "CVE-2024-47084": (
        "other sites let in where there is a cookie",
        [from_site(f"{API}/queue/join", "http://evil.example", Cookie="a=b")],
    ),
    "CVE-2024-47164": (
        "dots that a check of folders missed",
        [Say({**_FILE, "path": f"/srv/../..{PASSWD}"}), Get(f"{API}/file=/srv/..{PASSWD}")],
    ),
    "CVE-2024-47165": ("sandboxed frames let in (Origin: null)", [from_site(f"{API}/queue/join", "null")]),
    "CVE-2024-47166": (
        "one folder up in /custom_component",
        [Get(f"{API}/custom_component/x/client/../a.py"), Get("/custom_component/x/..%2f/a.py")],
    ),
    "CVE-2024-47167": (
        "requests by what is put into the queue",
        [Say([_FETCH]), Say({**_FETCH, "path": "https://example.com/a"})],
    ),
    "CVE-2024-47168": (
        "/monitoring though switched off",
        [Get("/monitoring"), Get("/monitoring/summary"), Get("/monitoring/x")],
    ),
    "CVE-2024-47867": ("a tunnel's program that nobody checks", [*SHARING]),
    "CVE-2024-47868": (
        "files named by what components are given",
        [Say({"value": _FILE}), Lacks(LEAKY)],
    ),
    "CVE-2024-47869": ("the key of /monitoring guessed by time", [Get("/monitoring/AAAAAAAA")]),
    "CVE-2024-47870": (
        "the page's address changed by another visitor",
        [Get("/", headers=(("Host", "evil.example"),))],
    ),
    "CVE-2024-47871": ("a tunnel that is not encrypted", [*SHARING]),
    "CVE-2024-47872": ("scripts in uploaded files", [Get(f"{API}/file=/tmp/x.svg"), Get(f"{API}/file=/tmp/x.html")]),
    "CVE-2024-48052": ("requests by DownloadButton", [Lacks(("downloadbutton",)), Say(_FETCH)]),
    "CVE-2024-51751": (
        "files previewed by File and UploadButton",
        [Say(_FILE), Say([_FILE]), Say({**_FILE, "path": "/proc/self/environ"})],
    ),
    "CVE-2024-8021": (
        "sent on to any site, encoded",
        [Get("/file=http%3A%2F%2Fevil.example"), Get(f"{API}/file=http%3A%2F%2Fevil.example")],
    ),
    "CVE-2024-8966": ("busy with a long boundary of an upload", [multipart("x" * 60_000)]),
    "CVE-2024-10569": ("unpacked bombs in data frames", [Lacks(("dataframe",))]),
    "CVE-2024-10624": ("busy with a date", [Lacks(("datetime",))]),
    "CVE-2024-10648": (
        "files emptied by an audio's format",
        [Lacks(("audio",)), Say({**_FILE, "path": "../../x", "is_stream": True})],
    ),
    "CVE-2024-12217": (
        "files by their stream's name on Windows",
        [Get(f"{API}/file=C:/tmp/secret.txt::$DATA"), Say({**_FILE, "path": "C:/x.txt::$DATA"})],
    ),
    "CVE-2025-0187": ("busy with what follows a boundary", [multipart("b", b"-" * 200_000)]),
    "CVE-2025-23042": ("blocked paths in other letters", [Get(f"{API}/file=/ETC/passwd"), Get(f"{API}/FILE={PASSWD}")]),
    "CVE-2025-48889": ("files copied by flagging", [Lacks(("flagging",)), Say({"flag": _FILE})]),
    "CVE-2025-5320": (
        "other sites let in by names like localhost",
        [
            from_site(f"{API}/queue/join", origin)
            for origin in ("http://localhost.evil.example", "http://127.0.0.1.evil.example", "https://localhost")
        ],
    ),
    "CVE-2026-27167": (
        "a login made up where there is none",
        [Get("/login/huggingface"), Get("/login/callback"), Get("/logout")],
    ),
    "CVE-2026-28414": (
        "absolute paths on Windows",
        [Get("/static//windows/win.ini"), Get("/assets//etc/passwd"), Get("/svelte//etc/passwd")],
    ),
    "CVE-2026-28415": (
        "sent on to any site after a login",
        [Get("/logout?_target_url=http://evil.example"), Get("/login/callback?_target_url=//evil.example")],
    ),
    "CVE-2026-28416": (
        "an app that is loaded names what to proxy",
        [Get(f"{API}/proxy=https://evil.hf.space/x"), Lacks(("interface",))],
    ),
    "CVE-2026-48545": ("a cookie of one proxied site for all others", [Get(f"{API}/proxy=https://a.hf.space/")]),
    "CVE-2026-49119": (
        "files outside of a file explorer's folder",
        [Lacks(("fileexplorer",)), Say([["..", "..", "etc", "passwd"], _FILE])],
    ),
    "CVE-2026-59806": (
        "sent on, or requests, by /gradio_api/file=",
        [Get(f"{API}/file={LINK_LOCAL}"), Get(f"{API}/file=https:%2f%2fevil.example")],
    ),
    "GHSA-6655-8ph2-63j3": ("two audios taken for one", [Lacks(("audio",))]),
}
"""By identifier: what it was, and what would show it."""


@pytest.mark.parametrize("name", ROWS)
def test_an_advisory_about_gradio_is_none_about_this_app(app: str, name: str) -> None:
    what, tries = ROWS[name]
    wrong = [(one, found) for one in tries if (found := one.refused(app))]
    assert wrong == [], what


def test_the_attempts_would_get_through_an_open_door(app: str) -> None:
    assert Get("/").refused(app) == "status 200"
    assert Lacks(("html",)).refused(app) == "the page has ['html']"
    assert said(app, {"data": ["harmless"], "fn_index": 1, "session_hash": "tries"}).status == 200
    assert sum(len(tries) for _, tries in ROWS.values()) > 90


NAMES = (
    "../../../../srv/escaped.txt", "/srv/escaped.txt", r"..\..\escaped.txt", "a\x00b.txt", "%2e%2e%2fescaped.txt",
    "con.txt", "." * 300, "a" * 5000, "..", "~/.bashrc", "-rf.txt",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=[name[:20] for name in NAMES])
def test_a_name_of_an_upload_never_becomes_a_path(app: str, name: str) -> None:
    head = f'--b\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\nContent-Type: text/plain\r\n\r\n'
    body = head.encode() + b"held\r\n--b--\r\n"
    answer = ask(app, "/gradio_api/upload", method="POST", body=body, Content_Type="multipart/form-data; boundary=b")
    if answer.status == 200:
        (path,) = json.loads(answer.body)
        folder, name = path.partition("/uploads/")[2].split("/")
        assert re.fullmatch(r"[0-9a-f]{64}", folder)
        assert re.fullmatch(r"[^/\\]+", name)
        assert name not in {".", ".."}
    else:
        assert answer.status in {400, 413, 422}
