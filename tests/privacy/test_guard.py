"""Nothing leaves: what is refused, whoever asks for it and however, and what is let through."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from localcrag.privacy import egress_log, guard
from localcrag.privacy.addresses import is_private
from localcrag.privacy.egress_log import EgressAttempt, Kind, Purpose
from localcrag.records.errors import EgressRefused, LocalcragError
from tests.support import ROOT

# Addresses of RFC 5737 and RFC 3849: nobody's, so that nothing would happen if one was let through.
FOREIGN, FOREIGN_6, NAME = "192.0.2.1", "2001:db8::1", "nobody.example"
PYTHON = Path(sys.executable).name
pytestmark = [
    pytest.mark.process,
    pytest.mark.refused(
        f"{FOREIGN}*", "192.0.2.2:8080", f"?{FOREIGN_6}?:80", f"?::ffff:{FOREIGN}?:80", "192.168.3.4:80", NAME,
        "other.lan", "hub.example", "ls", "sh", "uname", PYTHON, f"browser at {NAME}", "browser at a file",
    ),
]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(egress_folder: Path) -> Path:
    return egress_folder


def attempts(folder: Path) -> list[EgressAttempt]:
    with egress_log.drained_attempts(folder) as taken:
        return list(taken)


def datagram(address: tuple[str, int]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"x", address)


def message(address: tuple[str, int]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendmsg([b"x"], [], 0, address)


def connected(family: int, address: tuple[str, int]) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.connect(address)


def connected_ex(address: tuple[str, int]) -> None:
    with socket.socket() as one:
        one.connect_ex(address)


async def opened(host: str) -> None:
    await asyncio.open_connection(host, 80)


REFUSED: list[tuple[str, Callable[[], object], Kind, str]] = [
    ("create_connection", lambda: socket.create_connection((FOREIGN, 80)), Kind.CONNECTION, f"{FOREIGN}:80"),
    ("connect", lambda: connected(socket.AF_INET, (FOREIGN, 25)), Kind.CONNECTION, f"{FOREIGN}:25"),
    ("IPv6", lambda: connected(socket.AF_INET6, (FOREIGN_6, 80)), Kind.CONNECTION, f"[{FOREIGN_6}]:80"),
    ("IPv4 within IPv6", lambda: connected(socket.AF_INET6, (f"::ffff:{FOREIGN}", 80)), Kind.CONNECTION, "]:80"),
    ("connect_ex", lambda: connected_ex((FOREIGN, 80)), Kind.CONNECTION, f"{FOREIGN}:80"),
    ("a name that connect looks up", lambda: connected(socket.AF_INET, (NAME, 80)), Kind.LOOK_UP, NAME),
    ("a name that sendto looks up", lambda: datagram((NAME, 53)), Kind.LOOK_UP, NAME),
    ("datagram", lambda: datagram((FOREIGN, 53)), Kind.CONNECTION, f"{FOREIGN}:53"),
    ("message", lambda: message((FOREIGN, 53)), Kind.CONNECTION, f"{FOREIGN}:53"),
    ("a private address", lambda: socket.create_connection(("192.168.3.4", 80)), Kind.CONNECTION, "192.168.3.4:80"),
    ("getaddrinfo", lambda: socket.getaddrinfo(NAME, 80), Kind.LOOK_UP, NAME),
    ("gethostbyname", lambda: socket.gethostbyname(NAME), Kind.LOOK_UP, NAME),
    ("gethostbyname_ex", lambda: socket.gethostbyname_ex(NAME), Kind.LOOK_UP, NAME),
    ("a name in bytes", lambda: socket.getaddrinfo(NAME.encode(), 80), Kind.LOOK_UP, NAME),
    ("gethostbyaddr", lambda: socket.gethostbyaddr(FOREIGN), Kind.LOOK_UP, FOREIGN),
    ("getnameinfo", lambda: socket.getnameinfo((FOREIGN, 80), 0), Kind.LOOK_UP, FOREIGN),
    ("urllib", lambda: urllib.request.urlopen(f"http://{NAME}/"), Kind.LOOK_UP, NAME),
    ("httpx", lambda: httpx.get(f"http://{FOREIGN}/", trust_env=False), Kind.CONNECTION, f"{FOREIGN}:80"),
    ("asyncio", lambda: asyncio.run(opened(FOREIGN)), Kind.CONNECTION, f"{FOREIGN}:80"),
    ("asyncio, by name", lambda: asyncio.run(opened(NAME)), Kind.LOOK_UP, NAME),
]  # fmt: skip


@pytest.mark.parametrize(
    ("ask", "kind", "destination"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_what_leaves_is_refused_and_taken_down(
    folder: Path, ask: Callable[[], object], kind: Kind, destination: str
) -> None:
    # An OSError, or what a library makes of one.
    with pytest.raises((OSError, httpx.ConnectError)):
        ask()
    taken = attempts(folder)
    assert {(one.kind, one.allowed, one.purpose) for one in taken} == {(kind, False, Purpose.NONE)}
    assert taken[0].destination.endswith(destination)


def test_the_error_says_what_was_asked_for_and_by_whom(folder: Path) -> None:
    with pytest.raises(EgressRefused, match=rf"to {FOREIGN}:80 was refused.*asked for by .*tests.*privacy") as refused:
        socket.create_connection((FOREIGN, 80))
    assert isinstance(refused.value, ConnectionError)
    assert isinstance(refused.value, LocalcragError)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://{FOREIGN}/", trust_env=False)
    assert attempts(folder)[-1].asked_by.endswith("tests > httpx > httpcore")


class Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hello) as one:
        thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield one.server_port
        one.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "LOCALHOST", "127.1", "2130706433", "0.0.0.0", "[::ffff:127.0.0.1]"]
)
def test_this_computer_is_let_through_and_not_listed(folder: Path, server: int, host: str) -> None:
    with socket.create_connection((host.strip("[]"), server)) as one:
        one.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert b"204" in one.recv(100)
    assert attempts(folder) == []


def test_sockets_without_a_network_are_let_through(folder: Path, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as asking:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        asking.connect(str(tmp_path / "s"))
    assert attempts(folder) == []


def test_a_passage_leads_to_its_host_and_port_alone_as_long_as_it_is_open(folder: Path) -> None:
    def refused(host: str, port: int) -> bool:
        try:
            with socket.socket() as one:
                one.settimeout(0)
                one.connect((host, port))
        except EgressRefused:
            return True
        except OSError:
            pass  # Let through to the system, where nobody answers at once.
        return False

    elsewhere: list[bool] = []
    with guard.allow_egress(Purpose.WEB_SEARCH, (FOREIGN, 8080)):
        assert not refused(FOREIGN, 8080)
        assert refused(FOREIGN, 8081)
        assert refused("192.0.2.2", 8080)
        other = threading.Thread(target=lambda: elsewhere.append(refused(FOREIGN, 8080)))
        other.start()
        other.join()
        assert elsewhere == [True], "another thread may use it"
    assert refused(FOREIGN, 8080)
    first = attempts(folder)[0]
    assert (first.allowed, first.destination, first.purpose) == (True, f"{FOREIGN}:8080", Purpose.WEB_SEARCH)


def test_a_name_that_has_come_to_lead_to_a_public_address_is_not_followed(folder: Path) -> None:
    with guard.allow_egress(Purpose.WEB_SEARCH, ("searx.lan", 80), judge=is_private):
        with pytest.raises(EgressRefused), socket.socket() as one:
            one.connect((FOREIGN, 80))
        with pytest.raises(EgressRefused):
            socket.getaddrinfo("other.lan", 80)
        # To a private address it is let through, to a system that has nobody there.
        with socket.socket() as one:
            one.settimeout(0)
            with contextlib.suppress(BlockingIOError, OSError):
                one.connect(("10.255.255.1", 80))
    assert [(one.allowed, one.destination) for one in attempts(folder)] == [
        (False, f"{FOREIGN}:80"),
        (False, "other.lan"),
        (True, "10.255.255.1:80"),
    ]


def test_a_host_is_said_before_it_is_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    guard.admit("https://nobody-asked.example/")
    with guard.allow_egress(Purpose.MODEL_DOWNLOAD, tell=told.append) as opened:
        guard.admit("https://hub.example/a")
        guard.admit("https://hub.example/b")
        guard.admit("http://127.0.0.1:8000/c")
        assert opened.allows_name("proxy.example")
        assert opened.allows_address("192.0.2.9", 3128)
        assert not opened.allows_address("192.0.2.9", 80)
    assert told == ["hub.example", "proxy.example"]


def python(code: str, **environment: str) -> str:
    """Run code in a Python of its own, which writes to this test's data folder, and return what it prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, env=kept | environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


