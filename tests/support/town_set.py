"""A small evaluation set of our own sentences: towns, what is known of them, and what is not."""

from __future__ import annotations

import json
from pathlib import Path

TOWNS = "Arvik Bolmen Dalsa Elvik Fjordal Grimso Halden Jelsa Kolvik Lomvik Mosvik Nesna".split()
FOUNDERS = "Berg Dahl Eide Foss Gran Holm Iversen Juul Krog Lie Moe Nygaard".split()
TRADES = "salt herring timber slate wool amber copper ice barley tar rope glass".split()


def write_town_set(folder: Path, towns: int = len(TOWNS)) -> Path:
    """Write a set: of each town a document, two questions that it answers, one that only the web answers, one nobody.

    All documents are alike, so that each question finds passages of other towns as well.
    """
    documents = folder / "documents"
    documents.mkdir(parents=True)
    questions: list[dict[str, object]] = []
    for number, (town, founder, trade) in enumerate(zip(TOWNS[:towns], FOUNDERS[:towns], TRADES[:towns], strict=True)):
        year = 1801 + 7 * number
        (documents / f"{town.lower()}.md").write_text(
            f"# {town}\n\n{town} was founded in {year} by the merchant Anna {founder}. It lies on the coast and has a "
            f"harbour with two piers. The people of {town} lived from the trade in {trade}. In winter the harbour "
            "freezes, and boats are pulled ashore.\n",
            "utf-8",
        )
        own = [f"{town.lower()}.md"]
        questions += [
            {"question": f"In which year was {town} founded?", "answers": [str(year)], "documents": own},
            {"question": f"What did the people of {town} trade in?", "answers": [trade], "documents": own},
            {
                "question": f"How high is the lighthouse of {town}?",
                "answers": [],
                "web_answers": [f"{20 + number} metres"],
                "web": [
                    {
                        "title": f"The lighthouse of {town}",
                        "url": f"https://towns.example/{town.lower()}",
                        "content": f"The lighthouse of {town} is {20 + number} metres high and shows a red light.",
                    }
                ],
            },
            {"question": f"Which football club comes from {town}?", "answers": []},
        ]
    lines = (json.dumps({"id": f"q{at}", **question}) + "\n" for at, question in enumerate(questions, start=1))
    (folder / "questions.jsonl").write_text("".join(lines), "utf-8")
    return folder
