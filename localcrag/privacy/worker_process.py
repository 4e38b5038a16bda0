"""Worker processes from the inside: confine and limit the process, and answer requests over pipes.

The egress guard (privacy/guard.py) is an audit hook and only sees what Python does. A parser that a malicious file has
taken over bypasses it, and so does a library that sends telemetry from C++. On Linux the kernel stops both: seccomp
refuses the system calls that create sockets, start programs or reach other processes, and Landlock (from Linux 5.13 on)
refuses to change, create or remove files, except in the folder of the egress log. A refused call fails with "Operation
not permitted" or "Permission denied". Other systems offer no mechanism of this kind that a process can apply to itself.

Messages are JSON and bytes, not pickles: a process that has read untrusted files must not be able to send anything that
runs code.
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

from localcrag.privacy.egress_log import FOLDER_VARIABLE

# linux/prctl.h, linux/seccomp.h, linux/audit.h, linux/landlock.h
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC = 1, 1
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
EPERM = 1
LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER_OFFSET, MACHINE_OFFSET = 0, 4
FIRST_X32_CALL = 0x40000000
"""First system call number of the x32 ABI, which localcrag does not use."""
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
EXECUTE, WRITE, READ, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE = 1 << 13, 1 << 14
CHANGE_RIGHTS = (1 << 13) - 1 - READ - READ_FOLDER
"""Landlock rights to execute, write, create and remove anything in a folder."""
FILE_RIGHTS = WRITE | TRUNCATE

_MACHINES = {
    # For each machine: its audit number, the number of the call seccomp, and the numbers of the refused calls: socket,
    # connect, accept, bind, listen, accept4; execve, execveat; ptrace, process_vm_readv and _writev, kill,
    # pidfd_send_signal, pidfd_getfd; and io_uring_setup, which can create sockets without a system call for each.
    "x86_64": (0xC000003E, 317, (41, 42, 43, 49, 50, 288, 59, 322, 101, 310, 311, 62, 424, 438, 425)),
    "aarch64": (0xC00000B7, 277, (198, 203, 202, 200, 201, 242, 221, 281, 117, 270, 271, 129, 424, 438, 425)),
}


def confine() -> None:
    """Confine this process and its children permanently, if the system can; call it before starting threads."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return
    _refuse_changes(libc)
    _refuse_calls(libc)


def confinement_mechanisms() -> tuple[str, ...]:
    """Return the mechanisms that can confine processes on this system: "seccomp", "Landlock", both or none."""
    if sys.platform != "linux":
        return ()
    seccomp = platform.machine() in _MACHINES and Path("/proc/sys/kernel/seccomp/actions_avail").exists()
    landlock = _landlock(ctypes.CDLL(None, use_errno=True)) > 0
    return ("seccomp",) * seccomp + ("Landlock",) * landlock


def _refuse_calls(libc: ctypes.CDLL) -> None:
    """Install the seccomp filter, which refuses system calls that a worker does not need."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return
    audited, seccomp, refused = machine
    # Jump offsets of a BPF program are relative; the last instruction refuses the call.
    behind = len(refused) + 1
    program = [
        (LOAD, 0, 0, MACHINE_OFFSET),
        (JUMP_IF_EQUAL, 1, 0, audited),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_OFFSET),
        (JUMP_IF_AT_LEAST, behind, 0, FIRST_X32_CALL),
        *((JUMP_IF_EQUAL, behind - at, 0, number) for at, number in enumerate(refused, start=1)),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE | EPERM),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    described = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    libc.syscall(seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, described)


def _refuse_changes(libc: ctypes.CDLL) -> None:
    """Apply Landlock rules that refuse to change files, except in the folder of the egress log and for /dev/null."""
    version = _landlock(libc)
    if version < 1:
        return
    handled = CHANGE_RIGHTS | (REFER if version > 1 else 0) | (TRUNCATE if version > 2 else 0)
    # From version 4 on also refuse TCP ports, and from version 6 on abstract sockets and signals to other processes.
    # seccomp refuses these as well, but only on the machines in _MACHINES.
    net = 0b11 if version > 3 else 0
    scoped = 0b11 if version > 5 else 0
    asked = struct.pack("QQQ", handled, net, scoped)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = libc.syscall(LANDLOCK_CREATE, asked, len(asked), 0)
    if rules < 0:
        return
    try:
        _allow_writing(libc, rules, Path(os.devnull), FILE_RIGHTS & handled)
        if reported := os.environ.get(FOLDER_VARIABLE):
            folder = Path(reported)
            with suppress(OSError):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _allow_writing(libc, rules, folder, handled & ~EXECUTE)
        libc.syscall(LANDLOCK_RESTRICT, rules, 0)
    finally:
        os.close(rules)


def _allow_writing(libc: ctypes.CDLL, rules: int, path: Path, allowed: int) -> None:
    with suppress(OSError):
        place = os.open(path, os.O_PATH)
        try:
            libc.syscall(LANDLOCK_ADD, rules, 1, struct.pack("=Qi", allowed, place), 0)
        finally:
            os.close(place)


def _landlock(libc: ctypes.CDLL) -> int:
    """Return the version of Landlock's interface; 0 or less if the system has none."""
    return int(libc.syscall(LANDLOCK_CREATE, None, 0, 1))


LONGEST_LINE = 400_000_000
"""Maximum bytes of a line; the longest are the results of text recognition, with a few thousand bytes per page."""
MOST_ATTACHED = 2**31
"""Maximum bytes attached to a message."""
Frame = tuple[dict[str, Any], bytes]


def send(stream: IO[bytes], content: Mapping[str, Any], attached: bytes = b"") -> None:
    """Write a message. Raises OSError if the reader has closed the stream."""
    stream.write(json.dumps({**content, "attached": len(attached)}).encode() + b"\n")
    stream.write(attached)
    stream.flush()


def receive(stream: IO[bytes]) -> Frame | None:
    """Return the next message; None at the end of the stream, or if the message is invalid."""
    try:
        content = json.loads(stream.readline(LONGEST_LINE))
        attached = stream.read(min(content["attached"], MOST_ATTACHED))
    except (ValueError, KeyError, TypeError, OSError):
        return None
    return (content, attached) if len(attached) == content["attached"] else None


MOST_MEMORY = 4 * 2**30
"""Maximum bytes of address space; reading a file of 500 MB, the largest upload, needs a fraction of it."""
MOST_WRITTEN = 2**20
"""Maximum bytes of any file that is written; workers write only the egress log, which is short."""


def limit() -> None:
    """Limit the memory and file size of this process, and ignore Ctrl-C, which the app handles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - Windows has no such module

        for what, most in ((resource.RLIMIT_AS, MOST_MEMORY), (resource.RLIMIT_FSIZE, MOST_WRITTEN)):
            _, hard = resource.getrlimit(what)
            value = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (value, value))


Answer = Callable[[dict[str, Any], bytes, IO[bytes]], None]
"""Function that answers a request and its attached bytes by writing to a stream."""


def serve(answer: Answer) -> None:
    """Limit this process, and answer requests from standard input until it is closed."""
    limit()
    # Redirect standard output to standard error, so that the app does not read text printed by a library as an answer.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        while asked := receive(sys.stdin.buffer):
            answer(*asked, out)
    except BrokenPipeError:
        os._exit(0)
