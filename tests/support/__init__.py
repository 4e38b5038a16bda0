"""What tests share: the real app, browser and servers; documents; stand-ins for models and for faults."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The repository's."""
DATA = ROOT / "tests" / "data"
