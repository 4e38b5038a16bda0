"""The encoders of sentence-transformers, imported without scikit-learn, in two thirds of the time.

sentence-transformers needs scikit-learn for one function, a distance that nothing here asks for; with it come scipy's
statistics and pandas, 740 modules in all, at the start of the page and of every command.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar

PACKAGE, NEEDED = "sklearn", "sklearn.metrics"


class _StandIn(MetaPathFinder, Loader):
    """Finds a package with nothing in it but the function, which fetches the real one when it is called."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in (PACKAGE, NEEDED):
            return ModuleSpec(fullname, self, is_package=fullname == PACKAGE)
        return None

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == NEEDED:
            module.pairwise_distances = _pairwise_distances  # type: ignore[attr-defined]


def _pairwise_distances(*arguments: Any, **options: Any) -> Any:
    from sklearn.metrics import pairwise_distances  # noqa: PLC0415 - that is what this is for

    return pairwise_distances(*arguments, **options)


@contextmanager
def without_scikit_learn() -> Iterator[None]:
    """Import with a stand-in; whoever imports scikit-learn afterwards has the real one, as one who did before."""
    if PACKAGE in sys.modules:
        yield
        return
    stand_in = _StandIn()
    sys.meta_path.insert(0, stand_in)
    try:
        yield
    finally:
        sys.meta_path.remove(stand_in)
        for name in (PACKAGE, NEEDED):
            sys.modules.pop(name, None)


with without_scikit_learn():
    from sentence_transformers import CrossEncoder, SentenceTransformer

__all__ = ["CrossEncoder", "SentenceTransformer", "without_circle"]

Encoder = TypeVar("Encoder", CrossEncoder, SentenceTransformer)


def without_circle(model: Encoder) -> Encoder:
    """Return a model that is freed with its last holder: its model card, which only training writes, held it as well.

    Until Python's collector came by, its 50 to 130 MB were kept.
    """
    model.model_card_data.model = None
    return model
