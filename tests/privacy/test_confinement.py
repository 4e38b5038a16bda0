"""Confined processes, by processes that try: no socket, no program, no file, and whatever is right works still."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from localcrag.documents.readers.process import ReaderProcesses
from localcrag.privacy.egress_log import FILE_NAME, FOLDER_VARIABLE
from localcrag.privacy.worker_process import confinement_mechanisms
from tests.support import ROOT
from tests.support.app_process import children
from tests.support.documents import make_pdf

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines processes that ask for it"),
]

# In C's own functions, which no audit hook sees.
TRIES = """
import ctypes, errno, json, os, sys, threading
from localcrag.privacy.worker_process import confine
started, go = threading.Event(), threading.Event()
libc = ctypes.CDLL(None, use_errno=True)
before = []

def beside():
    started.set()
    go.wait()
    before.append(tried(libc.socket, 2, 1, 0))

def tried(call, *arguments):
    return "done" if call(*arguments) >= 0 else errno.errorcode[ctypes.get_errno()]

thread = threading.Thread(target=beside)
thread.start()
started.wait()
confine()
go.set()
thread.join()
place, log = (os.fsencode(path) for path in sys.argv[1:])
print(json.dumps({
    "a socket for the net": tried(libc.socket, 2, 1, 0),
    "a datagram": tried(libc.socket, 10, 2, 0),
    "a socket of this machine": tried(libc.socket, 1, 1, 0),
    "a thread from before": before[0],
    "io_uring": tried(libc.syscall, 425, 8, None),
    "a program": tried(libc.execv, b"/bin/true", (ctypes.c_char_p * 2)(b"/bin/true", None)),
    "a signal": tried(libc.kill, os.getppid(), 0),
    "another's memory": tried(libc.ptrace, 16, os.getppid(), None, None),
    "a new file": tried(libc.creat, place + b"/new", 0o600),
    "a file that is there": tried(libc.open, place + b"/there", 1),
    "to shorten it": tried(libc.truncate, place + b"/there", ctypes.c_long(0)),
    "to remove it": tried(libc.unlink, place + b"/there"),
    "a folder": tried(libc.mkdir, place + b"/folder", 0o700),
    "to read": tried(libc.open, place + b"/there", 0),
    "nowhere": tried(libc.open, b"/dev/null", 1),
    "the log": tried(libc.creat, log + b"/attempts.jsonl", 0o600),
}))
"""
CALLS = {
    "a socket for the net", "a datagram", "a socket of this machine", "a thread from before", "io_uring", "a program",
    "a signal", "another's memory",
}  # fmt: skip
FILES = {"a new file", "a file that is there", "to shorten it", "to remove it", "a folder"}
ALLOWED = {"to read", "nowhere", "the log"}


def test_a_reader_that_tries_gets_nowhere(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("kept")
    log = tmp_path / "data" / "egress"
    done = subprocess.run(
        [sys.executable, "-c", TRIES, str(tmp_path), str(log)],
        cwd=ROOT, env={**os.environ, FOLDER_VARIABLE: str(log)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = json.loads(done.stdout)
    assert {name: said[name] for name in ALLOWED} == dict.fromkeys(ALLOWED, "done")
    assert confinement_mechanisms(), "nothing is confined here: say so in docs/reference/data-inventory.md"
    if "seccomp" in confinement_mechanisms():
        assert {name: said[name] for name in CALLS} == dict.fromkeys(CALLS, "EPERM")
    if "Landlock" in confinement_mechanisms():
        assert {name: said[name] for name in FILES} == dict.fromkeys(FILES, "EACCES")
    assert (tmp_path / "there").read_text() == "kept"
    assert (log / FILE_NAME).exists()


def test_calls_of_another_form_are_refused_too() -> None:
    code = "from localcrag.privacy.worker_process import confine, FIRST_X32_CALL; import ctypes; confine(); "
    code += "libc = ctypes.CDLL(None, use_errno=True); print(libc.syscall(FIRST_X32_CALL + 41, 2, 1, 0))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "-1\n" or done.returncode == -signal.SIGSYS


def test_the_readers_that_the_app_starts_are_confined_and_read(tmp_path: Path) -> None:
    make_pdf(tmp_path / "a.pdf", ["Line 7 leaves from berth 7."])
    readers, before = ReaderProcesses(), children()
    try:
        document = readers.open_document(tmp_path / "a.pdf", "a.pdf")
        (process,) = children() - before
        status = Path(f"/proc/{process}/status").read_text()
        assert "NoNewPrivs:\t1" in status
        assert ("Seccomp:\t2" in status) == ("seccomp" in confinement_mechanisms())
        assert [page.text for page in document.pages] == ["Line 7 leaves from berth 7."]
    finally:
        readers.close()
