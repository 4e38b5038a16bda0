"""What the relevance model computes in: measured once, remembered, and no format that changes the ranking."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from localcrag.models.encoders import unsupported_reason
from localcrag.models.reranker import CrossEncoder
from localcrag.models.reranker_format import (
    FILE_NAME,
    PROBES,
    TOO_SLOW,
    FormatChoice,
    cached_choice,
    describe,
    deviation,
    load_fastest,
)
from localcrag.records.enums import NumberFormat
from localcrag.records.errors import ModelError
from localcrag.settings import REPOSITORY_MODELS, load
from tests.support.tiny_models import tiny_bert, tiny_gpt2

AUTO, INT8, BF16, FP32 = NumberFormat.AUTO, NumberFormat.INT8, NumberFormat.BF16, NumberFormat.FP32
RELEVANCE = REPOSITORY_MODELS / load().relevance
pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(unsupported_reason(INT8) != "", reason="on a graphics processor there is no choice"),
]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache folder of an app that has started once."""
    cache = tmp_path_factory.mktemp("cache")
    load_fastest("mine", RELEVANCE, wanted=AUTO, threads=0, cache=cache)
    return cache


@pytest.fixture
def cache(measured: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(measured, tmp_path / "cache"))


def test_the_shipped_model_keeps_its_ranking_in_every_format_that_this_processor_has(measured: Path) -> None:
    choice = cached_choice(RELEVANCE, measured)
    assert choice is not None
    assert {one.number_format: one.refused for one in choice.tried if one.refused != TOO_SLOW} == {
        one: unsupported_reason(one) for one in (FP32, BF16, INT8) if one not in given_up(choice)
    }
    for one in given_up(choice):
        assert not deviation(logits_of_probes(one), logits_of_probes(FP32))


def logits_of_probes(number_format: NumberFormat) -> np.ndarray:
    scorer = CrossEncoder("mine", RELEVANCE, number_format=number_format)
    return np.concatenate([scorer.logits(question, passages) for question, passages in PROBES])


def given_up(choice: FormatChoice) -> list[NumberFormat]:
    """Return the formats that are so slow on this processor that their ranking was not looked at."""
    return [one.number_format for one in choice.tried if one.refused == TOO_SLOW]


def test_a_format_that_is_slower_by_far_is_given_up_after_a_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[tuple[NumberFormat, int]] = []
    logits = CrossEncoder.logits

    def slow_in_int8(self: CrossEncoder, question: str, texts: Sequence[str]) -> np.ndarray:
        scored.append((self.number_format, len(texts)))
        for _ in range(100 if self.number_format is INT8 else 1):
            found = logits(self, question, texts)
        return found

    monkeypatch.setattr(CrossEncoder, "logits", slow_in_int8)
    folder = tiny_bert(tmp_path / "model", RELEVANCE)
    load_fastest("mine", folder, wanted=AUTO, threads=0, cache=tmp_path)
    choice = cached_choice(folder, tmp_path)
    assert choice is not None
    assert given_up(choice) == [INT8]
    assert [count for number_format, count in scored if number_format is INT8] == [1, 1]
    assert f"int8 not used: {TOO_SLOW}" in describe(folder, wanted=AUTO, cache=tmp_path)


def test_the_doctor_is_told_the_format_and_all_speeds(measured: Path) -> None:
    choice = cached_choice(RELEVANCE, measured)
    assert choice is not None
    told = describe(RELEVANCE, wanted=AUTO, cache=measured)
    assert told.startswith(f"{choice.chosen} (pairs a second: fp32 ")
    for one in choice.tried:
        assert one.refused in told
        assert one.speed is None or f"{one.number_format} {one.speed:.0f}" in told


def test_the_fastest_format_is_chosen(measured: Path) -> None:
    choice = cached_choice(RELEVANCE, measured)
    assert choice is not None
    speeds = {one.number_format: one.speed for one in choice.tried if one.speed is not None and not one.refused}
    assert choice.chosen is max(speeds, key=lambda one: speeds[one])


@pytest.mark.parametrize("chosen", [FP32, INT8])
def test_what_was_chosen_once_is_loaded_without_measuring_again(cache: Path, chosen: NumberFormat) -> None:
    known = cached_choice(RELEVANCE, cache)
    assert known is not None
    file = cache / FILE_NAME
    file.write_text(file.read_text("utf-8").replace(f'"chosen": "{known.chosen}"', f'"chosen": "{chosen}"'), "utf-8")
    before = file.stat()
    assert load_fastest("mine", RELEVANCE, wanted=AUTO, threads=0, cache=cache).number_format is chosen
    assert file.stat().st_ino == before.st_ino


