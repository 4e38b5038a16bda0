"""The engines that search vectors, for tests that run over both."""

from __future__ import annotations

import pytest

from localcrag.records.enums import IndexEngine
from localcrag.storage.collections.engine_choice import EngineChoice, why_not_hnswlib

needs_hnswlib = pytest.mark.skipif(bool(why_not_hnswlib()), reason=f"hnswlib is not installed: {why_not_hnswlib()}")
HNSWLIB, USEARCH = EngineChoice(IndexEngine.HNSWLIB), EngineChoice(IndexEngine.USEARCH)
EACH_ENGINE = [pytest.param(HNSWLIB, marks=needs_hnswlib, id="hnswlib"), pytest.param(USEARCH, id="usearch")]
SUFFIXES = {HNSWLIB: ".hnsw", USEARCH: ".usearch"}
