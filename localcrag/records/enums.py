"""Enums of the choices and verdicts in the flow; their values are stored and printed."""

from __future__ import annotations

from enum import StrEnum


class Action(StrEnum):
    """The action that the retrieved passages call for (CRAG, arXiv 2401.15884, section 4.3)."""

    CORRECT = "CORRECT"
    AMBIGUOUS = "AMBIGUOUS"
    INCORRECT = "INCORRECT"


class Grade(StrEnum):
    """A passage's relevance compared with the two thresholds."""

    CORRECT = "correct"
    AMBIGUOUS = "ambiguous"
    INCORRECT = "incorrect"


class Origin(StrEnum):
    LOCAL = "local"
    WEB = "web"


class Policy(StrEnum):
    """The rule that turns the passages' relevances into an action."""

    MAX = "max"
    FRACTION = "fraction"
    RATIO = "ratio"
    COUNT = "count"


class Preset(StrEnum):
    """A named set of policy, thresholds, k and web use (records/thresholds.py)."""

    GENERAL = "general"
    MEDICAL = "medical"
    LEGAL = "legal"
    NEWS = "news"
    FAST = "fast"
    STRICT = "strict"
    BALANCED = "balanced"
    LENIENT = "lenient"
    DOCUMENTS_ONLY = "documents-only"


class ScorerKind(StrEnum):
    """The model that grades passages; strips are always scored by the cross-encoder."""

    CROSS_ENCODER = "cross-encoder"
    LLM = "llm"


class RefinerKind(StrEnum):
    """How strips are chosen as evidence: by their relevance, or by the language model's key points."""

    STRIPS = "strips"
    LLM = "llm"


class Skill(StrEnum):
    """A task that not every language model is good enough for; all answer from evidence that is graded CORRECT.

    FOLLOW_UPS: rewrite a follow-up as a question that stands alone. OTHER_WORDS: rephrase a question for the second
    search. QUERIES: turn a question into a web query. AMBIGUOUS: answer if no passage is CORRECT. ALONE: answer without
    showing the documents' best sentences along with it.
    """

    FOLLOW_UPS = "follow-ups"
    OTHER_WORDS = "other-words"
    QUERIES = "queries"
    AMBIGUOUS = "ambiguous"
    ALONE = "alone"


class Rewriter(StrEnum):
    """The method of rewriting questions. AUTO uses the language model for the skills in its manifest entry."""

    AUTO = "auto"
    LLM = "llm"
    RULES = "rules"


class StripMode(StrEnum):
    """How a passage is cut into strips (crag/refine)."""

    SENTENCE = "sentence"
    MULTI_SENTENCE = "multi-sentence"
    PARAGRAPH = "paragraph"
    WINDOW = "window"
    ADAPTIVE = "adaptive"


class StripReason(StrEnum):
    """The reason why a strip was kept or dropped (crag/refine, crag/screen)."""

    KEPT = "kept"
    BEST = "best of its passage"
    RETENTION = "minimum per passage"
    KEY_POINT = "has a key point"
    CONTEXT = "goes with a kept sentence"
    BELOW = "below the threshold"
    OVER_CAP = "above the limit"
    OVER_TOKENS = "above the token limit"
    DUPLICATE = "duplicate"
    NO_KEY_POINT = "has no key point"
    WHOLE = "whole passage kept"
    INSTRUCTION = "reads like an instruction to the model"
    HIDDEN = "hidden from readers"
    PUT_IN = "added by you"
    TAKEN_OUT = "removed by you"
    COMPUTED = "a row used in the computation"
    NOT_COMPUTED = "a row not used in the computation"
    NAMED = "the place that the question names"
    HAS_WORDS = "contains the words searched for"
    CENTRAL = "represents its section"
    NOT_CENTRAL = "not in the summary"


class Operation(StrEnum):
    """An operation that is computed on a table (tables/)."""

    COUNT = "number of rows"
    SUM = "total"
    AVERAGE = "average"
    MAXIMUM = "highest value"
    MINIMUM = "lowest value"
    FILTER = "rows that match"
    VALUES = "values of a column"
    DIFFERENCE = "difference"
    SHARE = "share"


class NumberFormat(StrEnum):
    """The relevance model's number format. AUTO is the fastest one on this machine that keeps the ranking."""

    AUTO = "auto"
    INT8 = "int8"
    BF16 = "bf16"
    FP32 = "fp32"


class IndexEngine(StrEnum):
    """The library that searches vectors. AUTO is hnswlib up to a certain collection size, and usearch beyond."""

    AUTO = "auto"
    HNSWLIB = "hnswlib"
    USEARCH = "usearch"


class WebMode(StrEnum):
    """Whether questions may go to the configured SearXNG. With ASK, the user sees the exact query first."""

    NEVER = "never"
    ASK = "ask"
    ALWAYS = "always"


class Backing(StrEnum):
    """How far evidence backs a sentence of the answer, best first."""

    SUPPORTED = "supported"
    PARTLY = "partly"
    NOT = "not"


class Strictness(StrEnum):
    """Which sentences of an answer are shown; those that are not fully backed are always marked."""

    STRICT = "strict"
    BALANCED = "balanced"
    LENIENT = "lenient"


class TimeRange(StrEnum):
    """The maximum age of a web result; NONE means any age."""

    NONE = "none"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


class NotAsked(StrEnum):
    """The reason why a web query was not sent although the documents were not enough."""

    DECLINED = "declined"
    UNANSWERED = "unanswered"
    NO_ONE_TO_ASK = "nobody to ask"
    FORBIDDEN_TERM = "forbidden term"
    NO_TIME = "no time"


class ConflictRule(StrEnum):
    """Which side wins if documents and web contradict each other."""

    DOCUMENTS = "documents"
    WEB = "web"
    NEWER = "newer"
    MORE_RELEVANT = "more-relevant"
    SHOW_BOTH = "show-both"


class ConflictJudge(StrEnum):
    """The method of finding contradictions. BOTH compares facts, then asks the language model about the open cases."""

    FACTS = "facts"
    LLM = "llm"
    BOTH = "both"


class IngestStatus(StrEnum):
    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    UNPACKED = "unpacked"
    FAILED = "failed"
