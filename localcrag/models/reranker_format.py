"""Load the reranker: choose the fastest number format here, and build the whole model.

- `load_fastest` loads fp32, bf16 and int8 in turn, measures them on a few probe pairs, and keeps the fastest that ranks
  like fp32. The choice is cached until the model, the libraries or the machine change.
- `with_shared_vocabulary` builds a loadable folder for a reranker that ships without token embeddings: it takes those
  of the embedding model, which are the same.
"""

from __future__ import annotations

import hashlib
import json
import logging
import platform
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from filelock import FileLock
from pydantic import TypeAdapter
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from localcrag import __version__
from localcrag.models.encoders import pick_device, unsupported_reason
from localcrag.models.files import read_json, write_json
from localcrag.models.reranker import CrossEncoder
from localcrag.privacy.private_folder import flush_to_disk
from localcrag.records.enums import NumberFormat
from localcrag.records.errors import ModelDamaged, ModelError
from localcrag.records.protocols import Vectors

_JOURNEYS = (
    "Journeys within one country are approved by the traveller's team lead, journeys abroad by the head of the "
    "department as well, at least ten working days before they begin. Trains are preferred to aeroplanes when they "
    "take less than six hours. The hotel limit is 195 euros a night in London, 165 euros in Bergen and 120 euros "
    "everywhere else, breakfast included; a dearer room needs a reason in writing. Receipts are handed in within four "
    "weeks of the return, as photographs or on paper, and the money is paid with the next salary. Whoever cancels a "
    "journey tells the travel office on the same day, so that rooms and tickets can still be given back without a fee."
)
_BICYCLES = (
    "Bicycles are lent at the reception between eight in the morning and six in the evening, for five euros a day and "
    "a signature. There are twelve of them, two with a box for children and one for loads of up to eighty kilograms. A "
    "helmet comes with each and has to be worn on the company's grounds. Damage is to be reported when the bicycle is "
    "returned; nobody pays for a flat tyre. A bicycle that is kept over night must stand in a locked room, and a lost "
    "key costs thirty euros. In winter, from December until the end of February, the bicycles are serviced one after "
    "the other, so that only half of them can be had at any time. Guests may borrow one as well."
)
PROBES = tuple(
    (question, (_JOURNEYS, _BICYCLES))
    for question in (
        "What is the hotel limit in London?",
        "Who has to approve a journey abroad?",
        "What does a lost bicycle key cost?",
        "how do plants make sugar from light",
    )
)
"""Probe questions, each with passages of about 140 tokens: eight pairs, three of which contain the answer."""
PAIRS = sum(len(passages) for _, passages in PROBES)
"""Number of probe pairs."""


FILE_NAME = "relevance-formats.json"
MAX_DEVIATION = 0.05
"""Largest root mean square difference between a format's logits and fp32's on the probe pairs, as a share of the
standard deviation of fp32's. If both are normally distributed, arctan(share) / pi of all pairs of passages swap
places (Sheppard 1899): here 1.6 %, the pairs that were nearly equal. bfloat16 deviates by a tenth of this limit,
int8 by half."""
ROUNDS = 3
"""Measured rounds over the probe pairs, after one warm-up."""
MAX_SECONDS = 0.6
"""Seconds after which no further round starts: loading and measuring three formats takes about three seconds."""
TOO_SLOW = f"a pair takes as long as {PAIRS} do in the fastest"
"""Reason to drop a format before it is measured: int8 without CPU support is ten times slower than fp32."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TriedFormat:
    """A number format that was tried: its speed in pairs a second (None if not measured), and why it was refused."""

    number_format: NumberFormat
    speed: float | None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class FormatChoice:
    """The format chosen for one model and all formats tried; `circumstances` digests everything it depends on."""

    chosen: NumberFormat
    tried: tuple[TriedFormat, ...]
    circumstances: str


FORMAT_CHOICES = TypeAdapter(dict[str, FormatChoice])
"""Validator of the cache file: choices by the model's folder."""


def load_fastest(name: str, folder: Path, *, wanted: NumberFormat, threads: int, cache: Path) -> CrossEncoder:
    """Return the model in `folder`, loaded in the format wanted; for AUTO, in the fastest one here.

    `threads` 0 means one per core; `cache` is the folder where the choice is stored. Raises ModelError.
    """
    if threads:
        torch.set_num_threads(threads)  # The number applies to the whole process, so the embedding model uses it, too.
    if wanted is not NumberFormat.AUTO or pick_device() != "cpu":
        return CrossEncoder(name, folder, number_format=wanted)
    if known := cached_choice(folder, cache):
        return CrossEncoder(name, folder, number_format=known.chosen)
    scorer, choice = measure(name, folder)
    _cache_choice(folder, cache, choice)
    return scorer


