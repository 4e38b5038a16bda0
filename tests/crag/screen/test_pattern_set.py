"""Many patterns at once: the same as each by itself."""

from __future__ import annotations

import re

import pytest

from localcrag.crag.screen.judge import GROUPS, PatternSet, without_lookaround
from localcrag.crag.screen.rules import PATTERNS
from tests.support import ROOT

INJECTION = ROOT / "scripts" / "lab" / "injection"
SETS = {
    "rules": [rule.pattern for rule in PATTERNS if isinstance(rule.pattern, re.Pattern)],
    "groups": [pattern for _name, pattern in GROUPS],
}


@pytest.mark.parametrize("name", SETS)
def test_what_is_found_in_attacks_and_honest_texts_is_what_each_pattern_finds(name: str) -> None:
    patterns = SETS[name]
    together = PatternSet(patterns)
    lines = [line for file in INJECTION.glob("*.txt") for line in file.read_text("utf-8").splitlines()]
    assert len(lines) > 500
    for line in [*lines, *map(str.upper, lines), " ".join(lines[:40])]:
        assert together.fitting(line) == [place for place, one in enumerate(patterns) if one.search(line)], line


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "word",
        "the word é",
        "wordé",
        "éword",
        "word\x1cword",
        "word\u2028word",
        "\ud800 word",
        "“word”…",
        "WORD",
    ],
)
def test_no_sign_makes_a_difference(text: str) -> None:
    patterns = [re.compile(form) for form in (r"\bword\b", r"\w+$", r"^\W*word", r"[^a-z]", r"word\s", r"(?i:WORD)")]
    assert PatternSet(patterns).fitting(text) == [place for place, one in enumerate(patterns) if one.search(text)]


def test_a_pattern_that_only_python_knows_is_looked_for_all_the_same() -> None:
    patterns = [re.compile(r"(a)\1"), re.compile("b", re.IGNORECASE), re.compile(r"\u00e9")]
    assert PatternSet(patterns).fitting("aa B") == [0, 1]


def test_nothing_is_found_without_patterns() -> None:
    assert PatternSet([]).fitting("anything") == []


@pytest.mark.parametrize(
    ("pattern", "without"),
    [
        (r"a(?=b[)]\))c", "a(?:)c"),
        (r"(?<!\w)a(?!b(?:c|(?=d)))", "(?:)a(?:)"),
        (r"a(?:b)(?-i:C)", "a(?:b)(?-i:C)"),
    ],
)
def test_what_a_pattern_looks_for_around_is_taken_out(pattern: str, without: str) -> None:
    assert without_lookaround(pattern) == without
