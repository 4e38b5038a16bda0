"""What the guard refuses, and no test has named, fails the test; by tests of a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.process

TESTS = """
import socket, subprocess, sys
import localcrag
import pytest
from localcrag.privacy.egress_log import FOLDER_VARIABLE

LEAVE = "\\n".join(["import localcrag, socket", "localcrag.guard()", "try:",
    "    socket.create_connection(('192.0.2.1', 443))", "except OSError: pass"])
CONFINED = "\\n".join(["from localcrag.privacy.worker_process import confine", "import localcrag, socket",
    "localcrag.guard()", "confine()", "try:", "    socket.getaddrinfo('nobody.example', 80)", "except OSError: pass"])

def leave():
    with pytest.raises(ConnectionError):
        socket.create_connection(("192.0.2.1", 80))

def other(code, **options):
    subprocess.run([sys.executable, "-c", code], check=True, **options)

@pytest.fixture
def leaves_as_it_goes():
    yield
    leave()

def test_nothing(): ...
def test_here(): leave()
def test_in_another_process(): other(LEAVE)
def test_in_one_of_another_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    other(LEAVE)
def test_in_a_confined_process(): other(CONFINED)
def test_in_a_fixture(leaves_as_it_goes): ...
@pytest.mark.refused("192.0.2.2:80")
def test_with_another_one_named(): leave()
@pytest.mark.refused("192.0.2.1:*")
def test_named(): leave()
@pytest.mark.refused("nobody.example", "192.0.2.1:443")
def test_named_in_another_process():
    other(LEAVE)
    other(CONFINED)
def test_nothing_after_those(): ...
"""
CONFTEST = """
import localcrag
localcrag.guard()
from localcrag.privacy.guard import allow_all_programs
allow_all_programs("these tests do")
"""
UNNAMED = {
    "test_here", "test_in_another_process", "test_in_one_of_another_data_folder", "test_in_a_confined_process",
    "test_in_a_fixture", "test_with_another_one_named",
}  # fmt: skip


@pytest.mark.parametrize("workers", ["0", "2"], ids=["in one process", "in two workers"])
def test_a_refusal_that_no_test_names_fails_the_test_whatever_process_it_is_in(tmp_path: Path, workers: str) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_leaving.py").write_text(TESTS)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "tests.support.refusals", "-p", "no:cacheprovider", "-n", workers),
            *("-q", "-rE", "--rootdir", str(tmp_path), "-c", "/dev/null", str(tmp_path)),
        ],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    failed = {line.split("::")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("ERROR ")}
    assert failed == UNNAMED, done.stdout + done.stderr
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "192.0.2.1:80, asked for by" in done.stdout
    assert "@pytest.mark.refused(destination, …)" in done.stdout
