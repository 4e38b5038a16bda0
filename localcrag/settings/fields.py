"""The fields of the settings, in groups: type, limits, default, unit, description.

A group is a record of its own; settings.py joins them. The names are those of the environment (LOCALCRAG_<NAME>) and of
settings.json. A group's docstring is its heading in the table of settings (table.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import platformdirs
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

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
from localcrag.text import never_terms, translation

ENGLISH_EMBEDDER = "all-minilm-l6-v2"
"""The embedder at first, made for English."""
DEFAULT_COLLECTION = "default"
"""Is there from the first start, empty; any other collection is made by adding documents to it."""
PACKAGE = Path(__file__).resolve().parents[1]
IN_CHECKOUT = (PACKAGE.parent / "models" / "models.toml").is_file()
"""False where localcrag was installed from a wheel, which carries the manifest and our own models in itself."""
REPOSITORY_MODELS = (PACKAGE.parent if IN_CHECKOUT else PACKAGE) / "models"


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a setting's value, for the table."""

    name: str


@dataclass(frozen=True, slots=True)
class ShownDefault:
    """What the table shows as the default of a setting whose default depends on the machine, or is decided later."""

    text: str


def default_data_dir() -> Path:
    """Return the folder that data lies in where none is chosen."""
    return Path(platformdirs.user_data_dir("localcrag", appauthor=False))


def default_models_dir() -> Path:
    """Return the folder that models lie in where none is chosen: what is installed may be replaced by an update."""
    return REPOSITORY_MODELS if IN_CHECKOUT else default_data_dir() / "models"


def _findable(term: str) -> str:
    if not never_terms.is_term(term):
        raise ValueError("a term needs at least two letters or digits to be found by")
    return term


def _available(language: str) -> str:
    if language not in translation.LANGUAGES:
        raise ValueError(f"is not a language that there is a catalogue of ({', '.join(translation.LANGUAGES)})")
    return language


Seconds = Annotated[float, Unit("seconds")]
Hours = Annotated[int, Unit("hours")]
Tokens = Annotated[int, Unit("tokens")]
Words = Annotated[int, Unit("words")]
Share = Annotated[float, Field(ge=0, le=1), Unit("share, 0 to 1")]
Probability = Annotated[float | None, Field(ge=0, le=1), Unit("probability, 0 to 1"), ShownDefault("the preset's")]
Language = Annotated[str, AfterValidator(_available)]
NeverTerm = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200), AfterValidator(_findable)]
Category = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[^,\x00-\x1f]{1,50}$")]


class Group(BaseModel):
    """A group of settings."""

    model_config = ConfigDict(frozen=True)


class AppSettings(Group):
    """The app."""

    data_dir: Annotated[Path, ShownDefault("the user's data folder")] = Field(
        default_factory=default_data_dir, description="Where documents, answers and settings are kept."
    )
    models_dir: Annotated[
        Path, ShownDefault("`models/` of the repository; without one, `models/` of the user's data folder")
    ] = Field(default_factory=default_models_dir, description="Where models are kept.")
    collection: str = Field(
        DEFAULT_COLLECTION, min_length=1, max_length=100, description="Collection that is asked and added to."
    )
    language: Language = Field(
        translation.ENGLISH, description="Language of the page, and of what answers say of themselves."
    )
    debug: bool = Field(
        False,
        description="Print unexpected errors in full; their messages may hold words of documents and questions.",
    )


class ModelSettings(Group):
    """Models."""

    embedder: str = Field(ENGLISH_EMBEDDER, description="Embedder: a name, or a path.")
    relevance: str = Field(
        "relevance-v3",
        description="Relevance model, also called reranker: a name, a path, or a server's: "
        "http://HOST:PORT/rerank#MODEL.",
    )
    relevance_format: NumberFormat = Field(
        NumberFormat.AUTO,
        description="Number format of the relevance model; auto: the fastest that keeps the ranking.",
    )
    llm: str = Field(
        "smollm2-135m-answerer", description="Language model: a name, a path, or a server's: http://HOST:PORT/v1#MODEL."
    )
    agreed_servers: tuple[str, ...] = Field(
        (),
        description="Model servers on other computers, HOST:PORT, that questions and parts of documents may go to.",
    )
    threads: int = Field(0, ge=0, le=1024, description="Threads that models compute with; 0: one per core.")
    context_tokens: Tokens = Field(
        4096, ge=512, description="The language model's context, prompt and answer together; memory grows with it."
    )
    idle_minutes: float = Field(10, ge=0, description="Minutes after which unused models are put away; 0: never.")


class RetrievalSettings(Group):
    """Indexing and retrieval."""

    chunk_tokens: Tokens = Field(180, ge=32, le=1000, description="Length of a chunk.")
    read_scans: bool = Field(
        True, description="Recognise the text of pages that are pictures (OCR), in the background."
    )
    workers: Annotated[int, ShownDefault("0: by the number of cores")] = Field(
        0, ge=0, le=64, description="Processes that read files, and pages of scans, at once while documents are added."
    )
    k: Annotated[int, Unit("passages")] = Field(6, ge=1, le=50, description="Passages kept for a question.")
    reranked: Annotated[int, Unit("passages")] = Field(
        10,
        ge=1,
        le=200,
        description="Passages that are scored at most: k, and the others where none of these is CORRECT.",
    )
    candidates: Annotated[int, Unit("passages")] = Field(
        30, ge=1, le=500, description="Results taken from each index before they are fused."
    )
    index_engine: IndexEngine = Field(
        IndexEngine.AUTO,
        description="Library that searches vectors; auto: hnswlib up to 100,000 different vectors in a collection, "
        "usearch beyond, and wherever hnswlib is not installed.",
    )


