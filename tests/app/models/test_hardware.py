"""Graphics processors, told from the files of made-up systems."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcrag.app.models.hardware import (
    Graphics,
    GraphicsDevices,
    System,
    built_for_graphics,
    describe_graphics,
    find_graphics,
)

NOTHING: frozenset[Graphics] = frozenset()
MODEL = "Model: \t\t NVIDIA GeForce RTX 4060\nIRQ:   \t\t 171\n"
ICD = json.dumps({"file_format_version": "1.0.0", "ICD": {"library_path": "libvulkan_radeon.so", "api_version": "1.3"}})
LAVAPIPE = ICD.replace("libvulkan_radeon", "libvulkan_lvp")
NVIDIA = {
    "usr/lib/x86_64-linux-gnu/libcuda.so.1": "",
    "dev/nvidia0": "",
    "proc/driver/nvidia/gpus/0000:01:00.0/information": MODEL,
}
RADEON = {
    "usr/lib64/libvulkan.so.1": "",
    "dev/dri/renderD128": "",
    "usr/share/vulkan/icd.d/radeon_icd.x86_64.json": ICD,
    "sys/class/drm/card0/device/vendor": "0x1002\n",
}
CUDA, VULKAN = GraphicsDevices(Graphics.CUDA, ("NVIDIA GeForce RTX 4060",)), GraphicsDevices(Graphics.VULKAN, ("AMD",))
METAL = GraphicsDevices(Graphics.METAL, ("Apple silicon",))


def without(files: dict[str, str], name: str) -> dict[str, str]:
    return {path: text for path, text in files.items() if name not in path}


@pytest.mark.parametrize(
    ("name", "processor", "files", "there"),
    [
        pytest.param("linux", "x86_64", {}, (), id="nothing"),
        pytest.param("linux", "x86_64", NVIDIA, (CUDA,), id="nvidia"),
        pytest.param("linux", "x86_64", NVIDIA | RADEON, (CUDA, VULKAN), id="both, the faster first"),
        pytest.param("linux", "x86_64", without(NVIDIA, "dev/"), (), id="a driver without a device, as in containers"),
        pytest.param("linux", "x86_64", without(NVIDIA, "libcuda"), (), id="a device without a driver"),
        pytest.param(
            "linux",
            "x86_64",
            {"usr/lib/wsl/lib/libcuda.so.1": "", "dev/dxg": ""},
            (GraphicsDevices(Graphics.CUDA),),
            id="wsl",
        ),
        pytest.param("linux", "x86_64", RADEON, (VULKAN,), id="vulkan"),
        pytest.param(
            "linux",
            "x86_64",
            RADEON | {"usr/share/vulkan/icd.d/radeon_icd.x86_64.json": LAVAPIPE},
            (),
            id="in software",
        ),
        pytest.param(
            "linux", "x86_64", RADEON | {"usr/share/vulkan/icd.d/radeon_icd.x86_64.json": "["}, (), id="broken"
        ),
        pytest.param("darwin", "arm64", {}, (METAL,), id="apple silicon"),
        pytest.param("darwin", "x86_64", {}, (), id="an intel mac"),
        pytest.param(
            "win32",
            "AMD64",
            {"Windows/System32/nvcuda.dll": "", "Windows/System32/vulkan-1.dll": ""},
            (GraphicsDevices(Graphics.CUDA), GraphicsDevices(Graphics.VULKAN)),
            id="windows",
        ),
    ],
)
def test_a_graphics_processor_is_told_from_its_driver(
    tmp_path: Path, name: str, processor: str, files: dict[str, str], there: tuple[GraphicsDevices, ...]
) -> None:
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert find_graphics(System(tmp_path, name, processor, {})) == there


def test_a_library_beside_the_usual_folders_counts(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    for name in ("libcuda.so.1", "dev/nvidia0"):
        (tmp_path / name).touch()
    assert find_graphics(System(tmp_path, "linux", "x86_64", {"LD_LIBRARY_PATH": str(tmp_path)})) == (
        GraphicsDevices(Graphics.CUDA),
    )


@pytest.mark.parametrize(
    ("library", "built"),
    [
        ("libggml-cpu.so", NOTHING),
        ("libggml-cuda.so", {Graphics.CUDA}),
        ("ggml-vulkan.dll", {Graphics.VULKAN}),
        ("libggml-metal.dylib", {Graphics.METAL}),
        ("libtorch_cuda.so", {Graphics.CUDA}),
        ("libtorch_cpu.so", NOTHING),
    ],
)
def test_what_a_package_was_built_for_is_told_from_its_libraries(
    tmp_path: Path, library: str, built: frozenset[Graphics]
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / library).touch()
    assert built_for_graphics("any", tmp_path) == built


def test_where_there_is_none_nothing_is_advised() -> None:
    assert describe_graphics((), NOTHING, NOTHING).advice == ()


def test_what_is_not_used_comes_with_the_command_that_gets_it() -> None:
    report = describe_graphics((CUDA,), NOTHING, NOTHING)
    assert "NVIDIA GeForce RTX 4060" in report.summary
    llama, torch = report.advice
    assert "-DGGML_CUDA=on" in llama.command
    assert "llama-cpp-python==" in llama.command
    assert "+" not in torch.command.split("torch==")[1]


def test_what_is_used_is_said_and_nothing_advised() -> None:
    report = describe_graphics((CUDA,), frozenset({Graphics.CUDA}), frozenset({Graphics.CUDA}))
    assert "llama-cpp-python, torch" in report.summary
    assert report.advice == ()


def test_vulkan_says_nothing_of_torch() -> None:
    (llama,) = describe_graphics((VULKAN,), NOTHING, NOTHING).advice
    assert "-DGGML_VULKAN=on" in llama.command
