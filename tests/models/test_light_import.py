"""The import of sentence-transformers: without scikit-learn, which whoever asks for it still gets."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

IMPORTED = """
import sys
from localcrag.models.encoders import SentenceTransformer
print([name for name in ("sklearn", "scipy.stats", "pandas") if name in sys.modules])
from sentence_transformers.util import pairwise_manhattan_sim, manhattan_sim
print(manhattan_sim([[0.0, 1.0]], [[2.0, 4.0]]).tolist())
from sklearn.metrics import ndcg_score, pairwise_distances
print(round(float(ndcg_score([[0, 1]], [[0.1, 0.9]])), 3), pairwise_distances([[0.0]], [[3.0]]).tolist())
"""


def test_scikit_learn_is_imported_for_the_one_who_needs_it() -> None:
    process = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=False)
    assert process.stdout.splitlines() == ["[]", "[[-5.0]]", "1.0 [[3.0]]"], process.stderr
