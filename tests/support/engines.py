"""The engines that search vectors, for tests that run over both."""

from __future__ import annotations

import pytest

from localcrag.records.enums import IndexEngine
from localcrag.storage.collections.engine_choice import EngineChoice, hnswlib_import_error

needs_hnswlib = pytest.mark.skipif(
    bool(hnswlib_import_error()), reason=f"hnswlib is not installed: {hnswlib_import_error()}"
)
HNSWLIB, USEARCH = EngineChoice(IndexEngine.HNSWLIB), EngineChoice(IndexEngine.USEARCH)
EACH_ENGINE = [pytest.param(HNSWLIB, marks=needs_hnswlib, id="hnswlib"), pytest.param(USEARCH, id="usearch")]
SUFFIXES = {HNSWLIB: ".hnsw", USEARCH: ".usearch"}
