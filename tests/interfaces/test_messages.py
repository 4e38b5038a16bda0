"""Messages, templates and pages name only commands that exist; messages name no file that only the repository has."""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import localcrag
from localcrag.interfaces.cli.main import _parser
from localcrag.records.errors import SettingsError
from localcrag.settings import load
from tests.support import ROOT

PACKAGE = ROOT / "localcrag"
MODULES = sorted(PACKAGE.rglob("*.py"))
TEMPLATES = sorted({*PACKAGE.rglob("templates/*.html"), *PACKAGE.rglob("*.js")})
PAGES = sorted(
    {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "models").rglob("*.md"), *ROOT.glob("tests/*.md")}
    - {ROOT / "CHANGELOG.md"}  # It names what there was.
)
SCRIPTS = sorted({*(ROOT / "scripts").rglob("*.py"), *(ROOT / "container").rglob("*.py")})

PROGRAM = r"(?:[\w.~$/{}-]*/)?(?<![\w.-])localcrag"
IN_CODE = re.compile(rf"`{PROGRAM} ([^`]+)`")
ON_A_LINE = re.compile(rf"^ *(?:\$ )?{PROGRAM} (\S.*)$", re.MULTILINE)
IN_PROSE = re.compile(r"(?<![\w./`-])localcrag ([a-z]+\b[^`“”\n]*)")
"""Without marks of code: it is a command where its first word is one."""
IN_HTML = re.compile(r"<code>localcrag ([^<]+)</code>")
ENDS = re.compile(r" [|>#]|&&|[;()\"“”]|\$\(|, |: |\.(?:\s|$)|\\n|\n|<|  ")
OURS = re.compile(r"\b(?:docs|scripts|tests)/[\w/.-]+|\b[\w./-]*\.md\b")
"""What may be a file of the repository."""


