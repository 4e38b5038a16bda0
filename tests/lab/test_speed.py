"""Which versions are compared, how their ratios are judged, and what each is measured in, with the real models."""

from __future__ import annotations

import io
import itertools
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from lab.speed import bench_answers
from lab.speed.child import OPEN, Measured, serve
from lab.speed.comparison import SHOWN, Materials, Round, compare, slower
from lab.speed.ratios import LEAST_PAIRS, Pair, Verdict, ratio
from lab.speed.texts import write_documents
from lab.speed.versions import BACK, accepted, commit, earlier, measured_by, unpack

import localcrag
from localcrag.app.assembly import Assembly
from localcrag.settings import load
from tests.support import ROOT
from tests.support.desktop_screen import until
from tests.support.first_start import started_before
from tests.support.scripts import run_script

pytestmark = pytest.mark.lab

IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *IDENTITY, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def committed(folder: Path, message: str) -> str:
    """Commit whatever there is; return the commit."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    for name in ("localcrag/__init__.py", "app.py", "models/models.toml", "models/heavy", "scripts/speed/child.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("first\n")
    git(tmp_path, "init", "--quiet", str(folder))
    committed(folder, "first")
    return folder


def test_a_branch_is_compared_with_where_it_branched_off_and_main_with_an_older_version(checkout: Path) -> None:
    commits = [committed(checkout, str(number)) for number in range(BACK + 3)]
    assert earlier(checkout) == commits[2]
    git(checkout, "switch", "--quiet", "-c", "branch")
    committed(checkout, "mine")
    assert earlier(checkout) == commits[-1]


def test_a_version_is_unpacked_without_weights_and_measures_itself(checkout: Path, tmp_path: Path) -> None:
    before = commit(checkout, "HEAD")
    (checkout / "localcrag" / "__init__.py").write_text("second\n")
    git(checkout, "mv", "scripts/speed", "scripts/timing")
    committed(checkout, "second")
    tree, later = unpack(checkout, before, tmp_path / "tree"), unpack(checkout, "HEAD", tmp_path / "later")
    assert (tree / "localcrag" / "__init__.py").read_text() == "first\n"
    assert [path.name for path in (tree / "models").iterdir()] == ["models.toml"]
    assert measured_by(tree) == ("speed.child", tree / "scripts")
    assert measured_by(ROOT) == ("lab.speed.child", ROOT / "scripts")
    assert measured_by(later) == ("lab.speed.child", ROOT / "scripts"), "it has no measuring code of its own"


def test_commits_say_what_is_slower_on_purpose(checkout: Path) -> None:
    base = committed(checkout, "Base")
    committed(checkout, "Twelve layers\n\nThey find more.\n\nSlower: evaluate, last token")
    committed(checkout, "Nothing is\nSlower: than this")
    assert accepted(checkout, base) == {"evaluate", "last token"}


def pairs(*ratios: float) -> list[Pair]:
    """Pairs of seconds with these ratios; what the machine does hits both."""
    return [(number, number * one) for number, one in enumerate(ratios, start=1)]


SAID = {
    "slower": ([1.5, 1.6, 1.4, 1.5, 1.7, 1.6], Verdict.SLOWER),
    "as fast": ([1.0, 1.1, 0.9, 1.0, 1.1, 1.2], Verdict.AS_FAST),
    "a little slower, and that is allowed": ([1.2] * 6, Verdict.AS_FAST),
    "faster": ([0.5, 0.6, 0.7, 0.6, 0.5, 0.6], Verdict.FASTER),
    "slower, but for one pair of few": ([1.1, 1.6, 1.4, 1.5, 1.7, 1.6], Verdict.UNCLEAR),
    "too few pairs": ([5.0] * (LEAST_PAIRS - 1), Verdict.UNCLEAR),
}


@pytest.mark.parametrize(("ratios", "verdict"), SAID.values(), ids=SAID.keys())
def test_only_a_whole_interval_says_something(ratios: list[float], verdict: Verdict) -> None:
    found = ratio("evaluate", pairs(*ratios))
    assert found is not None
    assert found.low <= found.median <= found.high
    assert found.verdict() is verdict


@dataclass
class Stand:
    """A version that takes the seconds it was told."""

    name: str
    figures: Mapping[str, float] = field(default_factory=lambda: {"evaluate": 1.0})

    def measured(self, what: str, given: str) -> dict[str, float]:
        return dict(self.figures)


def test_a_slower_step_is_said_with_its_ratio_and_a_step_that_one_of_them_lacks_is_left_out() -> None:
    before, now = Stand("a1b2c3d"), Stand("now", {"evaluate": 1.6, "refine": 1.0})
    rounds = tuple(Round("corrected", f"{number}?") for number in range(8))
    found = compare(before, now, Materials((), rounds), seconds=1)
    assert found.left_out["refine"] == "only one has that step"
    (sentence,) = slower(found.ratios(), "a1b2c3d")
    assert sentence.startswith("evaluate takes 1.60 times as long as in a1b2c3d: 95 % interval 1.60 to 1.60 of 8 pairs")
    assert slower(found.ratios(), "a1b2c3d", frozenset({"evaluate"})) == []


def test_a_version_answers_in_lines_with_everything_that_is_compared(tmp_path: Path) -> None:
    (question, *_) = write_documents(tmp_path / "documents", 10, random.Random(1))
    asked = [(OPEN, ""), ("ingested", str(tmp_path / "documents")), ("corrected", question), ("plain", question)]
    lines = "".join(json.dumps({"do": what, "given": given}) + "\n" for what, given in asked)
    said = io.StringIO()
    serve(io.StringIO(lines), said, Measured(started_before(tmp_path / "data")))
    opened, *answers = (json.loads(line) for line in said.getvalue().splitlines())
    assert opened == {"figures": {}, "package": str(Path(localcrag.__file__).parent)}
    found = dict(zip(("ingested", "corrected", "plain"), answers, strict=True))
    for (what, figure), step in SHOWN.items():
        if what in found:
            assert found[what]["figures"][figure] > 0, step


def test_interrupted_it_leaves_no_folder_and_no_process(tmp_path: Path) -> None:
    command = [sys.executable, "scripts/bench.py", "--against", "HEAD", "--quick"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as bench:
        until(lambda: len(measured_below(tmp_path)) == 2, "two versions run in processes of their own")
        bench.send_signal(signal.SIGTERM)
        _, said = bench.communicate()
    assert (bench.returncode, said) == (128 + signal.SIGTERM, "")
    assert list(tmp_path.iterdir()) == []
    assert measured_below(tmp_path) == []


def measured_below(folder: Path) -> list[str]:
    """The processes that measure a version in this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(FileNotFoundError, ProcessLookupError):  # ended meanwhile
            found.append(path.read_bytes().decode().split("\0"))
    return [line[3] for line in found if line[1:3] == ["-m", "lab.speed.child"] and line[3].startswith(str(folder))]


def test_a_question_is_asked_both_ways_and_its_seconds_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_answers, "CHUNKS", 10)
    ticks = itertools.count()
    monkeypatch.setattr(bench_answers, "clock", lambda: float(next(ticks)))
    (tmp_path / "files").mkdir()
    with closing(Assembly(load(data_dir=started_before(tmp_path / "data"), web="never"))) as assembly:
        cases = bench_answers.own_texts(assembly, tmp_path / "files", 1)
        ((ours, theirs),) = bench_answers.ask_all(assembly, cases, lambda _: None)
    assert 0 < ours.first <= ours.last
    assert ours.spent["relevance model.logits"] > 0
    assert "relevance model.logits" not in theirs.spent
    assert ours.spent[bench_answers.TOKENS] < theirs.spent[bench_answers.TOKENS]


def test_the_interval_of_a_median_holds_it() -> None:
    low, high = bench_answers.interval(np.linspace(0.1, 0.3, 41))
    assert 0.1 <= low < 0.2 < high <= 0.3


def test_adding_documents_is_measured_beside_the_embedder_alone() -> None:
    done = run_script("lab/speed/bench_ingest", "--chunks", "10", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    assert "ingest / embedder alone" in done.stdout
