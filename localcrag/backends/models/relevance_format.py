"""The relevance model's number format: the fastest that keeps its ranking, measured once.

Knows the scorer, a few pairs to measure it on, and one small file. On a graphics processor there is no choice.
"""

from __future__ import annotations

import hashlib
import json
import logging
import platform
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import transformers
from pydantic import TypeAdapter, ValidationError

from localcrag import __version__
from localcrag.backends.downloads.model_checksums import write_json
from localcrag.backends.models.cross_encoder import CrossEncoder
from localcrag.backends.models.precision import pick_device, refusal
from localcrag.backends.models.probe_pairs import PAIRS, PROBES
from localcrag.records.enums import NumberFormat
from localcrag.records.errors import ModelError
from localcrag.records.protocols import Vectors

FILE_NAME = "relevance-formats.json"
MOST_DEVIATION = 0.05
"""How far a format's logits may be from fp32's on the probe pairs: root mean square, as a share of their spread. Where
both are normally distributed, arctan(share) / pi of all pairs of passages change places (Sheppard 1899): here 1.6 %,
those that were nearly equal. bfloat16 needs a tenth of it, int8 half."""
ROUNDS = 3
LONGEST = 0.6
"""Seconds after which no further round is begun: three formats and their loading take about three seconds."""
HOPELESS = f"a pair takes as long as {PAIRS} do in the fastest"
"""Why a format is given up before it is measured: int8 without the instructions for it, ten times slower than fp32."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tried:
    """A format that was tried: its speed in pairs a second, or why it cannot be used."""

    number_format: NumberFormat
    speed: float | None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The formats tried with one model; `circumstances` is a digest of all that the outcome depends on."""

    chosen: NumberFormat
    tried: tuple[Tried, ...]
    circumstances: str


Choices = TypeAdapter(dict[str, Choice])
"""By the model's folder."""


def load_fastest(name: str, folder: Path, *, wanted: NumberFormat, threads: int, cache: Path) -> CrossEncoder:
    """Return the model in `folder`, loaded in the format wanted; for AUTO in the one that is fastest here.

    `threads` 0 is one per core; `cache` is a folder to remember the choice in. Raises ModelError.
    """
    if threads:
        torch.set_num_threads(threads)  # There is one number for the whole process; the embedder follows it too.
    if wanted is not NumberFormat.AUTO or pick_device() != "cpu":
        return CrossEncoder(name, folder, number_format=wanted)
    if known := remembered(folder, cache):
        return CrossEncoder(name, folder, number_format=known.chosen)
    scorer, choice = measure(name, folder)
    _remember(folder, cache, choice)
    return scorer


def measure(name: str, folder: Path) -> tuple[CrossEncoder, Choice]:
    """Return the model loaded in the fastest format that keeps fp32's ranking, and what was found out.

    Raises ModelError when the model cannot be used in fp32.
    """
    best = CrossEncoder(name, folder, number_format=NumberFormat.FP32)
    exact, fastest = _probe(best)
    tried = [Tried(NumberFormat.FP32, fastest)]
    for number_format in (NumberFormat.BF16, NumberFormat.INT8):
        refused, speed = refusal(number_format), None
        if not refused:
            try:
                scorer = CrossEncoder(name, folder, number_format=number_format)
                if _seconds_for_one(scorer) > PAIRS / fastest:
                    refused = HOPELESS
                else:
                    logits, speed = _probe(scorer)
                    refused = deviation(logits, exact)
            except ModelError as error:
                refused = str(error)
        tried.append(Tried(number_format, speed, refused))
        if speed is not None and not refused and speed > fastest:
            best, fastest = scorer, speed
    return best, Choice(best.number_format, tuple(tried), circumstances(folder))


