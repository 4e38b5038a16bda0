"""Configurations to evaluate: plain RAG, localcrag, what lies between, policies, sweeps of a setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from localcrag.records.enums import Policy, WebMode
from localcrag.records.errors import EvaluationError, SettingsError
from localcrag.settings import OF_A_RUN, Settings, changed
from localcrag.steps.context import EVERY_STEP, Steps

PLAIN, FULL = "plain RAG", "localcrag"
MOST_STEPS = 50
"""Of one sweep; each asks every question again."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """`changes` are settings that differ from those in use, `steps` what runs of the flow."""

    name: str
    steps: Steps = EVERY_STEP
    changes: dict[str, Any] = field(default_factory=dict)

    def settings(self, base: Settings) -> Settings:
        """Return the settings to ask under. Raises SettingsError."""
        return changed(base, **self.changes)


def plain_rag() -> Configuration:
    """Return plain RAG: the same retrieval and language model, every retrieved passage whole, nothing checked."""
    none = Steps(evaluate=False, refine=False, verify=False)
    return Configuration(PLAIN, none, {"retry": False, "web": WebMode.NEVER})


def ablations() -> tuple[Configuration, ...]:
    """Return plain RAG, then one configuration for each step added; the last is all of localcrag."""
    off = {"retry": False, "web": WebMode.NEVER}
    return (
        plain_rag(),
        Configuration("+ evaluation", Steps(refine=False, verify=False), off),
        Configuration("+ refinement", Steps(verify=False), off),
        Configuration("+ retry", Steps(verify=False), {"web": WebMode.NEVER}),
        Configuration("+ web", Steps(verify=False)),
        Configuration("+ verify = localcrag"),
    )


def policies() -> tuple[Configuration, ...]:
    """Return localcrag under each policy."""
    return tuple(Configuration(f"policy {policy}", changes={"policy": policy}) for policy in Policy)


def sweep(text: str) -> tuple[Configuration, ...]:
    """Return localcrag under each value that `text` names: "upper=0.5:0.9:0.1" (the end included) or "k=4,6,8".

    Raises EvaluationError for what is no such text or no setting that shapes an answer.
    """
    name, found, values = text.partition("=")
    name = name.strip()
    if not found or not values.strip():
        raise EvaluationError(f"“{text}” is no sweep. Write one like upper=0.5:0.9:0.1, or k=4,6,8.")
    if name not in OF_A_RUN:
        raise EvaluationError(
            f"“{name}” is no setting that can be swept. These are: {', '.join(OF_A_RUN)}. Others shape documents or "
            "models: evaluate under each value, and compare the two with --compare."
        )
    steps = _range(text, values) if ":" in values else [value.strip() for value in values.split(",")]
    return tuple(Configuration(f"{name}={value}", changes={name: value}) for value in steps)


def check(configurations: Sequence[Configuration], base: Settings) -> None:
    """Raise EvaluationError, with the reason, for invalid settings or a configuration given twice."""
    names = [configuration.name for configuration in configurations]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise EvaluationError(f"Named twice: {', '.join(twice)}. Name each configuration once.")
    for configuration in configurations:
        try:
            configuration.settings(base)
        except SettingsError as error:
            raise EvaluationError(f"“{configuration.name}” cannot be asked under: {error}") from error


def _range(text: str, values: str) -> list[str]:
    try:
        # Decimals: 0.5 + 4 * 0.1 is to be 0.9, and is to be written so.
        first, last, step = (Decimal(part.strip()) for part in values.split(":"))
        number = int((last - first) / step) + 1 if step > 0 and last >= first else 0
    except (InvalidOperation, ValueError, OverflowError) as error:
        raise EvaluationError(f"“{text}” is no sweep: write FIRST:LAST:STEP with three numbers.") from error
    if not 1 <= number <= MOST_STEPS:
        raise EvaluationError(
            f"“{text}” has no steps or more than {MOST_STEPS}: FIRST must not be above LAST, and STEP above 0."
        )
    return [format(first + place * step, "f") for place in range(number)]
