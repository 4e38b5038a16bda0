"""The real models, each loaded once for the tests of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcrag.models.encoders import BiEncoder
from localcrag.models.llm import LlamaCpp
from localcrag.models.reranker import CrossEncoder
from localcrag.models.served_models import ServerLanguageModel
from localcrag.models.server_address import parse_server
from localcrag.models.server_exchange import Exchange
from localcrag.privacy.egress_log import Purpose
from localcrag.settings import REPOSITORY_MODELS
from tests.support.model_servers import ModelServer, serving

EMBEDDER = REPOSITORY_MODELS / "all-minilm-l6-v2"
RELEVANCE = REPOSITORY_MODELS / "relevance-v3"


@pytest.fixture(scope="session")
def embedder_folder() -> Path:
    return EMBEDDER


@pytest.fixture(scope="session")
def relevance_folder() -> Path:
    return RELEVANCE


@pytest.fixture(scope="session")
def gguf_file() -> Path:
    return next((REPOSITORY_MODELS / "smollm2-135m-instruct").glob("*.gguf"))


@pytest.fixture(scope="session")
def bi_encoder() -> BiEncoder:
    return BiEncoder(EMBEDDER.name, EMBEDDER)


@pytest.fixture(scope="session")
def cross_encoder() -> CrossEncoder:
    return CrossEncoder(RELEVANCE.name, RELEVANCE)


@pytest.fixture(scope="session")
def fast_copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder in which the real language model keeps its faster copy."""
    folder = tmp_path_factory.mktemp("cache")
    yield folder
    shutil.rmtree(folder)  # 145 MB, which pytest would keep.


@pytest.fixture(scope="session")
def llama(gguf_file: Path, fast_copies: Path) -> LlamaCpp:
    return LlamaCpp(gguf_file.parent.name, gguf_file, context_tokens=1024, threads=0, cache=fast_copies)


@pytest.fixture(scope="session")
def served_llm(llama: LlamaCpp) -> Iterator[ServerLanguageModel]:
    """The same model behind a server that speaks as llama-server does."""
    with serving(ModelServer(llama)) as url:
        yield ServerLanguageModel(Exchange(parse_server(url), Purpose.LANGUAGE_MODEL), context_tokens=4096)


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """A folder for files too large to be kept after the test."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)
