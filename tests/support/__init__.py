"""What tests share: the real app, browser and servers; documents; stand-ins for models and for faults."""

from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"
