"""`localcrag models check`: a short check of a language model, and what it is used for from then on."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from datetime import UTC, datetime

from localcrag.app.loaded_models import LoadedModels
from localcrag.app.model_library import ModelLibrary
from localcrag.cli.command_output import print_result
from localcrag.evaluation import model_check
from localcrag.records.errors import SettingsError
from localcrag.records.models import ModelRole

DONE = 0


def check(arguments: argparse.Namespace, library: ModelLibrary, models: LoadedModels) -> int:
    """Check the model, say part by part how it did, and keep it. Raises ModelError and GenerationError."""
    name = arguments.name
    if library.role(name) is not ModelRole.LLM:
        raise SettingsError(f"{name} is no language model, and no other kind is checked.")
    llm = models.language_model(name)
    says_window = getattr(llm, "says_window", True)
    parts: list[model_check.Part] = []
    sys.stderr.write(f"checking {llm.name}, window of {llm.context_tokens} tokens …\n")
    for part in model_check.check(llm, says_window=says_window):
        parts.append(part)
        wrong = "" if part.passed else f": wrote “{part.wrong}”"
        sys.stderr.write(f"{'ok  ' if part.passed else 'no  '} {part.name} {part.right}/{part.asked}{wrong}\n")
    skills = model_check.skills(parts)
    kept = library.keep_check(llm.name, parts, skills, datetime.now(UTC).date().isoformat())
    used = library.skills(llm.name)
    told = f"{llm.name}: used for {', '.join(sorted(used)) or 'answers alone, with the best sentences beside them'}"
    if not kept:
        told += " (as measured for the list of models; the check changes nothing)"
    result = {
        "name": llm.name, "window": llm.context_tokens, "says_window": says_window,
        "parts": [asdict(part) for part in parts], "skills": sorted(used),
    }  # fmt: skip
    print_result(result, arguments, told)
    return DONE
