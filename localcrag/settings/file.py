"""Settings in force, with changes, and written to settings.json in the data folder."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from localcrag.privacy.private_folder import write_private
from localcrag.records.errors import SettingsError
from localcrag.settings.limits import must_be
from localcrag.settings.settings import FILE_NAME, Settings


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
        write_private(path, json.dumps(stored, indent=2, default=str))
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
        if problem["type"] == "extra_forbidden":
            near = get_close_matches(name, Settings.model_fields, n=1)
            lines.append(f"{name}: there is no such setting" + (f"; the nearest is {near[0]}" if near else ""))
            continue
        # Of a list (web_categories.0), pydantic's own words say which entry is wrong.
        what = "" if problem["type"] == "value_error" else must_be(name)
        what = what or problem["msg"].removeprefix("Value error, ").replace("Input should", "must")
        given = f" (given: {problem['input']!r})" if name else ""
        lines.append(f"{name} {what}{given}".strip())
    return "Not a valid setting. " + "; ".join(lines) + ". Correct it, or remove it to use the default."
