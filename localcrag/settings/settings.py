"""One frozen, validated Settings, from four places.

Defaults, then the data folder's settings.json, then LOCALCRAG_* variables, then arguments; the later ones win.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import model_validator
from pydantic_settings import BaseSettings, JsonConfigSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from localcrag.records import presets
from localcrag.records.enums import Preset, WebMode
from localcrag.records.errors import SettingsError
from localcrag.records.passages import Thresholds
from localcrag.settings.fields import (
    AnswerSettings,
    AppSettings,
    ConflictSettings,
    EvaluationSettings,
    ModelSettings,
    RefinementSettings,
    RetrievalSettings,
    WebSettings,
    default_data_dir,
)

FILE_NAME = "settings.json"
"""In the data folder."""
ENVIRONMENT_PREFIX = "LOCALCRAG_"
OF_A_RUN = (
    "k", "candidates", "scorer", "policy", "relevance_threshold", "retry", "rewriter", "upper", "lower", "strip",
    "refiner", "strip_mode", "window_words", "most_strips", "evidence_tokens", "minimum_retention", "conflict_rule",
    "conflict_judge", "time_budget", "answer_tokens", "temperature", "strictness", "history_turns", "web_results",
    "web_time_range", "web_language", "web_safesearch",
)  # fmt: skip
"""Kept with a run, so that it can be replayed: what shapes an answer and holds nothing private."""


class Settings(
    # Fields come in the order of the bases' resolution turned round: the app's first, the web's last.
    WebSettings,
    AnswerSettings,
    ConflictSettings,
    RefinementSettings,
    EvaluationSettings,
    RetrievalSettings,
    ModelSettings,
    AppSettings,
    BaseSettings,
):
    """Everything that can be chosen. Thresholds left at None are the preset's, on the scale of the scorer."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, frozen=True, extra="forbid", validate_default=True, env_ignore_empty=True
    )

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> Settings:
        if self.upper is not None and self.lower is not None and self.lower > self.upper:
            raise ValueError(f"lower ({self.lower}) must not be above upper ({self.upper})")
        return self

    @property
    def uploads_dir(self) -> Path:
        """Where the page's server keeps uploaded files until they have been added; emptied at start and end."""
        return self.data_dir.absolute() / "uploads"

    @property
    def web_allowed(self) -> bool:
        """True when a question may be put to a search server: one is configured, and the mode is not `never`."""
        return self.searxng_url is not None and self.web is not WebMode.NEVER

    def of_collection(self, web: WebMode | None) -> Settings:
        """Return the settings with the web mode of a collection; a mode that was set by itself stays."""
        return self if web is None or "web" in self.model_fields_set else self.model_copy(update={"web": web})

    def of_a_run(self) -> dict[str, Any]:
        """Return the settings that are kept with a run; thresholds that were left open are None."""
        return self.model_dump(mode="json", include=set(OF_A_RUN))

    def thresholds(self, defaults: Thresholds) -> Thresholds:
        """Return the chosen thresholds; those that were left open are the preset's, on the scale of the scorer's own.

        Raises SettingsError when the two together are out of order.
        """
        defaults = presets.fit(presets.PRESETS[self.preset].thresholds, defaults)
        chosen = Thresholds(
            upper=defaults.upper if self.upper is None else self.upper,
            lower=defaults.lower if self.lower is None else self.lower,
            strip=defaults.strip if self.strip is None else self.strip,
        )
        if chosen.lower > chosen.upper:
            raise SettingsError(
                f"The threshold lower ({chosen.lower:g}) is above upper ({chosen.upper:g}). Set both, or neither."
            )
        return chosen

    def under(self, preset: Preset) -> Settings:
        """Return the settings with what `preset` chooses; what was set by itself stays, but for the web.

        A preset that never asks the web is a promise: it holds whatever else is set.
        """
        rules = presets.PRESETS[preset]
        chosen = {name: getattr(rules, name) for name in ("policy", "k", "retry", "web_results", "web")}
        changes: dict[str, Any] = {
            name: value
            for name, value in chosen.items()
            if value is not None and (name not in self.model_fields_set or value is WebMode.NEVER)
        }
        return self.model_copy(update={**changes, "preset": preset})

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        # The file lies in the data folder, so the folder has to be known first: from an argument or the environment.
        data_dir = init_settings().get("data_dir") or env_settings().get("data_dir")
        folder = Path(data_dir) if data_dir else default_data_dir()
        return init_settings, env_settings, JsonConfigSettingsSource(settings_cls, json_file=folder / FILE_NAME)
