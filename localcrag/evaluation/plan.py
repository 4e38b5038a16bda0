"""The plan of an evaluation: configurations to compare, and the questions of sets or pins to ask.

A configuration is plain RAG, localcrag, a step between them, a policy, or a value in the sweep of a setting. A plan and
its configurations identify an evaluation, so that it can be resumed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from localcrag import __version__
from localcrag.crag.context import EVERY_STEP, Steps
from localcrag.evaluation import results
from localcrag.evaluation.results import About, Evaluation, SetUsed
from localcrag.records.enums import Policy, WebMode
from localcrag.records.errors import EvaluationError, SettingsError
from localcrag.records.evaluation_set import EvaluationSet, Question, documents_key
from localcrag.records.thresholds import FittedCalibration
from localcrag.settings import ENGLISH_EMBEDDER, RUN_SETTINGS, Settings, with_changes
from localcrag.text.lexicon import ENGLISH, LEXICONS
from localcrag.text.words import detect_question_language

PLAIN, FULL = "plain RAG", "localcrag"
MOST_STEPS = 50
"""Maximum number of values in a sweep; each value asks every question again."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration: `changes` are settings that differ from the active ones, `steps` the flow's steps to run."""

    name: str
    steps: Steps = EVERY_STEP
    changes: dict[str, Any] = field(default_factory=dict)

    def settings(self, base: Settings) -> Settings:
        """Return the settings of this configuration. Raises SettingsError."""
        return with_changes(base, **self.changes)


_ONE_SEARCH = {"retry": False, "web": WebMode.NEVER}
"""Changes that leave only the first search of the documents."""


def plain_rag() -> Configuration:
    """Return plain RAG: the same retrieval and language model, but passages are used whole and nothing is checked."""
    return Configuration(PLAIN, Steps(evaluate=False, refine=False, verify=False), _ONE_SEARCH)


def ablations() -> tuple[Configuration, ...]:
    """Return plain RAG, and a configuration for each step added to it; the last one is all of localcrag."""
    return (
        plain_rag(),
        Configuration("+ evaluation", Steps(refine=False, verify=False), _ONE_SEARCH),
        Configuration("+ refinement", Steps(verify=False), _ONE_SEARCH),
        Configuration("+ retry", Steps(verify=False), {"web": WebMode.NEVER}),
        Configuration("+ web", Steps(verify=False)),
        Configuration("+ verify = localcrag"),
    )


def policies() -> tuple[Configuration, ...]:
    """Return a configuration of localcrag for each policy."""
    return tuple(Configuration(f"policy {policy}", changes={"policy": policy}) for policy in Policy)


def sweep(text: str) -> tuple[Configuration, ...]:
    """Return a configuration for each value in `text`: "upper=0.5:0.9:0.1" (including the end) or "k=4,6,8".

    Raises EvaluationError if the text is not a sweep, or names no setting that shapes an answer.
    """
    name, found, values = text.partition("=")
    name = name.strip()
    if not found or not values.strip():
        raise EvaluationError(f"“{text}” is not a sweep. Write it like upper=0.5:0.9:0.1 or k=4,6,8.")
    if name not in RUN_SETTINGS:
        raise EvaluationError(
            f"“{name}” cannot be varied in a sweep. You can vary: {', '.join(RUN_SETTINGS)}. Others shape documents or "
            "models: evaluate with each value, and compare the two with --compare."
        )
    steps = _range(text, values) if ":" in values else [value.strip() for value in values.split(",")]
    return tuple(Configuration(f"{name}={value}", changes={name: value}) for value in steps)


def check(configurations: Sequence[Configuration], base: Settings) -> None:
    """Raise EvaluationError, with the reason, if settings are invalid or a configuration is given twice."""
    names = [configuration.name for configuration in configurations]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise EvaluationError(f"Named twice: {', '.join(twice)}. Name each configuration once.")
    for configuration in configurations:
        try:
            configuration.settings(base)
        except SettingsError as error:
            raise EvaluationError(f"The configuration “{configuration.name}” cannot be used: {error}") from error


def _range(text: str, values: str) -> list[str]:
    try:
        # Decimals keep the values exact, and are formatted like the text: 0.5, 0.6, 0.7.
        first, last, step = (Decimal(part.strip()) for part in values.split(":"))
        number = int((last - first) / step) + 1 if step > 0 and last >= first else 0
    except (InvalidOperation, ValueError, OverflowError) as error:
        raise EvaluationError(f"“{text}” is not a sweep. Write FIRST:LAST:STEP with three numbers.") from error
    if not 1 <= number <= MOST_STEPS:
        raise EvaluationError(
            f"“{text}” has no steps or more than {MOST_STEPS}: FIRST must not be above LAST, and STEP above 0."
        )
    return [format(first + place * step, "f") for place in range(number)]


