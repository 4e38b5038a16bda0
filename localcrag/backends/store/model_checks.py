"""What short checks of language models found, kept in a file of the data folder."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from localcrag.backends.downloads.model_checksums import write_json
from localcrag.records.enums import Skill
from localcrag.records.errors import SettingsError

FILE_NAME = "model_checks.json"


@dataclass(frozen=True, slots=True)
class KeptCheck:
    """What a model passed: `passed` and `failed` name the parts, `at` is the day in ISO 8601."""

    skills: tuple[Skill, ...]
    passed: tuple[str, ...]
    failed: tuple[str, ...]
    at: str


class ModelChecks:
    """The checks of one data folder, by the models' names."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / FILE_NAME

    def of(self, name: str) -> KeptCheck | None:
        """Return what the last check of a model found; None where there was none, or the file is not whole."""
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            kept = self._read()[name]
            skills = tuple(Skill(skill) for skill in kept["skills"])
            return KeptCheck(skills, tuple(kept["passed"]), tuple(kept["failed"]), str(kept["at"]))
        return None

    def keep(self, name: str, check: KeptCheck) -> None:
        """Keep what a check found, in the place of the last one. Raises SettingsError."""
        kept = {}
        with suppress(OSError, ValueError):
            kept = self._read()
        try:
            write_json(self._path, {**kept, name: asdict(check)})
        except OSError as error:
            raise SettingsError(f"{self._path} cannot be written: {error.strerror}. The check was not kept.") from error

    def _read(self) -> dict[str, dict[str, list[str]]]:
        content: dict[str, dict[str, list[str]]] = json.loads(self._path.read_text("utf-8"))
        return content
