"""The frozen records of the project's vocabulary (docs/architecture.md); no behaviour beyond small derived values.

Offsets are in characters, end exclusive. Relevances are calibrated probabilities in 0..1, logits the scorer's raw
output. Pages count from 1; `None` where the kind of file has no pages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from localcrag.texts import gettext as _
from localcrag.titles import in_context


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
    """Why a strip was kept or dropped (refine.py, planted.py, forced.py)."""

    KEPT = "kept"
    BEST = "best of its passage"
    RETENTION = "minimum retention"
    KEY_POINT = "carries a key point"
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


class NumberFormat(StrEnum):
    """What the relevance model computes in. AUTO is the fastest on this machine that keeps the ranking."""

    AUTO = "auto"
    INT8 = "int8"
    BF16 = "bf16"
    FP32 = "fp32"


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
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a document's text; `number` is None for kinds of file without pages.

    `unread`: it shows something that is no text to a reader: a scan, a drawing, lettering without meaning.
    """

    number: int | None
    text: str
    unread: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """A part of a page, in shares (0..1) of its width and height, from the upper left corner."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page as a PNG file of `width` by `height` pixels, and where the texts asked for stand on it."""

    png: bytes
    width: int
    height: int
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a longer text: `text == longer[start:end]`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """An indexed piece of a document; offsets count in the document's text (pages joined by form feeds)."""

    page: int | None
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """One file of a collection, as stored."""

    id: int
    name: str
    sha256: str
    media_type: str
    pages: int | None
    characters: int
    chunks: int
    added_at: str
    dated: str | None = None


@dataclass(frozen=True, slots=True)
class Thresholds:
    """`upper` and `lower` grade passages, `strip` keeps or drops strips; all calibrated probabilities."""

    upper: float
    lower: float
    strip: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk or a web result retrieved for a question. `id` is unique within its run.

    `title` is that of the document or web page, and None in runs that were stored before documents had one; `dated` is
    its day, YYYY-MM-DD, where one is known. `cosine` and `overlap` are those of question and passage `in_context`: of
    their embeddings, and the share of the question's content words that the passage holds (None in runs that were
    stored before there was one).
    """

    id: str
    origin: Origin
    text: str
    document: str | None = None
    page: int | None = None
    start: int | None = None
    end: int | None = None
    url: str | None = None
    title: str | None = None
    dated: str | None = None
    cosine: float
    overlap: float | None = None

    @property
    def in_context(self) -> str:
        """The text as models read it to judge it: with the title in front."""
        return in_context(self.title, self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedPassage(Passage):
    """A passage after evaluation; `reason` is the language model's, where it was what graded."""

    logit: float
    relevance: float
    grade: Grade
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Strip:
    """A sentence or so of a passage (`passage` is its id), scored and kept or dropped; offsets count in the passage.

    `reason` is None in runs that were stored before there was one. `points` are the language model's key points that
    the strip carries, in the model's words.
    """

    passage: str
    start: int
    end: int
    text: str
    logit: float
    relevance: float
    kept: bool
    reason: StripReason | None = None
    points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """Where evidence comes from: a page of a document, or a web page. `dated` is its day, where one is known."""

    id: str
    origin: Origin
    document: str | None
    page: int | None
    url: str | None
    title: str | None
    dated: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Neighbouring kept strips of one passage, numbered as the answer cites them. `source` is a Source's id."""

    n: int
    text: str
    passage: str
    source: str
    relevance: float


@dataclass(frozen=True, slots=True)
class WebResult:
    """One result of a web search, as plain text."""

    title: str
    url: str
    content: str
    published: str | None = None


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """What a search gave, and which engines failed meanwhile (name and reason).

    `cached_at` is the time of the search when the answer was kept from an earlier one, else None.
    """

    results: tuple[WebResult, ...]
    failed_engines: tuple[tuple[str, str], ...] = ()
    cached_at: str | None = None


