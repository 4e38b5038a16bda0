"""The catalogues of translations: as the code says it, whole, with every value in its place, and read by the app."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from make_languages import compiled, extract_texts, po_path, read, untranslated

from localcrag.crag.answer.quotations import empty_collection_answer
from localcrag.settings import load
from localcrag.text import translation

OTHERS = [language for language in translation.LANGUAGES if language != translation.ENGLISH]
VALUE = re.compile(r"%\(\w+\)[.\d]*[a-z]|%%|\{\w+\}")


@pytest.fixture
def spoken() -> Iterator[None]:
    yield
    translation.choose(translation.ENGLISH)


@pytest.fixture(scope="module")
def said() -> set[object]:
    return {message.id for message in extract_texts() if message.id}


@pytest.mark.parametrize("language", OTHERS)
def test_a_catalogue_has_the_texts_of_the_code_and_a_translation_for_each(language: str, said: set[object]) -> None:
    catalogue = read(language)
    there = {message.id if isinstance(message.id, str) else tuple(message.id) for message in catalogue if message.id}
    assert there == said, "run scripts/make_languages.py"
    assert untranslated(catalogue) == []


@pytest.mark.parametrize("language", OTHERS)
def test_every_translation_has_the_values_of_its_text(language: str) -> None:
    catalogue = read(language)
    for message in (message for message in catalogue if message.id):
        forms = [message.string] if isinstance(message.string, str) else message.string or ()
        last = message.id if isinstance(message.id, str) else message.id[-1]
        for form in forms:
            assert sorted(VALUE.findall(form)) == sorted(VALUE.findall(last)), last


@pytest.mark.parametrize("language", OTHERS)
def test_what_the_app_reads_is_what_is_written(language: str) -> None:
    made = compiled(read(language))
    assert po_path(language).with_suffix(".mo").read_bytes() == made, "run scripts/make_languages.py"


def test_what_an_answer_says_of_itself_is_in_the_language_chosen(spoken: None) -> None:
    settings = load()
    translation.choose("de")
    assert empty_collection_answer(settings).startswith("In der Sammlung „default“ ist nichts")
    translation.choose(translation.ENGLISH)
    assert empty_collection_answer(settings).startswith("There is nothing in the collection “default”")


def test_a_number_chooses_the_form(spoken: None) -> None:
    translation.choose("de")
    one, two = (translation.ngettext("%(num)s page", "%(num)s pages", number) for number in (1, 2))
    assert (one, two) == ("1 Seite", "2 Seiten")
