"""What the rules make of questions, answers and documents in other languages than English."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from localcrag.crag import condense
from localcrag.crag.answer.verify import verify
from localcrag.crag.condense import FollowUpStatus, follow_up_status
from localcrag.crag.contradiction import difference
from localcrag.records.enums import Backing, Strictness
from localcrag.records.passages import Evidence
from localcrag.records.run import Turn
from localcrag.text.lexicon import (
    GERMAN,
    LEXICONS,
    SPANISH,
    Lexicon,
    comparing_in_language,
    current_lexicon,
    run_in_language,
)
from localcrag.text.words import content_words, names, overlap
from tests.support.other_languages import LEASES

SUPPORTED, PARTLY, NOT = Backing


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        pytest.param("de", "Wie hoch sind die Kautionen für zwölf Häuser?", {"hoch", "kaution", "12", "haus"}, id="de"),
        pytest.param("es", "¿Cuánto se paga por doce casas?", {"pag", "12", "cas"}, id="es"),
        pytest.param("fr", "Combien coûte l'appartement pour douze mois ?", {"coût", "appart", "12", "mois"}, id="fr"),
        pytest.param("pt", "Quanto paga o inquilino por duas casas?", {"pag", "inquilin", "2", "cas"}, id="pt"),
        pytest.param("it", "Quanto paga l'inquilino per dodici case?", {"pag", "inquilin", "12", "cas"}, id="it"),
        pytest.param("ru", "Сколько стоят двенадцать ключей?", {"сто", "12", "ключ"}, id="ru"),
        pytest.param("de", "1.200 Euro oder 3,50 Euro", {"1200", "3.50", "euro"}, id="de: numbers"),
        pytest.param("zh", "押金是多少", {"押金", "金是", "是多", "多少"}, id="zh: pairs"),
        pytest.param("en", "型号KX-40", {"型号", "kx", "40"}, id="en: pairs beside a name"),
    ],
)  # fmt: skip
def test_words_are_compared_by_their_stems_without_function_words(language: str, text: str, words: set[str]) -> None:
    with comparing_in_language(language):
        assert content_words(text) == words


def test_a_question_shares_words_with_a_text_that_has_them_in_another_form() -> None:
    question = "Welche Reparatur bezahlen Mieter?"
    assert overlap(question, LEASES["de"]) < 1
    with comparing_in_language("de"):
        assert overlap(question, LEASES["de"]) == 1


def test_german_nouns_are_no_names() -> None:
    with comparing_in_language("de"):
        assert names("Der Vermieter nahm die Heizung KX-40 von BMW.") == {"kx-40", "bmw"}
    with comparing_in_language("es"):
        assert names("¿Vive María en Ávila?") == {"mar", "avil"}


LEANS = {
    "de": [
        ("Und in Bergen?", FollowUpStatus.FOLLOW_UP), ("Wie hoch ist sie?", FollowUpStatus.FOLLOW_UP),
        ("Warum?", FollowUpStatus.FOLLOW_UP),
        ("Wie hoch ist die Kaution für die Wohnung?", FollowUpStatus.ALONE),
        ("Was ist eine Kaution?", FollowUpStatus.ALONE),
        ("Können Sie mir sagen, wann die Miete zu zahlen ist?", FollowUpStatus.ALONE),
        ("Gibt es einen Keller im Haus?", FollowUpStatus.ALONE),
        ("Wann muss der Mieter die Wohnung verlassen, wenn er kündigt?", FollowUpStatus.ALONE),
        ("Und wer zahlt dafür?", FollowUpStatus.FOLLOW_UP),
    ],
    "es": [
        ("¿Y en Bergen?", FollowUpStatus.FOLLOW_UP), ("¿Cuánto cuesta?", FollowUpStatus.FOLLOW_UP),
        ("¿Cuánto cuesta la fianza del piso?", FollowUpStatus.ALONE), ("¿Quién paga eso?", FollowUpStatus.FOLLOW_UP),
        ("¿Qué es una fianza?", FollowUpStatus.ALONE),
    ],
    "fr": [
        ("Et à Bergen ?", FollowUpStatus.FOLLOW_UP), ("Combien coûte-t-il ?", FollowUpStatus.FOLLOW_UP),
        ("Quand le locataire paie-t-il le loyer ?", FollowUpStatus.ALONE),
        ("Y a-t-il une cave dans la maison ?", FollowUpStatus.ALONE),
    ],
    "pt": [
        ("E em Bergen?", FollowUpStatus.FOLLOW_UP), ("Quem paga isso?", FollowUpStatus.FOLLOW_UP),
        ("Quanto custa a caução do apartamento?", FollowUpStatus.ALONE),
    ],
    "it": [
        ("E a Bergen?", FollowUpStatus.FOLLOW_UP), ("Chi paga questo?", FollowUpStatus.FOLLOW_UP),
        ("Quanto costa la cauzione per gli appartamenti?", FollowUpStatus.ALONE),
    ],
    "ru": [
        ("А в Бергене?", FollowUpStatus.FOLLOW_UP), ("Кто её платит?", FollowUpStatus.FOLLOW_UP),
        ("Сколько составляет залог за квартиру?", FollowUpStatus.ALONE),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "question", "expected"),
    [(language, *asked) for language, some in LEANS.items() for asked in some],
)
def test_a_follow_up_is_told_by_its_words(language: str, question: str, expected: FollowUpStatus) -> None:
    with comparing_in_language(language):
        assert follow_up_status(question) is expected


@pytest.mark.parametrize(
    ("language", "before", "question"),
    [
        pytest.param("de", "Wie hoch ist die Miete in Oslo?", "Und in Bergen?", id="de"),
        pytest.param("es", "¿Cuánto cuesta el alquiler en Oslo?", "¿Y en Bergen?", id="es"),
        pytest.param("fr", "Combien coûte le loyer à Oslo ?", "Et à Bergen ?", id="fr"),
        pytest.param("it", "Quanto costa l'affitto a Oslo?", "E a Bergen?", id="it"),
        pytest.param("pt", "Quanto custa a renda em Oslo?", "E em Bergen?", id="pt"),
    ],
)
def test_a_new_name_takes_the_place_of_the_former_one(language: str, before: str, question: str) -> None:
    with comparing_in_language(language):
        assert condense.rewrite_by_rule(question, [Turn(before, "640.")]) == before.replace("Oslo", "Bergen")


@pytest.mark.parametrize(
    ("language", "sentence", "evidence", "question", "backing"),
    [
        pytest.param(
            "de", "Haustiere sind erlaubt.", "Haustiere sind in der Wohnung nicht erlaubt.", "Gilt das für Hunde?",
            PARTLY, id="de: the evidence denies it",
        ),
        pytest.param(
            "de", "Haustiere sind nicht erlaubt.", "Haustiere sind in der Wohnung erlaubt.", "Gilt das für Hunde?", NOT,
            id="de: it denies the evidence",
        ),
        pytest.param(
            "de", "Die Kaution wird in zwölf Raten bezahlt.", "Kautionen werden in 12 Raten bezahlt.",
            "Was gilt für den Einzug?", SUPPORTED, id="de: other forms, a number in words",
        ),
        pytest.param(
            "de", "Die Kaution beträgt 900 Euro.", "Die Kaution beträgt 640 Euro.", "Was ist zu hinterlegen?", NOT,
            id="de: another number",
        ),
        pytest.param(
            "es", "Los perros no están permitidos.", "Los perros están permitidos en el piso.", "¿Y los animales?",
            NOT, id="es: it denies the evidence",
        ),
        pytest.param(
            "fr", "Les chiens ne sont pas autorisés.", "Les chiens sont autorisés dans l'appartement.",
            "Que dit le bail des animaux ?", NOT, id="fr: it denies the evidence",
        ),
        pytest.param(
            "pt", "Os cães não são permitidos.", "Os cães são permitidos no apartamento.", "E os animais?", NOT,
            id="pt: it denies the evidence",
        ),
        pytest.param(
            "it", "I cani non sono ammessi.", "I cani sono ammessi nell'appartamento.", "E gli animali?",
            NOT, id="it: it denies the evidence",
        ),
        pytest.param(
            "ru", "Собак держать нельзя.", "Собак держать можно в квартире.", "Что с животными?", NOT,
            id="ru: it denies the evidence",
        ),
    ],
)  # fmt: skip
def test_an_answer_is_held_against_its_evidence(
    language: str, sentence: str, evidence: str, question: str, backing: Backing
) -> None:
    with comparing_in_language(language):
        (support,) = verify(sentence, [Evidence(1, evidence, "p", "s", 1.0)], question, Strictness.LENIENT)
    assert support.backing is backing, support.why


@pytest.mark.parametrize(
    ("first", "second", "differ"),
    [
        pytest.param(
            "Hunde sind in der Wohnung erlaubt.", "Hunde sind in der Wohnung nicht erlaubt.", True, id="denied"
        ),
        pytest.param(
            "Hunde sind in der Wohnung erlaubt.", "Hunde sind in der Wohnung erlaubt, wenn sie klein sind.", False,
            id="a condition",
        ),
        pytest.param("Er darf in der Wohnung rauchen.", "Er darf in der Wohnung nicht rauchen.", False, id="a pronoun"),
    ],
)  # fmt: skip
def test_german_statements_contradict_each_other_by_a_denial(first: str, second: str, differ: bool) -> None:
    with comparing_in_language("de"):
        assert bool(difference(first, second)) is differ


def test_a_language_is_read_within_its_own_steps_alone() -> None:
    def steps() -> Generator[Lexicon | None, None, Lexicon | None]:
        yield current_lexicon()
        return current_lexicon()

    german, spanish = run_in_language("de", steps()), run_in_language("es", steps())
    assert (next(german), next(spanish), current_lexicon()) == (GERMAN, SPANISH, None)
    with pytest.raises(StopIteration) as end:
        next(german)
    assert end.value.value is GERMAN
    spanish.close()


@pytest.mark.parametrize("known", LEXICONS.values(), ids=LEXICONS)
def test_every_list_of_a_language_can_be_used(known: Lexicon) -> None:
    assert known.values[known.numbers.split()[10]] == "12"
    assert len(known.function_words) > 150
    for pattern in (known.pronoun_pattern, known.denies, known.limits, known.another, known.definition_pattern):
        assert not pattern.search("xyz")
