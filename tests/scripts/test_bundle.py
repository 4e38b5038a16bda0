"""The bundle: made of wheels, it installs, answers and opens the page where there is no network at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bundle
import pytest
from bundled import install
from setup_steps import SetupFailed

from tests.support import ROOT, cut_off
from tests.support.installed_wheel import wheel_of

pytestmark = pytest.mark.process

PATIENCE = 1_800  # seconds: the longest of all that is done here is unpacking 2 GB, beside other tests
ABOUT = {"system": "Linux", "machine": "x86_64", "libc": "2.36", "python": "3.12", "localcrag": "0.1.0"}


@dataclass(frozen=True)
class Bundle:
    folder: Path
    said: dict[str, Any]
    """What was seen where there is no network (tests/support/cut_off_bundle.py)."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A bundle with the llama.cpp that is installed here, used once."""
    folder = tmp_path_factory.mktemp("bundle")
    wheel_of("llama-cpp-python", folder / "index" / "llama-cpp-python")
    environment = {**os.environ, "LOCALCRAG_LLAMA_INDEX": (folder / "index").as_uri()}
    command = [sys.executable, str(ROOT / "scripts" / "bundle.py"), "--to", str(folder / "dist")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = (folder / "dist").iterdir()
    said = json.loads(
        cut_off.run("tests.support.cut_off_bundle", str(made), str(folder), timeout=PATIENCE).splitlines()[-1]
    )
    return Bundle(made, said)


def test_it_installs_answers_and_opens_its_page_without_a_network(made: Bundle) -> None:
    assert "2.2 litres" in made.said["answer"]
    assert made.said["action"] == "CORRECT"
    assert "localcrag is at http://127.0.0.1:" in made.said["opened"]
    assert '"title":"localcrag"' in made.said["page"]
    assert made.said["packets"] == []


def test_its_models_lie_in_the_data_folder_and_our_own_in_the_package(made: Bundle) -> None:
    models, folder = made.said["models"], made.folder.parent.parent
    assert models["others"] == str(folder / "localcrag" / "models")
    assert Path(models["ours"]).is_relative_to(folder / "installed")


def test_it_says_how_it_is_used_and_what_it_fits(made: Bundle) -> None:
    names = {path.name for path in made.folder.iterdir()}
    assert names == {"README.txt", "bundle.json", "install.py", "models", "requirements.txt", "wheelhouse"}
    here = install.this_computer()
    assert json.loads((made.folder / "bundle.json").read_text("utf-8")).items() >= here.items()
    assert f"python{here['python']} install.py" in (made.folder / "README.txt").read_text("utf-8")
    assert made.folder.name.endswith(f"-python{here['python']}")


@pytest.mark.parametrize(
    ("here", "own_python", "said"),
    [
        pytest.param({}, False, None, id="the same"),
        pytest.param({"libc": "2.39"}, False, None, id="a newer C library"),
        pytest.param({"libc": "2.4"}, False, "this bundle needs glibc 2.36 or newer; here is 2.4.", id="an older one"),
        pytest.param(
            {"machine": "aarch64"},
            False,
            "this bundle is for Linux on x86_64; this is Linux on aarch64.",
            id="another processor",
        ),
        pytest.param(
            {"python": "3.11"},
            False,
            "this bundle is for Python 3.12; this is 3.11. Run it with python3.12.",
            id="another Python",
        ),
        pytest.param({"python": "3.9"}, True, None, id="another Python, and it has its own"),
    ],
)
def test_where_it_does_not_fit_it_says_why(
    monkeypatch: pytest.MonkeyPatch, here: dict[str, str], own_python: bool, said: str | None
) -> None:
    monkeypatch.setattr(install, "this_computer", lambda: {**ABOUT, **here})
    assert install.why_not(ABOUT, own_python=own_python) == said


def test_a_folder_with_something_else_in_it_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").touch()
    (tmp_path / "bundle.json").write_text(json.dumps(install.this_computer()))
    monkeypatch.setattr(install, "HERE", tmp_path)
    (tmp_path / "mine").mkdir()
    notes = tmp_path / "mine" / "notes.txt"
    notes.write_text("mine")
    with pytest.raises(OSError, match="something else is in it"):
        install.install(notes.parent)
    assert notes.read_text() == "mine"


def test_a_python_of_its_own_comes_out_of_the_archive_that_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOCALCRAG_PYTHON", str(archive(tmp_path, "python/bin/python3", "#!/bin/sh\necho 3.12\n")))
    python = bundle.own_python(tmp_path / "bundle")
    assert python == install.python_in(tmp_path / "bundle")
    assert python
    assert bundle.version_of(python) == "3.12"
    assert bundle.run_with(tmp_path / "bundle", "3.12") == "python/bin/python3"


@pytest.mark.parametrize(
    ("name", "program", "said"),
    [
        ("python/install/bin/python3", "", "Use an “install_only” archive"),
        ("python/bin/python3", "#!/bin/sh\necho 3.10\n", "is not a working Python 3.11 or newer: 3.10"),
        ("python/bin/python3", "#!/bin/sh\necho no such library >&2\nexit 1\n", "no such library"),
    ],
)
def test_an_archive_without_a_python_that_will_do_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, program: str, said: str
) -> None:
    monkeypatch.setenv("LOCALCRAG_PYTHON", str(archive(tmp_path, name, program)))
    with pytest.raises(SetupFailed, match=said):
        bundle.version_of(bundle.own_python(tmp_path / "bundle") or Path())