IN_A_CHILD = f"""
import contextlib, os, subprocess, sys
import localcrag  # and nothing else
localcrag.guard()
from localcrag.records.errors import EgressRefused
def refused(ask):
    try:
        ask()
    except EgressRefused:
        return True
    return False
import pty, socket
print([
    refused(lambda: socket.create_connection(("{FOREIGN}", 80))),
    refused(lambda: subprocess.run(["ls"])),
    refused(lambda: subprocess.run("ls", shell=True)),
    refused(lambda: subprocess.run([sys.executable, "-c", "print(1)"])),
    refused(lambda: subprocess.run([sys.executable, "-m", "pip", "--version"])),
    refused(lambda: os.system("ls")),
    refused(lambda: os.popen("ls")),
    refused(lambda: os.execv("/bin/ls", ["ls"])),
    refused(lambda: os.posix_spawn("/bin/ls", ["ls"], {{}})),
    refused(lambda: os.posix_spawnp("ls", ["ls"], os.environ)),
    # Under the name of a harmless program, or of ours: the file that is run counts.
    refused(lambda: subprocess.run(["uname", "-p"], executable="/bin/ls")),
    refused(lambda: subprocess.run([sys.executable, "-m", "localcrag"], executable="/bin/ls")),
    refused(lambda: subprocess.run(["uname", "-p"], env={{"PATH": "/tmp"}})),
    refused(lambda: subprocess.run([sys.executable, "-m", "localcrag.settings"], env={{}})),
    refused(lambda: os.execv("/bin/ls", ["uname", "-p"])),
    refused(lambda: os.execve("/bin/ls", [sys.executable, "-m", "localcrag"], dict(os.environ))),
    refused(lambda: os.posix_spawn("/bin/ls", ["uname", "-p"], {{}})),
    refused(lambda: os.posix_spawnp("ls", ["uname", "-p"], os.environ)),
    os.spawnv(os.P_WAIT, "/bin/ls", ["ls"]) == 127,  # refused in the child that was to become it
    refused(lambda: pty.spawn("ls")),
])
own = subprocess.run([sys.executable, "-m", "localcrag", "--version"], capture_output=True, text=True)
print(own.stdout.startswith("localcrag "))
import platform
platform.platform()
from matplotlib import font_manager
font_manager.findSystemFonts()
"""


