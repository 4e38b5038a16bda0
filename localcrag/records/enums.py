"""The choices and verdicts of the vocabulary, as enums; their values are what is stored and printed."""

from __future__ import annotations

from enum import StrEnum


class Action(StrEnum):
    """What a question's retrieval calls for (CRAG, arXiv 2401.15884, section 4.3)."""

    CORRECT = "CORRECT"
    AMBIGUOUS = "AMBIGUOUS"
    INCORRECT = "INCORRECT"


class Grade(StrEnum):
    """One passage's relevance against the two thresholds."""

    CORRECT = "correct"
    AMBIGUOUS = "ambiguous"
    INCORRECT = "incorrect"


class Origin(StrEnum):
    LOCAL = "local"
    WEB = "web"


class Policy(StrEnum):
    """The rule from relevances to an action."""

    MAX = "max"
    FRACTION = "fraction"
    RATIO = "ratio"
    COUNT = "count"


class Preset(StrEnum):
    """A named set of policy, thresholds, k and web use (presets.py)."""

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
    """What grades the passages; strips are the cross-encoder's in any case."""

    CROSS_ENCODER = "cross-encoder"
    LLM = "llm"


class RefinerKind(StrEnum):
    """What picks the strips that become evidence: their relevance, or the language model's key points."""

    STRIPS = "strips"
    LLM = "llm"


class Skill(StrEnum):
    """What a language model may be good enough for, beside answering from evidence that is sure to answer.

    FOLLOW_UPS: to put a follow-up so that it stands alone. OTHER_WORDS: to put a question in other words for a second
    look. QUERIES: to make a web query of it. AMBIGUOUS: to be asked where no passage is CORRECT. ALONE: to have its
    answers shown without the best sentences beside them.
    """

    FOLLOW_UPS = "follow-ups"
    OTHER_WORDS = "other-words"
    QUERIES = "queries"
    AMBIGUOUS = "ambiguous"
    ALONE = "alone"


class Rewriter(StrEnum):
    """What puts a question in other words. AUTO: the language model, for what its manifest entry says that it can."""

    AUTO = "auto"
    LLM = "llm"
    RULES = "rules"


class StripMode(StrEnum):
    """How a passage is cut into strips (strips.py)."""

    SENTENCE = "sentence"
    MULTI_SENTENCE = "multi-sentence"
    PARAGRAPH = "paragraph"
    WINDOW = "window"
    ADAPTIVE = "adaptive"


class StripReason(StrEnum):
    """Why a strip was kept or dropped (refine.py, completeness.py, prompt_injection.py, manual_selection.py)."""

    KEPT = "kept"
    BEST = "best of its passage"
    RETENTION = "minimum retention"
    KEY_POINT = "carries a key point"
    CONTEXT = "belongs to what was kept"
    BELOW = "below the threshold"
    OVER_CAP = "over the cap"
    OVER_TOKENS = "over the token cap"
    DUPLICATE = "duplicate"
    NO_KEY_POINT = "carries no key point"
    WHOLE = "passage taken whole"
    INSTRUCTION = "reads like an instruction to the model"
    HIDDEN = "hidden from readers"
    PUT_IN = "put in by you"
    TAKEN_OUT = "taken out by you"
    COMPUTED = "a row that was computed with"
    NOT_COMPUTED = "not a row that was computed with"
    HAS_WORDS = "has the words that were looked for"
    CENTRAL = "stands for the rest of its section"
    NOT_CENTRAL = "not in the summary"


class Operation(StrEnum):
    """What is computed on a table (steps/compute/)."""

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
    """What the relevance model computes in. AUTO is the fastest on this machine that keeps the ranking."""

    AUTO = "auto"
    INT8 = "int8"
    BF16 = "bf16"
    FP32 = "fp32"


class IndexEngine(StrEnum):
    """What searches vectors. AUTO is hnswlib for collections up to a size, usearch beyond."""

    AUTO = "auto"
    HNSWLIB = "hnswlib"
    USEARCH = "usearch"


class WebMode(StrEnum):
    """Whether a question may be put to the configured SearXNG. ASK: a person sees the exact query first."""

    NEVER = "never"
    ASK = "ask"
    ALWAYS = "always"


class Backing(StrEnum):
    """How far evidence backs a sentence of the answer, best first."""

    SUPPORTED = "supported"
    PARTLY = "partly"
    NOT = "not"


class Strictness(StrEnum):
    """Which sentences of an answer are shown; those that are not backed in full are marked in any case."""

    STRICT = "strict"
    BALANCED = "balanced"
    LENIENT = "lenient"


class TimeRange(StrEnum):
    """How old a web result may be; NONE: as old as it likes."""

    NONE = "none"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


class NotAsked(StrEnum):
    """Why a query did not leave although the documents were not enough."""

    DECLINED = "declined"
    UNANSWERED = "unanswered"
    NOBODY_TO_ASK = "nobody to ask"
    FORBIDDEN_TERM = "forbidden term"
    NO_TIME = "no time"


class ConflictRule(StrEnum):
    """Which side counts where documents and web contradict each other."""

    DOCUMENTS = "documents"
    WEB = "web"
    NEWER = "newer"
    MORE_RELEVANT = "more-relevant"
    SHOW_BOTH = "show-both"


class ConflictJudge(StrEnum):
    """What finds such contradictions. BOTH: the facts first, then the language model on what they leave open."""

    FACTS = "facts"
    LLM = "llm"
    BOTH = "both"


class IngestStatus(StrEnum):
    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    UNPACKED = "unpacked"
    FAILED = "failed"
