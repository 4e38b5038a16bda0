from __future__ import annotations

import ast
import ensurepip
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from prerequisites import SYSTEM_PACKAGES

from tests.support import ROOT
from tests.support.model_folders import GGUF, build_wheel, entry, file_line, wheel_source

pytestmark = pytest.mark.process

SCRIPTS = ROOT / "scripts"
DEADLINE = 120.0  # seconds after which a command that must end counts as hanging

# What the real commands are in this project of a few bytes: each writes down how it was called.
TOOL = """
import json, os, sys
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps([{name!r}, *sys.argv[1:]]) + "\\n")
with open("threads", "a") as threads:
    threads.write(os.environ.get("OMP_NUM_THREADS", "") + "\\n")
sys.exit(int(os.environ.get({name!r}.upper() + "_STATUS", "0")))
"""
APP = """
import json, os, sys
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(["app.py", *sys.argv[1:], os.getcwd()]) + "\\n")
"""
MODELS_COMMAND = """
import os, pathlib, signal, sys
assert sys.argv[1:] == ["models", "get", "embedded"], sys.argv
if "HOLD" in os.environ:
    pathlib.Path(os.environ["HOLD"]).touch()
    signal.pause()
folder = pathlib.Path("models/tiny")
folder.mkdir(exist_ok=True)
(folder / "tiny.gguf").write_bytes(bytes.fromhex({content!r}))
"""
NO_COMPILER = b"raise SystemExit('no compiler')"
LLAMA = b"ORIGIN = 'compiled here'"
LLAMA_OF_INDEX = """
import os, pathlib, signal
ORIGIN = "the index"
class Llama:
    def __init__(self, model, n_ctx, verbose):
        assert pathlib.Path(model).read_bytes()[:4] == b"GGUF"
    def __call__(self, prompt, max_tokens):
        {written}
"""
BENCH = """
import json, os, sys
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(["bench.py", *sys.argv[1:], os.environ.get("OMP_NUM_THREADS", "")]) + "\\n")
sys.exit(int(os.environ.get("BENCH_STATUS", "0")))
"""
BACKEND = """
import shutil
def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return shutil.copy({wheel!r}, wheel_directory).rpartition("/")[2]
"""
PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "localcrag"
version = "0.1.0"
"""


@dataclass(frozen=True)
class Project:
    """A checkout with the real scripts and next to nothing else, and an index of wheels of a few bytes."""

    root: Path
    index: Path

    @property
    def stamps(self) -> Path:
        return self.root / ".venv" / ".localcrag-setup.json"

    @property
    def model(self) -> Path:
        return self.root / "models" / "tiny" / "tiny.gguf"

    def lock(self, name: str, version: str = "1.0", checksum: str | None = None) -> None:
        """Pin pip as Python brings it, the tools, and `version` of a dependency; `checksum` a wrong one, say."""
        pins = [f"pip=={ensurepip.version()} \\\n    --hash=sha256:{'0' * 64}\n"]
        tools = ["ruff", "mypy", "pytest"] if name == "test.txt" else []
        compiled = [("hnswlib", "1.0"), ("llama-cpp-python", "1.0")]
        for package, pinned in [*((tool, "1.0") for tool in tools), ("tiny-dependency", version), *compiled]:
            wheel = self.index / f"{package.replace('-', '_')}-{pinned}-py3-none-any.whl"
            given = checksum if checksum and package == "tiny-dependency" else None
            pins.append(f"{package}=={pinned} \\\n    --hash=sha256:{given or digest(wheel)}\n")
        (self.root / "scripts" / "lock" / name).write_text("".join(pins))

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PIP_", "LOCALCRAG_", "OMP_", "CC", "CXX"))
        }
        pip = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.index)}
        return {**kept, **pip, "CALLS": str(self.root / "calls"), **(extra or {})}

    def run(
        self, script: str, *arguments: str, extra: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, f"scripts/{script}", *arguments],
            cwd=self.root,
            env=self.environment(extra),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )

    def installed(self, package: str) -> str:
        asked = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
        python = self.root / ".venv" / "bin" / "python"
        return subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()

    def calls(self) -> list[list[str]]:
        path = self.root / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_project(folder: Path) -> Project:
    project = Project(folder / "checkout", folder / "index")
    shutil.copytree(SCRIPTS, project.root / "scripts", ignore=shutil.ignore_patterns("lab", "lock", "__pycache__"))
    (project.root / "scripts" / "lock").mkdir()
    build_wheel(project.index, "torch", "2.13.0", {"torch/__init__.py": b""})
    for version in ("1.0", "2.0"):
        build_wheel(project.index, "tiny-dependency", version, {"tiny_dependency/__init__.py": b""})
    build_wheel(project.index, "hnswlib", "1.0", {"hnswlib.py": b""})
    build_wheel(project.index, "llama-cpp-python", "1.0", {"llama_cpp.py": LLAMA})
    for name in ("ruff", "mypy", "pytest"):
        build_wheel(project.index, name, "1.0", {f"{name}/__main__.py": TOOL.format(name=name).encode()})
    command = MODELS_COMMAND.format(content=GGUF.hex()).encode()
    editable = {"localcrag/__init__.py": b"", "localcrag/__main__.py": command}
    wheel = build_wheel(folder / "editable", "localcrag", "0.1.0", editable)
    (project.root / "backend.py").write_text(BACKEND.format(wheel=str(wheel)))
    (project.root / "pyproject.toml").write_text(PYPROJECT)
    (project.root / "app.py").write_text(APP)
    (project.root / "scripts" / "bench.py").write_text(BENCH)
    (project.root / "models").mkdir()
    tiny = build_wheel(folder / "model", "tiny-model", "1.0", {})
    manifest = entry("tiny", "llm", wheel_source(tiny, "tiny/"), file_line("tiny.gguf", GGUF))
    # Set-up neither gets nor misses what comes in a wheel for those alone who ask for it.
    asked_for = wheel_source(tiny, "large/", "with_set_up = false")
    manifest += entry("large", "embedder", asked_for, file_line("large.safetensors", GGUF))
    (project.root / "models" / "models.toml").write_text(manifest)
    project.lock("run.txt")
    project.lock("test.txt")
    return project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Nothing is set up."""
    return make_project(tmp_path)


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, str]:
    project = make_project(tmp_path_factory.mktemp("set-up"))
    assert project.run("bootstrap.py", "--test").returncode == 0
    done = project.run("bootstrap.py")
    assert done.returncode == 0, done.stdout + done.stderr
    return project, project.stamps.read_text()