def test_nothing_else_is_put_in_the_place_of_a_bundle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    unfinished = tmp_path / ".unfinished"
    (unfinished / "wheelhouse").mkdir(parents=True)
    assert bundle.put(unfinished, tmp_path, "3.12").is_dir()
    (unfinished / "wheelhouse").mkdir(parents=True)
    again = bundle.put(unfinished, tmp_path, "3.12")
    (again / "bundle.json").unlink()
    (unfinished / "wheelhouse").mkdir(parents=True)
    with pytest.raises(SetupFailed, match="exists, but is not a bundle"):
        bundle.put(unfinished, tmp_path, "3.12")


def archive(folder: Path, name: str, program: str) -> Path:
    """A tar of one program."""
    file = folder / "python3"
    file.write_text(program)
    file.chmod(0o755)
    with tarfile.open(folder / "python.tar.gz", "w:gz") as packed:
        packed.add(file, name)
    return folder / "python.tar.gz"


@pytest.mark.parametrize("library", ["libggml-cpu.so", "libggml-cpu-haswell.so"])
def test_llama_cpp_that_was_compiled_for_one_processor_alone_is_not_bundled(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip is a program that notes how it is told to compile, and brings a wheel with one library."""
    monkeypatch.delenv("LOCALCRAG_LLAMA_INDEX", raising=False)
    monkeypatch.setenv("CMAKE_ARGS", "")
    wheels = tmp_path / "bundle" / "wheelhouse"
    wheels.mkdir(parents=True)
    python = tmp_path / "python"
    python.write_text(
        f"#!{sys.executable}\nimport os, zipfile\n"
        f"open({str(tmp_path / 'told')!r}, 'w').write(os.environ['CMAKE_ARGS'])\n"
        f"wheel = {str(wheels / 'llama_cpp_python-0.3.36-py3-none-any.whl')!r}\n"
        f"zipfile.ZipFile(wheel, 'w').writestr('llama_cpp/lib/{library}', b'')\n"
    )
    python.chmod(0o755)
    if "haswell" in library:
        bundle.llama_wheel(str(python), wheels.parent)
        assert list(bundle.llama_cache(wheels.parent).glob("*.whl"))
    else:
        with pytest.raises(SetupFailed, match="only for this CPU"):
            bundle.llama_wheel(str(python), wheels.parent)
        assert not list(bundle.llama_cache(wheels.parent).glob("*.whl"))
    assert {"-DGGML_CPU_ALL_VARIANTS=ON", "-DGGML_NATIVE=OFF"} <= set((tmp_path / "told").read_text().split())
