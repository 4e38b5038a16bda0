"""Numbers as they are shown, and as they are typed."""

from __future__ import annotations

import pytest

from localcrag.text.translation import counted, format_decimals, whole_number


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0.13, "0.13"),
        (0.015, "0.015"),
        (0.2071, "0.2071"),
        (0.3300001, "0.33"),
        (0.0, "0.00"),
        (0.006, "0.006"),
        (1.0, "1.00"),
    ],
)
def test_as_many_decimals_as_it_takes_and_at_least_two(number: float, shown: str) -> None:
    assert format_decimals(number) == shown


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("007", 7),
        ("٣", 3),
        ("²", None),
        ("①", None),
        ("½", None),
        ("-1", None),
        ("", None),
        (str(2**63 - 1), 2**63 - 1),
        (str(2**63), None),
        ("9" * 5000, None),
    ],
)
def test_a_text_is_a_whole_number_or_none_and_never_an_error(text: str, number: int | None) -> None:
    assert whole_number(text) == number


def test_a_number_has_its_noun_in_the_right_number() -> None:
    assert [counted(number, "chunk") for number in (0, 1, 2)] == ["0 chunks", "1 chunk", "2 chunks"]
