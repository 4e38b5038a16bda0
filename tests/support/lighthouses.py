"""Training data about lighthouses that do not exist."""

from __future__ import annotations

from pathlib import Path

from tests.support.compressed_lines import write

TOWNS = (
    "Arvik Bolmen Dalsa Elvik Fjordal Grimso Halden Ivarsund Jelsa Kolvik Lomvik Mosvik Nesna Oksvik Porsgrund".split()
)
KEEPERS = "Anna Holm,Olaf Berg,Kari Lund,Nils Dahl,Ida Moen".split(",")


def write_training_data(folder: Path) -> Path:
    """Write passages about lighthouses, one question each on builder and year, and what is held out."""
    rows = []
    for number, town in enumerate(TOWNS):
        keeper, year = KEEPERS[number % len(KEEPERS)], 1801 + 7 * number
        passage = (
            f"{town} lies on the coast. The lighthouse of {town} was built in {year}. Its first keeper was {keeper}. "
            "The harbour is open all year, and ships come in by night. In winter the road is closed for some weeks."
        )
        rows += [
            {"source": "squadshifts_new_wiki", "question": question, "passage": passage, "answers": [answer]}
            for question, answer in (
                (f"when was the lighthouse of {town} built", str(year)),
                (f"who was the first keeper at {town}", keeper),
            )
        ]
    write(folder / "train" / "passages.jsonl.gz", *rows)
    sentences = [{"text": "Hens eat corn .", "relevant": 1}, {"text": "Cows give milk .", "relevant": 0}]
    write(
        folder / "train" / "sentences.jsonl.gz", {"source": "selqa_dev", "question": "hens ?", "sentences": sentences}
    )
    # The passage of the last town is held out: neither of its two questions may be trained on.
    write(folder / "dev" / "dev.jsonl.gz", {"question": "something else", "passage": rows[-1]["passage"]})
    return folder
