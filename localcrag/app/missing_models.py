"""Stand-ins for models that cannot be loaded: the question goes on without them, and says so."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NoReturn

from localcrag.records.errors import GenerationError, ModelError
from localcrag.records.protocols import Calibration, Decoding
from localcrag.records.run import Message
from localcrag.steps.evaluate.calibration import UNCALIBRATED
from localcrag.text.span import Span


class MissingLanguageModel:
    """Raises GenerationError, with what loading said, whenever it is asked."""

    context_tokens = 0

    def __init__(self, name: str, error: ModelError) -> None:
        self.name = name
        self._error = error

    def count_tokens(self, messages: Sequence[Message]) -> NoReturn:
        raise GenerationError(str(self._error)) from self._error

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> NoReturn:
        raise GenerationError(str(self._error)) from self._error


class MissingScorer:
    """Raises ModelError, as loading did, whenever it is asked."""

    # Nothing is scored, so no score lacks a calibration: that the model is missing is what the run says.
    calibration: Calibration = dataclasses.replace(UNCALIBRATED, fitted=True)

    def __init__(self, name: str, error: ModelError) -> None:
        self.name = name
        self._error = error

    def logits(self, question: str, texts: Sequence[str]) -> NoReturn:
        raise self._error

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> NoReturn:
        raise self._error
