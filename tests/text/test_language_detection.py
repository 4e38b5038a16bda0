"""Which language a text or a question is in."""

from __future__ import annotations

import dataclasses
from contextlib import closing
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.health import unsupported_languages_note
from localcrag.evaluation.plan import NOT_ENGLISH, UNKNOWN_LANGUAGE, language_warning
from localcrag.interfaces.page import renderers
from localcrag.records.documents import Document
from localcrag.records.evaluation_set import AnswerLocation, Question
from localcrag.settings import ENGLISH_EMBEDDER, load
from localcrag.text.words import OTHER_LANGUAGE, detect_question_language, detect_text_language, question_language
from tests.support.other_languages import LEASES


@pytest.mark.parametrize("language", LEASES)
def test_a_text_is_told_by_its_most_frequent_words_or_its_script(language: str) -> None:
    assert detect_text_language(LEASES[language]) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        pytest.param("The deposit is held in an account of its own until you leave the flat.", "en", id="English"),
        pytest.param(
            "Umowa najmu zostaje zawarta na czas nieoznaczony od dnia pierwszego maja. Wynajmujący oddaje lokal w "
            "stanie dobrym, a najemca zobowiązuje się płacić czynsz z góry każdego miesiąca. Kaucja wynosi "
            "trzykrotność czynszu oraz podlega zwrotowi po opróżnieniu mieszkania, jeżeli żadne szkody nie powstały "
            "podczas trwania najmu.",
            OTHER_LANGUAGE, id="Polish",
        ),
        pytest.param("يدفع المستأجر الإيجار في اليوم الأول من كل شهر.", OTHER_LANGUAGE, id="Arabic"),
        pytest.param("| Oslo | 195 | 62 |\n| Gdynia | 95 | 36 |", None, id="a table"),
        pytest.param("", None, id="nothing"),
    ],
)  # fmt: skip
def test_other_texts_are_english_of_another_language_or_not_told(text: str, language: str | None) -> None:
    assert detect_text_language(text) == language


@pytest.mark.parametrize(
    ("question", "usual", "language"),
    [
        pytest.param("Wie hoch ist die Kaution?", "en", "de", id="German, over English documents"),
        pytest.param("Und in Bergen?", "en", "de", id="a short one"),
        pytest.param("How much is the deposit?", "de", "en", id="English, over German documents"),
        pytest.param("Kaution Lessingstraße", "de", "de", id="no frequent word"),
        pytest.param("Kaution Lessingstraße", "en", "en", id="no frequent word, over English documents"),
        pytest.param("¿Cuánto cuesta la fianza?", "en", "es", id="Spanish"),
        pytest.param("Quand faut-il payer le loyer ?", "en", "fr", id="French"),
        pytest.param("Quanto è alta la cauzione?", "en", "it", id="Italian"),
        pytest.param("Quando o inquilino deve pagar a renda?", "en", "pt", id="Portuguese"),
        pytest.param("Залог возвращают?", "en", "ru", id="Russian, no frequent word"),
        pytest.param("押金是多少？", "en", "zh", id="Chinese"),
        pytest.param("敷金はいくらですか？", "en", "ja", id="Japanese"),
    ],
)
def test_a_question_is_in_the_language_of_the_documents_unless_its_words_say_another(
    question: str, usual: str, language: str
) -> None:
    assert detect_question_language(question, usual) == language


def test_the_usual_language_is_that_of_most_documents_among_those_whose_words_are_known() -> None:
    assert question_language("42?", {"de": 2, "en": 1, OTHER_LANGUAGE: 3}) == "de"
    assert question_language("42?", {OTHER_LANGUAGE: 1}) == question_language("42?", {}) == "en"


def test_documents_in_a_language_without_words_here_are_named_in_the_list_and_by_doctor() -> None:
    one = Document(1, "a.txt", "", "text/plain", None, 1, 1, "2026-01-02T03:04:05+00:00")
    known = [dataclasses.replace(one, language=language) for language in ("en", "de", "", None)]
    foreign = [dataclasses.replace(one, language=language) for language in ("zh", OTHER_LANGUAGE, "zh")]
    assert "whose words localcrag does not know" not in renderers.documents(known, "attic", [])
    assert unsupported_languages_note(known) == ""
    assert "3 documents are in languages that localcrag has no word list for" in renderers.documents(
        foreign, "attic", []
    )
    assert "(Chinese 2, others 1)" in unsupported_languages_note([*known, *foreign])


@pytest.mark.parametrize(
    ("languages", "embedder", "foreign"),
    [
        (["de", "de", "en"], "all-minilm-l6-v2", True),
        (["de", "en"], "all-minilm-l6-v2", False),
        (["zh", None, "", None], "all-minilm-l6-v2", True),
        ([None, "", None], "all-minilm-l6-v2", False),
        ([], "all-minilm-l6-v2", False),
        (["de", "de", "en"], "multilingual-e5-small", False),
    ],
)
def test_models_for_other_languages_are_offered_where_most_documents_are_not_in_english(
    languages: list[str | None], embedder: str, *, foreign: bool, tmp_path: Path
) -> None:
    one = Document(1, "a.txt", "", "text/plain", None, 1, 1, "2026-01-02T03:04:05+00:00")
    documents = [dataclasses.replace(one, language=language) for language in languages]
    with closing(Assembly(load(data_dir=tmp_path, embedder=embedder))) as assembly:
        assert assembly.collections.mostly_foreign(documents) is foreign
    shown = renderers.documents(documents, "attic", [], foreign=foreign)
    assert ("Use models for other languages" in shown) is foreign


@pytest.mark.parametrize(
    ("asked", "embedder", "said"),
    [
        ("Wie hoch ist die Kaution?", ENGLISH_EMBEDDER, NOT_ENGLISH),
        ("How high is the deposit?", ENGLISH_EMBEDDER, None),
        ("Wie hoch ist die Kaution?", "multilingual-e5-small", None),
        ("押金是多少？", "multilingual-e5-small", UNKNOWN_LANGUAGE),
    ],
)
def test_figures_of_a_language_that_models_or_rules_do_not_know_are_warned_of(
    asked: str, embedder: str, said: str | None
) -> None:
    texts = (asked, "What is it?")
    questions = [Question(id=text, question=text, held_by=AnswerLocation.DOCUMENTS) for text in texts]
    assert language_warning(questions[:1], embedder) == said
    assert language_warning(questions, embedder) is None, "half of them is not most"
