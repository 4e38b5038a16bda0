"""The egress guard: check every connection, name look-up and program start before it happens.

The guard is an audit hook of the interpreter (PEP 578). From `guard` on it sees every connection of this process: by
our code, Gradio, the Hugging Face client, torch or a file reader. It allows connections to this computer, and those
that an open `passage` allows for the current thread: a web search to the configured SearXNG, a download from its hosts.
Everything else raises EgressRefused before a byte is sent, and is logged (egress_log.py).

The guard does not see C code that opens sockets itself. `tests/privacy/test_no_network.py` checks that from outside the
process.
"""

from __future__ import annotations

import functools
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from localcrag.privacy import process
from localcrag.privacy.addresses import format_address, is_number, is_this_computer, normalise_host
from localcrag.privacy.egress_log import EgressAttempt, Kind, Purpose, call_origin, note
from localcrag.records.errors import EgressRefused

PORTS = {"http": 80, "https": 443}
HARMLESS = (
    ["uname", "-p"],
    ["fc-list", "--help"],
    ["fc-list", "--format=%{file}\\n"],
    ["system_profiler", "-xml", "SPFontsDataType"],
)
"""Commands that make no connection. Python's library runs the first one (platform.platform()). Matplotlib runs the
others once, to list the system's fonts."""
# This Python may be started with "-m localcrag…", or with app.py of this checkout.
OWN_MODULE = "localcrag"
OWN_SCRIPT = Path(__file__).resolve().parents[2] / "app.py"
GUARDED = "LOCALCRAG_GUARDED"
"""Environment variable of guarded processes; their child processes install the guard when they import localcrag."""

Judge = Callable[[str], bool]


@dataclass(slots=True)
class EgressPermit:
    """An exception from the guard for some hosts, with its purpose.

    `judge` decides whether an address that a name resolves to may be connected to. `programs` allows starting programs.
    `tell` is called with each new host that is not this computer.
    """

    purpose: Purpose
    judge: Judge = lambda _address: True
    programs: bool = False
    tell: Callable[[str], None] | None = None
    _hosts: set[tuple[str, int]] = field(default_factory=set)

    def admit(self, host: str, port: int) -> None:
        """Allow connections to a host, and report it with `tell` if it is new and not this computer.

        Raises ValueError if the exception has no purpose, because docs/reference/data-inventory.md must list each one.
        """
        if self.purpose is Purpose.NONE:
            raise ValueError(
                f"An exception for {format_address(host, port)} needs a purpose: a member of Purpose in egress_log.py."
            )
        one = (normalise_host(host), port)
        if one in self._hosts:
            return
        self._hosts.add(one)
        if self.tell and not is_this_computer(host):
            self.tell(host)

    def allows_name(self, name: str) -> bool:
        """Return whether a name may be looked up."""
        return any(host == name for host, _ in self._hosts)

    def allows_address(self, address: str, port: int) -> bool:
        """Return whether an address may be connected to: it was admitted, or an admitted name may resolve to it."""
        return any(
            at == port and (host == address or (not is_number(host) and self.judge(address)))
            for host, at in self._hosts
        )


_active_permit: ContextVar[EgressPermit | None] = ContextVar("passage", default=None)
_unrestricted: list[str] = []


@contextmanager
def allow_egress(
    purpose: Purpose,
    *hosts: tuple[str, int],
    judge: Judge = lambda _address: True,
    programs: bool = False,
    tell: Callable[[str], None] | None = None,
) -> Iterator[EgressPermit]:
    """Allow this thread to connect to hosts (name or address, and port), or to start programs, within the context.

    `judge` is called with each address that a name resolves to, `tell` with each host before it is contacted.
    """
    opened = EgressPermit(purpose, judge, programs, tell)
    for host in hosts:
        opened.admit(*host)
    before = _active_permit.set(opened)
    try:
        yield opened
    finally:
        _active_permit.reset(before)


def admit(url: str) -> None:
    """Extend the active exception to the host of a web address and to the configured proxies; no-op without one."""
    opened = _active_permit.get()
    if opened is None:
        return
    for address in (url, *process.proxy_addresses()):
        parts = urlsplit(address)
        if parts.hostname:
            opened.admit(parts.hostname, parts.port or PORTS.get(parts.scheme, 443))


