"""Graphics processors, and builds that use them: told from files, nothing is loaded."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from localcrag.text.translation import gettext as _

LIBRARIES = ("usr/lib/*-linux-gnu", "usr/lib64", "usr/lib", "usr/lib/wsl/lib", "usr/local/nvidia/lib64", "lib64")
NVIDIA_DEVICES = ("dev/nvidia[0-9]*", "dev/dxg")
"""As Linux names them, and as Windows' Linux does."""
VULKAN_DRIVERS = ("usr/share/vulkan/icd.d", "usr/local/share/vulkan/icd.d", "etc/vulkan/icd.d")
IN_SOFTWARE = ("lvp", "swiftshader", "llvmpipe")
"""Of Vulkan drivers those that draw on the processor."""
MAKERS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}
"""PCI's numbers of them (pci.ids)."""


class Graphics(StrEnum):
    """What graphics processors are computed with."""

    CUDA = "CUDA"
    METAL = "Metal"
    VULKAN = "Vulkan"


@dataclass(frozen=True, slots=True)
class Found:
    """Graphics processors that can be computed with; `names` is empty where no file says them."""

    graphics: Graphics
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class System:
    """The system that is looked at: what is below `root`, and what it calls itself."""

    root: Path = Path("/")
    name: str = sys.platform
    processor: str = field(default_factory=platform.machine)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)


def found(system: System | None = None) -> tuple[Found, ...]:
    """Return what there is, the fastest first: what computes faster than the processor, by its driver's files."""
    system = system or System()
    if system.name == "darwin":
        return (Found(Graphics.METAL, ("Apple silicon",)),) if system.processor == "arm64" else ()
    if system.name == "win32":
        drivers = system.root / "Windows" / "System32"
        files = {Graphics.CUDA: "nvcuda.dll", Graphics.VULKAN: "vulkan-1.dll"}
        return tuple(Found(graphics) for graphics, name in files.items() if (drivers / name).is_file())
    return tuple(one for one in (_cuda(system), _vulkan(system)) if one)


def uses_graphics(package: str, folder: Path | None = None) -> frozenset[Graphics]:
    """Return what an installed package (llama_cpp, torch) was built for, by its libraries; nothing: the processor."""
    if folder is None:
        spec = find_spec(package)
        if not spec or not spec.origin:
            return frozenset()
        folder = Path(spec.origin).parent
    names = [path.name for path in (folder / "lib").glob("*")]
    return frozenset(one for one in Graphics if any(f"_{one.lower()}" in name.replace("-", "_") for name in names))


def _cuda(system: System) -> Found | None:
    if not _library(system, "libcuda.so.1") or not any(any(system.root.glob(one)) for one in NVIDIA_DEVICES):
        return None
    said = (system.root / "proc/driver/nvidia/gpus").glob("*/information")
    lines = [line for path in sorted(said) for line in path.read_text("utf-8", "replace").splitlines()]
    return Found(Graphics.CUDA, tuple(line.partition(":")[2].strip() for line in lines if line.startswith("Model:")))


def _vulkan(system: System) -> Found | None:
    devices = any(system.root.glob("dev/dri/renderD*"))
    if not devices or not _library(system, "libvulkan.so.1") or not any(_vulkan_drivers(system)):
        return None
    vendors = [path.read_text("ascii").strip() for path in system.root.glob("sys/class/drm/card[0-9]/device/vendor")]
    return Found(Graphics.VULKAN, tuple(MAKERS[one] for one in sorted(set(vendors)) if one in MAKERS))


def _vulkan_drivers(system: System) -> Iterator[str]:
    """Yield the libraries of the Vulkan drivers that draw on a graphics processor."""
    for folder in VULKAN_DRIVERS:
        for path in sorted((system.root / folder).glob("*.json")):
            try:
                library = str(json.loads(path.read_text("utf-8"))["ICD"]["library_path"])
            except (OSError, ValueError, KeyError, TypeError):
                continue
            if not any(one in library for one in IN_SOFTWARE):
                yield library


def _library(system: System, name: str) -> bool:
    named = [Path(one) for one in system.environment.get("LD_LIBRARY_PATH", "").split(":") if one]
    folders = [*(folder for pattern in LIBRARIES for folder in system.root.glob(pattern)), *named]
    return any((folder / name).exists() for folder in folders)