def measure(name: str, folder: Path) -> tuple[CrossEncoder, FormatChoice]:
    """Return the model loaded in the fastest format that keeps fp32's ranking, and the record of that choice.

    Raises ModelError if the model cannot be used in fp32.
    """
    best = CrossEncoder(name, folder, number_format=NumberFormat.FP32)
    exact, fastest = _probe(best)
    tried = [TriedFormat(NumberFormat.FP32, fastest)]
    for number_format in (NumberFormat.BF16, NumberFormat.INT8):
        refused, speed = unsupported_reason(number_format), None
        if not refused:
            try:
                scorer = CrossEncoder(name, folder, number_format=number_format)
                if _time_one_pair(scorer) > PAIRS / fastest:
                    refused = TOO_SLOW
                else:
                    logits, speed = _probe(scorer)
                    refused = deviation(logits, exact)
            except ModelError as error:
                refused = str(error)
        tried.append(TriedFormat(number_format, speed, refused))
        if speed is not None and not refused and speed > fastest:
            best, fastest = scorer, speed
    return best, FormatChoice(best.number_format, tuple(tried), environment_digest(folder))


def deviation(logits: Vectors, exact: Vectors) -> str:
    """Return a description of how far `logits` are from fp32's `exact` ones; "" if the ranking is kept."""
    error, spread = float(np.sqrt(np.mean((logits - exact) ** 2))), float(exact.std())
    if error <= MAX_DEVIATION * spread:
        return ""
    return f"its logits are {error:.2g} away from fp32's (root mean square), which spread by {spread:.2g}"


def describe(folder: Path, *, wanted: NumberFormat, cache: Path) -> str:
    """Describe the number format of the model in `folder` and the reason for it, for `localcrag doctor`."""
    if wanted is not NumberFormat.AUTO:
        return f"{wanted}, as the setting relevance_format says"
    if reason := unsupported_reason(NumberFormat.INT8):
        return f"fp32: {reason}"
    choice = cached_choice(folder, cache)
    if choice is None:
        return f"the fastest format, measured anew at every start: {cache / FILE_NAME} cannot be written"
    speeds = ", ".join(f"{one.number_format} {one.speed:.0f}" for one in choice.tried if one.speed is not None)
    refused = "".join(f"; {one.number_format} not used: {one.refused}" for one in choice.tried if one.refused)
    return f"{choice.chosen} (pairs a second: {speeds}){refused}"


def cached_choice(folder: Path, cache: Path) -> FormatChoice | None:
    """Return the cached choice for the model in `folder`; None if there is none or it is out of date."""
    choice = read_json(cache / FILE_NAME, FORMAT_CHOICES).get(str(folder.absolute()))
    return choice if choice and choice.circumstances == environment_digest(folder) else None


def environment_digest(folder: Path) -> str:
    """Return a digest of the model's files (size and modification time), the libraries, the CPU and the threads.

    The content of the files need not be read: it is compared with checksums before a model is loaded (files.py).
    """
    files = [folder / "config.json", *folder.rglob("*.safetensors"), *folder.rglob("*.bin")]
    stamps = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(files) if path.is_file()]
    versions = (__version__, torch.__version__, transformers.__version__)
    machine = (platform.machine(), sorted(torch.cpu.get_capabilities().items()), torch.get_num_threads())
    return hashlib.sha256(repr((stamps, versions, machine)).encode()).hexdigest()


def _probe(scorer: CrossEncoder) -> tuple[Vectors, float]:
    """Return the logits of the probe pairs and the pairs scored per second in the fastest of a few rounds.

    Only this thread's CPU time is measured, so that another busy program hardly affects the cached choice. The first
    round is a warm-up, unless a slow model has only one round.
    """
    seconds: list[float] = []
    while len(seconds) <= ROUNDS and sum(seconds) < MAX_SECONDS:
        started = time.thread_time()
        logits = [scorer.logits(question, passages) for question, passages in PROBES]
        seconds.append(time.thread_time() - started)
    # A coarse clock may report 0 seconds, and the speed divides by it.
    shortest = max(min(seconds), time.get_clock_info("thread_time").resolution)
    return np.concatenate(logits), PAIRS / shortest


def _time_one_pair(scorer: CrossEncoder) -> float:
    """Return the seconds that one probe pair takes: the shorter of two times, because the first pair is a warm-up."""
    seconds: list[float] = []
    for question, passages in PROBES[:2]:
        started = time.thread_time()
        scorer.logits(question, passages[:1])
        seconds.append(time.thread_time() - started)
    return min(seconds)


