"""Choose the vector engine of a collection, and import it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from localcrag.records.enums import IndexEngine
from localcrag.storage.collections.engines import Engine

MOST_IN_HNSWLIB = 100_000
"""Maximum number of different vectors for hnswlib. It keeps the graph and the vectors in memory, as float32: 170 MB for
this many vectors of 384 numbers. usearch maps its file and needs no memory of its own."""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The rule for choosing an engine: always the same one, or by the number of different vectors."""

    wanted: IndexEngine = IndexEngine.AUTO
    most_in_hnswlib: int = MOST_IN_HNSWLIB

    def engine(self, distinct_vectors: int) -> type[Engine]:
        """Return the engine for this number of different vectors."""
        small = self.wanted is IndexEngine.AUTO and distinct_vectors <= self.most_in_hnswlib
        if (small or self.wanted is IndexEngine.HNSWLIB) and not hnswlib_import_error():
            return engine_of(".hnsw")
        return engine_of(".usearch")


def engine_of(suffix: str) -> type[Engine]:
    """Return the engine that writes files with this suffix. Raises RuntimeError if it cannot be imported."""
    # An engine is imported only when it is needed: the import takes a while, and hnswlib may be missing.
    if suffix == ".hnsw":
        if missing := hnswlib_import_error():
            raise RuntimeError(f"hnswlib cannot be used: {missing}")
        from localcrag.storage.collections.hnswlib_engine import HnswlibEngine  # noqa: PLC0415 - see above

        return HnswlibEngine
    from localcrag.storage.collections.usearch_engine import UsearchEngine  # noqa: PLC0415 - see above

    return UsearchEngine


@cache
def hnswlib_import_error() -> str:
    """Return why hnswlib cannot be used on this computer, or "" if it can."""
    try:
        import hnswlib  # noqa: F401, PLC0415 - it is compiled where it is installed, and may be missing
    except ImportError as error:
        return str(error)
    return ""
