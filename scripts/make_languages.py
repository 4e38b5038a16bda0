"""Update the translation catalogues from the code: add new texts, remove old ones, and compile the .mo files.

    python scripts/make_languages.py

Then translate the new texts in `localcrag/text/languages/*/LC_MESSAGES/localcrag.po`, and run the script again. It ends
with status 1 while a text has no translation. It needs Babel, which the test environment contains.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from itertools import chain
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from localcrag.models.manifest import Manifest
from localcrag.privacy.egress_log import Kind
from localcrag.records.enums import Grade, IngestStatus, Preset, StripMode, StripReason
from localcrag.runs.labels import VERDICTS, LabelKind
from localcrag.runs.threshold_explorer import ExclusionReason
from localcrag.settings import REPOSITORY_MODELS
from localcrag.text.translation import ENGLISH, FOLDER, LANGUAGES

PACKAGE = Path(__file__).resolve().parent.parent / "localcrag"
METHODS = [("**.py", "python"), ("**/templates/**.html", "jinja2")]
KEYWORDS = {
    "_": None, "gettext": None, "ngettext": (1, 2), "gettext_noop": None,
    # Calls whose first argument is shown to the user: timed steps, kinds of planted instructions, audience of a preset.
    "clock": (1,), "rule": (1,), "PresetRules": (1,),
}  # fmt: skip
SHOWN_BY_NAME = (Grade, IngestStatus, Kind, LabelKind, ExclusionReason, Preset, StripMode, StripReason)
_NOT_KEPT = re.compile(r'^"(?:POT-|PO-|Report-|Last-|Language-Team|Generated-|Project-).*\n', re.MULTILINE)
HEADER = "# Made by scripts/make_languages.py; the translations are written by hand."


def extract_texts() -> Catalog:
    """Return a catalogue of every text that the app can show."""
    catalogue = Catalog(project="localcrag", header_comment=HEADER)
    found = extract_from_dir(
        PACKAGE, METHODS, {"**/templates/**.html": {"extensions": "jinja2.ext.i18n", "trimmed": "false"}}, KEYWORDS
    )
    for text in chain((text for _file, _line, text, _comments, _context in found), _names()):
        catalogue.add(text)
    return catalogue


def untranslated(catalogue: Catalog) -> list[str]:
    """Return the texts in a catalogue that have no translation."""
    return [str(message.id) for message in catalogue if message.id and (message.fuzzy or not _whole(message.string))]


def bring_up(language: str, template: Catalog) -> Catalog:
    """Update a language's catalogue to the texts in the code, write it as .po and .mo file, and return it."""
    source = po_path(language)
    catalogue = read(language)
    catalogue.update(template, no_fuzzy_matching=True)
    catalogue.obsolete.clear()
    catalogue.fuzzy = False
    catalogue.header_comment = HEADER
    source.parent.mkdir(parents=True, exist_ok=True)
    written = BytesIO()
    write_po(written, catalogue, no_location=True, sort_output=True, width=120)
    # Without line numbers, dates and addresses, a catalogue changes only if a text changes.
    source.write_text(_NOT_KEPT.sub("", written.getvalue().decode()), "utf-8")
    source.with_suffix(".mo").write_bytes(compiled(catalogue))
    return catalogue


def po_path(language: str) -> Path:
    """Return the path of a language's .po file; the .mo file that the app reads is next to it."""
    return FOLDER / language / "LC_MESSAGES" / "localcrag.po"


def read(language: str) -> Catalog:
    """Read a language's .po file; return an empty catalogue if there is no file."""
    source = po_path(language)
    if not source.exists():
        return Catalog(locale=language, project="localcrag")
    with source.open("rb") as file:
        return read_po(file, locale=language)


def compiled(catalogue: Catalog) -> bytes:
    """Return the content of the .mo file that the app reads."""
    made = BytesIO()
    # A fixed date, so that the same catalogue always gives the same bytes.
    catalogue.creation_date = catalogue.revision_date = datetime(2026, 1, 1, tzinfo=UTC)
    write_mo(made, catalogue)
    return made.getvalue()


def _names() -> Iterator[str]:
    for kind in SHOWN_BY_NAME:
        yield from (member.value for member in kind)
    for words in VERDICTS.values():
        yield from words
    manifest = Manifest.load(REPOSITORY_MODELS)
    for model in manifest.entries:
        yield model.description
    for one in manifest.sets:
        yield from (one.title, one.description)


def _whole(translation: str | tuple[str, ...] | list[str] | None) -> bool:
    return all([translation] if isinstance(translation, str) else translation or [""])


def main() -> int:
    """Update all catalogues, and print how many translations are missing."""
    template = extract_texts()
    missing = 0
    for language in LANGUAGES:
        if language == ENGLISH:
            continue
        left = untranslated(bring_up(language, template))
        print(f"{language}: {len(template)} texts, {len(left)} without a translation")
        missing += len(left)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