@pytest.fixture
def ready(made_once: tuple[Project, str]) -> Project:
    """Everything is set up; what a test changes of it is put back before the next, all but installed packages."""
    project, stamps = made_once
    project.stamps.write_text(stamps)
    project.lock("run.txt")
    project.lock("test.txt")
    project.model.parent.mkdir(exist_ok=True)
    project.model.write_bytes(GGUF)
    (project.root / "calls").unlink(missing_ok=True)
    return project


def steps(output: str) -> list[str]:
    """The first words of each step that was announced."""
    return [" ".join(line.split()[1:3]).rstrip(",") for line in output.splitlines() if line.startswith("[")]


# What is done, and what is not done again.


def test_a_first_set_up_does_all_steps_and_says_how_long_each_took(project: Project) -> None:
    done = project.run("bootstrap.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert steps(done.stdout) == [
        "pip, as",
        "torch==2.13.0 (about",
        "the other",
        "hnswlib, which",
        "localcrag itself",
        "the models",
        "llama.cpp, compiled",
        "a check",
    ]
    assert done.stdout.count("      done in ") == 8
    assert project.model.read_bytes() == GGUF


def test_a_second_set_up_does_nothing(ready: Project) -> None:
    done = ready.run("bootstrap.py")
    assert (done.returncode, steps(done.stdout)) == (0, [])
    assert done.stdout.startswith("localcrag is set up.")


def test_a_changed_lock_file_is_installed_again_and_nothing_else(ready: Project) -> None:
    ready.lock("run.txt", version="2.0")
    done = ready.run("bootstrap.py")
    assert steps(done.stdout) == ["the other", "a check"]
    assert ready.installed("tiny-dependency") == "2.0"
    assert steps(ready.run("bootstrap.py").stdout) == []


