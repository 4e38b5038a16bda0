"""One frozen, validated Settings, from four places.

Defaults, then the data folder's settings.json, then LOCALCRAG_* variables, then arguments; the later ones win.

Nothing is read or made at import; `load` reads, `save` writes one file. Every field is an environment variable
(`searxng_url` is LOCALCRAG_SEARXNG_URL).
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Annotated, Any

import platformdirs
from pydantic import AfterValidator, Field, StringConstraints, ValidationError, model_validator
from pydantic_settings import BaseSettings, JsonConfigSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from localcrag.records import presets
from localcrag.records.enums import (
    ConflictJudge,
    ConflictRule,
    NumberFormat,
    Policy,
    Preset,
    RefinerKind,
    Rewriter,
    ScorerKind,
    Strictness,
    StripMode,
    TimeRange,
    WebMode,
)
from localcrag.records.errors import SettingsError
from localcrag.records.passages import Thresholds
from localcrag.text import never_terms, translation

FILE_NAME = "settings.json"
DEFAULT_COLLECTION = "default"
"""Is there from the first start, empty; any other collection is made by putting documents into it."""
OF_A_RUN = (
    "k", "candidates", "scorer", "policy", "relevance_threshold", "retry", "rewriter", "upper", "lower", "strip",
    "refiner", "strip_mode", "window_words", "most_strips", "evidence_tokens", "minimum_retention", "conflict_rule",
    "conflict_judge", "time_budget", "answer_tokens", "temperature", "strictness", "history_turns", "web_results",
    "web_time_range", "web_language", "web_safesearch",
)  # fmt: skip
"""Kept with a run, so that it can be replayed: what shapes an answer and holds nothing private."""
REPOSITORY_MODELS = Path(__file__).resolve().parent.parent / "models"


def _findable(term: str) -> str:
    if not never_terms.is_term(term):
        raise ValueError("a term needs at least two letters or digits to be found by")
    return term


def _spoken(language: str) -> str:
    if language not in translation.LANGUAGES:
        raise ValueError(f"is not a language that there is a catalogue of ({', '.join(translation.LANGUAGES)})")
    return language


NeverTerm = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200), AfterValidator(_findable)]
Category = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[^,\x00-\x1f]{1,50}$")]


class Settings(BaseSettings):
    """Everything that can be chosen. Thresholds left at None are the scorer's own, stored with its calibration."""

    model_config = SettingsConfigDict(
        env_prefix="LOCALCRAG_", frozen=True, extra="forbid", validate_default=True, env_ignore_empty=True
    )

    data_dir: Path = Field(default_factory=lambda: Path(platformdirs.user_data_dir("localcrag", appauthor=False)))
    models_dir: Path = REPOSITORY_MODELS
    collection: str = Field(DEFAULT_COLLECTION, min_length=1, max_length=100)

    embedder: str = "all-minilm-l6-v2"
    relevance: str = "relevance-v1"
    relevance_format: NumberFormat = Field(NumberFormat.AUTO, description="auto: the fastest that keeps the ranking")
    llm: str = "smollm2-135m-answerer"
    language: Annotated[str, AfterValidator(_spoken)] = Field(
        translation.ENGLISH, description="of the page and of what answers say of themselves"
    )
    threads: int = Field(0, ge=0, le=1024, description="0: one per core")
    debug: bool = Field(
        False, description="print unexpected errors in full: their messages may hold words of documents and questions"
    )

    chunk_tokens: int = Field(180, ge=32, le=1000)

    k: int = Field(6, ge=1, le=50, description="passages retrieved for a question")
    candidates: int = Field(30, ge=1, le=500, description="results taken from each index before they are fused")
    scorer: ScorerKind = Field(
        ScorerKind.CROSS_ENCODER,
        # Measured with the embedded model: AUC 0.59 instead of 0.85, and fifty times the time (docs/measurements.md).
        description="what grades the passages; llm: the language model, one by one, which only a good one can",
    )
    preset: Preset = Field(
        Preset.GENERAL, description="of collections that have none of their own; what is set by itself stays"
    )
    policy: Policy = Policy.MAX
    relevance_threshold: float = Field(0.6, ge=0, le=1, description="share of relevant passages that ratio asks for")
    retry: bool = Field(True, description="look once more, in other words, when the first passages are not enough")
    rewriter: Rewriter = Field(
        Rewriter.AUTO,
        # The embedded model's were accepted for 15 of 140 questions, and took a third of the time (docs/evaluation.md).
        description="what puts follow-ups, second looks and web queries in other words; auto: the language model, if "
        "it is one that can",
    )
    upper: float | None = Field(None, ge=0, le=1)
    lower: float | None = Field(None, ge=0, le=1)
    strip: float | None = Field(None, ge=0, le=1)

    refiner: RefinerKind = Field(
        RefinerKind.STRIPS, description="what picks the evidence; llm: the language model, which only a good one can"
    )
    strip_mode: StripMode = StripMode.SENTENCE
    window_words: int = Field(40, ge=5, le=500, description="words of a strip in the mode window")
    most_strips: int = Field(6, ge=1, le=200, description="strips kept, beside the best one of each passage")
    evidence_tokens: int = Field(
        800, ge=50, le=100_000, description="of the kept strips together, beside the best one of each passage"
    )
    minimum_retention: float = Field(
        0.3, ge=0, le=1, description="share of a passage's strips for which the threshold strip is lowered"
    )

    conflict_rule: ConflictRule = Field(
        ConflictRule.SHOW_BOTH, description="which side counts where documents and web contradict each other"
    )
    conflict_judge: ConflictJudge = Field(
        ConflictJudge.FACTS,
        description="what finds that: facts (numbers, dates, names), llm, which takes a good one, both",
    )

    time_budget: float = Field(
        0.0,
        ge=0,
        description="seconds for a question on a slow machine: what there is no time for is left out and said",
    )
    context_tokens: int = Field(4096, ge=512, description="prompt and answer together; memory grows with it")
    answer_tokens: int = Field(160, ge=16, le=4096)
    temperature: float = Field(
        0.0, ge=0, le=2, description="of answers; 0: always the most likely word, so that the same gets the same answer"
    )
    strictness: Strictness = Field(
        Strictness.BALANCED,
        description="strict: only sentences that are backed in full are shown; balanced: partly backed ones too, "
        "marked; lenient: all, marked",
    )
    history_turns: int = Field(3, ge=0, le=20, description="earlier turns that a follow-up is read with")

    web: WebMode = Field(
        WebMode.ASK, description="of collections that have no mode of their own; set by itself, it holds for all"
    )
    searxng_url: str | None = None
    searxng_allow_public: bool = Field(False, description="allow an endpoint that is neither loopback nor private")
    search_timeout: float = Field(5.0, gt=0, le=120, description="seconds")
    web_results: int = Field(5, ge=1, le=20)
    web_time_range: TimeRange = Field(TimeRange.NONE, description="how old a result may be, for engines that know")
    web_language: str = Field("", pattern=r"^(|auto|[a-z]{2,3}(-[a-zA-Z]{2})?)$", description="en, de-CH, all, auto")
    web_categories: tuple[Category, ...] = Field((), description="as SearXNG names them; it ignores unknown ones")
    web_safesearch: int | None = Field(None, ge=0, le=2, description="0 off, 1 moderate, 2 strict; None: SearXNG's own")
    web_never_terms: tuple[NeverTerm, ...] = Field((), description="never sent, in any writing, within any word")
    web_per_minute: int = Field(60, ge=1, le=600, description="queries that may leave within any 60 seconds")
    web_cache_hours: int = Field(24, ge=0, le=8760, description="how long an answer is used again; 0: none is kept")
    web_speculative: bool = Field(
        False,
        description="search beside evaluation, where the mode is always: faster when the web is needed, but queries "
        "leave, with the question's own words, that turn out not to have been needed",
    )

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> Settings:
        if self.upper is not None and self.lower is not None and self.lower > self.upper:
            raise ValueError(f"lower ({self.lower}) must not be above upper ({self.upper})")
        return self

    @property
    def uploads_dir(self) -> Path:
        """Where the page's server keeps uploaded files until they have been taken in; emptied at start and end."""
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
        folder = Path(data_dir) if data_dir else Path(platformdirs.user_data_dir("localcrag", appauthor=False))
        return init_settings, env_settings, JsonConfigSettingsSource(settings_cls, json_file=folder / FILE_NAME)


