"""Passages as points on a scale: in order, none on top of another."""

from __future__ import annotations

from itertools import combinations

from localcrag.interfaces.page.run_panel import POINT_WIDTH, points
from tests.support.made_evaluations import passage


def test_no_point_lies_on_another() -> None:
    relevances = [0.5, 0.0, 0.01, 0.02, 0.51, 0.9, 0.0, 1.0, 0.045]
    placed = points([passage(f"p{number}", "text", relevance) for number, relevance in enumerate(relevances)])
    assert [point.x for point in placed] == sorted(relevances)
    assert all(a.level != b.level or abs(a.x - b.x) >= POINT_WIDTH for a, b in combinations(placed, 2))
    assert max(point.level for point in placed) == 3
    assert points([]) == []