def test_programs_are_refused_but_our_own(folder: Path) -> None:
    assert python(IN_A_CHILD).splitlines() == [str([True] * 20), "True"]
    programs = [one.destination for one in attempts(folder) if one.kind is Kind.PROGRAM]
    assert set(programs) == {"ls", "sh", "uname", PYTHON}
    assert len(programs) >= 10


WORKERS = """
import multiprocessing, socket, sys
import localcrag
def connect(pipe):
    try:
        socket.create_connection(("{foreign}", 80), timeout=1)
    except OSError as error:
        pipe.send(type(error).__name__)
if __name__ == "__main__":
    localcrag.guard()
    for way in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context(way)
        ours, theirs = context.Pipe()
        worker = context.Process(target=connect, args=(theirs,))
        worker.start()
        print(way, ours.recv())
        worker.join()
"""


def test_workers_are_guarded_however_they_are_started_and_their_attempts_are_listed(folder: Path) -> None:
    script = folder / "workers.py"
    script.write_text(WORKERS.format(foreign=FOREIGN))
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.splitlines() == [f"{way} EgressRefused" for way in ("fork", "spawn", "forkserver")], done.stderr
    assert [one.destination for one in attempts(folder)] == [f"{FOREIGN}:80"] * 3


def test_libraries_that_want_to_send_are_refused_and_named(folder: Path) -> None:
    # Without our switches (telemetry_off.py), which would keep them from trying.
    code = """
import os
import localcrag
localcrag.guard()
for name in [name for name in os.environ if name.startswith(("HF_", "TRANSFORMERS_"))]:
    del os.environ[name]
from huggingface_hub import HfApi
try:
    HfApi(endpoint="https://hub.example").model_info("a/b")
except Exception as error:
    print(type(error).__name__)
"""
    assert python(code).strip()
    (first, *_) = attempts(folder)
    assert (first.allowed, first.destination) == (False, "hub.example")
    assert "huggingface_hub" in first.asked_by


def test_attempts_of_a_process_that_is_killed_are_kept(folder: Path) -> None:
    code = f"""
import localcrag, os, signal, socket
localcrag.guard()
try:
    socket.create_connection(("{FOREIGN}", 80))
except OSError:
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, env={**os.environ})
    assert done.returncode < 0
    assert [one.destination for one in attempts(folder)] == [f"{FOREIGN}:80"]


def test_attempts_before_there_is_a_folder_are_written_when_there_is_one(folder: Path, tmp_path: Path) -> None:
    code = f"""
import localcrag, pathlib, socket, sys
localcrag.guard()
try:
    socket.create_connection(("{FOREIGN}", 80))
except OSError:
    pass
from localcrag.privacy import egress_log
egress_log.log_to_folder(pathlib.Path("{tmp_path / "later"}"))
"""
    environment = {name: value for name, value in os.environ.items() if name != egress_log.FOLDER_VARIABLE}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, env=environment)
    assert [one.destination for one in attempts(tmp_path / "later")] == [f"{FOREIGN}:80"]


def test_the_browser_may_show_the_page_of_this_computer(folder: Path, tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {shown}\n')
    browser.chmod(0o700)
    code = """
import localcrag
localcrag.guard()
from localcrag.privacy.guard import open_browser
from localcrag.records.errors import EgressRefused
import webbrowser
open_browser("http://127.0.0.1:7860")
for show in (open_browser, webbrowser.open):
    for address in ("https://nobody.example", "file:///etc/hosts"):
        try:
            show(address)
        except EgressRefused:
            print("refused")
"""
    assert python(code, BROWSER=f"{browser} %s").split() == ["refused"] * 4
    assert shown.read_text().strip() == "http://127.0.0.1:7860"


def test_a_line_that_a_full_disk_cut_off_loses_no_other(folder: Path) -> None:
    with pytest.raises(EgressRefused):
        socket.create_connection((FOREIGN, 80))
    file = folder / egress_log.FOLDER_NAME / egress_log.FILE_NAME
    whole = file.read_text()
    file.write_text(f'{whole[:20]}\n[1]\n{{"kind": "else"}}\n{whole}')
    assert [one.destination for one in attempts(folder)] == [f"{FOREIGN}:80"]
    assert json.loads(whole)["destination"] == f"{FOREIGN}:80"
