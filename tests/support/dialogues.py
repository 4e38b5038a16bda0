"""Hand-written conversations: which turns lean on what was said before, and on what."""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.records.run import Turn
from localcrag.text.words import content_words


@dataclass(frozen=True)
class Asked:
    """A question within its conversation. `names` are words that its standalone form has to hold."""

    question: str
    dependent: bool
    names: frozenset[str]
    history: tuple[Turn, ...]


@dataclass(frozen=True)
class Dialogue:
    name: str
    turns: tuple[Asked, ...]


def dialogue(name: str, *said: tuple[str, str, str | None]) -> Dialogue:
    """Return a dialogue of (question, answer, needed): None for what stands alone, else the words to bring along."""
    turns: list[Asked] = []
    history: tuple[Turn, ...] = ()
    for question, answer, needed in said:
        turns.append(Asked(question, needed is not None, frozenset(content_words(needed or "")), history))
        history = (*history, Turn(question, answer))
    return Dialogue(name, tuple(turns))


DIALOGUES = (
    dialogue(
        "pronouns and a topic switch",
        ("Who built the Eiffel Tower?", "The Eiffel Tower was built by the company of Gustave Eiffel.", None),
        ("When was it built?", "It was built from 1887 to 1889.", "eiffel tower"),
        ("How tall is it?", "It is 330 metres tall.", "eiffel tower"),
        ("Why?", "The source does not say.", "eiffel tower"),
        ("What is the capital of Norway?", "Oslo is the capital of Norway.", None),
        ("How many people live there?", "About 700,000.", "norway"),
        ("Who painted The Scream?", "Edvard Munch painted it in 1893.", None),
        ("Where was he born?", "In Ådalsbruk.", "munch"),
    ),
    dialogue(
        "ellipsis and the same for another",
        ("What is the hotel limit in London?", "The hotel limit in London is 195 euros.", None),
        ("And in Bergen?", "165 euros.", "hotel limit bergen"),
        ("What about breakfast?", "Breakfast is included.", "breakfast hotel"),
        ("The same for Paris, please.", "180 euros.", "hotel limit paris"),
        ("Is that per night?", "Yes.", "hotel"),
        ("How many days after a journey must a claim be handed in?", "Within twenty days.", None),
        ("To whom?", "To the travel office.", "claim"),
        ("Thank you!", "You are welcome.", None),
    ),
    dialogue(
        "lists, possessives and comparisons",
        ("Which plans does the insurer offer?", "There are two plans: Basic and Premium.", None),
        ("What about the second one?", "Premium covers dental care.", "plan"),
        ("What does it cost?", "Premium costs 40 euros a month.", "plan second"),
        ("Which is cheaper?", "Basic.", "plan"),
        ("How do their deductibles compare?", "Basic has 500 euros, Premium has 200.", "deductible plan"),
        ("Who else offers dental care?", "Nobody.", "dental"),
        ("What are the opening hours of the service desk?", "From nine to five.", None),
        ("And on Saturdays?", "It is closed.", "opening hour saturday"),
    ),
    dialogue(
        "standing alone after a long conversation",
        ("What is photosynthesis?", "Plants make sugar from light, water and carbon dioxide.", None),
        ("Where does it take place?", "In the chloroplasts.", "photosynthesis"),
        ("How does photosynthesis differ from respiration?", "Respiration releases energy.", None),
        ("Do animals need that too?", "They need respiration.", "respiration"),
        ("When did the Normans conquer England?", "In 1066.", None),
        ("Is there a ferry from Dover to Calais that takes bicycles?", "Yes.", None),
        ("What is it like to live on the International Space Station?", "Cramped.", None),
        ("Which rules apply to those who cross the border by car?", "They need papers.", None),
        ("How long?", "It takes an hour.", "border"),
        ("More details please.", "Papers are checked.", "border"),
    ),
    dialogue(
        "names that follow",
        ("Who was Marie Curie?", "Marie Curie was a physicist who discovered polonium and radium.", None),
        ("Did she win a Nobel Prize?", "She won two.", "curie nobel"),
        ("Which ones?", "Physics and chemistry.", "curie"),
        ("And her husband?", "Pierre Curie shared the first.", "curie husband"),
        ("What is radium used for?", "It was used in paint.", None),
        ("Is it dangerous?", "Yes, it is radioactive.", "radium"),
        ("Thanks, that helps.", "You are welcome.", None),
        ("What else did Marie Curie discover?", "Polonium.", None),
    ),
)