def allow_all_programs(why: str) -> None:
    """Allow this process to start any program, for the reason `why`; for tests and developer tools only."""
    _unrestricted.append(why)


def _refuse(kind: Kind, destination: str, what: str) -> EgressRefused:
    asked = _log(kind, destination, allowed=False)
    return EgressRefused(
        f"{what} was refused: localcrag lets nothing leave this computer but searches of the SearXNG that you set, "
        "model downloads that you ask for, questions to a model server that you agreed to, and collections that you "
        "moved to a PostgreSQL server. It was asked for by "
        f"{asked}. `localcrag privacy` lists what was refused."
    )


def _log(kind: Kind, destination: str, *, allowed: bool) -> str:
    """Log an attempt, and return its origin."""
    opened, asked = _active_permit.get(), call_origin()
    purpose = opened.purpose if opened else Purpose.NONE
    note(EgressAttempt(kind=kind, destination=destination, purpose=purpose, allowed=allowed, asked_by=asked))
    return asked


def _check_connection(arguments: tuple[Any, ...]) -> None:
    """Check the audit events of socket.connect, sendto and sendmsg: (socket, address)."""
    its_socket, address = arguments[0], arguments[1]
    if address is None or its_socket.family == getattr(socket, "AF_UNIX", None):
        return
    if its_socket.family not in (socket.AF_INET, socket.AF_INET6) or not isinstance(address, tuple):
        raise _refuse(Kind.CONNECTION, f"{its_socket.family!s} {address!r}", "A connection of another kind")
    host, port = normalise_host(address[0]), int(address[1])
    if is_this_computer(host):
        return
    opened, there = _active_permit.get(), format_address(host, port)
    # An exception allows numbers only: connecting to a name would resolve it without an audit event of its own.
    if opened and is_number(host) and opened.allows_address(host, port):
        _log(Kind.CONNECTION, there, allowed=True)
        return
    raise _refuse(Kind.CONNECTION, there, f"A connection to {there}")


def _check_lookup(arguments: tuple[Any, ...]) -> None:
    """Check the audit events of socket.getaddrinfo and gethostbyname: (name, …)."""
    name = normalise_host(arguments[0])
    if is_this_computer(name) or is_number(name):
        return
    opened = _active_permit.get()
    if opened and opened.allows_name(name):
        _log(Kind.LOOK_UP, name, allowed=True)
        return
    raise _refuse(Kind.LOOK_UP, name, f"A look-up of the name {name}")


def _check_reverse_lookup(arguments: tuple[Any, ...]) -> None:
    """Check the audit events of socket.gethostbyaddr and getnameinfo, which ask for the name of an address."""
    asked = arguments[0][0] if isinstance(arguments[0], tuple) else arguments[0]
    if not is_this_computer(normalise_host(asked)):
        raise _refuse(Kind.LOOK_UP, normalise_host(asked), f"A look-up of the name of {normalise_host(asked)}")


def _check_program(file: str | bytes, arguments: Any = (), environment: Any = None) -> None:
    """Refuse to start a program, unless it is ours or harmless, or a passage allows programs.

    `file` is the file to run, "" if only the arguments name it. The first argument is only a label and may differ from
    that file, so both must agree.
    """
    program, opened = os.fsdecode(file), _active_permit.get()
    if _unrestricted or (opened and opened.programs):
        return
    words = [os.fsdecode(one) for one in arguments] if isinstance(arguments, list | tuple) else []
    label_is_program = bool(words) and program in ("", words[0])
    ours = _runs_localcrag(words) and _stays_guarded(words, environment)
    if label_is_program and (ours or (words in HARMLESS and _has_our_path(environment))):
        return
    name = Path(program or (words[0] if words else "a program")).name
    raise _refuse(Kind.PROGRAM, name, f"The start of the program {name}")


def _has_our_path(environment: Any) -> bool:
    """Return whether programs are searched for in the same folders (PATH) as by this process."""
    return environment is None or _as_text(environment).get("PATH") == os.environ.get("PATH")


