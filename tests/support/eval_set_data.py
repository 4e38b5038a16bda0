"""A folder of labelled data in the shape of the real one, small and of our own sentences."""

from __future__ import annotations

from pathlib import Path

from localcrag.documents.readers.open_document import open_document
from tests.support.labelled_sets import write_lines

ISLANDS = ("Sandholm", "Krogsund", "Vellmark")
THINGS = (
    "lighthouse harbour chapel windmill ropeyard school bakery fountain library tollhouse sawmill brewery granary "
    "theatre cannery foundry".split()
)
MASTERS = (
    "Aslaug Brenne, Bodil Carlsen, Cato Dyrdal, Dagny Ekker, Embrik Foss, Frida Grane, Gaute Holme, Hedda Isnes, "
    "Ivar Jordal, Jorunn Kvam, Kolbein Lunde, Liv Moen, Magnar Nygard, Norunn Opdal, Olav Prestmo, Petra Quam"
).split(", ")
TOWNS = (
    "Arvik Bolmen Dalsa Elvik Fjordal Grimso Halden Jelsa Kolvik Lomvik Mosvik Nesna Orvik Prasto Rolvik Skarsa".split()
)


def write_data_folder(folder: Path) -> Path:
    """Write dev/squad2, dev/nq_oracle and corpora/wikipedia; every answer stands in one passage alone."""
    write_lines(folder / "dev" / "squad2.jsonl.gz", _articles())
    write_lines(folder / "dev" / "nq_oracle.jsonl.gz", _queries())
    write_lines(folder / "corpora" / "wikipedia.jsonl.gz", _encyclopedia())
    return folder


def _articles() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for number, island in enumerate(ISLANDS):
        for place, (thing, master) in enumerate(zip(THINGS, MASTERS, strict=True)):
            first, last = master.split()
            builder = f"{first} {last}{island[:3].lower()}"
            year, rooms = 1500 + 100 * number + 3 * place, 20 + 40 * number + place
            passage = (
                f"The {thing} of {island} was designed by {builder}, who had learnt the trade abroad. Work on it began "
                f"in {year} and went on for two winters. {island} was known for its {last} knots from then on. It has "
                f"{rooms} windows, and its roof was made of slate from the mainland, which came by boat."
            )
            questions = [
                _asked(f"Who designed the {thing} of {island}?", builder),
                _asked(f"When did work on the {thing} of {island} begin?", str(year), f"in {year}"),
                _asked(f"What was {island} known for from then on?", f"its {last} knots"),
                _asked(f"What does the author say in this passage about {island}?", "slate"),
                _asked(f"Where is {island}?", ""),
                {"question": f"Who burnt the {thing} of {island}?", "answers": [], "answerable": False},
            ]
            rows.append({"title": island, "paragraph": place, "passage": passage, "questions": questions})
    return rows


def _asked(question: str, *answers: str) -> dict[str, object]:
    return {"question": question, "answers": list(answers), "answerable": True}


def _queries() -> list[dict[str, object]]:
    return [
        {
            "question": f"how many boats sail from {town.lower()}",
            "passage": f"{town} is a town on the coast. {number + 300} boats sail from {town} each spring, and its "
            f"ropewalk, run by the family Solberg{town.lower()}, has made their ropes since the town was founded.",
            "answers": [f"{number + 300}", f"{number + 300} boats"],
        }
        for number, town in enumerate(TOWNS)
    ]


def _encyclopedia() -> list[dict[str, str]]:
    trees = "alder ash aspen beech birch cedar cherry chestnut elder elm fir hazel holly juniper larch linden".split()
    return [
        {
            "title": tree.title(),
            "text": f"The {tree} is a tree of the north. Its wood is used for boats and windows, and a tree of this "
            f"kind stands in front of many a chapel and many a school on the coast, where it gives shade.\nHISTORY\n"
            f"Section::::History.\nThe {tree} was brought by monks, who planted it near the harbour and the library. "
            "It was felled in hard winters, and planted again by the children of the village in the spring.\nSee also",
        }
        for tree in trees
    ] + [{"title": "SANDHOLM", "text": "An article that shares its title with one that is asked about. " * 5}]


def whole_text(path: Path) -> str:
    """Return all that a document says, with single spaces."""
    return " ".join(" ".join(page.text for page in open_document(path, path.name).pages).split())
