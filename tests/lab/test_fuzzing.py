"""Fuzzing of the readers with a stand-in for atheris, and the contract that every answer of a reader is held to."""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from lab.fuzzing import contract, seeds
from lab.fuzzing.changes import changed
from lab.fuzzing.findings import Findings
from lab.fuzzing.kinds import KINDS, MOST_BYTES, PASSWORD, names_of
from lab.fuzzing.reading import Reading

from localcrag.documents.readers import worker
from localcrag.privacy.worker_process import Frame
from tests.support import ROOT

pytestmark = pytest.mark.lab

STAND_IN = """
import contextlib, os, pathlib, signal

def instrument_imports(include):
    return contextlib.nullcontext()

def Mutate(data, most):
    return data[::-1][:most]

def Setup(arguments, one, custom_mutator):
    global told
    told = arguments, one, custom_mutator

def Fuzz():
    arguments, one, change = told
    for path in sorted(pathlib.Path(arguments[-1]).iterdir()):
        data = path.read_bytes()
        one(change(data, 64000, 1))
        one(data)
        for said, number in ((b"Breaks.", signal.SIGKILL), (b"Hangs.", signal.SIGPROF)):
            if said in data:
                os.kill(os.getpid(), number)
"""
"""As much of atheris as is asked of it; seeds that say so end the process, as a crash or the time limit does."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    seeds.make(folder)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_seeds_that_are_read_without_a_finding(made: Path, tmp_path: Path, kind: str) -> None:
    (smallest, *_) = seeds.seeds_of(kind, [made])
    (tmp_path / "current").write_bytes(smallest)
    for name in names_of(kind):
        assert Reading(tmp_path / "current", name, PASSWORD).read() == []


def test_a_changed_archive_is_mostly_one_whose_parts_are_still_packed_as_they_should_be() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.xml", "<a n='1'><b>2</b></a>")
    whole = 0
    for seed in range(40):
        data = changed(packed.getvalue(), MOST_BYTES, random.Random(seed), lambda data, most: (data + b"!")[:most])
        with contextlib.suppress(zipfile.BadZipFile, ValueError), zipfile.ZipFile(io.BytesIO(data)) as archive:
            whole += all(isinstance(archive.read(name), bytes) for name in archive.namelist())
    assert whole >= 30


def document(page: dict[str, Any], text: str = "Fees\nTen.", **of_file: Any) -> list[Frame]:
    first = {"media_type": "text/plain", "pages": None, "dated": None, "title": None, **of_file}
    whole = {"number": None, "unread": False, "headings": [], "recognised": [], **page}
    return [(first, b""), (whole, text.encode("utf-8", "surrogatepass")), ({"end": True}, b"")]


def member(name: str, **of_it: Any) -> Frame:
    return {"member": name, "changed": None, "failed": None, **of_it}, b""


ERROR: Frame = ({"error": "UnreadableDocument", "said": "a.txt is damaged."}, b"")
GOOD = document({"headings": [[0, 4, 1]], "recognised": [[0, 9, 0.5]]}, dated="2026-01-02", title="Fees")
WRONG: dict[str, list[Frame]] = {
    "not one end": GOOD[:-1],
    "not opened": [GOOD[1], ERROR],
    "says nothing": [({"error": "UnreadableDocument", "said": " "}, b"")],
    "the title": document({}, title="A\nB"),
    "the date": document({}, dated="2026-13-01"),
    "half a character": document({}, "\ud800"),
    "controls": document({}, "a\x0cb"),
    "NFC": document({}, "e\u0301"),
    "outside of its text, or is empty": document({"headings": [[0, 99, 1]]}),
    "in order, or overlap": document({"headings": [[5, 8, 1], [0, 4, 1]]}),
    "has no level": document({"headings": [[0, 4, -1]]}),
    "a recognised part": document({"recognised": [[0, 4, 1.5]]}),
    "the file has none": document({"number": 1}),
    "not numbered": document({"number": 2}, pages=1),
    "said to be empty": document({}, " "),
    "one name": [*GOOD[:-1], member("a"), member("a"), GOOD[-1]],
    "leads out": [*GOOD[:-1], member("../a"), GOOD[-1]],
    "at no time": [*GOOD[:-1], member("a", changed=float("nan")), GOOD[-1]],
    "and nothing is said": [*GOOD[:-1], member("a", failed=""), GOOD[-1]],
}


@pytest.mark.parametrize(("rule", "frames"), WRONG.items(), ids=WRONG.keys())
def test_an_answer_that_breaks_the_contract_is_found(rule: str, frames: list[Frame]) -> None:
    said = list(contract.broken(frames))
    assert len(said) == 1
    assert rule in said[0]


@pytest.mark.parametrize("frames", [GOOD, [ERROR], [*GOOD[:-1], ERROR], [*GOOD[:-1], member("a/b"), GOOD[-1]]])
def test_an_answer_as_it_should_be_is_none(frames: list[Frame]) -> None:
    assert list(contract.broken(frames)) == []


def test_an_error_that_no_reader_foresaw_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_given: object) -> None:
        raise ZeroDivisionError("x")

    monkeypatch.setattr(worker, "open_document", broken)
    (tmp_path / "current").write_bytes(b"Berth seven.")
    (found,) = Reading(tmp_path / "current", "a.txt", PASSWORD).read()
    assert (found.sort, "ZeroDivisionError" in found.place) == ("fault", True)


@pytest.mark.skipif(sys.platform == "win32", reason="libFuzzer is not for Windows")
def test_a_process_that_breaks_is_a_finding_and_another_one_goes_on(tmp_path: Path) -> None:
    (tmp_path / "atheris.py").write_text(STAND_IN)
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "a.rtf").write_bytes(b"{\\rtf1 Breaks.}")
    (tmp_path / "given" / "c.rtf").write_bytes(b"{\\rtf1 Hangs.}")
    (tmp_path / "given" / "b.rtf").write_bytes(b"{\\rtf1 Berth seven.}")
    script, work = ROOT / "scripts" / "lab" / "fuzzing" / "fuzz_readers.py", tmp_path / "work"
    arguments = [tmp_path / "given", "--minutes", "1", "--kind", "rtf", "--work", work]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    found, hang = Findings(work / "findings").all()
    assert (found["sort"], found["place"]) == ("crash", f"exit status {-signal.SIGKILL}")
    assert (hang["sort"], "test_fuzzing" in hang["said"] or "atheris.py" in hang["said"]) == ("hang", True)
    assert (work / "findings" / found["file"]).read_bytes() == b"{\\rtf1 Breaks.}"
    left = {path.read_bytes() for path in (work / "seeds" / "rtf").iterdir()}
    assert b"{\\rtf1 Berth seven.}" in left
    assert b"{\\rtf1 Breaks.}" not in left
    assert f"| rtf | {len(left)} |" in done.stdout
    assert f"- {found['file']}: crash, exit status -9 (1 times)" in done.stdout
    assert (done.returncode, done.stderr) == (1, "rtf …\n")
