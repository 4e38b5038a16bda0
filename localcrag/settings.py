"""Settings: one frozen, validated record, the file it is saved in, and the table that documents it.

Values come from the defaults, then the data folder's settings.json, then LOCALCRAG_<NAME> environment variables, then
arguments; later sources win. A setting has the same name in all of them.

Each group of settings is a class, and `Settings` inherits from all of them. The docstring of a group is its heading in
the table of settings.

Importing this module reads and creates no files.
"""

from __future__ import annotations

import json
import operator
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from math import isnan
from pathlib import Path
from typing import Annotated, Any, get_args

import platformdirs
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, JsonConfigSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from localcrag.privacy.private_folder import write_private
from localcrag.records import thresholds as presets
from localcrag.records.enums import (
    ConflictJudge,
    ConflictRule,
    IndexEngine,
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
from localcrag.text import sanitize, translation
from localcrag.text.translation import whole_number

ENGLISH_EMBEDDER = "all-minilm-l6-v2"
"""The default embedding model, made for English."""
DEFAULT_COLLECTION = "default"
"""Name of the collection that exists, empty, from the first start; adding documents to another name creates it."""
PACKAGE = Path(__file__).resolve().parent
IN_CHECKOUT = (PACKAGE.parent / "models" / "models.toml").is_file()
"""False if localcrag was installed from a wheel, which contains the model manifest and localcrag's own models."""
REPOSITORY_MODELS = PACKAGE.parent / "models" if IN_CHECKOUT else PACKAGE / "shipped_models"


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a setting's value, shown in the table."""

    name: str


@dataclass(frozen=True, slots=True)
class ShownDefault:
    """The text that the table shows as default if the default depends on the machine or is decided later."""

    text: str


def default_data_dir() -> Path:
    """Return the data folder that applies if none is set."""
    return Path(platformdirs.user_data_dir("localcrag", appauthor=False))


def default_models_dir() -> Path:
    """Return the models folder that applies if none is set.

    Outside a checkout it is in the data folder, because an update may replace the installed package.
    """
    return REPOSITORY_MODELS if IN_CHECKOUT else default_data_dir() / "models"


def _findable(term: str) -> str:
    if not sanitize.is_term(term):
        raise ValueError("a term needs at least two letters or digits")
    return term


def _available(language: str) -> str:
    if language not in translation.LANGUAGES:
        raise ValueError(f"is not an available language ({', '.join(translation.LANGUAGES)})")
    return language


Seconds = Annotated[float, Unit("seconds")]
Tokens = Annotated[int, Unit("tokens")]
Share = Annotated[float, Field(ge=0, le=1), Unit("share, 0 to 1")]
Probability = Annotated[float | None, Field(ge=0, le=1), Unit("probability, 0 to 1"), ShownDefault("the preset's")]
Language = Annotated[str, AfterValidator(_available)]
NeverTerm = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200), AfterValidator(_findable)]
Category = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[^,\x00-\x1f]{1,50}$")]


class SettingsGroup(BaseModel):
    """A group of settings."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class AppSettings(SettingsGroup):
    """The app."""

    data_dir: Annotated[Path, ShownDefault("the user's data folder")] = Field(default_factory=default_data_dir)
    """Folder for documents, answers and settings."""
    models_dir: Annotated[
        Path, ShownDefault("`models/` of the repository; without one, `models/` of the user's data folder")
    ] = Field(default_factory=default_models_dir)
    """Folder for models."""
    collection: str = Field(DEFAULT_COLLECTION, min_length=1, max_length=100)
    """Collection that questions and new documents go to."""
    language: Language = translation.ENGLISH
    """Language of the app and of its own sentences in answers."""
    debug: bool = False
    """Print unexpected errors in full; their messages may contain text of documents and questions."""


class ModelSettings(SettingsGroup):
    """Models."""

    embedder: str = ENGLISH_EMBEDDER
    """Embedding model: a name or a path."""
    relevance: str = "relevance-v3"
    """Reranker, which grades passages: a name, a path, or http://HOST:PORT/rerank#MODEL on a server."""
    relevance_format: NumberFormat = NumberFormat.AUTO
    """Number format of the reranker; auto: the fastest one that keeps the ranking."""
    llm: str = "smollm2-135m-answerer"
    """Language model: a name, a path, or http://HOST:PORT/v1#MODEL on a server."""
    agreed_servers: tuple[str, ...] = ()
    """Model servers on other computers (HOST:PORT) that may receive questions and parts of documents."""
    threads: int = Field(0, ge=0, le=1024)
    """Number of CPU threads for models; 0: one per core."""
    context_tokens: Tokens = Field(4096, ge=512)
    """Context window of the language model (prompt and answer together); more needs more memory."""
    idle_minutes: float = Field(10, ge=0)
    """Minutes after which unused models are unloaded; 0: never."""


