"""The promises of a vector engine, over hnswlib and usearch, and the choice between them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from localcrag.app.health import CheckState, vector_engines
from localcrag.records.enums import IndexEngine
from localcrag.records.protocols import Vectors
from localcrag.storage.collections.engine_choice import EngineChoice, engine_of, hnswlib_import_error
from localcrag.storage.collections.engines import Engine
from tests.support.engines import EACH_ENGINE, needs_hnswlib

pytestmark = pytest.mark.contract

DIMENSION = 32


def some_vectors(number: int, seed: int = 1) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(number, DIMENSION))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


@pytest.fixture(params=EACH_ENGINE)
def engine(request: pytest.FixtureRequest) -> type[Engine]:
    choice: EngineChoice = request.param
    return choice.engine(0)


def test_the_nearest_rows_come_first_with_their_cosines(engine: type[Engine]) -> None:
    graph, vectors = engine(DIMENSION), some_vectors(900)
    graph.add(np.arange(600), vectors[:600])
    graph.add(np.arange(600, 900), vectors[600:])
    assert len(graph) == 900
    for row in (0, 599, 600, 899):
        found = graph.search(vectors[row], 10, 0)
        assert found
        rows, cosines = found
        assert rows[0] == row
        assert cosines == pytest.approx(vectors[rows] @ vectors[row], abs=0.01)
        assert list(cosines) == sorted(cosines, reverse=True)


@pytest.mark.parametrize("number", [1, 5, 6, 5000])
def test_there_are_never_more_than_asked_for_nor_than_there_are(engine: type[Engine], number: int) -> None:
    graph = engine(DIMENSION)
    graph.add(np.arange(5), some_vectors(5))
    found = graph.search(some_vectors(1)[0], number, 0)
    assert found
    assert len(found[0]) == min(number, 5)


@pytest.mark.parametrize("to_add", [True, False])
def test_a_graph_that_was_saved_is_the_same_when_it_is_opened(
    engine: type[Engine], tmp_path: Path, to_add: bool
) -> None:
    graph, vectors = engine(DIMENSION), some_vectors(700)
    graph.add(np.arange(0, 1400, 2), vectors)
    graph.save(tmp_path / "graph")
    again = engine.open(tmp_path / "graph", DIMENSION, to_add=to_add)
    before, after = (one.search(vectors[7], 30, 0) for one in (graph, again))
    assert before
    assert after
    assert before[0].tolist() == after[0].tolist()
    assert len(again) == 700


def test_a_full_graph_that_was_opened_takes_more(engine: type[Engine], tmp_path: Path) -> None:
    graph, vectors = engine(DIMENSION), some_vectors(700)
    graph.add(np.arange(300), vectors[:300])
    graph.save(tmp_path / "graph")
    again = engine.open(tmp_path / "graph", DIMENSION, to_add=True)
    again.add(np.arange(300, 700), vectors[300:])
    found = again.search(vectors[650], 3, 0)
    assert found
    assert found[0][0] == 650
    # What was saved before can still be added to, too: an index that grows is saved every so often.
    graph.add(np.arange(300, 700), vectors[300:])
    assert len(graph) == len(again) == 700


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a file that is always full is Linux's")
def test_a_graph_that_cannot_be_written_whole_is_an_error(engine: type[Engine], tmp_path: Path) -> None:
    graph = engine(DIMENSION)
    graph.add(np.arange(700), some_vectors(700))
    with pytest.raises((OSError, RuntimeError)):
        graph.save(Path("/dev/full"))
    with pytest.raises((OSError, RuntimeError)):
        graph.save(tmp_path / "no folder" / "graph")


@pytest.mark.parametrize("content", [b"", b"\0" * 5000], ids=["empty", "foreign"])
def test_a_file_of_something_else_is_an_error(engine: type[Engine], tmp_path: Path, content: bytes) -> None:
    (tmp_path / "graph").write_bytes(content)
    with pytest.raises((OSError, RuntimeError)):
        engine.open(tmp_path / "graph", DIMENSION, to_add=True)


@needs_hnswlib
def test_hnswlib_serves_up_to_the_line_and_usearch_beyond() -> None:
    choice = EngineChoice()
    assert [choice.engine(number).suffix for number in (0, 100_000, 100_001)] == [".hnsw", ".hnsw", ".usearch"]
    assert EngineChoice(IndexEngine.HNSWLIB).engine(10**7).suffix == ".hnsw"
    assert EngineChoice(IndexEngine.USEARCH).engine(1).suffix == ".usearch"
    assert engine_of(".hnsw") is choice.engine(1)


@needs_hnswlib
def test_doctor_shows_what_searches_vectors() -> None:
    finding = vector_engines(IndexEngine.AUTO, hnswlib_import_error())
    assert finding.state is CheckState.OK
    assert "up to 100,000 different vectors in a collection, usearch for more" in finding.detail
    assert "searches all collections" in vector_engines(IndexEngine.HNSWLIB, "").detail


@pytest.mark.parametrize("wanted", [IndexEngine.AUTO, IndexEngine.HNSWLIB])
def test_doctor_says_where_hnswlib_is_missing_and_how_to_get_it(wanted: IndexEngine) -> None:
    finding = vector_engines(wanted, "No module named 'hnswlib'")
    assert finding.state is CheckState.OFF
    assert finding.detail.startswith("usearch searches all collections, because hnswlib cannot be imported")
    assert f'{sys.executable} -m pip install "hnswlib' in finding.detail
    assert vector_engines(IndexEngine.USEARCH, "No module named 'hnswlib'").state is CheckState.OK
