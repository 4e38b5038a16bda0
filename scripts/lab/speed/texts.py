"""Texts for measuring speed: sentences from a seeded vocabulary, about one in ten a fact to ask for."""

from __future__ import annotations

import random
from pathlib import Path

TOWNS = "Aldermoor Brackwater Cindlesea Dunhollow Elmsworth Farrowby Glenhaven Harrowgate Inverlock Jarrowmere".split()
THINGS = "harbour library windmill bakery museum theatre bridge school hospital market lighthouse brewery".split()
FILLER = (
    "Visitors come in every season and stay for a day or two.",
    "The council repairs the roof when the money allows it, which is not every year.",
    "On market days the square in front of it is full of stalls and carts.",
    "Older people remember a time when there was no electric light in the street.",
    "A small path leads from there down to the river and on to the next village.",
    "Nobody knows for sure who planted the chestnut trees along the wall.",
)
CHUNKS_OF_A_DOCUMENT = 10


def write_documents(folder: Path, chunks: int, chosen: random.Random, *, first: int = 0) -> list[str]:
    """Write text files with about `chunks` chunks, numbered from `first` on, and return questions that they answer.

    There are at most 60 questions, in random order.
    """
    folder.mkdir(parents=True, exist_ok=True)
    questions = []
    for number in range(first, first + max(1, chunks // CHUNKS_OF_A_DOCUMENT)):
        sentences = []
        for _ in range(10):
            town, thing, year = chosen.choice(TOWNS), chosen.choice(THINGS), chosen.randint(1500, 1990)
            name = f"{town} {thing} number {number}"
            sentences.append(f"The {name} was built in {year} and cost {chosen.randint(2, 90)} thousand crowns.")
            sentences += chosen.choices(FILLER, k=10)
            questions.append(f"When was the {name} built?")
        (folder / f"{number}.txt").write_text(" ".join(sentences), "utf-8")
    return chosen.sample(questions, min(len(questions), 60))
