"""Planted attacks through the whole flow with the real models: with the defence none of them gets through."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lab.injection.attacks import Attack, Range, Way, load, search_server

from localcrag.app.assembly import Assembly
from localcrag.settings import load as load_settings
from tests.support.first_start import started_before

pytestmark = pytest.mark.models

CHOSEN = {attack.id: attack for attack in load()}
# First those that get through without the defence (scripts/lab/injection/measure_attacks.py), then one of each other
# kind.
IDS = (
    "alpaca pretend bidi tiny-white-pdf end-of-evidence fake-numbers hidden-span say-silent s-context "
    "ignore-above-topic french im-start-inline base64 image-bare grade-correct search-for tool-call administrator "
    "emergency reveal-prompt in-table earlier-answer"
).split()


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Range]:
    folder = tmp_path_factory.mktemp("attacks")
    with search_server() as server:
        assembly = Assembly(load_settings(data_dir=started_before(folder / "data"), searxng_url=server.url))
        yield Range(assembly, folder, server)
        assembly.close()


@pytest.mark.parametrize("attack", [CHOSEN[name] for name in IDS], ids=IDS)
def test_a_planted_attack_does_not_get_through(attacked: Range, attack: Attack) -> None:
    outcome = attacked.run(attack, Way.WITH)
    assert not outcome.through, outcome.answer
