"""Numbers of 0..1, such as thresholds, as they are shown."""

from __future__ import annotations


def decimals(number: float) -> str:
    """Return a number with two decimals, or with three or four where two would say another one: 0.13, 0.015."""
    for digits in (2, 3):
        if abs(float(text := f"{number:.{digits}f}") - number) < 5e-5:
            return text
    return f"{number:.4f}"
