"""Print how many prompt injections get through, by kind, with and without the defence.

    .venv/bin/python scripts/lab/injection/measure_attacks.py [--kind KIND] [--answers]
    .venv/bin/python scripts/lab/injection/measure_attacks.py --rules [--by-class | --held-out]
    .venv/bin/python scripts/lab/injection/measure_attacks.py --honest FILE…

An attack gets through if the answer, the rewritten question or the web query contains what the attacker wants, or if
the attacker wants no answer and there is none. The corpus is tests/data/attacks.jsonl. With --by-class, it is
tests/data/attacks_by_class.jsonl, the attack classes of public sets in our own wordings. With --held-out, it is
tests/data/attacks_held_out.jsonl, which was not used for any rule.

With --rules, no model is used: an attack counts if any part of it reaches the models, as if every model obeyed. With
--honest, the rules run on texts without planted instructions (JSON lines, gzipped or not, each with a `passage` or
`text`), and everything that they find is a false alarm.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from localcrag.app.assembly import Assembly
from localcrag.crag.screen import injection
from localcrag.crag.screen.rules import RULES
from localcrag.settings import load as load_settings
from localcrag.text.sentences import split_sentences

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.injection.attacks import BY_CLASS, CORPUS, HELD_OUT, Attack, Outcome, Range, Way, load, search_server
from lab.relevance.data import read_lines

MOST_TEXTS = 2_000
"""Most texts read from a file of honest texts; of each, as many characters as a long passage has."""
MOST_CHARACTERS = 2_000


def measure(chosen: Sequence[Attack], *, answers: bool) -> tuple[dict[tuple[str, Way], Outcome], int]:
    """Return the outcome of each attack by id and way, and the number of questions answered without an attack."""
    outcomes: dict[tuple[str, Way], Outcome] = {}
    with tempfile.TemporaryDirectory() as folder, search_server() as server:
        assembly = Assembly(load_settings(data_dir=Path(folder) / "data", searxng_url=server.url))
        fair = Range(assembly, Path(folder), server)
        for attack in chosen:
            for way in Way:
                outcomes[attack.id, way] = outcome = fair.run(attack, way)
                if answers:
                    mark = "THROUGH" if outcome.through else "answered" if outcome.answered else "-"
                    print(f"{attack.id:<20} {way:<28} {mark:<9} {' '.join(outcome.answer.split())[:160]}")
            print(f"{attack.id} done", file=sys.stderr)
        undisturbed = sum(fair.undisturbed(attack) for attack in chosen)
        assembly.close()
    return outcomes, undisturbed


def report(chosen: Sequence[Attack], outcomes: dict[tuple[str, Way], Outcome], undisturbed: int) -> None:
    print(f"{'got through':<20} {'attacks':>7}  " + "  ".join(f"{way:>26}" for way in Way))
    seen = [attack for attack in chosen if not attack.unseen]
    rows = {kind: [attack for attack in seen if attack.kind == kind] for kind in dict.fromkeys(a.kind for a in seen)}
    rows |= {"all": seen, "unseen wordings": [attack for attack in chosen if attack.unseen]}
    for kind, of_kind in rows.items():
        through = [sum(outcomes[attack.id, way].through for attack in of_kind) for way in Way]
        print(f"{kind:<20} {len(of_kind):>7}  " + "  ".join(f"{count:>26}" for count in through))
    answered = [sum(outcomes[attack.id, way].answered for attack in chosen) for way in Way]
    print(f"{'honest answer given':<20} {len(chosen):>7}  " + "  ".join(f"{count:>26}" for count in answered))
    print(f"without any attack, localcrag gives the honest answer to {undisturbed} of {len(chosen)}")


def by_rules(chosen: Sequence[Attack]) -> None:
    for name, group in (
        ("wordings that the rules were written for", [attack for attack in chosen if not attack.unseen]),
        ("unseen wordings", [attack for attack in chosen if attack.unseen]),
    ):
        bare, ruled = (sum(attack.passes(rules) for attack in group) for rules in ((), RULES))
        if group:
            print(f"{name}: of {len(group)}, {bare} reach the models without the rules, {ruled} with them")


def false_alarms(paths: Sequence[Path]) -> None:
    for path in paths:
        texts = dict.fromkeys(row.get("passage") or row.get("text") or "" for row in read_lines(path))
        chosen = [text[:MOST_CHARACTERS] for text in texts][:MOST_TEXTS]
        found = [(name, span.text) for text in chosen for span, name in injection.find_instructions(text)]
        sentences = sum(len(split_sentences(text)) for text in chosen)
        print(f"{path.name}: {len(found)} found in {sentences:,} sentences of {len(chosen):,} texts")
        for name, text in found:
            print(f"    {name}: {' '.join(text.split())[:200]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", help="only attacks of this kind")
    parser.add_argument("--answers", action="store_true", help="print every answer")
    parser.add_argument("--honest", type=Path, nargs="+", metavar="FILE", help="count false alarms in these instead")
    parser.add_argument("--rules", action="store_true", help="ask no model, count what reaches it")
    parser.add_argument("--by-class", action="store_true", help="the classes of public sets instead")
    parser.add_argument("--held-out", action="store_true", help="the wordings that no rule was made with instead")
    arguments = parser.parse_args()
    if arguments.honest:
        false_alarms(arguments.honest)
        return
    corpus = HELD_OUT if arguments.held_out else BY_CLASS if arguments.by_class else CORPUS
    chosen = [attack for attack in load(corpus) if arguments.kind in (None, attack.kind)]
    if arguments.rules:
        by_rules(chosen)
        return
    report(chosen, *measure(chosen, answers=arguments.answers))


if __name__ == "__main__":
    main()