def test_a_model_whose_weights_were_changed_is_measured_again(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "model", RELEVANCE)
    load_fastest("mine", folder, wanted=AUTO, threads=0, cache=tmp_path)
    assert cached_choice(folder, tmp_path) is not None
    os.utime(folder / "model.safetensors", ns=(1, 1))
    assert cached_choice(folder, tmp_path) is None


def test_a_processor_with_other_threads_is_measured_again(cache: Path, threads: int) -> None:
    torch.set_num_threads(threads + 1)
    assert cached_choice(RELEVANCE, cache) is None


@pytest.mark.parametrize("content", [b"{", b'{"x": 1}', b"\xff"])
def test_a_torn_file_is_no_choice_and_is_written_anew(tmp_path: Path, content: bytes) -> None:
    folder = tiny_bert(tmp_path / "model", RELEVANCE)
    (tmp_path / FILE_NAME).write_bytes(content)
    assert cached_choice(folder, tmp_path) is None
    load_fastest("mine", folder, wanted=AUTO, threads=0, cache=tmp_path)
    assert cached_choice(folder, tmp_path) is not None


def test_choices_of_models_that_are_gone_are_dropped_and_others_kept(tmp_path: Path) -> None:
    folders = [tiny_bert(tmp_path / name, RELEVANCE) for name in ("gone", "kept", "new")]
    for folder in folders[:2]:
        load_fastest("mine", folder, wanted=AUTO, threads=0, cache=tmp_path)
    shutil.rmtree(folders[0])
    load_fastest("mine", folders[2], wanted=AUTO, threads=0, cache=tmp_path)
    content = (tmp_path / FILE_NAME).read_text("utf-8")
    assert [str(folder) in content for folder in folders] == [False, True, True]


def test_a_cache_that_cannot_be_written_costs_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tiny_bert(tmp_path, RELEVANCE)
    with caplog.at_level(logging.WARNING):
        load_fastest("mine", folder, wanted=AUTO, threads=0, cache=Path("/sys/cache"))
    assert "the formats are measured at every start" in caplog.text
    assert "at every start" in describe(folder, wanted=AUTO, cache=Path("/sys/cache"))


@pytest.mark.parametrize("wanted", [one for one in (FP32, BF16, INT8) if not unsupported_reason(one)])
def test_a_format_that_is_set_is_used_without_measuring(tmp_path: Path, wanted: NumberFormat) -> None:
    scorer = load_fastest("mine", RELEVANCE, wanted=wanted, threads=0, cache=tmp_path)
    assert scorer.number_format is wanted
    assert list(tmp_path.iterdir()) == []
    assert describe(RELEVANCE, wanted=wanted, cache=tmp_path) == f"{wanted}, as the setting relevance_format says"


def test_a_model_that_has_no_int8_goes_without_and_says_why(tmp_path: Path) -> None:
    folder = tiny_gpt2(tmp_path / "model", RELEVANCE)
    scorer = load_fastest("mine", folder, wanted=AUTO, threads=0, cache=tmp_path)
    assert scorer.number_format is not INT8
    assert "int8 not used: " in describe(folder, wanted=AUTO, cache=tmp_path)
    with pytest.raises(ModelError, match=r"mine cannot be used in int8: .*no linear layers.*relevance_format to auto"):
        load_fastest("mine", folder, wanted=INT8, threads=0, cache=tmp_path)


@pytest.fixture
def threads() -> Iterator[int]:
    before = torch.get_num_threads()
    yield before
    torch.set_num_threads(before)


def test_the_model_uses_as_many_threads_as_are_set(tmp_path: Path, threads: int) -> None:
    load_fastest("mine", tiny_bert(tmp_path, RELEVANCE), wanted=FP32, threads=threads + 2, cache=tmp_path)
    assert torch.get_num_threads() == threads + 2


EXACT = np.array([-3.0, -1.0, 1.0, 3.0], dtype=np.float32)


@pytest.mark.parametrize(
    ("logits", "refused"),
    [
        pytest.param(EXACT, "", id="the same"),
        pytest.param(EXACT + 0.1, "", id="within a twentieth of the spread"),
        pytest.param(EXACT + 0.12, "0.12 away from fp32's (root mean square), which spread by 2.2", id="too far"),
        pytest.param(EXACT[::-1], "away from fp32's", id="the other way round"),
    ],
)
def test_a_format_that_moves_logits_by_more_than_a_twentieth_of_their_spread_is_refused(
    logits: np.ndarray, refused: str
) -> None:
    found = deviation(logits, EXACT)
    assert (refused in found) if refused else not found


def test_a_model_that_tells_nothing_apart_has_only_the_exact_format() -> None:
    assert deviation(np.array([1.0, 1.1]), np.array([1.0, 1.0]))
