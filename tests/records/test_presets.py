"""Presets: fitted to a scorer's scale, chosen for a collection or a question, and what they leave alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcrag.interfaces.cli import command
from localcrag.records.enums import Policy, Preset, Strictness, WebMode
from localcrag.records.passages import Thresholds
from localcrag.records.thresholds import PRESETS, REFERENCE, shift_thresholds
from localcrag.settings import load, save
from localcrag.storage.collections.queries import choose, preset_of, web_mode_of
from localcrag.storage.database import Database

OWN = Thresholds(upper=0.36, lower=0.05, strip=0.27)
"""Of a scorer whose honest probabilities are low."""


def test_every_preset_has_rules_and_says_in_one_sentence_whom_it_is_for() -> None:
    assert set(PRESETS) == set(Preset)
    for rules in PRESETS.values():
        assert rules.purpose.endswith(".")
        assert rules.purpose.count(".") == 1


@pytest.mark.parametrize("preset", Preset)
def test_for_a_scorer_of_the_presets_own_scale_the_thresholds_are_the_numbers_themselves(preset: Preset) -> None:
    fitted = shift_thresholds(PRESETS[preset].thresholds, REFERENCE)
    assert fitted.upper == pytest.approx(PRESETS[preset].thresholds.upper, abs=1e-4)
    assert fitted.lower == pytest.approx(PRESETS[preset].thresholds.lower, abs=1e-4)
    assert fitted.strip == pytest.approx(PRESETS[preset].thresholds.strip, abs=1e-4)


def test_on_another_scale_general_is_the_scorers_own_and_stricter_presets_ask_for_more() -> None:
    fitted = {preset: shift_thresholds(PRESETS[preset].thresholds, OWN) for preset in Preset}
    assert fitted[Preset.GENERAL] == OWN
    in_order = [fitted[preset].upper for preset in (Preset.NEWS, Preset.GENERAL, Preset.LEGAL, Preset.MEDICAL)]
    assert in_order == sorted(in_order)
    assert len(set(in_order)) == 4
    assert all(0 < one.lower <= one.upper < 1 for one in fitted.values())


@pytest.mark.parametrize("edge", [0.0, 1.0])
def test_a_threshold_that_lets_through_all_or_nothing_stays(edge: float) -> None:
    own = Thresholds(edge, edge, edge)
    assert shift_thresholds(PRESETS[Preset.MEDICAL].thresholds, own) == own


def test_a_preset_chooses_what_was_left_open_and_nothing_else(tmp_path: Path) -> None:
    settings = load(data_dir=tmp_path, k=11)
    under = settings.under(Preset.STRICT)
    assert (under.preset, under.policy, under.k) == (Preset.STRICT, Policy.COUNT, 11)
    assert load(data_dir=tmp_path).under(Preset.STRICT).k == 8
    assert load(data_dir=tmp_path, policy="ratio").under(Preset.STRICT).policy is Policy.RATIO
    assert load(data_dir=tmp_path, upper=0.9).under(Preset.NEWS).thresholds(OWN).upper == 0.9


def test_a_preset_that_never_asks_the_web_does_so_whatever_else_is_set(tmp_path: Path) -> None:
    settings = load(data_dir=tmp_path, web="always", searxng_url="http://127.0.0.1:8080")
    assert settings.web_allowed
    assert not settings.under(Preset.DOCUMENTS_ONLY).web_allowed


def test_what_is_saved_leaves_the_rest_open_for_a_preset(tmp_path: Path) -> None:
    saved = save(load(data_dir=tmp_path), web=WebMode.NEVER.value)
    assert "k" not in saved.model_fields_set
    assert saved.under(Preset.STRICT).k == 8
    assert load(data_dir=tmp_path).web is WebMode.NEVER


def test_what_is_taken_back_is_open_for_a_preset_again(tmp_path: Path) -> None:
    settings = save(load(data_dir=tmp_path), policy="ratio", k=3)
    settings = save(settings, policy=None)
    assert settings.under(Preset.STRICT).policy is Policy.COUNT
    assert (settings.k, settings.policy) == (3, Policy.MAX)
    assert load(data_dir=tmp_path).model_fields_set == settings.model_fields_set


def test_a_collection_keeps_its_preset(tmp_path: Path) -> None:
    database = Database(tmp_path / "a.sqlite3")
    assert preset_of(database, "mine") is None
    choose(database, "mine", preset=Preset.LEGAL)
    choose(database, "mine", preset=Preset.NEWS)
    database.close()
    again = Database(tmp_path / "a.sqlite3")
    assert preset_of(again, "mine") is Preset.NEWS
    assert preset_of(again, "other") is None
    choose(again, "mine", preset=None)
    assert preset_of(again, "mine") is None
    with again.transaction() as connection:
        connection.execute("UPDATE collection_settings SET preset = 'of a later version'")
    assert preset_of(again, "mine") is None
    again.close()


@pytest.mark.parametrize(
    ("collections", "settings", "preset", "mode"),
    [
        pytest.param(None, {}, Preset.GENERAL, WebMode.ASK, id="nothing chosen: ask"),
        pytest.param(WebMode.ALWAYS, {}, Preset.GENERAL, WebMode.ALWAYS, id="the collection's"),
        pytest.param(WebMode.ALWAYS, {"web": "never"}, Preset.GENERAL, WebMode.NEVER, id="the setting wins"),
        pytest.param(WebMode.NEVER, {"web": "ask"}, Preset.GENERAL, WebMode.ASK, id="in both directions"),
        pytest.param(WebMode.ALWAYS, {}, Preset.DOCUMENTS_ONLY, WebMode.NEVER, id="a preset without web wins"),
        pytest.param(WebMode.ALWAYS, {"web": "always"}, Preset.DOCUMENTS_ONLY, WebMode.NEVER, id="over everything"),
    ],
)
def test_whose_web_mode_holds(
    tmp_path: Path, collections: WebMode | None, settings: dict[str, str], preset: Preset, mode: WebMode
) -> None:
    assert load(data_dir=tmp_path, **settings).for_collection(collections).under(preset).web is mode


def test_a_collection_keeps_its_web_mode_beside_its_preset(tmp_path: Path) -> None:
    database = Database(tmp_path / "a.sqlite3")
    assert web_mode_of(database, "mine") is None
    choose(database, "mine", preset=Preset.LEGAL)
    assert web_mode_of(database, "mine") is None
    choose(database, "mine", web=WebMode.ALWAYS)
    assert (preset_of(database, "mine"), web_mode_of(database, "mine")) == (Preset.LEGAL, WebMode.ALWAYS)
    choose(database, "mine", web=None)
    assert (preset_of(database, "mine"), web_mode_of(database, "mine")) == (Preset.LEGAL, None)
    with database.transaction() as connection:
        connection.execute("UPDATE collection_settings SET web = 'of a later version'")
    assert web_mode_of(database, "mine") is WebMode.NEVER, "what is not understood allows nothing"
    database.close()


def test_the_command_lines_levels_of_strictness_are_the_enumeration() -> None:
    assert list(Strictness) == list(command.STRICTNESS.values())
