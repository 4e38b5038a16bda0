"""Graphics processors, and builds that use them: told from files, nothing is loaded."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

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
