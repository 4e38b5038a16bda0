from __future__ import annotations

from pathlib import Path

import pytest

from localcrag.records.enums import Policy
from localcrag.settings import GROUPS, REPOSITORY_MODELS, Settings, load, table

ROWS = {row.name: row for row in table()}


def test_the_table_has_every_setting_once() -> None:
    assert sorted(row.name for row in table()) == sorted(Settings.model_fields)


def test_fields_come_in_the_order_of_the_groups() -> None:
    assert [row.name for row in table()] == list(Settings.model_fields)


def test_every_setting_of_a_group_says_what_it_does_in_a_sentence() -> None:
    assert [row.name for row in table() if not row.description.endswith(".") or "\n" in row.description] == []
    assert len({row.group for row in table()}) == len(GROUPS)
    assert all(row.group for row in table())


@pytest.mark.parametrize(
    ("name", "default", "unit"),
    [
        ("k", "6", "passages"),
        ("search_timeout", "5.0", "seconds"),
        ("chunk_tokens", "180", "tokens"),
        ("retry", "on", ""),
        ("debug", "off", ""),
        ("policy", "max", ""),
        ("upper", "the preset's", "probability, 0 to 1"),
        ("web_never_terms", "none", ""),
    ],
)
def test_a_row_shows_default_and_unit(name: str, default: str, unit: str) -> None:
    assert (ROWS[name].default, ROWS[name].unit) == (default, unit)


def test_named_values_are_listed() -> None:
    assert ROWS["policy"].choices == tuple(Policy)
    assert ROWS["k"].choices == ()


def test_nothing_in_the_table_depends_on_the_machine() -> None:
    everything = " ".join(str(row) for row in table())
    assert str(Path.home()) not in everything
    assert str(REPOSITORY_MODELS) not in everything


def test_the_variable_of_a_row_sets_its_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(ROWS["k"].variable, "9")
    assert load(data_dir=tmp_path).k == 9