def test_set_up_goes_on_without_hnswlib_where_it_cannot_be_compiled(project: Project) -> None:
    (project.index / "hnswlib-1.0-py3-none-any.whl").unlink()
    source = project.index / "hnswlib-1.0.tar.gz"
    with tarfile.open(source, "w:gz") as packed:
        member = tarfile.TarInfo("hnswlib-1.0/setup.py")
        member.size = len(NO_COMPILER)
        packed.addfile(member, io.BytesIO(NO_COMPILER))
    lock = project.root / "scripts" / "lock" / "run.txt"
    pin = f"hnswlib==1.0 \\\n    --hash=sha256:{digest(source)}\n"
    lock.write_text(re.sub(r"hnswlib==.*\n.*\n", lambda _: pin, lock.read_text()))
    done = project.run("bootstrap.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert "It could not be installed (" in done.stdout
    assert "usearch searches all vectors" in done.stdout
    assert steps(project.run("bootstrap.py").stdout) == []


def test_models_that_were_removed_are_got_again(ready: Project) -> None:
    ready.model.unlink()
    assert steps(ready.run("bootstrap.py").stdout) == ["the models"]
    assert ready.model.read_bytes() == GGUF


def test_models_elsewhere_count_when_the_variable_names_the_folder(ready: Project, tmp_path: Path) -> None:
    shutil.move(ready.model.parent, tmp_path / "tiny")
    assert steps(ready.run("bootstrap.py", extra={"LOCALCRAG_MODELS_DIR": str(tmp_path)}).stdout) == []


def test_torn_stamps_cost_a_second_round_and_no_new_environment(ready: Project) -> None:
    ready.stamps.write_text('{"half')
    done = ready.run("bootstrap.py")
    assert done.returncode == 0
    assert "A virtual environment" not in done.stdout
    assert len(steps(done.stdout)) == 7


# Interrupted, and failed.


def test_a_failed_step_ends_with_what_the_command_said_and_what_to_do(ready: Project) -> None:
    ready.lock("run.txt", version="2.0", checksum="ab" * 32)
    subprocess.run([ready.root / ".venv/bin/python", "-m", "pip", "uninstall", "-qy", "tiny-dependency"], check=True)
    done = ready.run("bootstrap.py")
    assert done.returncode == 1
    assert "Set-up stopped. The command failed with status 1" in done.stderr
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert "Then run the same command again: it goes on here." in done.stderr
    assert "Traceback" not in done.stderr

    ready.lock("run.txt", version="2.0")
    assert steps(ready.run("bootstrap.py").stdout) == ["the other", "a check"]


def test_ctrl_c_stops_the_step_and_the_next_set_up_goes_on_with_it(ready: Project, tmp_path: Path) -> None:
    ready.model.unlink()
    ready.lock("run.txt", version="2.0")
    started = tmp_path / "started"
    process = subprocess.Popen(
        [sys.executable, "scripts/bootstrap.py"],
        cwd=ready.root,
        env=ready.environment({"HOLD": str(started)}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(started)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert said.strip() == "Set-up was interrupted. The same command goes on with the unfinished step."
    assert steps(ready.run("bootstrap.py").stdout) == ["the models", "a check"]


def test_an_environment_that_was_not_finished_is_made_anew(project: Project) -> None:
    environment = project.root / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "left-over").touch()
    project.stamps.write_text(json.dumps({"environment": "being made"}))
    done = project.run("bootstrap.py")
    assert done.returncode == 0
    assert "A virtual environment" in done.stdout
    assert not (environment / "bin" / "left-over").exists()
    assert json.loads(project.stamps.read_text())["environment"] == "made"


def test_an_environment_whose_python_is_gone_is_made_anew(project: Project) -> None:
    environment = project.root / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text("home = /nowhere\n")
    (environment / "bin" / "python").symlink_to("/nowhere/python3")
    assert project.run("bootstrap.py").returncode == 0


def test_a_folder_that_is_no_environment_is_left_alone(project: Project) -> None:
    notes = project.root / ".venv" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("mine")
    done = project.run("bootstrap.py")
    assert done.returncode == 1
    assert "is not a virtual environment. Move or delete it" in done.stderr
    assert notes.read_text() == "mine"


def wait_for(path: Path) -> None:
    end = time.monotonic() + DEADLINE
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.02)


# What set-up needs.


def test_a_missing_compiler_is_told_before_anything_is_made(project: Project, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = project.run("bootstrap.py", extra={"PATH": str(tmp_path / "empty")})
    assert done.returncode == 1
    assert "set-up needs: a C compiler (cc), a C++ compiler (c++)" in done.stderr
    for system in ("Debian, Ubuntu   sudo apt install build-essential", "Fedora", "macOS", "Windows"):
        assert system in done.stderr
    assert not (project.root / ".venv").exists()


def test_a_compiler_that_a_variable_names_counts(project: Project, tmp_path: Path) -> None:
    (tmp_path / "my-compiler").touch(0o755)
    compiler = f"{tmp_path / 'my-compiler'} -m64"
    done = project.run("bootstrap.py", extra={"PATH": str(tmp_path), "CXX": compiler})
    assert "set-up needs: a C compiler (cc). " in done.stderr


@pytest.mark.parametrize("script", ["bootstrap.py", "run.py", "test.py"])
def test_an_older_python_is_told_which_one_is_needed(project: Project, script: str) -> None:
    older = (
        "import runpy, sys\n"
        "sys.version_info = (3, 10, 4, 'final', 0)\n"
        "sys.path.insert(0, 'scripts')\n"
        f"runpy.run_path('scripts/{script}', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", older], cwd=project.root, capture_output=True, text=True, check=False, timeout=DEADLINE
    )
    assert done.returncode == 1
    assert done.stderr.startswith("localcrag needs Python 3.11 or newer")
    assert not (project.root / ".venv").exists()


@pytest.mark.parametrize("script", ["bootstrap.py", "run.py", "test.py"])
def test_an_older_python_can_read_the_scripts_as_far_as_the_message(script: str) -> None:
    ast.parse((SCRIPTS / script).read_text("utf-8"), feature_version=(3, 7))


def test_another_index_for_torch_is_handed_to_pip(ready: Project, tmp_path: Path) -> None:
    stamps = json.loads(ready.stamps.read_text())
    del stamps["torch"]
    ready.stamps.write_text(json.dumps(stamps))
    done = ready.run("bootstrap.py", extra={"LOCALCRAG_TORCH_INDEX": tmp_path.as_uri(), "PIP_NO_INDEX": "0"})
    assert f"torch==2.13.0 (from LOCALCRAG_TORCH_INDEX={tmp_path.as_uri()})" in done.stdout


# llama.cpp that others compiled.


@contextmanager
def an_index(folder: Path) -> Iterator[str]:
    """A package index on loopback, of the wheels in `folder`/<name of the package>/."""
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the standard library
        pass


def origin_of_llama(project: Project) -> str:
    python = project.root / ".venv" / "bin" / "python"
    asked = "import llama_cpp; print(llama_cpp.ORIGIN)"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


def with_index(project: Project, index: str, **extra: str) -> subprocess.CompletedProcess[str]:
    stamps = json.loads(project.stamps.read_text())
    stamps.pop("llama-cpp-python", None)
    project.stamps.write_text(json.dumps(stamps))
    return project.run("bootstrap.py", extra={"LOCALCRAG_LLAMA_INDEX": index, "PIP_NO_INDEX": "0", **extra})


def serve_llama(folder: Path, written: str, version: str = "1.0") -> None:
    code = LLAMA_OF_INDEX.format(written=written).encode()
    build_wheel(folder / "llama-cpp-python", "llama-cpp-python", version, {"llama_cpp.py": code})


def test_a_wheel_of_the_index_is_taken_where_there_is_no_compiler(ready: Project, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    serve_llama(tmp_path / "simple", "return 'a token'")
    with an_index(tmp_path / "simple") as index:
        done = with_index(ready, index, PATH=str(tmp_path / "empty"), PIP_FIND_LINKS="")
    assert (done.returncode, done.stderr) == (0, "")
    assert steps(done.stdout) == ["hnswlib, which", "llama.cpp, as"]
    assert origin_of_llama(ready) == "the index"
    assert "instead" not in done.stdout
    # A later start that does not name the index finds all done, and misses no compiler.
    assert steps(ready.run("bootstrap.py", extra={"PATH": str(tmp_path / "empty")}).stdout) == []


NOT_TAKEN = {
    "another-version": ("2.0", "return 'a token'", "the index has no wheel of llama-cpp-python==1.0 for this Python"),
    "an-instruction-that-is-missing": (
        "1.0",
        "os.kill(os.getpid(), signal.SIGILL)",
        "its wheel does not work on this machine (The command failed with status -4",
    ),
    "a-library-that-is-missing": (
        "1.0",
        "raise OSError('GLIBC_2.38 not found')",
        "its wheel does not work on this machine (OSError: GLIBC_2.38 not found)",
    ),
}


@pytest.mark.parametrize(("version", "written", "why"), NOT_TAKEN.values(), ids=NOT_TAKEN.keys())
def test_a_wheel_that_does_not_fit_is_replaced_by_compiling_with_the_reason(
    ready: Project, tmp_path: Path, version: str, written: str, why: str
) -> None:
    serve_llama(tmp_path / "simple", written, version)
    locked = tmp_path / "configured" / "llama-cpp-python"
    shutil.copytree(ready.index, locked, ignore=lambda _, names: [n for n in names if not n.startswith("llama")])
    with an_index(tmp_path) as server:
        done = with_index(ready, f"{server}simple/", PIP_FIND_LINKS="", PIP_INDEX_URL=f"{server}configured/")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Compiling it here instead, 5 to 6 minutes: {why}" in done.stdout
    assert origin_of_llama(ready) == "compiled here"


def test_without_compiler_and_without_a_wheel_it_says_what_would_help(ready: Project, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with an_index(tmp_path) as index:
        done = with_index(ready, index, PATH=str(tmp_path / "empty"), PIP_FIND_LINKS="")
    assert done.returncode == 1
    assert "the index has no wheel of llama-cpp-python==1.0 for this Python and machine." in done.stdout
    assert "Compiling it instead needs a C compiler (cc), a C++ compiler (c++):" in done.stderr


# run.py and test.py.

RUNS = {
    "nothing": ([], []),
    "options": (["--port", "7861", "--no-browser"], ["--port", "7861", "--no-browser"]),
    "data-folder": (["--data-dir", "my data"], ["--data-dir", "my data"]),
    "more": (["--port", "1", "--", "--collection", "x"], ["--collection", "x", "--port", "1"]),
}


@pytest.mark.parametrize(("given", "expected"), RUNS.values(), ids=RUNS.keys())
def test_run_hands_its_arguments_to_the_app(ready: Project, given: list[str], expected: list[str]) -> None:
    assert ready.run("run.py", *given).returncode == 0
    assert ready.calls() == [["app.py", *expected, str(ready.root)]]


def test_run_refuses_a_wrong_argument_before_set_up(project: Project) -> None:
    assert project.run("run.py", "--port", "many").returncode == 2
    assert not (project.root / ".venv").exists()


WORKERS = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder", "--durations=30"]
CHECKS = [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]]
SPEED = ["bench.py", "--against", "--quick", ""]
"""The last is the number of threads that it was told."""
EVERYDAY = ["-m", "(not slow and (everyday or not (process or browser or lab)))"]


def test_test_runs_every_check_and_the_everyday_tests_last(ready: Project) -> None:
    done = ready.run("test.py")
    assert done.returncode == 0
    assert ready.calls() == [*CHECKS, ["pytest", *WORKERS, *EVERYDAY]]
    assert "the everyday tests; --all for every test" in done.stdout
    assert done.stdout.rstrip().endswith(f"== pytest {' '.join([*WORKERS, *EVERYDAY])}"), "and pytest says the rest"


def test_all_runs_every_check_and_every_test(ready: Project) -> None:
    done = ready.run("test.py", "--all", "-x")
    assert done.returncode == 0
    assert ready.calls() == [*CHECKS, SPEED, ["pytest", *WORKERS, "-x"]]
    assert "the speed compared with an earlier version, then every test" in done.stdout


def test_the_speed_can_be_left_out_and_is_measured_with_all_threads(ready: Project) -> None:
    ready.run("test.py", "--all", "--without-speed")
    assert ready.calls() == [*CHECKS, ["pytest", *WORKERS]]
    ready.run("test.py", "--all", extra={"OMP_NUM_THREADS": "8"})
    assert ready.calls()[-2] == [*SPEED[:-1], "8"]


def test_what_has_become_slower_fails_after_every_test(ready: Project) -> None:
    assert ready.run("test.py", "--all", extra={"BENCH_STATUS": "1"}).returncode == 1
    assert ready.calls()[-1] == ["pytest", *WORKERS]


def test_ci_runs_everything_and_fails_with_it(ready: Project) -> None:
    run = ready.root / ".ci" / "run"
    run.parent.mkdir()
    shutil.copy(ROOT / ".ci" / "run", run)
    done = subprocess.run([run], env=ready.environment({"PYTEST_STATUS": "1"}), capture_output=True, check=False)
    assert done.returncode == 1
    assert ready.calls() == [*CHECKS, SPEED, ["pytest", *WORKERS]]


def test_the_tests_compute_with_one_thread_each(ready: Project) -> None:
    ready.run("test.py", extra={"OMP_NUM_THREADS": "8"})
    assert (ready.root / "threads").read_text().split()[-4:] == ["1"] * 4


STATUSES = {
    "lint": ({"RUFF_STATUS": "1"}, 1),
    "types": ({"MYPY_STATUS": "2"}, 2),
    "tests": ({"PYTEST_STATUS": "1"}, 1),
    "worst": ({"RUFF_STATUS": "1", "MYPY_STATUS": "2", "PYTEST_STATUS": "1"}, 2),
}


@pytest.mark.parametrize(("statuses", "expected"), STATUSES.values(), ids=STATUSES.keys())
def test_the_worst_status_counts_and_nothing_is_left_out_for_it(
    ready: Project, statuses: dict[str, str], expected: int
) -> None:
    assert ready.run("test.py", extra=statuses).returncode == expected
    assert len(ready.calls()) == 4


SELECTIONS = {
    "without-browser": (["--without-browser"], [*CHECKS, ["pytest", *WORKERS, "-m", f"{EVERYDAY[1]} and not browser"]]),
    "without-both": (
        ["--all", "--without-search", "--without-browser"],
        [*CHECKS, SPEED, ["pytest", *WORKERS, "-m", "not browser and not search"]],
    ),
    "own-markers": (["-m", "search or slow"], [["pytest", *WORKERS, "-m", "(search or slow)"]]),
    "own-markers-without": (
        ["-m", "a or b", "--without-search"],
        [["pytest", *WORKERS, "-m", "(a or b) and not search"]],
    ),
    "a-folder": (["tests/crag", "-n", "0"], [["pytest", *WORKERS, "tests/crag", "-n", "0"]]),
    "a-file": (["-x", "tests/a.py", "-k", "one or two"], [["pytest", "-x", "tests/a.py", "-k", "one or two"]]),
    "one-test": (["tests/a.py::test_one[x]"], [["pytest", "tests/a.py::test_one[x]"]]),
}


@pytest.mark.parametrize(("given", "expected"), SELECTIONS.values(), ids=SELECTIONS.keys())
def test_tests_are_selected_for_pytest(ready: Project, given: list[str], expected: list[list[str]]) -> None:
    assert ready.run("test.py", *given).returncode == 0
    assert ready.calls() == expected


def test_without_apt_the_missing_programs_are_named_and_the_tests_run(ready: Project, tmp_path: Path) -> None:
    done = ready.run("test.py", extra={"PATH": str(tmp_path)})
    assert f"Missing for the tests: {' '.join(SYSTEM_PACKAGES)}." in done.stdout
    assert f"sudo apt-get install --no-install-recommends {' '.join(SYSTEM_PACKAGES)}" in done.stdout
    assert ready.calls()[-1] == ["pytest", *WORKERS, *EVERYDAY]


def test_programs_of_tests_that_are_left_out_are_not_missed(ready: Project, tmp_path: Path) -> None:
    done = ready.run("test.py", "--without-browser", extra={"PATH": str(tmp_path)})
    assert "Missing for the tests: searx strace desktop-file-utils libglib2.0-bin postgresql." in done.stdout


def test_debian_packages_are_installed_after_an_update(project: Project, tmp_path: Path) -> None:
    apt = tmp_path / "apt-get"
    apt.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/said\n')
    apt.chmod(0o755)
    install = "import prerequisites; raise SystemExit(not prerequisites.install_packages(['searx', 'strace']))"
    subprocess.run(
        [sys.executable, "-c", install], cwd=project.root / "scripts", env={"PATH": str(tmp_path)}, check=True
    )
    assert (tmp_path / "said").read_text().splitlines() == [
        "-q update",
        "-q install -y --no-install-recommends searx strace",
    ]
