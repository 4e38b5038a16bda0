"""The house in order: how many rooms there are, how full they may be, and who may know whom (docs/architecture.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "localcrag"
MODULES = {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
TREES = [ROOT / name for name in ("app.py", "localcrag", "scripts", "tests")]

LONG: dict[str, str] = {}
"""Files of more than 300 lines, each with its reason."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def length(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def functions() -> Iterator[tuple[str, Function]]:
    for name, module in MODULES.items():
        yield from ((f"{name}:{node.name}", node) for node in ast.walk(module) if isinstance(node, Function))


def test_imports_run_down_the_floors_and_never_in_a_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert lint_imports(no_cache=True, no_logo=True) == 0, "what is wrong is printed above"


def test_the_package_has_few_entries() -> None:
    entries = {path.name for path in PACKAGE.iterdir()} - {"__pycache__", "py.typed"}
    assert len(entries) <= 15, sorted(entries)


def test_the_flow_fits_on_two_screens() -> None:
    flow = MODULES["pipeline.py"]
    assert len((PACKAGE / "pipeline.py").read_text("utf-8").splitlines()) <= 120
    assert len([node for node in ast.walk(flow) if isinstance(node, Function)]) <= 5


def test_no_function_is_longer_than_fifty_lines() -> None:
    assert [f"{name} {length(node)}" for name, node in functions() if length(node) > 50] == []


def test_no_class_has_more_than_twenty_five_public_methods() -> None:
    full = []
    for name, module in MODULES.items():
        for node in (node for node in ast.walk(module) if isinstance(node, ast.ClassDef)):
            public = [one for one in node.body if isinstance(one, Function) and not one.name.startswith("_")]
            if len(public) > 25:
                full.append(f"{name}:{node.name} {len(public)}")
    assert full == []


def test_a_file_of_more_than_three_hundred_lines_has_its_reason() -> None:
    long = {name for name in MODULES if len((PACKAGE / name).read_text("utf-8").splitlines()) > 300}
    assert long == set(LONG)
    assert len(LONG) <= 4


def test_a_module_says_first_what_it_is() -> None:
    """At most 100 characters, and no riddle of arrows."""
    odd = {}
    for name, module in MODULES.items():
        first = (ast.get_docstring(module) or "").partition("\n")[0]
        if not first or len(first) > 100 or "->" in first:
            odd[name] = first
    assert odd == {}


def test_events_are_folded_into_a_run_in_one_place() -> None:
    folding = [
        name
        for name, module in MODULES.items()
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "record.apply"
    ]
    assert folding == ["runs/recording.py"]


def test_imports_stand_at_the_top() -> None:
    late = [
        f"{path.relative_to(ROOT)}:{number}"
        for tree in TREES
        for path in ([tree] if tree.is_file() else tree.rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if "noqa: E402" in line and path != Path(__file__)
    ]
    assert len(late) <= 10, late


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").stat().st_size <= 8 * 1024