FLAGS = {Graphics.CUDA: "-DGGML_CUDA=on", Graphics.METAL: "-DGGML_METAL=on", Graphics.VULKAN: "-DGGML_VULKAN=on"}
"""How llama.cpp is built, as https://github.com/abetlen/llama-cpp-python says under “Supported Backends”."""
NEEDS = {Graphics.CUDA: "CUDA Toolkit (nvcc)", Graphics.METAL: "Xcode", Graphics.VULKAN: "Vulkan SDK (glslc)"}
TORCH_SAYS = "https://pytorch.org/get-started/locally/"


@dataclass(frozen=True, slots=True)
class Advice:
    """What would use a graphics processor that is not used: in words, and the command."""

    words: str
    command: str


@dataclass(frozen=True, slots=True)
class GraphicsReport:
    """What was found, in a sentence, and what can be done about it."""

    said: str
    advice: tuple[Advice, ...] = ()

    def lines(self) -> list[str]:
        """Return it as lines of text."""
        return [self.said, *(line for one in self.advice for line in (one.words, f"    {one.command}"))]


def report() -> GraphicsReport:
    """Look at this machine and at what is installed."""
    return told(found(), uses_graphics("llama_cpp"), uses_graphics("torch"))


def told(there: tuple[Found, ...], llama: frozenset[Graphics], torch: frozenset[Graphics]) -> GraphicsReport:
    """Say what was found, and of what is not used, how it can be."""
    if not there:
        return GraphicsReport(
            _(
                "No graphics processor was found that models can use (CUDA, Metal, Vulkan): they run on the processor, "
                "and there is nothing to set up."
            )
        )
    named = "; ".join(f"{one.graphics} ({', '.join(one.names)})" if one.names else one.graphics for one in there)
    usable = {one.graphics for one in there}
    users = [name for name, built in (("llama-cpp-python", llama), ("torch", torch)) if built & usable]
    used = _("used by %(what)s", what=", ".join(users)) if users else _("not used: what is installed is for processors")
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
        "The language model, with %(graphics)s: this compiles llama.cpp, and needs the %(needs)s.",
        graphics=graphics, needs=NEEDS[graphics],
    )  # fmt: skip
    return Advice(words, command)


def _torch() -> Advice:
    wanted = _version("torch").partition("+")[0]
    words = _("Embedder and relevance model, with CUDA: INDEX is what %(page)s shows for your CUDA.", page=TORCH_SAYS)
    return Advice(words, f"{_pip()} install --force-reinstall torch=={wanted} --index-url INDEX")


def _pip() -> str:
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable
    return f"{'& ' if sys.platform == 'win32' and python[0] == chr(34) else ''}{python} -m pip"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


MOST_WORKERS = 8
MOST_RECOGNISERS, A_RECOGNISER = 4, 2**30
"""Processes of text recognition at once, and bytes that are left for each; one takes about three quarters of that."""


@dataclass(frozen=True, slots=True)
class Memory:
    """In bytes."""

    total: int
    free: int


def memory() -> Memory | None:
    """Return the machine's memory; None where the system does not tell. What files are cached in counts as free."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total, free = page * os.sysconf("SC_PHYS_PAGES"), page * os.sysconf("SC_AVPHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        pass  # Not Linux: the pages that nobody uses.
    return Memory(total, free)


def cores() -> int:
    """Return how many cores of the processor this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def workers(chosen: int) -> int:
    """Return how many files are read at once: as `chosen`, where that is not 0, else by the cores.

    Half of them, for the embedder has threads on all: two readers on two cores were no faster than one. At most eight:
    reading PDFs took a sixth of the time of embedding them on two cores (docs/measurements.md), so that eight readers
    keep up with an embedder that is forty times as fast.
    """
    return chosen or max(1, min(MOST_WORKERS, cores() // 2))


def page_workers(chosen: int) -> int:
    """Return how many pages of scans are read at once: as `chosen`, where that is not 0, else by cores and memory.

    A process with two threads is about as fast as two with one, and takes half the memory.
    """
    there = memory()
    room = there.free // A_RECOGNISER if there else 1
    return chosen or max(1, min(MOST_RECOGNISERS, cores() // 2, room))


def folder_size(folder: Path) -> int:
    """Return the bytes of all files in a folder; links are not followed, and what goes meanwhile counts nothing."""
    size = 0
    for parent, _folders, names in os.walk(folder):
        for name in names:
            try:
                size += (Path(parent) / name).lstat().st_size
            except OSError:
                continue
    return size
