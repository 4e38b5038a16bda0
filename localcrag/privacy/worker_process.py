"""A worker process from within: confined, limited, and answering requests frame by frame.

The Linux kernel does it. The egress guard (egress_guard.py) is an audit hook, and sees what Python does. A parser that
a file has taken over goes past it, and so does a library that reports to its maker from C++. This does not let them:
seccomp refuses the calls of the system that make sockets, start programs or reach other processes; Landlock (from Linux
5.13 on) refuses to change, make or remove files, but for the log of refused connections. What was refused is an error
of the call, "Operation not permitted" or "Permission denied". Other systems have nothing of this kind that a process
may ask for itself.

No pickles: what comes from a process that has read what others wrote can be text, numbers and bytes, and nothing that
runs.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import struct
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from localcrag.privacy.egress_log import VARIABLE

# linux/prctl.h, linux/seccomp.h, linux/audit.h, linux/landlock.h
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC = 1, 1
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
EPERM = 1
LOAD, IS, IS_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
OF_NUMBER, OF_MACHINE = 0, 4
FOREIGN = 0x40000000
"""From here on the numbers are those of calls in another form (x32), which is nobody's here."""
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
EXECUTE, WRITE, READ, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE = 1 << 13, 1 << 14
CHANGES = (1 << 13) - 1 - READ - READ_FOLDER
"""To execute, write, make and remove whatever may lie in a folder."""
OF_A_FILE = WRITE | TRUNCATE

_MACHINES = {
    # Audit's number of the machine, seccomp's own, and the calls that are refused: socket, connect, accept, bind,
    # listen, accept4; execve, execveat; ptrace, process_vm_readv and _writev, kill, pidfd_send_signal, pidfd_getfd;
    # io_uring_setup, by which sockets are made without a call for each.
    "x86_64": (0xC000003E, 317, (41, 42, 43, 49, 50, 288, 59, 322, 101, 310, 311, 62, 424, 438, 425)),
    "aarch64": (0xC00000B7, 277, (198, 203, 202, 200, 201, 242, 221, 281, 117, 270, 271, 129, 424, 438, 425)),
}


def confine() -> None:
    """Confine this process and whatever it starts, for good, as far as the system can; before it has threads."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return
    _no_changes(libc)
    _no_calls(libc)


def by_what() -> tuple[str, ...]:
    """Return what this system can confine processes by: "seccomp", "Landlock", both or nothing."""
    if sys.platform != "linux":
        return ()
    seccomp = platform.machine() in _MACHINES and Path("/proc/sys/kernel/seccomp/actions_avail").exists()
    landlock = _landlock(ctypes.CDLL(None, use_errno=True)) > 0
    return ("seccomp",) * seccomp + ("Landlock",) * landlock


def _no_calls(libc: ctypes.CDLL) -> None:
    """Refuse the calls that are none of a reader's business."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return
    audited, seccomp, refused = machine
    behind = len(refused) + 1
    program = [
        (LOAD, 0, 0, OF_MACHINE),
        (IS, 1, 0, audited),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, OF_NUMBER),
        (IS_AT_LEAST, behind, 0, FOREIGN),
        *((IS, behind - at, 0, number) for at, number in enumerate(refused, start=1)),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE | EPERM),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    described = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    libc.syscall(seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, described)


def _no_changes(libc: ctypes.CDLL) -> None:
    """Refuse to change files, but for the folder of the log, and what goes nowhere."""
    version = _landlock(libc)
    if version < 1:
        return
    handled = CHANGES | (REFER if version > 1 else 0) | (TRUNCATE if version > 2 else 0)
    # Ports and, from version 6 on, others' abstract sockets and signals: seccomp has these, where it knows the machine.
    net = 0b11 if version > 3 else 0
    scoped = 0b11 if version > 5 else 0
    asked = struct.pack("QQQ", handled, net, scoped)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = libc.syscall(LANDLOCK_CREATE, asked, len(asked), 0)
    if rules < 0:
        return
    try:
        _let_write(libc, rules, Path(os.devnull), OF_A_FILE & handled)
        if told := os.environ.get(VARIABLE):
            folder = Path(told)
            with suppress(OSError):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _let_write(libc, rules, folder, handled & ~EXECUTE)
        libc.syscall(LANDLOCK_RESTRICT, rules, 0)
    finally:
        os.close(rules)


def _let_write(libc: ctypes.CDLL, rules: int, path: Path, allowed: int) -> None:
    with suppress(OSError):
        place = os.open(path, os.O_PATH)
        try:
            libc.syscall(LANDLOCK_ADD, rules, 1, struct.pack("=Qi", allowed, place), 0)
        finally:
            os.close(place)


def _landlock(libc: ctypes.CDLL) -> int:
    """Return the version of Landlock, 0 or less where there is none."""
    return int(libc.syscall(LANDLOCK_CREATE, None, 0, 1))


LONGEST_LINE = 400_000_000
"""Bytes; the longest are what text recognition has read of a document's pages, a few thousand a page."""
MOST_ATTACHED = 2**31
Frame = tuple[dict[str, Any], bytes]


def send(stream: IO[bytes], content: Mapping[str, Any], attached: bytes = b"") -> None:
    """Write a message. Raises OSError when nobody reads it."""
    stream.write(json.dumps({**content, "attached": len(attached)}).encode() + b"\n")
    stream.write(attached)
    stream.flush()


def receive(stream: IO[bytes]) -> Frame | None:
    """Return the next message; None at the end, and for what is none."""
    try:
        content = json.loads(stream.readline(LONGEST_LINE))
        attached = stream.read(min(content["attached"], MOST_ATTACHED))
    except (ValueError, KeyError, TypeError, OSError):
        return None
    return (content, attached) if len(attached) == content["attached"] else None


MOST_MEMORY = 4 * 2**30
"""Bytes of address space. A file of 500 MB, the largest upload, is read in a fraction of it."""
MOST_WRITTEN = 2**20
"""Bytes of any file: these processes write none; the log of refused connections is short."""


def limit() -> None:
    """Limit this process, and leave Ctrl-C to the app."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - there is none on Windows

        for what, most in ((resource.RLIMIT_AS, MOST_MEMORY), (resource.RLIMIT_FSIZE, MOST_WRITTEN)):
            _, hard = resource.getrlimit(what)
            value = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (value, value))


Answer = Callable[[dict[str, Any], bytes, IO[bytes]], None]
"""Answers what is asked, with the bytes behind it, by what it writes."""


def serve(answer: Answer) -> None:
    """Answer until nobody asks any more, within the limits of such a process."""
    limit()
    # Whatever a library prints is not taken for an answer.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        while asked := receive(sys.stdin.buffer):
            answer(*asked, out)
    except BrokenPipeError:
        os._exit(0)