class RetrievalSettings(SettingsGroup):
    """Indexing and retrieval."""

    chunk_tokens: Tokens = Field(180, ge=32, le=1000)
    """Length of a chunk."""
    read_scans: bool = True
    """Recognise the text of scanned pages (OCR), in the background."""
    workers: Annotated[int, ShownDefault("0: by the number of cores")] = Field(0, ge=0, le=64)
    """Number of processes that read files and scanned pages while documents are added."""
    k: Annotated[int, Unit("passages")] = Field(6, ge=1, le=50)
    """Number of passages kept for a question."""
    reranked: Annotated[int, Unit("passages")] = Field(12, ge=1, le=200)
    """Number of passages to score, from which the best k are kept; at least k."""
    candidates: Annotated[int, Unit("passages")] = Field(30, ge=1, le=500)
    """Results taken from each index before they are fused."""
    index_engine: IndexEngine = IndexEngine.AUTO
    """Library that searches vectors; auto: hnswlib up to 100,000 different vectors in a collection, usearch for more,
    or if hnswlib is not installed."""


class EvaluationSettings(SettingsGroup):
    """Evaluation of what was retrieved."""

    # Measured with the embedded model: AUC 0.59, not 0.85, and fifty times the time (docs/lab/measurements.md).
    scorer: ScorerKind = ScorerKind.CROSS_ENCODER
    """Model that grades the passages; llm: the language model, one passage at a time (needs a capable one)."""
    preset: Preset = Preset.GENERAL
    """Preset of collections that have none of their own; other settings override its values."""
    policy: Policy = Policy.MAX
    """Rule that turns relevances into an action."""
    relevance_threshold: Share = 0.6
    """Share of relevant passages that the policy ratio requires."""
    retry: bool = True
    """Search again in other words if the first passages are not enough."""
    # The embedded model's: accepted for 15 of 140 questions, a third of the time (docs/lab/evaluation.md).
    rewriter: Rewriter = Rewriter.AUTO
    """How to rewrite follow-ups, second searches and web queries; auto: with the language model if it can."""
    upper: Probability = None
    """Relevance from which a passage counts as correct."""
    lower: Probability = None
    """Relevance below which a passage counts as incorrect."""
    strip: Probability = None
    """Relevance from which a sentence (strip) of a passage is kept."""


class RefinementSettings(SettingsGroup):
    """Evidence."""

    refiner: RefinerKind = RefinerKind.STRIPS
    """How to choose the evidence; llm: with the language model (needs a capable one)."""
    strip_mode: StripMode = StripMode.SENTENCE
    """How to split a passage into strips: sentences or larger parts."""
    window_words: Annotated[int, Unit("words")] = Field(40, ge=5, le=500)
    """Length of a strip in the strip mode window."""
    most_strips: Annotated[int, Unit("strips")] = Field(10, ge=1, le=200)
    """Maximum number of strips to keep, besides the best one of each passage."""
    evidence_tokens: Tokens = Field(800, ge=50, le=100_000)
    """Maximum length of all kept strips together, besides the best one of each passage."""
    minimum_retention: Share = 0.3
    """Share of a passage's strips to keep at least; the threshold strip is lowered for it."""


class ConflictSettings(SettingsGroup):
    """Conflicts between documents and web."""

    conflict_rule: ConflictRule = ConflictRule.SHOW_BOTH
    """Which side wins if documents and web contradict each other."""
    conflict_judge: ConflictJudge = ConflictJudge.FACTS
    """How to find contradictions: facts (numbers, dates, names), llm (needs a capable model), or both."""