def texts(module: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module that may be shown, with their lines; values in them are “X”."""
    tree = ast.parse(module.read_text("utf-8"))
    # Docstrings, also those of constants, are for developers.
    hidden = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.JoinedStr):
            hidden.update(id(part) for part in node.values)
            parts = (part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


@cache
def parser() -> argparse.ArgumentParser:
    """Return the real parser, which takes a command without its values: “`localcrag ask` answers” names no question."""
    made = _parser()
    ahead = [made]
    while ahead:
        for action in ahead.pop()._actions:
            action.required = False
            if isinstance(action, argparse._SubParsersAction):
                ahead += action.choices.values()
            elif action.nargs != 0:
                # A page says N or “never|ask|always” for a value.
                action.type = action.choices = None
                action.nargs = action.nargs if action.option_strings and action.nargs else "*"
    return made


@cache
def below() -> set[str]:
    """Return the names of all commands below a command: “list”, “show”, …"""
    names, ahead = set(), [_parser()]
    while ahead:
        for action in ahead.pop()._actions:
            if isinstance(action, argparse._SubParsersAction):
                ahead += action.choices.values()
                names |= set(action.choices)
    return names - commands()


def given_as_values(parsed: argparse.Namespace) -> set[str]:
    """Return the values that were given without an option."""
    named, ahead = set(), [parser()]
    while ahead:
        for action in ahead.pop()._actions:
            if isinstance(action, argparse._SubParsersAction):
                ahead += action.choices.values()
            elif not action.option_strings:
                named.add(action.dest)
    return {value for name in named for value in getattr(parsed, name, None) or () if isinstance(value, str)}


def wrong(line: str) -> str:
    """Return what is wrong with the arguments of localcrag, as a text names them; "" where nothing is."""
    plain = re.sub(r"[\[\]…]", " ", re.sub(r"%\(\w+\)s|\{\w+\}", "X", line))
    plain = re.sub(r"\b(?:OPTIONS|COMMAND)\b", " ", plain)
    try:
        words = shlex.split(plain)
    except ValueError:
        words = plain.split()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            parsed = parser().parse_args(words)
        # “eval list” would evaluate a folder of that name. `calibrate` reads its own two words itself.
        if words[:1] != ["calibrate"] and (mistaken := given_as_values(parsed) & below()):
            return f"localcrag {line}: {', '.join(mistaken)} is no command there"
    except SettingsError as error:
        return f"localcrag {line}: {error}"
    except SystemExit:  # of --help and --version
        pass
    return ""


def cut(line: str) -> str:
    """Return the beginning of a line, as far as it is a command."""
    return ENDS.split(line, maxsplit=1)[0].strip().rstrip(".,:’'")


@cache
def commands() -> set[str]:
    (action,) = (one for one in _parser()._actions if isinstance(one, argparse._SubParsersAction))
    return set(action.choices)


def in_code(text: str) -> Iterator[str]:
    """Yield the commands that a text marks as code; “localcrag is at …” is what it prints."""
    yield from (cut(line) for line in IN_CODE.findall(text) if not line.startswith("is "))


def named(text: str) -> Iterator[str]:
    """Yield the commands that a message names, marked as code or not."""
    yield from in_code(text)
    yield from map(cut, IN_HTML.findall(text))
    for line in IN_PROSE.findall(re.sub(r"`[^`]*`", "", text)):
        if line.split()[0] in commands():
            yield without_prose(cut(line))


def without_prose(line: str) -> str:
    """Return the longest beginning of a line that is a command, where words follow that are none; else all of it."""
    words = line.split(" ")
    for count in range(len(words), 0, -1):
        if not wrong(" ".join(words[:count])):
            rest = words[count:]
            return line if any(word.startswith("--") for word in rest) else " ".join(words[:count])
    return line


def on_lines(text: str) -> Iterator[str]:
    """Yield the commands on lines of their own, in blocks of code."""
    blocks = re.findall(r"^```.*?\n(.*?)^```|^((?: {4,}\S.*\n)+)", text, re.MULTILINE | re.DOTALL)
    for block in blocks:
        for line in ON_A_LINE.findall("".join(block)):
            if line.split()[0] in commands():
                yield cut(line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    found = [*in_code(text), *on_lines(text)]
    assert [what for line in found if (what := wrong(line))] == []


def test_every_command_that_a_message_names_exists() -> None:
    found = {
        f"{module.relative_to(ROOT)}:{number}: {what}"
        for module in (*MODULES, *SCRIPTS)
        for number, text in texts(module)
        for line in named(text)
        if (what := wrong(line))
    }
    assert found == set()


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_every_command_that_a_template_names_exists(template: Path) -> None:
    assert [what for line in named(template.read_text("utf-8")) if (what := wrong(line))] == []


def test_a_command_that_does_not_exist_would_be_noticed() -> None:
    unknown = ("eval list", "eval --all", "ask --k 3 QUESTION --deep", "runs sho X", "evel")
    assert [line for line in unknown if not wrong(line)] == []
    assert list(named("Get it again: localcrag models get X. `localcrag eval --list` names them.")) == [
        "eval --list",
        "models get X",
    ]
    assert list(on_lines("Try:\n\n    .venv/bin/localcrag serve --port N   # a comment\n")) == ["serve --port N"]
    assert list(named("localcrag checks what it finds.")) == []


def test_messages_name_no_file_that_only_the_repository_has() -> None:
    """A package that was installed from a wheel has no docs, no scripts and no pages."""
    found = {
        f"{module.relative_to(ROOT)}:{number}: {name}"
        for module in MODULES
        for number, text in texts(module)
        for name in of_the_repository(text)
    }
    assert found == set()
    assert {name for template in TEMPLATES for name in of_the_repository(template.read_text("utf-8"))} == set()


def test_help_and_descriptions_name_no_file_that_only_the_repository_has() -> None:
    manifest = tomllib.loads((ROOT / "models" / "models.toml").read_text("utf-8"))
    listed = [entry for entries in manifest.values() if isinstance(entries, list) for entry in entries]
    shown = [entry.get("description", "") for entry in listed]
    shown += [localcrag.__doc__ or "", localcrag.Localcrag.__doc__ or ""]
    assert [name for text in shown for name in of_the_repository(text)] == []


def test_a_file_of_the_repository_would_be_noticed() -> None:
    assert of_the_repository("see SECURITY.md, docs/reference/cli.md or models/relevance-v3/CARD.md; not notes.md") == [
        "SECURITY.md", "docs/reference/cli.md", "models/relevance-v3/CARD.md",
    ]  # fmt: skip


def of_the_repository(text: str) -> list[str]:
    """Return the files of the repository that a text names."""
    return [name for name in OURS.findall(text) if (ROOT / name.rstrip(".")).exists()]


def test_a_misspelt_setting_names_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="searxng: unknown setting; did you mean searxng_url"):
        load(data_dir=tmp_path, searxng="http://127.0.0.1:8888")
