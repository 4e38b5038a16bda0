"""What is shipped: licences that allow it, locked with hashes, and no secrets among the files."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import cryptography
import cv2
import onnxruntime
import pytest
from licences import LOCK, PAGE, Licence, licences, locked, page

from tests.support import ROOT

pytestmark = pytest.mark.process

REPORTS = re.compile(rb"OneCollector|events\.data\.microsoft\.com|app-measurement\.com|sentry\.io|segment\.io")
"""Where libraries report to."""
SECRETS = {
    "private key": r"-----BEGIN (?:RSA |EC |DSA |OPENSSH |PGP |ENCRYPTED )?PRIVATE KEY",
    "AWS key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{22,})\b",
    "Hugging Face token": r"\bhf_[A-Za-z]{34}\b",
    "Slack token": r"\bxox[abprs]-[A-Za-z0-9-]{10,}\b",
    "Google key": r"\bAIza[A-Za-z0-9_-]{35}\b",
    "sk- key": r"\bsk-(?:proj-|ant-)?[A-Za-z0-9_-]{32,}\b",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\b",
    "PyPI token": r"\bpypi-[A-Za-z0-9_-]{50,}\b",
    "password in an address": r"\b[a-z]+://[^/\s:@\"'{}<>$%]+:(?!(?:secret|password|pass|wort|pw|hunter2)\b)[^/\s:@\"'{}<>$%]{12,}@",
}


def test_nothing_that_is_shipped_asks_for_a_licence_of_its_own_kind() -> None:
    found = list(licences())
    assert len(found) > 80
    assert [one for one in found if one.is_copyleft or one.licence == "not said"] == []


def test_no_library_of_text_recognition_or_passwords_knows_an_address_to_report_to() -> None:
    # ONNX Runtime from 1.29 on does, in C++, and looks it up before anybody can forbid it.
    places = [Path(str(module.__file__)).parent for module in (onnxruntime, cv2, cryptography)]
    places.append(places[1].parent / "opencv_python_headless.libs")
    built = [path for place in places for path in place.rglob("*.so*")]
    assert len(built) > 3
    assert [path.name for path in built if REPORTS.search(path.read_bytes())] == []


@pytest.mark.parametrize(
    ("licence", "copyleft"),
    [("AGPL-3.0-only", True), ("GNU General Public License v3 (GPLv3)", True), ("GPL-2.0", True), ("MIT", False),
     ("GNU Affero General Public License", True), ("LGPL-2.1", False), ("GNU Lesser General Public License", False)],
)  # fmt: skip
def test_a_copyleft_licence_is_seen(licence: str, copyleft: bool) -> None:
    assert Licence("x", "1", licence).is_copyleft is copyleft


def test_what_is_locked_for_another_python_is_not_of_this_one(tmp_path: Path) -> None:
    lock = tmp_path / "run.txt"
    lock.write_text(
        "here==1.0 ; python_full_version >= '3.11' \\\n    --hash=sha256:00\n"
        "elsewhere==1.0 ; python_full_version < '3.11' \\\n    --hash=sha256:00\n"
        "everywhere==2.0 \\\n    --hash=sha256:00\n"
    )
    assert locked(lock) == ["everywhere", "here", "torch"]


def test_the_page_of_licences_names_every_package_with_its_licence() -> None:
    written = PAGE.read_text("utf-8")
    for one in licences():
        assert f"| {one.package} |" in written
        assert f"| {one.licence} |" in written
    assert page([Licence("a", "1", "MIT")]).endswith("| a | 1 | MIT |\n")


def test_what_was_looked_up_by_hand_is_what_is_locked() -> None:
    page = (ROOT / "docs" / "lab" / "robustness.md").read_text("utf-8")
    table = page.partition("| package, version |")[2].partition("\n\n")[0]
    looked_up = re.findall(r"^\| ([a-z0-9-]+) ([0-9][0-9.]*) \|", table, flags=re.MULTILINE)
    assert len(looked_up) >= 6
    locks = "".join(path.read_text("utf-8") for path in LOCKS)
    # Another version has other advisories: they are to be looked up anew.
    assert [
        one for one in looked_up if not re.search(rf"^{one[0]}=={re.escape(one[1])}(?= |$)", locks, re.MULTILINE)
    ] == []


LOCKS = sorted(LOCK.parent.glob("*.txt"))


def test_the_locks_are_all_that_lie_there() -> None:
    assert {path.name for path in LOCKS} == {"run.txt", "test.txt"}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_locked_package_has_hashes(lock: Path) -> None:
    blocks = re.split(r"^(?=[A-Za-z0-9._-]+==)", lock.read_text("utf-8"), flags=re.MULTILINE)[1:]
    assert len(blocks) >= len(locked(lock)) - 1
    assert [block.splitlines()[0] for block in blocks if "--hash=sha256:" not in block] == []


def _tracked() -> list[Path]:
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def test_no_file_holds_a_secret() -> None:
    found = []
    for path in _tracked():
        text = path.read_bytes().decode("utf-8", "ignore")
        found += [(path.name, kind) for kind, pattern in SECRETS.items() if re.search(pattern, text)]
    assert found == []


def test_a_secret_would_be_found() -> None:
    letters = "Ab1" * 20
    secrets = {
        "private key": "-----BEGIN OPENSSH " + "PRIVATE KEY-----",
        "AWS key": "AKIA" + "ABCDEFGH12345678",
        "GitHub token": "ghp_" + letters[:36],
        "sk- key": "sk-" + letters[:40],
        "password in an address": "https://me:" + "correcthorsebattery" + "@example.com",
    }
    for kind, text in secrets.items():
        assert re.search(SECRETS[kind], text), kind
