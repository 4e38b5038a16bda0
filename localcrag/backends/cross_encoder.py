"""The scorer: a sentence-transformers cross-encoder from a local folder, and the calibration that lies beside it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import TypeAdapter, ValidationError
from sentence_transformers import CrossEncoder as SentenceTransformersCrossEncoder

from localcrag.backends.precision import blame, knows_words, pick_device, pick_dtype, weights
from localcrag.calibration import UNCALIBRATED, FittedCalibration
from localcrag.errors import ModelDamaged, ModelError
from localcrag.protocols import Vectors
from localcrag.words import valid

CALIBRATION_FILE = "calibration.json"
BATCH = 64


class CrossEncoder:
    """A loaded scorer."""

    def __init__(self, name: str, folder: Path) -> None:
        """Load the model in `folder` and its calibration. Raises ModelDamaged, ModelError for one of another kind."""
        self.name = name
        # Two questions may be asked at once (two tabs), and a tokenizer cannot be used by two threads at once.
        self._lock = threading.Lock()
        device = pick_device()
        try:
            # The raw logit is asked for, and the sigmoid is ours: one taken in bfloat16 ties the best passages.
            self._model = SentenceTransformersCrossEncoder(
                str(folder),
                device=device,
                local_files_only=True,
                activation_fn=torch.nn.Identity(),
                model_kwargs={"dtype": pick_dtype(device)},
            )
            if not knows_words(self._model.tokenizer):
                raise ValueError("its tokenizer.json is missing or knows no words")
        except Exception as error:  # Whatever the libraries stumble over in a damaged file, from TypeError on.
            raise ModelDamaged(
                f"The relevance model in {folder} cannot be loaded: {blame(folder)}{error}. Check it with `localcrag "
                f"models verify {name}`, or choose another with `localcrag models use NAME`."
            ) from error
        self._check_kind(folder)
        self.calibration = read_calibration(folder)

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return one raw logit per text, shape (len(texts),)."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        pairs = [(valid(question), valid(text)) for text in texts]
        with self._lock:
            scores = self._model.predict(pairs, batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(scores, dtype=np.float32).reshape(len(texts))

    def _check_kind(self, folder: Path) -> None:
        """Raise ModelError unless the model gives one score, by weights that lie in the folder and are not made up."""
        if self._model.num_labels != 1:
            what = f"it gives {self._model.num_labels} scores for a text"
        elif self._lacks_head(folder):
            what = "its weights have no layer that gives a score"
        else:
            return
        raise ModelError(
            f"The model in {folder} cannot be used as relevance model: {what}. Choose a cross-encoder with one score "
            "(a reranker) with `localcrag models use NAME`."
        )

    def _lacks_head(self, folder: Path) -> bool:
        # transformers fills what the files lack with random numbers, and says so in its log only.
        model: Any = getattr(self._model[0], "model", None)
        if not type(model).__name__.endswith("ForSequenceClassification"):
            return False  # A reranker made from a generator, which has no layer of its own for it.
        stored = {name for path in folder.rglob("*.safetensors") for name in weights(path)}
        head = {name for name in model.state_dict() if not name.startswith(f"{model.base_model_prefix}.")}
        return bool(stored) and not head <= stored


def read_calibration(folder: Path) -> FittedCalibration:
    """Return the calibration stored with a model, or the fallback where there is none. Raises ModelDamaged."""
    path = folder / CALIBRATION_FILE
    if not path.exists():
        return UNCALIBRATED
    try:
        return TypeAdapter(FittedCalibration).validate_json(path.read_bytes(), strict=True)
    except OSError as error:
        raise ModelDamaged(
            f"{path} cannot be read: {error.strerror}. Give its owner's permission, or restore it."
        ) from error
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        what = problem["msg"].removeprefix("Value error, ")
        raise ModelDamaged(
            f"{path} is not a calibration ({where}{': ' if where else ''}{what}). Remove it to go on without one, or "
            "restore it."
        ) from error