def _stays_guarded(words: list[str], environment: Any) -> bool:
    """Return whether a localcrag program will be guarded: commands install the guard, other modules need GUARDED."""
    is_a_command = words[1:3] == ["-m", OWN_MODULE] or words[1] != "-m"
    return is_a_command or environment is None or GUARDED in _as_text(environment)


def _as_text(environment: Any) -> dict[str, str]:
    """Return an environment as text; it may consist of bytes, like os.environb."""
    given = environment if isinstance(environment, Mapping) else {}
    return {os.fsdecode(name): os.fsdecode(value) for name, value in given.items()}


def _runs_localcrag(words: list[str]) -> bool:
    """Return whether a command runs localcrag with this Python, so that the guard can be installed there, too."""
    if len(words) < 2 or words[0] != sys.executable:
        return False
    module = words[2] if words[1] == "-m" and len(words) > 2 else ""
    return module.split(".", 1)[0] == OWN_MODULE or Path(words[1]) == OWN_SCRIPT


def _check_browser(arguments: tuple[Any, ...]) -> None:
    """Check the audit event of webbrowser.open: (address,)."""
    host = urlsplit(str(arguments[0])).hostname or ""
    if not host or not is_this_computer(host):
        raise _refuse(Kind.PROGRAM, f"browser at {host or 'a file'}", f"The browser at {host or 'a file'}")


def open_browser(address: str) -> bool:
    """Open an address of this computer in the browser; return False if there is none. Raises EgressRefused."""
    import webbrowser  # noqa: PLC0415 - imported only if needed, since it searches for browsers

    with allow_egress(Purpose.NONE, programs=True):
        return webbrowser.open(address)


_CHECKS: dict[str, Callable[[tuple[Any, ...]], None]] = {
    "socket.connect": _check_connection,
    "socket.sendto": _check_connection,
    "socket.sendmsg": _check_connection,
    "socket.getaddrinfo": _check_lookup,
    "socket.gethostbyname": _check_lookup,
    "socket.gethostbyaddr": _check_reverse_lookup,
    "socket.getnameinfo": _check_reverse_lookup,
    # The audit events of starting a program have its file, arguments and environment in different places.
    "subprocess.Popen": lambda event: _check_program(event[0] or "", event[1], event[3]),
    "os.exec": lambda event: _check_program(*event),
    "os.posix_spawn": lambda event: _check_program(*event),
    "os.spawn": lambda event: _check_program(*event[1:]),
    "os.system": lambda event: _check_program(event[0]),
    "os.startfile": lambda event: _check_program(event[0]),
    "pty.spawn": lambda event: _check_program("", event[0]),
    "webbrowser.open": _check_browser,
}


def _hook(
    event: str,
    arguments: tuple[Any, ...],
    # Bound as a default: the hook is still called at exit, when the module's global names are gone.
    checks: dict[str, Callable[[tuple[Any, ...]], None]] = _CHECKS,
) -> None:
    check = checks.get(event)
    if check is not None:
        check(arguments)


def _check_names_first(method: str) -> None:
    """Wrap a socket method to check names passed to it, because it resolves them before it raises its audit event."""
    original = getattr(socket.socket, method)

    @functools.wraps(original)
    def checked(its_socket: socket.socket, *arguments: Any) -> Any:
        address = arguments[-1] if arguments else None
        is_internet = its_socket.family in (socket.AF_INET, socket.AF_INET6)
        if is_internet and isinstance(address, tuple) and address and isinstance(address[0], str | bytes | bytearray):
            _check_lookup(address)
        return original(its_socket, *arguments)

    setattr(socket.socket, method, checked)


_first = threading.Lock()
_done: list[str] = []


def guard() -> None:
    """Block this process's connections to other computers, except those that localcrag's settings allow.

    It also switches off the telemetry of the libraries that localcrag uses, so call it before you import them.
    `Localcrag()`, each command, the app and the servers call it themselves; a second call does nothing. It is active
    until the process ends, for every library in it and for the worker processes that it starts.
    """
    with _first:
        if _done:
            return
        _done.append("guarded")
        os.environ[GUARDED] = "1"
        process.silence()
        sys.addaudithook(_hook)
        for method in ("connect", "connect_ex", "sendto", "sendmsg", "bind"):
            if hasattr(socket.socket, method):
                _check_names_first(method)
