"""The structure of the package: which rooms may import which, how full a folder may be, and how modules begin."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "localcrag"
MODULES = {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
TREES = [ROOT / name for name in ("app.py", "localcrag", "scripts", "tests")]

MOST_ENTRIES = 18
"""Files and folders in one folder that a reader can still take in at a glance."""
MOST_TEST_FILES = 25
"""Files and folders in one folder of tests."""
WITHOUT_A_ROOM = {"data", "lab", "pipeline", "scripts", "search", "support"}
"""Folders in `tests/` that mirror no folder of the package: scripts, single modules, and what tests share."""
LONGEST_FIRST_LINE = 100
"""Characters of the first line of a module's docstring."""


def test_a_room_imports_only_rooms_below_it_and_never_in_a_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert lint_imports(no_cache=True, no_logo=True) == 0, "the broken contract is printed above"


def test_no_folder_of_the_package_is_crowded() -> None:
    folders = [PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir() and path.name != "__pycache__")]
    entries = {
        folder.relative_to(ROOT).as_posix(): len([one for one in folder.iterdir() if one.name != "__pycache__"])
        for folder in folders
    }
    assert {name: number for name, number in entries.items() if number > MOST_ENTRIES} == {}


def test_tests_stand_in_the_folders_of_what_they_test() -> None:
    tests = ROOT / "tests"
    folders = [
        path.relative_to(tests)
        for path in tests.rglob("*")
        if path.is_dir() and path.name != "__pycache__" and path.relative_to(tests).parts[0] not in WITHOUT_A_ROOM
    ]
    assert [folder.as_posix() for folder in folders if not (PACKAGE / folder).is_dir()] == []
    entries = {folder.as_posix(): len(list((tests / folder).glob("[!_]*"))) for folder in folders}
    assert {name: number for name, number in entries.items() if number > MOST_TEST_FILES} == {}


def test_scripts_are_what_a_person_runs() -> None:
    entries = [path.name for path in (ROOT / "scripts").iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 20, sorted(entries)


def test_a_module_begins_with_a_plain_line_that_says_what_it_is() -> None:
    first = {name: (ast.get_docstring(module) or "").partition("\n")[0] for name, module in MODULES.items()}
    odd = {name: line for name, line in first.items() if not line or len(line) > LONGEST_FIRST_LINE or "->" in line}
    assert odd == {}


def test_events_are_folded_into_a_run_in_one_place() -> None:
    folding = {
        name
        for name, module in MODULES.items()
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"apply", "recording.apply"}
    }
    assert folding == {"runs/recording.py"}


def test_imports_stand_at_the_top() -> None:
    late = [
        f"{path.relative_to(ROOT)}:{number}"
        for tree in TREES
        for path in ([tree] if tree.is_file() else tree.rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if "noqa: E402" in line and path != Path(__file__)
    ]
    assert len(late) <= 10, late


DIALECT = {"said", "told", "anew", "beside", "nobody", "meanwhile", "whoever"}
DIALECT_PHRASES = ("what_is", "as_they", "that_are", "put_away")
MOST_CLASSES_TWICE = 8


def names_in(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield every name that a module defines, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def test_names_are_free_of_words_that_a_reader_has_to_translate() -> None:
    odd = []
    for module, tree in MODULES.items():
        for name, line in names_in(tree):
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")
            phrase = "_".join(words)
            if DIALECT & {*words} or any(one in phrase for one in DIALECT_PHRASES) or (words[0] == "of" and words[1:]):
                odd.append(f"{module}:{line}: {name}")
    assert odd == []


def test_few_class_names_are_used_in_two_modules() -> None:
    names = Counter(node.name for tree in MODULES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    twice = sorted(name for name, number in names.items() if number > 1)
    assert len(twice) <= MOST_CLASSES_TWICE, twice