def deviation(logits: Vectors, exact: Vectors) -> str:
    """Return in words how `logits` deviate from fp32's `exact` ones, "" when by so little that the ranking is kept."""
    error, spread = float(np.sqrt(np.mean((logits - exact) ** 2))), float(exact.std())
    if error <= MOST_DEVIATION * spread:
        return ""
    return f"its logits are {error:.2g} away from fp32's (root mean square), which spread by {spread:.2g}"


def describe(folder: Path, *, wanted: NumberFormat, cache: Path) -> str:
    """Return for `localcrag doctor` what the model in `folder` computes in, and why."""
    if wanted is not NumberFormat.AUTO:
        return f"{wanted}, as the setting relevance_format says"
    if reason := refusal(NumberFormat.INT8):
        return f"fp32: {reason}"
    choice = remembered(folder, cache)
    if choice is None:
        return f"the fastest format, measured anew at every start: {cache / FILE_NAME} cannot be written"
    speeds = ", ".join(f"{one.number_format} {one.speed:.0f}" for one in choice.tried if one.speed is not None)
    refused = "".join(f"; {one.number_format} not used: {one.refused}" for one in choice.tried if one.refused)
    return f"{choice.chosen} (pairs a second: {speeds}){refused}"


def remembered(folder: Path, cache: Path) -> Choice | None:
    """Return the choice made for the model in `folder`; None when there is none, or one that something has outdated."""
    choice = _known(cache).get(str(folder.absolute()))
    return choice if choice and choice.circumstances == circumstances(folder) else None


def circumstances(folder: Path) -> str:
    """Return a digest of the model's files (by size and time of change), the libraries, the processor and the threads.

    The files' content is compared with checksums before a model is loaded (model_files.py).
    """
    files = [folder / "config.json", *folder.rglob("*.safetensors"), *folder.rglob("*.bin")]
    stamps = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(files) if path.is_file()]
    versions = (__version__, torch.__version__, transformers.__version__)
    machine = (platform.machine(), sorted(torch.cpu.get_capabilities().items()), torch.get_num_threads())
    return hashlib.sha256(repr((stamps, versions, machine)).encode()).hexdigest()


def _probe(scorer: CrossEncoder) -> tuple[Vectors, float]:
    """Return the logits of the probe pairs, and how many of them are scored in a second: the best of a few rounds.

    Time is this thread's own on the processor: what another program takes just then is not counted, so that it has
    little say in what is chosen for good. The first round is a warm-up, unless a slow model has no other.
    """
    seconds: list[float] = []
    while len(seconds) <= ROUNDS and sum(seconds) < LONGEST:
        started = time.thread_time()
        logits = [scorer.logits(question, passages) for question, passages in PROBES]
        seconds.append(time.thread_time() - started)
    shortest = max(min(seconds), time.get_clock_info("thread_time").resolution)
    return np.concatenate(logits), PAIRS / shortest


def _seconds_for_one(scorer: CrossEncoder) -> float:
    """Return the seconds that one of the probe pairs takes; of two, since the first is a warm-up."""
    seconds: list[float] = []
    for question, passages in PROBES:
        started = time.thread_time()
        scorer.logits(question, passages[:1])
        seconds.append(time.thread_time() - started)
    return min(seconds)


def _known(cache: Path) -> dict[str, Choice]:
    """Return what is remembered, by folder; nothing when there is no file, or one that is not as it was written."""
    try:
        return Choices.validate_json((cache / FILE_NAME).read_bytes())
    except (OSError, ValidationError):
        return {}


def _remember(folder: Path, cache: Path, choice: Choice) -> None:
    """Write the choice down, and drop those of models that are gone. Two processes at once may lose one of theirs."""
    known = {path: other for path, other in _known(cache).items() if Path(path).is_dir()}
    known[str(folder.absolute())] = choice
    try:
        cache.mkdir(parents=True, exist_ok=True)
        write_json(cache / FILE_NAME, json.loads(Choices.dump_json(known)))
    except OSError as error:
        log.warning("%s cannot be written (%s): the formats are measured at every start.", cache / FILE_NAME, error)
