"""Which language a text or a question is in."""

from __future__ import annotations

import pytest

from localcrag.text.language_of import OTHER, language_of, language_of_question, usual_of
from tests.support.other_languages import LEASES


@pytest.mark.parametrize("language", LEASES)
def test_a_text_is_told_by_its_most_frequent_words_or_its_script(language: str) -> None:
    assert language_of(LEASES[language]) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        pytest.param("The deposit is held in an account of its own until you leave the flat.", "en", id="English"),
        pytest.param(
            "Umowa najmu zostaje zawarta na czas nieoznaczony od dnia pierwszego maja. Wynajmujący oddaje lokal w "
            "stanie dobrym, a najemca zobowiązuje się płacić czynsz z góry każdego miesiąca. Kaucja wynosi "
            "trzykrotność czynszu oraz podlega zwrotowi po opróżnieniu mieszkania, jeżeli żadne szkody nie powstały "
            "podczas trwania najmu.",
            OTHER, id="Polish",
        ),
        pytest.param("يدفع المستأجر الإيجار في اليوم الأول من كل شهر.", OTHER, id="Arabic"),
        pytest.param("| Oslo | 195 | 62 |\n| Gdynia | 95 | 36 |", None, id="a table"),
        pytest.param("", None, id="nothing"),
    ],
)  # fmt: skip
def test_other_texts_are_english_of_another_language_or_not_told(text: str, language: str | None) -> None:
    assert language_of(text) == language


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
    assert language_of_question(question, usual) == language


def test_the_usual_language_is_that_of_most_documents_among_those_whose_words_are_known() -> None:
    assert usual_of(["de", "en", "de", OTHER, OTHER, OTHER]) == "de"
    assert usual_of([OTHER]) == usual_of([]) == "en"