PINNED = "pinned"
PACKAGE = Path(__file__).resolve().parent.parent
NOT_ENGLISH = (
    "Most questions do not look English, which the models in use were made for: these figures say how they do with "
    "this language, not how localcrag can. `localcrag models use multilingual` chooses those for other languages."
)
UNKNOWN_LANGUAGE = (
    "Most questions are in a language whose words localcrag does not know: answers and sentences are compared as they "
    "are written, without stems and negations."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPlan:
    """The questions of an evaluation; `collections` maps a question's id to the collection that it is asked about."""

    name: str
    questions: tuple[Question, ...]
    collections: dict[str, str]
    sets: tuple[SetUsed, ...] = ()

    def drawn(self, number: int) -> EvaluationPlan:
        """Return a plan with `number` of the questions, always the same ones, in their order, and those they follow."""
        # The order of hashes is practically random, but always the same.
        by_chance = sorted(self.questions, key=lambda question: hashlib.sha256(question.id.encode()).digest())
        chosen = {question.id for question in by_chance[:number]}
        for question in reversed(self.questions):  # A follow-up comes after the question that it follows.
            if question.id in chosen and question.follows:
                chosen.add(question.follows)
        return dataclasses.replace(self, questions=tuple(one for one in self.questions if one.id in chosen))


def collection_for_set(evaluation_set: EvaluationSet, settings: Settings) -> str:
    """Return the name of the collection for a set's documents, chunked and embedded under these settings."""
    key = documents_key(evaluation_set.digest, embedder=settings.embedder, chunk_tokens=settings.chunk_tokens)
    return f"{evaluation_set.name[:80]}-{key}"


def plan_for_sets(sets: Sequence[EvaluationSet], settings: Settings) -> EvaluationPlan:
    """Return the plan for all questions of the sets. Raises EvaluationError.

    With several sets, the ids of questions begin with the set's name.
    """
    names = [one.name for one in sets]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise EvaluationError(f"Two sets have the same name: {', '.join(twice)}. Rename a folder.")
    questions, collections = [], {}
    for one in sets:
        for question in one.questions:
            prefix = "" if len(sets) == 1 else f"{one.name}/"
            name, follows = f"{prefix}{question.id}", f"{prefix}{question.follows}" if question.follows else ""
            questions.append(dataclasses.replace(question, id=name, follows=follows))
            collections[name] = collection_for_set(one, settings)
    used = tuple(SetUsed(one.name, one.digest, len(one.questions), len(one.files)) for one in sets)
    return EvaluationPlan(name="+".join(names)[:60], questions=tuple(questions), collections=collections, sets=used)


def plan_for_pins(questions: Sequence[Question], collection: str) -> EvaluationPlan:
    """Return the plan for a collection's pinned questions. Raises EvaluationError if there are none."""
    if not questions:
        raise EvaluationError(
            f"No question of the collection “{collection}” is pinned. Pin one in the app or with `localcrag pins add`."
        )
    return EvaluationPlan(
        name=PINNED, questions=tuple(questions), collections={one.id: collection for one in questions}
    )


def open_evaluation(
    plan: EvaluationPlan,
    configurations: Sequence[Configuration],
    settings: Settings,
    folder: Path,
    *,
    calibration: FittedCalibration,
    again: bool,
) -> tuple[Evaluation, Path]:
    """Return a plan's evaluation, new or resumed with its runs so far, and its own folder within `folder`.

    The folder's name contains a digest of all inputs, so that the same evaluation is found again. `again` discards an
    existing one. Raises EvaluationError.
    """
    made_of: dict[str, Any] = {
        "configurations": {
            one.name: {"changes": one.changes, "steps": dataclasses.asdict(one.steps)} for one in configurations
        },
        "models": {
            "embedder": settings.embedder,
            "relevance": settings.relevance,
            "calibration": _describe_calibration(calibration),
            "llm": settings.llm,
        },
        "settings": settings.run_values() | {"preset": settings.preset, "chunk_tokens": settings.chunk_tokens},
    }
    key = [made_of, [dataclasses.asdict(one) for one in plan.sets], [dataclasses.asdict(one) for one in plan.questions]]
    digest = hashlib.sha256(json.dumps(key, default=str, sort_keys=True).encode()).hexdigest()
    name = "".join(character if character.isalnum() or character in "-+._" else "-" for character in plan.name)
    own = folder / f"{name}-{digest[:8]}"
    if (own / results.ABOUT).exists() and not again:
        return results.read(own), own
    warning = language_warning(plan.questions, settings.embedder)
    about = About(
        id=own.name,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        code=code_digest(),
        sets=plan.sets,
        warnings=(warning,) if warning else (),
        # Use the same form as when the file is read back: without enums.
        **json.loads(json.dumps(made_of, default=str)),
    )
    evaluation = Evaluation(about, plan.questions)
    results.begin(own, evaluation)
    return evaluation, own


def language_warning(questions: Sequence[Question], embedder: str) -> str | None:
    """Return a warning if most questions are in a language that the models or the rules were not made for."""
    languages = [detect_question_language(question.question, ENGLISH) for question in questions]
    if embedder == ENGLISH_EMBEDDER:
        return NOT_ENGLISH if 2 * languages.count(ENGLISH) < len(languages) else None
    known = sum(one in (ENGLISH, *LEXICONS) for one in languages)
    return UNKNOWN_LANGUAGE if 2 * known < len(languages) else None


def code_digest() -> str:
    """Return the (shortened) SHA-256 of localcrag's source files, to tell whether the pipeline has changed."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _describe_calibration(calibration: FittedCalibration) -> str:
    """Return a calibration's thresholds, and a digest that differs between calibrations with equal thresholds."""
    chosen = calibration.thresholds
    digest = hashlib.sha256(repr(calibration).encode()).hexdigest()[:8]
    return f"upper {chosen.upper:g}, lower {chosen.lower:g}, strip {chosen.strip:g} ({digest})"