class AnswerSettings(SettingsGroup):
    """The answer."""

    time_budget: Seconds = Field(0.0, ge=0)
    """Time limit for a question on a slow machine: steps that do not fit are skipped, and the answer says which; 0: no
    limit."""
    answer_tokens: Tokens = Field(320, ge=16, le=4096)
    """Maximum length of an answer."""
    temperature: float = Field(0.0, ge=0, le=2)
    """Sampling temperature; 0: the same question always gets the same answer."""
    strictness: Strictness = Strictness.BALANCED
    """Which sentences to show; strict: only supported ones (supported-only); balanced: partly supported ones too,
    marked (mark-partial); lenient: all, marked (show-all)."""
    history_turns: Annotated[int, Unit("turns")] = Field(3, ge=0, le=20)
    """Number of earlier turns that a follow-up question can refer to."""


class WebSettings(SettingsGroup):
    """Web search."""

    web: WebMode = WebMode.ASK
    """Whether to search the web; a value set here overrides the web modes of collections."""
    searxng_url: Annotated[str | None, ShownDefault("none: no web search")] = None
    """Address of your SearXNG."""
    searxng_allow_public: bool = False
    """Allow a search server outside this computer and your network."""
    search_timeout: Seconds = Field(5.0, gt=0, le=120)
    """Time limit for a search."""
    web_results: Annotated[int, Unit("results")] = Field(5, ge=1, le=20)
    """Number of search results to use."""
    web_time_range: TimeRange = TimeRange.NONE
    """Maximum age of a result, for engines that know ages; none: any age."""
    web_language: Annotated[str, ShownDefault("SearXNG's own")] = Field(
        "", pattern=r"^(|auto|[a-z]{2,3}(-[a-zA-Z]{2})?)$"
    )
    """Language of results: en, de-CH, all, auto."""
    web_categories: Annotated[tuple[Category, ...], ShownDefault("SearXNG's own")] = ()
    """Categories as SearXNG names them; it ignores unknown ones."""
    web_safesearch: Annotated[int | None, ShownDefault("SearXNG's own")] = Field(None, ge=0, le=2)
    """Safe search; 0: off, 1: moderate, 2: strict."""
    web_never_terms: Annotated[tuple[NeverTerm, ...], ShownDefault("none")] = ()
    """Terms that are never sent, however they are spelled; words that contain one are removed."""
    web_per_minute: Annotated[int, Unit("queries per minute")] = Field(60, ge=1, le=600)
    """Maximum number of queries within 60 seconds; further ones wait."""
    web_cache_hours: Annotated[int, Unit("hours")] = Field(24, ge=0, le=8760)
    """How long cached search results are reused; 0: no cache."""
    web_speculative: bool = False
    """In the web mode always, search while the passages are evaluated: faster, but also sends queries, in the
    question's own words, that are not needed."""


GROUPS = tuple(SettingsGroup.__subclasses__())
"""The groups in the order in which they are defined above, and in which people read them."""


FILE_NAME = "settings.json"
"""Name of the settings file in the data folder."""
ENVIRONMENT_PREFIX = "LOCALCRAG_"
RUN_SETTINGS = (
    "k", "candidates", "scorer", "policy", "relevance_threshold", "retry", "rewriter", "upper", "lower", "strip",
    "refiner", "strip_mode", "window_words", "most_strips", "evidence_tokens", "minimum_retention", "conflict_rule",
    "conflict_judge", "time_budget", "answer_tokens", "temperature", "strictness", "history_turns", "web_results",
    "web_time_range", "web_language", "web_safesearch",
)  # fmt: skip
"""Names of the settings stored with a run so that it can be replayed: they shape answers and are not private."""


