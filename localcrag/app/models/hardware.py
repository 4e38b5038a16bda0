"""Hardware: GPUs and the installed builds that use them, CPU cores, memory, disk use.

Everything is recognised from files and system calls; no driver or model library is loaded.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from localcrag.text.translation import gettext as _

LIBRARIES = ("usr/lib/*-linux-gnu", "usr/lib64", "usr/lib", "usr/lib/wsl/lib", "usr/local/nvidia/lib64", "lib64")
NVIDIA_DEVICES = ("dev/nvidia[0-9]*", "dev/dxg")
"""Device files of NVIDIA GPUs on Linux, and in the Windows Subsystem for Linux."""
VULKAN_DRIVERS = ("usr/share/vulkan/icd.d", "usr/local/share/vulkan/icd.d", "etc/vulkan/icd.d")
SOFTWARE_RENDERERS = ("lvp", "swiftshader", "llvmpipe")
"""Parts of the names of Vulkan drivers that render on the CPU."""
VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}
"""PCI vendor ids (pci.ids)."""


class Graphics(StrEnum):
    """Interfaces for computing on a GPU."""

    CUDA = "CUDA"
    METAL = "Metal"
    VULKAN = "Vulkan"


@dataclass(frozen=True, slots=True)
class GraphicsDevices:
    """GPUs of one usable kind; `names` is empty if no file names them."""

    graphics: Graphics
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class System:
    """The system to examine: its files below `root`, and how it identifies itself."""

    root: Path = Path("/")
    name: str = sys.platform
    processor: str = field(default_factory=platform.machine)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)


def find_graphics(system: System | None = None) -> tuple[GraphicsDevices, ...]:
    """Return the usable GPUs, fastest first, recognised by the files of their drivers."""
    system = system or System()
    if system.name == "darwin":
        return (GraphicsDevices(Graphics.METAL, ("Apple silicon",)),) if system.processor == "arm64" else ()
    if system.name == "win32":
        drivers = system.root / "Windows" / "System32"
        files = {Graphics.CUDA: "nvcuda.dll", Graphics.VULKAN: "vulkan-1.dll"}
        return tuple(GraphicsDevices(graphics) for graphics, name in files.items() if (drivers / name).is_file())
    return tuple(one for one in (_cuda(system), _vulkan(system)) if one)


def built_for_graphics(package: str, folder: Path | None = None) -> frozenset[Graphics]:
    """Return the GPU interfaces that a package (llama_cpp, torch) was built for; none means CPU only."""
    if folder is None:
        spec = find_spec(package)
        if not spec or not spec.origin:
            return frozenset()
        folder = Path(spec.origin).parent
    names = [path.name for path in (folder / "lib").glob("*")]
    return frozenset(one for one in Graphics if any(f"_{one.lower()}" in name.replace("-", "_") for name in names))


def _cuda(system: System) -> GraphicsDevices | None:
    if not _library(system, "libcuda.so.1") or not any(any(system.root.glob(one)) for one in NVIDIA_DEVICES):
        return None
    files = (system.root / "proc/driver/nvidia/gpus").glob("*/information")
    lines = [line for path in sorted(files) for line in path.read_text("utf-8", "replace").splitlines()]
    return GraphicsDevices(
        Graphics.CUDA, tuple(line.partition(":")[2].strip() for line in lines if line.startswith("Model:"))
    )


def _vulkan(system: System) -> GraphicsDevices | None:
    devices = any(system.root.glob("dev/dri/renderD*"))
    if not devices or not _library(system, "libvulkan.so.1") or not any(_vulkan_drivers(system)):
        return None
    vendors = [path.read_text("ascii").strip() for path in system.root.glob("sys/class/drm/card[0-9]/device/vendor")]
    return GraphicsDevices(Graphics.VULKAN, tuple(VENDORS[one] for one in sorted(set(vendors)) if one in VENDORS))


def _vulkan_drivers(system: System) -> Iterator[str]:
    """Yield the libraries of the Vulkan drivers that use a GPU."""
    for folder in VULKAN_DRIVERS:
        for path in sorted((system.root / folder).glob("*.json")):
            try:
                library = str(json.loads(path.read_text("utf-8"))["ICD"]["library_path"])
            except (OSError, ValueError, KeyError, TypeError):
                continue
            if not any(one in library for one in SOFTWARE_RENDERERS):
                yield library


def _library(system: System, name: str) -> bool:
    named = [Path(one) for one in system.environment.get("LD_LIBRARY_PATH", "").split(":") if one]
    folders = [*(folder for pattern in LIBRARIES for folder in system.root.glob(pattern)), *named]
    return any((folder / name).exists() for folder in folders)


FLAGS = {Graphics.CUDA: "-DGGML_CUDA=on", Graphics.METAL: "-DGGML_METAL=on", Graphics.VULKAN: "-DGGML_VULKAN=on"}
"""Build options of llama.cpp (https://github.com/abetlen/llama-cpp-python, “Supported Backends”)."""
TOOLKITS = {Graphics.CUDA: "CUDA Toolkit (nvcc)", Graphics.METAL: "Xcode", Graphics.VULKAN: "Vulkan SDK (glslc)"}
TORCH_INSTALL_PAGE = "https://pytorch.org/get-started/locally/"


@dataclass(frozen=True, slots=True)
class Advice:
    """How to use a GPU that is not used yet: an explanation and the command."""

    words: str
    command: str


@dataclass(frozen=True, slots=True)
class GraphicsReport:
    """The GPUs found, in one sentence, and advice on how to use them."""

    summary: str
    advice: tuple[Advice, ...] = ()

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        return [self.summary, *(line for one in self.advice for line in (one.words, f"    {one.command}"))]


def report() -> GraphicsReport:
    """Examine this computer and the installed packages."""
    return describe_graphics(find_graphics(), built_for_graphics("llama_cpp"), built_for_graphics("torch"))


def describe_graphics(
    there: tuple[GraphicsDevices, ...], llama: frozenset[Graphics], torch: frozenset[Graphics]
) -> GraphicsReport:
    """Return the report, with advice for each package that does not use the GPUs."""
    if not there:
        return GraphicsReport(
            _(
                "No GPU was found that models can use (CUDA, Metal, Vulkan). Models run on the CPU; there is "
                "nothing to set up."
            )
        )
    named = "; ".join(f"{one.graphics} ({', '.join(one.names)})" if one.names else one.graphics for one in there)
    usable = {one.graphics for one in there}
    users = [name for name, built in (("llama-cpp-python", llama), ("torch", torch)) if built & usable]
    used = (
        _("used by %(what)s", what=", ".join(users))
        if users
        else _("not used: the installed packages are built for CPUs")
    )
    advice = []
    if not llama & usable:
        advice.append(_llama(there[0].graphics))
    if Graphics.CUDA in usable and Graphics.CUDA not in torch:
        advice.append(_torch())
    return GraphicsReport(_("Found: %(what)s, %(used)s.", what=named, used=used), tuple(advice))


def _llama(graphics: Graphics) -> Advice:
    flag = FLAGS[graphics]
    install = (
        f"{_pip()} install --force-reinstall --no-cache-dir --no-deps llama-cpp-python=={_version('llama-cpp-python')}"
    )
    command = f'$env:CMAKE_ARGS="{flag}"; {install}' if sys.platform == "win32" else f"CMAKE_ARGS={flag} {install}"
    words = _(
        "Language model with %(graphics)s: this command compiles llama.cpp and needs the %(needs)s.",
        graphics=graphics, needs=TOOLKITS[graphics],
    )  # fmt: skip
    return Advice(words, command)


def _torch() -> Advice:
    wanted = _version("torch").partition("+")[0]
    words = _(
        "Embedding model and reranker, with CUDA: replace INDEX with the address that %(page)s shows for your CUDA "
        "version.",
        page=TORCH_INSTALL_PAGE,
    )
    return Advice(words, f"{_pip()} install --force-reinstall torch=={wanted} --index-url INDEX")


def _pip() -> str:
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable
    # PowerShell runs a quoted program only after an “&”.
    return f"{'& ' if sys.platform == 'win32' and python[0] == chr(34) else ''}{python} -m pip"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


MAX_WORKERS = 8
MAX_RECOGNISERS, RECOGNISER_BYTES = 4, 2**30
"""Maximum number of recogniser processes, and bytes of free memory for each (a process uses about 0.75 GiB)."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory in bytes."""

    total: int
    free: int


def memory() -> Memory | None:
    """Return the memory of the computer, or None if unknown. The file cache counts as free."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total, free = page * os.sysconf("SC_PHYS_PAGES"), page * os.sysconf("SC_AVPHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
    with suppress(OSError, StopIteration, ValueError):  # This is not Linux: `free` is the number of unused pages.
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    return Memory(total, free)


def cores() -> int:
    """Return the number of CPU cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def workers(chosen: int) -> int:
    """Return the number of files to read in parallel: `chosen`, or if it is 0, a number based on the CPU cores.

    It is half the cores, because the embedding model has threads on all of them: two readers on two cores were no
    faster than one. It is at most eight: on two cores, reading PDFs took a sixth of the time of embedding them
    (docs/lab/measurements.md), so eight readers keep up with an embedding model that is forty times as fast.
    """
    return chosen or max(1, min(MAX_WORKERS, cores() // 2))


def page_workers(chosen: int) -> int:
    """Return the number of scanned pages to read in parallel: `chosen`, or if 0, based on CPU cores and memory.

    One process with two threads is about as fast as two with one each, and takes half the memory.
    """
    there = memory()
    room = there.free // RECOGNISER_BYTES if there else 1
    return chosen or max(1, min(MAX_RECOGNISERS, cores() // 2, room))


def folder_size(folder: Path) -> int:
    """Return the bytes of all files in a folder, without following links; files that vanish count as 0."""
    size = 0
    for parent, _folders, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += (Path(parent) / name).lstat().st_size
    return size
