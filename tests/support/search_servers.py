"""Search servers for tests, all on this computer: Debian's real searx over our own pages, and one that plays a script.

`python -m tests.search_servers --port 8899` runs the real one for trying by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template
from urllib.parse import parse_qsl, urlsplit

from tests.support.web_pages import PAGES, WebPage

SEARX = Path("/usr/bin/searx-run")
SYSTEM_PYTHON = "/usr/bin/python3"  # Debian's searx runs under Debian's Python, not under ours.
START_SECONDS = 60
POLL_SECONDS = 0.05

# Each word becomes a quoted FTS5 string, so that punctuation and operators in it are only text: a b -> "a" OR "b".
FORGIVING_SQL = (
    "SELECT title, url, content FROM pages "
    """WHERE pages MATCH '"' || replace(replace(:query, '"', ''), ' ', '" OR "') || '"' ORDER BY rank"""
)
# Every key that searx 1.1.0 reads without asking whether it is there: Debian ships no defaults.
SEARX_SETTINGS = Template("""\
general: {debug: false, instance_name: $name, contact_url: false}
brand: {docs_url: "", public_instances: "", wiki_url: "", issue_url: "", git_url: "", git_branch: "", new_issue_url: ""}
search: {safe_search: 0, autocomplete: "", default_lang: "", ban_time_on_fail: 5, max_ban_time_on_fail: 120,
  formats: [html, json]}
server: {port: $port, bind_address: $host, secret_key: only for tests, base_url: false, image_proxy: false,
  http_protocol_version: "1.0", method: GET, default_http_headers: {}}
ui: {static_path: /usr/share/python3-searx/static, templates_path: /usr/share/python3-searx/templates,
  default_theme: oscar, default_locale: "", theme_args: {oscar_style: logicodev}, results_on_new_tab: false,
  query_in_title: false, advanced_search: false, cache_url: "", infinite_scroll: false, static_use_hash: false}
preferences: {lock: []}
outgoing: {request_timeout: 5.0, useragent_suffix: "", pool_connections: 10, pool_maxsize: 10, enable_http2: false}
result_proxy: {}
locales: {en: English}
categories_as_tabs: {general: {}}
checker: {off_when_debug: true}
engines:
  - {name: localpages, shortcut: lp, categories: general, engine: sqlite, database: $database, limit: 10,
     query_str: $sql, result_template: default.html}
  - {name: brokenpages, shortcut: bp, categories: broken, engine: sqlite, database: $database, limit: 10,
     query_str: SELECT title FROM missing_table, result_template: default.html}