class Settings(
    # pydantic collects fields in reverse method resolution order, so the app's fields come first and the web's last.
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
    """All settings. Thresholds that are None come from the preset, on the scorer's scale."""

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
        """Folder where the app keeps uploaded files until they have been added; emptied at start and exit."""
        return self.data_dir.absolute() / "uploads"

    @property
    def web_allowed(self) -> bool:
        """True if questions may go to a search server: one is configured, and the mode is not `never`."""
        return self.searxng_url is not None and self.web is not WebMode.NEVER

    def for_collection(self, web: WebMode | None) -> Settings:
        """Return the settings with a collection's web mode, unless the user set a web mode for all collections."""
        return self if web is None or "web" in self.model_fields_set else self.model_copy(update={"web": web})

    def run_values(self) -> dict[str, Any]:
        """Return the settings that are stored with a run; thresholds left to the preset are None."""
        return self.model_dump(mode="json", include=set(RUN_SETTINGS))

    def thresholds(self, defaults: Thresholds) -> Thresholds:
        """Return the thresholds that apply: those that are set, else the preset's on the scale of `defaults`.

        `defaults` are the scorer's own thresholds; a language model that grades has none, and CRAG's apply. Raises
        SettingsError if lower is above upper.
        """
        if self.scorer is ScorerKind.LLM:
            defaults = presets.uncalibrated_grade_thresholds(defaults)
        defaults = presets.shift_thresholds(presets.PRESETS[self.preset].thresholds, defaults)
        own = {"upper": self.upper, "lower": self.lower, "strip": self.strip}
        chosen = replace(defaults, **{name: value for name, value in own.items() if value is not None})
        if chosen.lower > chosen.upper:
            raise SettingsError(
                f"The threshold lower ({chosen.lower:g}) is above upper ({chosen.upper:g}). Set both or neither."
            )
        return chosen

    def under(self, preset: Preset) -> Settings:
        """Return the settings with the values of `preset`; settings that the user set explicitly stay.

        The exception is a preset that never searches the web: that is a promise, so it overrides the web mode.
        """
        rules = presets.PRESETS[preset]
        changes: dict[str, Any] = {"preset": preset}
        for name in ("policy", "k", "retry", "web_results", "web"):
            value = getattr(rules, name)
            if value is not None and (name not in self.model_fields_set or value is WebMode.NEVER):
                changes[name] = value
        return self.model_copy(update=changes)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        # The file is in the data folder, so the folder must be known first: from an argument or the environment.
        data_dir = init_settings().get("data_dir") or env_settings().get("data_dir")
        folder = Path(data_dir) if data_dir else default_data_dir()
        return init_settings, env_settings, JsonConfigSettingsSource(settings_cls, json_file=folder / FILE_NAME)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a number: `least` and `most` are inclusive, `above` is exclusive; None means no limit."""

    least: float | None
    above: float | None
    most: float | None

    @classmethod
    def of(cls, field: FieldInfo) -> Limits:
        """Return the limits of a setting."""
        limits = {
            name: getattr(one, name) for one in field.metadata for name in ("ge", "gt", "le") if hasattr(one, name)
        }
        return cls(limits.get("ge"), limits.get("gt"), limits.get("le"))

    def hold(self, number: float) -> bool:
        """Return whether a number is within the limits; NaN never is."""
        limits = ((self.least, operator.ge), (self.above, operator.gt), (self.most, operator.le))
        return not isnan(number) and all(limit is None or fits(number, limit) for limit, fits in limits)

    def __str__(self) -> str:
        """Return the limits in words: "between 0 and 1"."""
        if self.least is not None and self.most is not None:
            return f"between {self.least} and {self.most}"
        text = [f"{self.least} or more"] if self.least is not None else []
        text += [f"above {self.above}"] if self.above is not None else []
        text += [f"at most {self.most}"] if self.most is not None else []
        return " and ".join(text)


def parse_number(name: str, text: str) -> float:
    """Return a numeric setting's value from its text. Raises ValueError with the rule that the value violates."""
    field = Settings.model_fields[name]
    number: float | None = None
    with suppress(ValueError):
        number = whole_number(text) if int in _kinds(field) else float(text)
    if number is None or not Limits.of(field).hold(number):
        raise ValueError(value_rule(name))
    return number


def value_rule(name: str) -> str:
    """Return the rule for a setting's value ("must be between 0 and 1"); empty if it is neither number nor choice."""
    field = Settings.model_fields.get(name)
    kinds = _kinds(field) if field else ()
    if field is None or not kinds:
        return ""
    if bool in kinds:
        return "must be on or off"
    if choices := next(([*kind] for kind in kinds if issubclass(kind, StrEnum)), []):
        return f"must be {', '.join(choices[:-1])} or {choices[-1]}"
    limits = str(Limits.of(field))
    if int in kinds:
        return f"must be a whole number {limits}".rstrip()
    return f"must be {limits or 'a number'}" if float in kinds else ""


def _kinds(field: FieldInfo) -> tuple[type, ...]:
    """Return the types that a setting may have, without None."""
    union_members = get_args(field.annotation) if not isinstance(field.annotation, type) else ()
    kinds = [kind for kind in (field.annotation, *union_members) if isinstance(kind, type)]
    return tuple(kind for kind in kinds if kind is not type(None))


def load(**overrides: Any) -> Settings:
    """Return the current settings; `overrides` that are None are ignored. Raises SettingsError."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        raise SettingsError(_explain(error)) from error
    except (TypeError, ValueError) as error:  # The file is not UTF-8, not JSON, or JSON but not an object.
        raise SettingsError(
            f"The settings file ({FILE_NAME} in the data folder) is not a JSON object: {error}. "
            "Correct it, or remove it to return to the defaults."
        ) from error


def with_changes(settings: Settings, **changes: Any) -> Settings:
    """Return the validated settings with `changes`, unsaved. None counts as a value. Raises SettingsError."""
    try:
        # Leave out unset settings, so that they stay unset and a preset can still choose them.
        return Settings(**{**settings.model_dump(exclude_unset=True), **changes})
    except ValidationError as error:
        raise SettingsError(_explain(error)) from error


def save(settings: Settings, **changes: Any) -> Settings:
    """Write `changes` to the data folder's settings file, keeping its other entries, and return the new settings.

    A change to None removes the entry, so that the default applies again. Raises SettingsError.
    """
    path = settings.data_dir / FILE_NAME
    # Start from the file and not from `settings`, which may contain values from the environment or arguments.
    stored = dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}
    stored = {name: value for name, value in {**stored, **changes}.items() if value is not None}
    removed = {name for name, value in changes.items() if value is None}
    # Validate before writing; removed settings are checked with their defaults.
    defaults = {name: Settings.model_fields[name].get_default() for name in removed}
    result = with_changes(settings, **{**changes, **defaults})
    try:
        write_private(path, json.dumps(stored, indent=2, default=str))
    except OSError as error:
        raise SettingsError(
            f"The settings could not be written to {path}: {error.strerror}. Check that the folder is writable and "
            "the disk not full."
        ) from error
    # Removed settings count as unset again, so that a preset can choose them.
    kept = {name: value for name, value in result.model_dump(exclude_unset=True).items() if name not in removed}
    return Settings(**kept)


def _explain(error: ValidationError) -> str:
    lines = []
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            near = get_close_matches(name, Settings.model_fields, n=1)
            lines.append(f"{name}: unknown setting" + (f"; did you mean {near[0]}?" if near else ""))
            continue
        # For an entry of a list (web_categories.0), value_rule knows no rule, so pydantic's message is used.
        what = "" if problem["type"] == "value_error" else value_rule(name)
        what = what or problem["msg"].removeprefix("Value error, ").replace("Input should", "must")
        given = f" (given: {problem['input']!r})" if name else ""
        lines.append(f"{name} {what}{given}".strip())
    return "; ".join(lines) + ". Correct it, or remove it to use the default."


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting in the table. `choices` are its named values, if it has any; `unit` is empty if it has none."""

    group: str
    name: str
    variable: str
    default: str
    choices: tuple[str, ...]
    unit: str
    description: str


def table() -> tuple[SettingRow, ...]:
    """Return one row per setting, group by group; the result is the same on every machine."""
    return tuple(
        SettingRow(
            group=(group.__doc__ or "").removesuffix("."),
            name=name,
            variable=f"{ENVIRONMENT_PREFIX}{name.upper()}",
            default=_default(field),
            choices=_choices(field),
            unit=next((one.name for one in field.metadata if isinstance(one, Unit)), ""),
            description=" ".join((field.description or "").split()),
        )
        for group in GROUPS
        for name, field in group.model_fields.items()
    )


def _default(field: FieldInfo) -> str:
    shown = next((one.text for one in field.metadata if isinstance(one, ShownDefault)), None)
    if shown is not None:
        return shown
    value = field.get_default()
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def _choices(field: FieldInfo) -> tuple[str, ...]:
    kind = field.annotation
    return tuple(kind) if isinstance(kind, type) and issubclass(kind, StrEnum) else ()
