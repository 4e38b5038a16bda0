"""Which collections are shown: all but those that are on their way in (arriving.py)."""

from __future__ import annotations

ARRIVING = "\nimport "
"""Begins the names of the others: no name that was typed has a line break."""
SHOWN = f"substr(k.name, 1, {len(ARRIVING)}) != char(10) || '{ARRIVING[1:]}'"
"""Holds, in SQL, for a collection `k` that is shown."""
