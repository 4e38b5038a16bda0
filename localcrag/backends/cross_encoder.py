"""The scorer: a sentence-transformers cross-encoder from a local folder, and the calibration that lies beside it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from pydantic import TypeAdapter, ValidationError
from sentence_transformers import CrossEncoder as SentenceTransformersCrossEncoder

from localcrag.backends.precision import pick_device, pick_dtype
from localcrag.calibration import UNCALIBRATED, FittedCalibration
from localcrag.errors import ModelDamaged
from localcrag.protocols import Vectors

CALIBRATION_FILE = "calibration.json"
BATCH = 64


class CrossEncoder:
    """A loaded scorer."""

    def __init__(self, name: str, folder: Path) -> None:
        """Load the model in `folder` and its calibration. Raises ModelDamaged."""
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
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise ModelDamaged(
                f"The relevance model in {folder} cannot be loaded: {error}. Check it with `localcrag models verify "
                f"{name}`, or choose another with `localcrag models use NAME`."
            ) from error
        self.calibration = read_calibration(folder)

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return one raw logit per text, shape (len(texts),)."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        pairs = [(question, text) for text in texts]
        with self._lock:
            scores = self._model.predict(pairs, batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(scores, dtype=np.float32).reshape(len(texts))


def read_calibration(folder: Path) -> FittedCalibration:
    """Return the calibration stored with a model, or the fallback where there is none. Raises ModelDamaged."""
    path = folder / CALIBRATION_FILE
    if not path.exists():
        return UNCALIBRATED
    try:
        return TypeAdapter(FittedCalibration).validate_json(path.read_bytes())
    except ValidationError as error:
        raise ModelDamaged(
            f"{path} is not a calibration ({error.errors()[0]['msg']}). Remove it to go on without one, or restore it."
        ) from error
