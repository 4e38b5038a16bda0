"""A Hugging Face hub on the loopback, as far as a download sees one, and a package index beside it.

Written after the hub's answers: `/{repo}/resolve/{revision}/{path}` says commit, size and checksum in its headers, and
redirects to storage on another host for large files (LFS); refusals carry X-Error-Code. The storage understands Range.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    range: str | None
    authorization: str | None


@dataclass
class HubFile:
    """A file of a repository; `large` ones lie in the storage. `declared` overrides the checksum that the hub says."""

    content: bytes
    large: bool = True
    declared: str | None = None
    declared_size: int | str | None = None

    @property
    def checksum(self) -> str:
        if self.declared:
            return self.declared
        if self.large:
            return hashlib.sha256(self.content).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(self.content) + self.content, usedforsecurity=False).hexdigest()


@dataclass
class Hub:
    """What the server answers, to be set by a test, and what it was asked."""

    url: str = ""
    files: dict[str, HubFile] = field(default_factory=dict)  # "owner/name/path" -> file
    packages: dict[str, Path] = field(default_factory=dict)  # package name -> wheel
    refusal: tuple[int, str] | None = None  # status and X-Error-Code for every look-up
    storage_failures: list[int] = field(default_factory=list)  # statuses of the next answers of the storage
    break_after: list[int] = field(default_factory=list)  # bytes after which the next transfers break off
    hold_after: int | None = None  # bytes after which a transfer stands still until `go_on` is set
    go_on: threading.Event = field(default_factory=threading.Event)
    ranges: bool = True
    asked: list[Asked] = field(default_factory=list)
    elsewhere: str = ""  # a name of this server beside its own, for redirects to another host

    def transfers(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.method == "GET" and "/storage/" in asked.path]


@contextmanager
def serve_hub(host: str = "127.0.0.1") -> Iterator[Hub]:
    hub = Hub()

    class Handler(_Handler):
        state = hub

    server = ThreadingHTTPServer((host, 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://{host}:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.go_on.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    state: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: what was asked is in `asked`."""

    def _answer(self) -> None:
        hub, headers = self.state, self.headers
        hub.asked.append(Asked(self.command, self.path, headers["Range"], headers["Authorization"]))
        if match := re.fullmatch(r"/renamed/(.*)", self.path):
            self._send(307, {"Location": f"/{match[1]}"})
        elif match := re.fullmatch(r"/mirror/(.*)", self.path):
            self._send(308, {"Location": f"{self._elsewhere()}/{match[1]}"})
        elif match := re.fullmatch(r"/simple/([^/]+)/", self.path):
            self._index(match[1])
        elif match := re.fullmatch(r"/(storage|wheels)/(.*)", self.path):
            self._storage(match[1], match[2])
        elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self.path):
            self._resolve(match[1], match[2], match[3])
        else:
            self._send(404, {})

    def _resolve(self, repo: str, revision: str, path: str) -> None:
        hub, name = self.state, f"{repo}/{path}"
        if hub.refusal:
            status, code = hub.refusal
            self._send(status, {"X-Error-Code": code} if code else {})
        elif not any(known.startswith(f"{repo}/") for known in hub.files):
            self._send(401, {"X-Error-Code": "RepoNotFound"})
        elif revision not in ("main", COMMIT):
            self._send(404, {"X-Error-Code": "RevisionNotFound"})
        elif (file := hub.files.get(name)) is None:
            self._send(404, {"X-Error-Code": "EntryNotFound"})
        elif file.large:
            size = len(file.content) if file.declared_size is None else file.declared_size
            linked = {"X-Linked-Etag": f'"{file.checksum}"', "X-Linked-Size": str(size), "X-Repo-Commit": COMMIT}
            self._send(302, {"Location": f"{self._elsewhere()}/storage/{name}", **linked})
        else:
            self._send(200, {"ETag": f'"{file.checksum}"', "X-Repo-Commit": COMMIT}, file.content)

    def _elsewhere(self) -> str:
        """Another host for the same server: the access token must not go there."""
        here, port = self.headers["Host"].split(":")
        other = self.state.elsewhere or ("localhost" if here == "127.0.0.1" else "127.0.0.1")
        return f"http://{other}:{port}"

    def _index(self, package: str) -> None:
        wheel = self.state.packages.get(package)
        if wheel is None:
            self._send(404, {})
            return
        page = f'<!DOCTYPE html><html><body><a href="/wheels/{package}/{wheel.name}">{wheel.name}</a></body></html>'
        self._send(200, {"Content-Type": "text/html"}, page.encode())

    def _storage(self, kind: str, name: str) -> None:
        hub = self.state
        content = (
            hub.files[name].content if kind == "storage" else hub.packages[name.split("/", maxsplit=1)[0]].read_bytes()
        )
        if kind == "storage" and hub.storage_failures:
            self._send(hub.storage_failures.pop(0), {})
            return
        start = 0
        if hub.ranges and (match := re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")):
            start = int(match[1])
        if start >= len(content) > 0:
            self._send(416, {"Content-Range": f"bytes */{len(content)}"})
            return
        headers = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start else {}
        self._begin(206 if start else 200, headers, len(content) - start)
        if kind == "storage" and hub.break_after:
            self.wfile.write(content[start : start + hub.break_after.pop(0)])
            self.close_connection = True
            return
        if hub.hold_after is not None and start < hub.hold_after:
            self.wfile.write(content[start : hub.hold_after])
            self.wfile.flush()
            hub.go_on.wait()
            start = hub.hold_after
        # Whoever asked may have been killed meanwhile, which is what some tests are about.
        try:
            self.wfile.write(content[start:])
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _begin(self, status: int, headers: dict[str, str], length: int) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def _send(self, status: int, headers: dict[str, str], content: bytes = b"") -> None:
        self._begin(status, headers, len(content))
        if self.command == "GET":
            self.wfile.write(content)