doi_resolvers: {oadoi.org: "https://oadoi.org/"}
default_doi_resolver: oadoi.org
enabled_plugins: []
""")


@contextmanager
def real_searx(folder: Path, pages: Sequence[WebPage], *, port: int = 0, host: str = "127.0.0.1") -> Iterator[str]:
    """Run searx over `pages`, with its files in `folder`, and give its address. Port 0: any free one.

    It has two engines: "!localpages" in a query picks the good one, which is also the one used when none is picked,
    and "!brokenpages" one that always fails; both in one query pick both.
    """
    if not SEARX.exists():
        raise RuntimeError(f"{SEARX} is missing, and the tests of the web search need it: apt-get install searx")
    port = port or _free_port()
    _fill_database(folder / "web.db", pages)
    settings = folder / "settings.yml"
    # A JSON string is a YAML string too, whatever quotes are in it.
    name = f"localcrag-tests-{secrets.token_hex(8)}"
    values = {
        "port": port,
        "host": host,
        "name": name,
        "database": json.dumps(str(folder / "web.db")),
        "sql": json.dumps(FORGIVING_SQL),
    }
    settings.write_text(SEARX_SETTINGS.substitute(values), "utf-8")
    log = folder / "searx.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [SYSTEM_PYTHON, str(SEARX)],
            cwd=folder,
            env={**os.environ, "SEARX_SETTINGS_PATH": str(settings)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_until_it_answers(server, f"http://{host}:{port}", name, log)
        yield f"http://{host}:{port}"
    finally:
        server.terminate()
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _fill_database(path: Path, pages: Sequence[WebPage]) -> None:
    connection = sqlite3.connect(path)
    try:
        with connection:
            connection.execute("DROP TABLE IF EXISTS pages")
            connection.execute(
                "CREATE VIRTUAL TABLE pages USING fts5(title, url, content, tokenize='porter unicode61')"
            )
            connection.executemany("INSERT INTO pages VALUES (?, ?, ?)", pages)
    finally:
        connection.close()


def _wait_until_it_answers(server: subprocess.Popen[bytes], url: str, name: str, log: Path) -> None:
    """Return when the server called `name` answers: another one may hold the port. Raises RuntimeError with the log."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with opener.open(f"{url}/config", timeout=START_SECONDS) as answer:
                if json.load(answer)["instance_name"] == name:
                    return
        except (urllib.error.URLError, ConnectionError):
            pass  # Not up yet.
        time.sleep(POLL_SECONDS)
    state = "did not answer" if server.poll() is None else f"ended with status {server.returncode}"
    raise RuntimeError(f"searx {state} at {url}. Its log ends:\n{log.read_text('utf-8', 'replace')[-4000:]}")


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One answer of the scripted server. `until` is waited for first; `hang_up` closes without any answer.

    A `body` that is a function gives the pieces one by one, for as long as the client listens.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Callable[[], Iterable[bytes]] = b""
    until: threading.Event | None = None
    hang_up: bool = False


@dataclass(frozen=True)
class Request:
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]


@dataclass(frozen=True)
class ScriptedSearch:
    """`requests` grows as they come, in their order."""

    url: str
    requests: list[Request]


@contextmanager
def scripted_search(*replies: Reply) -> Iterator[ScriptedSearch]:
    """Run a server that gives `replies` in turn, and status 500 when they are used up."""
    waiting = list(replies)
    requests: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            requests.append(Request(parts.path, dict(parse_qsl(parts.query)), dict(self.headers)))
            _play(self, waiting.pop(0) if waiting else Reply(status=500, body=b"the script is over"))

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = False  # Closing the server then waits for every answer that is being given.
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield ScriptedSearch(f"http://127.0.0.1:{server.server_port}", requests)
        finally:
            for reply in replies:
                if reply.until:
                    reply.until.set()
            server.shutdown()
            thread.join()


def _play(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    if reply.until:
        reply.until.wait()
    handler.close_connection = True
    if reply.hang_up:
        return
    pieces = [reply.body] if isinstance(reply.body, bytes) else reply.body()
    try:
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        for piece in pieces:
            handler.wfile.write(piece)
            handler.wfile.flush()
    except ConnectionError:
        pass  # The client had enough, which is what several tests are about.


def answer_reply(**fields: object) -> Reply:
    """Return a reply in SearXNG's shape: no results, unless `fields` has some."""
    return Reply(body=json.dumps({"results": [], **fields}).encode())


def redirect_reply(target: str, status: int = 302) -> Reply:
    return Reply(status=status, headers={"Location": target})


@contextmanager
def closed_port() -> Iterator[str]:
    """Give an address at which nothing listens, and keep others from listening there."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{holder.getsockname()[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Run Debian's searx over the tests' pages until Ctrl-C.")
    parser.add_argument("--port", type=int, default=8899)
    with tempfile.TemporaryDirectory() as folder:
        try:
            with real_searx(Path(folder), PAGES, port=parser.parse_args().port) as url:
                print(f"searx knows {len(PAGES)} pages at {url}/search?q=greenland&format=json; Ctrl-C ends it")
                threading.Event().wait()
        except KeyboardInterrupt:
            print("ended")


if __name__ == "__main__":
    main()