@dataclass(frozen=True, slots=True)
class WebUse:
    """The web's part in a run: the exact query, its results, or why there are none.

    `query` left, unless `cached_at` (the results are those of that time) or `not_asked` (why it stayed) is set.
    `discarded`: it left before the decision, and what came back was not used.
    """

    used: bool = False
    query: str | None = None
    results: tuple[WebResult, ...] = ()
    error: str | None = None
    cached_at: str | None = None
    not_asked: NotAsked | None = None
    discarded: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier question and its answer."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message for the language model; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class StepCost:
    """What one step of the flow took; tokens are the language model's own."""

    name: str
    seconds: float
    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One look into the documents: what was looked for, and what was decided on all that had been found by then."""

    query: str
    action: Action
    rule: str
    passages: int
    max_relevance: float | None


@dataclass(frozen=True, slots=True)
class Claim:
    """One side of a conflict: a statement of the evidence numbered `n`, and the part of it that `differs`.

    `differs` is empty where the language model found the conflict. `source` is a Source's id, `dated` its day.
    """

    text: str
    differs: str
    n: int
    source: str
    dated: str | None
    relevance: float


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two statements that cannot both be true; `resolution` says in words what was done about it.

    Without a `winner` both sides are in the evidence and in the answer; with one, the other side's piece is in neither.
    """

    local: Claim
    web: Claim
    found_by: ConflictJudge
    resolution: str = ""
    winner: Origin | None = None

    @property
    def loser(self) -> Claim | None:
        """The side that was left out."""
        return {Origin.LOCAL: self.web, Origin.WEB: self.local}[self.winner] if self.winner else None


@dataclass(frozen=True, slots=True)
class Support:
    """How far a sentence of the answer is backed by the evidence it cites; `why` says what it lacks.

    `relevance` is that of the best piece of evidence behind it. `shown` is False for a sentence that was taken out.
    """

    sentence: str
    supported: bool
    citations: tuple[int, ...]
    relevance: float
    backing: Backing
    why: str = ""
    starts_line: bool = False
    shown: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One question with everything that happened to it: what `ask --json` prints and the store keeps.

    `settings` are those it was answered under (settings.OF_A_RUN), `history` the earlier turns it was read with,
    `replays` the id of the run that it repeats, `forced_from` of the one whose sentences a person put in or took out,
    `plain_prompt_tokens` the length of the prompt that plain RAG would
    have sent: every retrieved passage, whole.
    """

    run_id: str
    created_at: str
    collection: str
    question: str
    standalone_question: str
    action: Action | None = None
    preset: Preset = Preset.GENERAL
    policy: Policy = Policy.MAX
    rule: str = ""
    attempts: tuple[Attempt, ...] = ()
    scorer: ScorerKind = ScorerKind.CROSS_ENCODER
    thresholds: Thresholds
    answer: str = ""
    abstained: bool = False
    stopped: bool = False
    sources: tuple[Source, ...] = ()
    passages: tuple[GradedPassage, ...] = ()
    max_relevance: float | None = None
    relevance_ratio: float | None = None
    strips: tuple[Strip, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    web: WebUse = field(default_factory=WebUse)
    conflicts: tuple[Conflict, ...] = ()
    support: tuple[Support, ...] = ()
    steps: tuple[StepCost, ...] = ()
    warnings: tuple[str, ...] = ()
    models: dict[str, str] = field(default_factory=dict)
    # Below: defaults, since runs that were stored before these fields came must stay readable.
    settings: dict[str, bool | int | float | str | None] = field(default_factory=dict)
    history: tuple[Turn, ...] = ()
    replays: str | None = None
    forced_from: str | None = None
    plain_prompt_tokens: int | None = None

    @property
    def graded_by(self) -> str:
        """What graded the passages, in words."""
        if self.scorer is ScorerKind.LLM:
            return _("the language model %(name)s", name=self.models.get("llm", "")).strip()
        return _("the cross-encoder %(name)s", name=self.models.get("relevance", "")).strip()