def _cache_choice(folder: Path, cache: Path, choice: FormatChoice) -> None:
    """Cache the choice, and drop choices for deleted models. If two processes write at once, one choice may be lost."""
    known = {path: one for path, one in read_json(cache / FILE_NAME, FORMAT_CHOICES).items() if Path(path).is_dir()}
    known[str(folder.absolute())] = choice
    try:
        cache.mkdir(parents=True, exist_ok=True)
        write_json(cache / FILE_NAME, json.loads(FORMAT_CHOICES.dump_json(known)))
    except OSError as error:
        log.warning("%s cannot be written (%s): the formats are measured at every start.", cache / FILE_NAME, error)


LAYERS = "layers.safetensors"
"""Name of the file with the packed weights, without the token embeddings."""
FACTOR = ".factor"
"""Suffix of the tensor with the factor of each row of a packed matrix, shape (rows, 1)."""
EMBEDDER_VOCABULARY = "embeddings.word_embeddings.weight"
"""Name of the token embeddings in the embedding model's file."""
VOCABULARY = f"bert.{EMBEDDER_VOCABULARY}"
"""Name of the token embeddings in the reranker's file."""
COPIED_FILES = ("config.json", "tokenizer_config.json", "place_head.safetensors", "calibration.json")
"""Names of the files that are copied as they are."""
LOCK_TIMEOUT = 60.0
"""Seconds to wait for another process that is building the same model."""


def with_shared_vocabulary(folder: Path, words: Path, cache: Path) -> Path:
    """Build the complete model from `folder` and the token embeddings of the embedding model in the folder `words`.

    Return its folder in `cache`; a folder that was built from the same files before is reused. Raises ModelDamaged if
    the two models do not fit together, and OSError if `cache` cannot be written.
    """
    made = cache / f"{folder.name}-{_sources_digest(folder, words)}"
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f"{folder.name}.lock", timeout=LOCK_TIMEOUT):
        if not made.exists():
            for earlier in cache.glob(f"{folder.name}-*"):
                shutil.rmtree(earlier)
            temporary = cache / f"{folder.name}.tmp"
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            try:
                _write_model(folder, words, temporary)
            except (KeyError, ValueError, RuntimeError, SafetensorError) as error:
                raise ModelDamaged(
                    f"The reranker in {folder} does not fit the token embeddings of {words}: {error}. Check both with "
                    "`localcrag models verify`."
                ) from error
            temporary.replace(made)
    for name in COPIED_FILES:  # A small file, such as the calibration, may have changed since the model was built.
        if (folder / name).exists() and (folder / name).read_bytes() != _read(made / name):
            shutil.copyfile(folder / name, made / name)
    return made


def _write_model(folder: Path, words: Path, made: Path) -> None:
    """Write the weights and the tokenizer of the complete model."""
    layers = unpack(load_file(folder / LAYERS))
    with safe_open(words / "model.safetensors", "pt") as file:
        layers[VOCABULARY] = file.get_tensor(EMBEDDER_VOCABULARY)
    save_file(layers, made / "model.safetensors", metadata={"format": "pt"})
    flush_to_disk(made / "model.safetensors")
    tokenizer = json.loads((words / "tokenizer.json").read_bytes())
    (made / "tokenizer.json").write_text(json.dumps(pair_tokenizer(tokenizer), ensure_ascii=False), "utf-8")


def unpack(shipped: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the weights of the file that ships, in float16; its matrices are in 8 bits with one factor per row."""
    return {
        name: (weight.float() * shipped[name + FACTOR]).half() if name + FACTOR in shipped else weight
        for name, weight in shipped.items()
        if not name.endswith(FACTOR)
    }


def pair_tokenizer(tokenizer: dict[str, Any]) -> dict[str, Any]:
    """Return an embedding model's tokenizer.json, changed to encode pairs of question and text.

    One </s> separates the two. The question has token type 0, and the text with its final </s> has type 1.
    """
    begin, end, ends = (
        {"SpecialToken": {"id": mark, "type_id": which}} for mark, which in (("<s>", 0), ("</s>", 0), ("</s>", 1))
    )
    first, second = ({"Sequence": {"id": name, "type_id": which}} for name, which in (("A", 0), ("B", 1)))
    process = tokenizer["post_processor"] | {"single": [begin, first, end], "pair": [begin, first, end, second, ends]}
    return tokenizer | {"post_processor": process}


def _sources_digest(folder: Path, words: Path) -> str:
    """Return a digest of the files that the complete model is built from, by their size and modification time."""
    files = (folder / LAYERS, words / "model.safetensors", words / "tokenizer.json")
    stats = [(path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(repr(stats).encode()).hexdigest()[:12]


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