class EvaluationSettings(Group):
    """Evaluation of what was retrieved."""

    scorer: ScorerKind = Field(
        ScorerKind.CROSS_ENCODER,
        # Measured with the embedded model: AUC 0.59 instead of 0.85, and fifty times the time (docs/measurements.md).
        description="What grades the passages; llm: the language model, one passage at a time; needs a good one.",
    )
    preset: Preset = Field(
        Preset.GENERAL,
        description="Preset of collections that have none of their own; what is set by itself stays.",
    )
    policy: Policy = Field(Policy.MAX, description="Rule from the passages' relevances to the action.")
    relevance_threshold: Share = Field(0.6, description="Share of relevant passages that the policy ratio asks for.")
    retry: bool = Field(True, description="Look once more, in other words, when the first passages are not enough.")
    rewriter: Rewriter = Field(
        Rewriter.AUTO,
        # The embedded model's were accepted for 15 of 140 questions, and took a third of the time (docs/evaluation.md).
        description="What rewrites follow-ups, second looks and web queries; auto: the language model, if it is one "
        "that can.",
    )
    upper: Probability = Field(None, description="Relevance from which a passage is correct.")
    lower: Probability = Field(None, description="Relevance below which a passage is incorrect.")
    strip: Probability = Field(None, description="Relevance from which a strip is kept.")


class RefinementSettings(Group):
    """Refinement: what becomes evidence."""

    refiner: RefinerKind = Field(
        RefinerKind.STRIPS, description="What picks the evidence; llm: the language model, which only a good one can."
    )
    strip_mode: StripMode = Field(StripMode.SENTENCE, description="How a passage is cut into strips.")
    window_words: Words = Field(40, ge=5, le=500, description="Length of a strip in the strip mode window.")
    most_strips: Annotated[int, Unit("strips")] = Field(
        10, ge=1, le=200, description="Strips kept at most, beside the best one of each passage."
    )
    evidence_tokens: Tokens = Field(
        800, ge=50, le=100_000, description="Kept strips together at most, beside the best one of each passage."
    )
    minimum_retention: Share = Field(
        0.3, description="Share of a passage's strips for which the threshold strip is lowered."
    )


class ConflictSettings(Group):
    """Conflicts between documents and web."""

    conflict_rule: ConflictRule = Field(
        ConflictRule.SHOW_BOTH, description="Which side counts where documents and web contradict each other."
    )
    conflict_judge: ConflictJudge = Field(
        ConflictJudge.FACTS,
        description="What finds conflicts: facts (numbers, dates, names); llm, which takes a good one; both.",
    )


class AnswerSettings(Group):
    """The answer."""

    time_budget: Seconds = Field(
        0.0,
        ge=0,
        description="Time for a question on a slow machine: what there is no time for is left out, and the run says "
        "so; 0: no limit.",
    )
    answer_tokens: Tokens = Field(320, ge=16, le=4096, description="Length of an answer at most.")
    temperature: float = Field(
        0.0,
        ge=0,
        le=2,
        description="Randomness of answers; 0: always the most likely word, so that the same question gets the same "
        "answer.",
    )
    strictness: Strictness = Field(
        Strictness.BALANCED,
        description="Sentences shown; strict: only those backed in full; balanced: partly backed ones too, marked; "
        "lenient: all, marked.",
    )
    history_turns: Annotated[int, Unit("turns")] = Field(
        3, ge=0, le=20, description="Earlier turns that a follow-up is read with."
    )


class WebSettings(Group):
    """Web search."""

    web: WebMode = Field(
        WebMode.ASK,
        description="Web mode of collections that have none of their own; set by itself, it holds for all.",
    )
    searxng_url: Annotated[str | None, ShownDefault("none: no web search")] = Field(
        None, description="Address of your SearXNG."
    )
    searxng_allow_public: bool = Field(False, description="Allow an endpoint that is neither loopback nor private.")
    search_timeout: Seconds = Field(5.0, gt=0, le=120, description="How long a search may take.")
    web_results: Annotated[int, Unit("results")] = Field(5, ge=1, le=20, description="Results used of a search.")
    web_time_range: TimeRange = Field(
        TimeRange.NONE, description="How old a result may be, for engines that know ages; none: of any age."
    )
    web_language: Annotated[str, ShownDefault("SearXNG's own")] = Field(
        "", pattern=r"^(|auto|[a-z]{2,3}(-[a-zA-Z]{2})?)$", description="Language of results: en, de-CH, all, auto."
    )
    web_categories: Annotated[tuple[Category, ...], ShownDefault("SearXNG's own")] = Field(
        (), description="List of categories as SearXNG names them; it ignores unknown ones."
    )
    web_safesearch: Annotated[int | None, ShownDefault("SearXNG's own")] = Field(
        None, ge=0, le=2, description="0: off, 1: moderate, 2: strict."
    )
    web_never_terms: Annotated[tuple[NeverTerm, ...], ShownDefault("none")] = Field(
        (), description="List of terms that are never sent, in any writing, within any word."
    )
    web_per_minute: Annotated[int, Unit("queries per minute")] = Field(
        60, ge=1, le=600, description="Queries that may leave within any 60 seconds; one more waits, visibly."
    )
    web_cache_hours: Hours = Field(
        24, ge=0, le=8760, description="How long a search's results are used again; 0: none are kept."
    )
    web_speculative: bool = Field(
        False,
        description="In the mode always, search beside evaluation: faster, but queries leave, with the question's own "
        "words, that were not needed.",
    )


GROUPS: tuple[type[Group], ...] = (
    AppSettings,
    ModelSettings,
    RetrievalSettings,
    EvaluationSettings,
    RefinementSettings,
    ConflictSettings,
    AnswerSettings,
    WebSettings,
)
"""In the order in which they are read."""
