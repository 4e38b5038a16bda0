"""Answers that are whole, through the flow: the sources' own lists and rows, and what the model adds to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcrag.crag.answer.generate import SYSTEM, WHOLE_SYSTEM
from localcrag.interfaces.page.run_panel import panel
from localcrag.records.documents import Chunk
from localcrag.records.enums import Action, Skill
from localcrag.records.events import Generated, RunStarted
from localcrag.records.run import Run
from localcrag.runs import recording
from tests.support.desk import Desk
from tests.support.fakes import FakeEmbedder, FakeLanguageModel

SMALL, LARGE = frozenset(Skill) - {Skill.ALONE, Skill.AMBIGUOUS}, frozenset(Skill)
STEPS = "## Filter\n\nTo clean the filter:\n\n1. Switch it off.\n2. Open the lid.\n3. Rinse the sieve.\n4. Close it."
SHOWN = (
    "**Filter**\n\n“To clean the filter:”\n\n1. Switch it off.\n2. Open the lid.\n3. Rinse the sieve.\n4. Close it. [1]"
)
HOW = "How do I clean the filter?"
TABLE = "| Room | Fee |\n|---|---|\n| Single | 80 euros |\n| Double | 110 euros |"
IN_WORDS = "In the words of the sources:\n\n"


def asked(
    folder: Path, question: str, text: str, *written: str, skills: frozenset[Skill] = SMALL, **settings: object
) -> tuple[Run, Desk]:
    desk = Desk(folder, text, retry=False, **settings)
    desk.skills, desk.llm = skills, FakeLanguageModel(*written)
    events, run = desk.ask(question)
    assert isinstance(events[0], RunStarted)
    folded = events[0].run
    for event in events[:-1]:
        folded = recording.apply(folded, event)
    assert folded == run
    assert recording.read(recording.dump(run)) == run
    assert any(isinstance(event, Generated) for event in events) is bool(desk.llm.prompts)
    return run, desk


def test_a_procedure_is_shown_whole_without_asking_a_small_model(tmp_path: Path) -> None:
    run, desk = asked(tmp_path, HOW, STEPS, "Switch it off [1].")
    assert run.action is Action.CORRECT
    assert desk.llm.prompts == []
    assert run.answer == IN_WORDS + SHOWN
    assert not run.abstained
    assert run.support == ()
    assert "the language model was not used" in panel(run)


LONG = (
    "The hall has a hotel limit for guests from London. " + "Guests of the hall sign the hotel book at the desk. " * 5
    + "The hotel limit in London is 195 euros. " + "The hall keeps the hotel book for guests of the house. " * 5
)  # fmt: skip


def test_a_long_quotation_stands_below_the_line_that_answers(tmp_path: Path) -> None:
    run, _ = asked(tmp_path, "How high is the hotel limit in London?", LONG, "Guests sign the hotel book [1].")
    first, _, below = run.answer.partition(f"\n\n{IN_WORDS}")
    assert first.startswith("“The hotel limit in London is 195 euros.” [1]")
    assert len(first.split()) < 40
    assert "Guests of the hall sign the hotel book" in below


def test_a_sentence_of_another_line_than_the_best_is_not_shown(tmp_path: Path) -> None:
    text = "The hotel limit in London is 195 euros.\n\nThe hotel limit in Bergen is 165 euros."
    run, _ = asked(tmp_path, "What is the hotel limit in London?", text, "The hotel limit in Bergen is 165 euros [1].")
    assert not run.answer.startswith("The hotel limit in Bergen")
    assert "195 euros" in run.answer


def test_a_list_that_is_asked_for_is_shown_whole(tmp_path: Path) -> None:
    text = "For the permit you need these papers:\n\n- a passport\n- two photos\n- the form"
    run, desk = asked(tmp_path, "Which papers are needed for the permit?", text)
    assert desk.llm.prompts == []
    assert (
        run.answer == f"{IN_WORDS}“For the permit you need these papers:”\n\n- a passport\n- two photos\n- the form [1]"
    )


def test_a_sentence_of_a_small_model_stands_above_the_row_that_it_is_of(tmp_path: Path) -> None:
    text = f"## Fees\n\n{TABLE}\n\nBreakfast is extra and is paid at the desk each morning, in cash or by card."
    run, desk = asked(tmp_path, "What is the fee of a single room?", text, "A single room has a fee of 80 euros [1].")
    assert len(desk.llm.prompts) == 1
    assert run.answer.startswith("A single room has a fee of 80 euros [1].")
    assert "\n| Single | 80 euros |\n" in run.answer


def test_a_sentence_that_says_less_than_the_list_is_not_shown(tmp_path: Path) -> None:
    question = "Who has to clean the filter, and when is it to be rinsed?"
    text = "Guests have to clean the filter:\n\n- rinse it daily\n- dry it well\n- put it back"
    run, desk = asked(tmp_path, question, text, "Guests have to clean the filter and rinse it daily [1].")
    assert len(desk.llm.prompts) == 1
    assert run.answer.startswith(IN_WORDS)
    assert "- dry it well" in run.answer


def test_yes_or_no_is_left_to_the_model_and_the_list_stands_below(tmp_path: Path) -> None:
    text = "Guests may bring a dog:\n\n- on a lead\n- outside of the pool\n- in the garden"
    run, desk = asked(tmp_path, "May guests bring a dog?", text, "Yes, guests may bring a dog on a lead [1].")
    assert len(desk.llm.prompts) == 1
    assert run.answer.startswith("Yes, guests may bring a dog on a lead [1].")
    assert "- outside of the pool" in run.answer


def test_what_a_small_model_is_not_backed_in_full_for_is_left_out(tmp_path: Path) -> None:
    run, _ = asked(
        tmp_path, "What is the hotel limit in London?", "The hotel limit in London is 195 euros.",
        "Hotels in London are limited to 195 euros, generously [1].",
    )  # fmt: skip
    assert run.answer == f"{IN_WORDS}“The hotel limit in London is 195 euros.” [1]"
    assert [support.shown for support in run.support] == [False]


def test_a_list_that_a_large_model_leaves_a_step_out_of_stands_below_its_answer(tmp_path: Path) -> None:
    whole = "To clean the filter: [1]\n1. Switch it off [1].\n2. Open the lid [1].\n3. Rinse the sieve [1].\n"
    run, desk = asked(tmp_path, HOW, STEPS, whole, skills=LARGE)
    assert desk.llm.prompts[0][0].content == WHOLE_SYSTEM
    assert "[1] (Filter) " in desk.llm.prompts[0][-1].content
    assert run.answer.endswith(IN_WORDS + SHOWN)
    assert "3. Rinse the sieve [1]." in run.answer.split(IN_WORDS)[0]


def test_a_list_that_a_large_model_writes_whole_is_not_repeated(tmp_path: Path) -> None:
    whole = (
        "To clean the filter [1]:\n1. Switch it off [1].\n2. Open the lid [1].\n3. Rinse the sieve [1].\n"
        "4. Close it [1]."
    )
    run, _ = asked(tmp_path, HOW, STEPS, whole, skills=LARGE)
    assert IN_WORDS not in run.answer
    assert all(support.supported for support in run.support if support.shown), run.support
    assert "\n4. Close it [1]." in run.answer


@pytest.mark.parametrize(
    ("question", "text", "asked_for"),
    [
        pytest.param(
            "Beträgt die Miete 640 Euro im Monat?",
            "Die Miete beträgt 640 Euro im Monat.",
            " Answer in German.",
            id="German",
        ),
        pytest.param("الإيجار 640 يورو؟", "الإيجار 640 يورو.", " Answer in the language of the question.", id="Arabic"),
        pytest.param("What is the monthly rent?", "The monthly rent is 640 euros.", "", id="English"),
    ],
)
def test_a_large_model_is_asked_for_the_language_of_the_question(
    tmp_path: Path, question: str, text: str, asked_for: str
) -> None:
    """Told so in English alone, one of 1.5B parameters answers German questions in English."""
    _, desk = asked(tmp_path, question, text, "640 [1].", skills=LARGE)
    assert desk.llm.prompts[-1][-1].content.endswith(f"Say it directly, in one to three sentences.{asked_for}")


def test_a_small_model_reads_the_prompt_that_it_was_trained_with(tmp_path: Path) -> None:
    _, desk = asked(tmp_path, "What is the fee of a single room?", TABLE, "80 euros [1].")
    assert desk.llm.prompts[0][0].content == SYSTEM


@pytest.mark.parametrize(
    ("question", "form"),
    [
        (HOW, "Give the steps as a numbered list, in their order."),
        ("Which filters must be rinsed?", "Give all of them, as a list."),
        ("May I rinse the filter?", "Begin with yes or no, and say why."),
        ("Who rinses the filter?", "Say it directly, in one to three sentences."),
    ],
)
def test_a_large_model_is_told_the_form_that_the_question_asks_for(tmp_path: Path, question: str, form: str) -> None:
    _, desk = asked(tmp_path, question, STEPS, "1. Switch it off [1].", skills=LARGE)
    assert desk.llm.prompts[0][-1].content.endswith(f"Question: {question}\n{form}")


def test_a_large_model_that_refuses_is_not_believed(tmp_path: Path) -> None:
    run, _ = asked(tmp_path, HOW, STEPS, "Not in the evidence.", skills=LARGE)
    assert run.answer == IN_WORDS + SHOWN


def test_of_several_documents_each_block_says_which(tmp_path: Path) -> None:
    desk = Desk(tmp_path, retry=False)
    embedder = FakeEmbedder()
    for name, fee in (("north.md", 80), ("south.md", 90)):
        text = f"A room's fee in the house is {fee} euros."
        desk.store.put(
            name, sha256=name, media_type="text/plain", pages=None, text=text, chunks=[Chunk(None, 0, len(text), text)],
            vectors=embedder.embed([text]),
        )  # fmt: skip
    desk.skills, desk.llm = SMALL, FakeLanguageModel("Not in the evidence.")
    _, run = desk.ask("What is a room's fee in the house?")
    assert "**north.md**\n\n“A room's fee in the house is 80 euros.” [1]" in run.answer
    assert "**south.md**\n\n“A room's fee in the house is 90 euros.” [2]" in run.answer


def test_what_comes_nearest_is_shown_at_length_and_said_to_be_uncertain_once(tmp_path: Path) -> None:
    text = "## Rooms\n\nThe hotel limit is 195 euros. Breakfast is included. Ask at the desk for more."
    run, desk = asked(tmp_path, "Which hotel limit suits Paris?", text)
    assert run.action is Action.AMBIGUOUS
    assert run.uncertain
    assert desk.llm.prompts == []
    assert run.answer.count("It is not certain") == 1
    assert "**0.50 · Rooms**" in run.answer
    assert "“**The hotel limit is 195 euros.** Breakfast is included. Ask at the desk for more.” [1]" in run.answer


@pytest.mark.parametrize(("lower", "words"), [(0.03, 150), (0.9, 50)], ids=["near", "far"])
def test_of_a_passage_that_is_far_from_helping_less_is_shown(tmp_path: Path, lower: float, words: int) -> None:
    text = " ".join(f"Bicycle number {number} is lent out at the reception." for number in range(30))
    run, _ = asked(tmp_path, "Who orbits the moon?", text, lower=lower, upper=0.95)
    assert run.action is Action.INCORRECT
    assert run.abstained
    shown = run.answer.split("“")[1].split("”")[0]
    assert words - 15 < len(shown.split()) <= words
    assert "…" not in run.answer


def test_of_a_far_passage_the_part_with_the_questions_words_is_shown(tmp_path: Path) -> None:
    rows = "\n".join(
        f"| Ravensmoor to stop number {number} of line 47, adult | {number} euros |" for number in range(12)
    )
    text = f"## Fares\n\n| Ride | Fare |\n| --- | --- |\n{rows}\n| Unicycle | 3 euros |"
    run, _ = asked(tmp_path, "Is a unicycle taken when it rains?", text, lower=0.9, upper=0.95)
    assert run.action is Action.INCORRECT
    assert "| Ride | Fare |" in run.answer
    assert "| Unicycle | 3 euros |" in run.answer
    assert "number 3 " not in run.answer


def test_a_row_that_a_small_model_copies_is_no_answer(tmp_path: Path) -> None:
    text = f"## Fees\n\n{TABLE}\n\nBreakfast is extra and is paid at the desk each morning, in cash or by card."
    run, _ = asked(tmp_path, "What is the fee of a single room?", text, "Room | Fee | Single | 80 euros [1].")
    assert run.answer.startswith("| Room | Fee |\n| --- | --- |\n| Single | 80 euros |\n\n[1]"), "the row itself"


def test_a_sentence_that_stands_above_is_shown_where_it_stands(tmp_path: Path) -> None:
    text = "The hotel limit in London is 195 euros. It holds for London hotels with a breakfast, and no limit else."
    first = "The hotel limit in London is 195 euros"
    run, _ = asked(tmp_path, "What is the hotel limit in London?", text, f"{first} [1].")
    assert run.answer == f"{first} [1].\n\n{IN_WORDS}“{text}” [1]"