def load(**overrides: Any) -> Settings:
    """Return the settings in force; `overrides` that are None do not count. Raises SettingsError."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        raise SettingsError(_explain(error)) from error
    except (TypeError, ValueError) as error:  # what is no JSON, no UTF-8, or JSON but no object
        raise SettingsError(
            f"The settings file ({FILE_NAME} in the data folder) does not hold a JSON object: {error}. "
            "Mend it, or remove it to go back to the defaults."
        ) from error


def changed(settings: Settings, **changes: Any) -> Settings:
    """Return the settings with `changes`, checked; None is a value here. Nothing is written. Raises SettingsError."""
    try:
        # What was not set stays unset: a preset may still choose it.
        return Settings(**{**settings.model_dump(exclude_unset=True), **changes})
    except ValidationError as error:
        raise SettingsError(_explain(error)) from error


def save(settings: Settings, **changes: Any) -> Settings:
    """Write `changes` into the data folder's settings file, keeping what else it holds, and return the new settings.

    A change to None removes the entry, so that the default applies again. Raises SettingsError.
    """
    path = settings.data_dir / FILE_NAME
    stored = dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}
    stored = {name: value for name, value in {**stored, **changes}.items() if value is not None}
    removed = {name for name, value in changes.items() if value is None}
    # Checked with the defaults before anything is written.
    result = changed(settings, **{**changes, **{name: Settings.model_fields[name].get_default() for name in removed}})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=FILE_NAME)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(stored, file, indent=2, default=str)
        Path(temporary).replace(path)
    except OSError as error:
        raise SettingsError(
            f"The settings could not be written to {path}: {error.strerror}. Check that the folder is writable and "
            "the disk not full."
        ) from error
    # What was removed is unset again: a preset may choose it.
    kept = {name: value for name, value in result.model_dump(exclude_unset=True).items() if name not in removed}
    return Settings(**kept)


def _explain(error: ValidationError) -> str:
    lines = []
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"])
        what = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            what = "there is no such setting"
        shown = f" (given: {problem['input']!r})" if name and problem["type"] != "extra_forbidden" else ""
        lines.append(f"{name or 'settings'}: {what}{shown}")
    return "Not a valid setting. " + "; ".join(lines) + ". See README.md, “Settings”."
