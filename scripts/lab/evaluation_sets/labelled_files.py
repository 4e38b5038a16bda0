"""Write an evaluation set from a folder of real files with labelled questions.

    PYTHONPATH=scripts .venv/bin/python scripts/lab/evaluation_sets/labelled_files.py DATA OUT

DATA contains docs/ and questions.jsonl, where each line has `id`, `document` (a name, or a list of them), `question`,
`type`, `language`, `follows` (an earlier id, or null), `answerable`, `needed` (lines of the documents, verbatim),
`short` (strings that a right answer contains, all of them; alternatives separated by “|”), and perhaps `computed`,
`needs_table` and `tags`. OUT becomes a set for `localcrag eval`; its questions carry their type and properties as tags.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from localcrag.records.evaluation_set import DOCUMENTS, QUESTIONS, read


def line(labelled: dict[str, Any]) -> dict[str, Any]:
    """Return a labelled question as a line of an evaluation set."""
    documents = labelled["document"]
    tags = [labelled["type"], *labelled.get("tags", ())]
    tags += [name for name in ("computed", "needs_table") if labelled.get(name)]
    if labelled["language"] != "en":
        tags.append(f"language-{labelled['language']}")
    if labelled["follows"]:
        tags.append("follow-up")
    made: dict[str, Any] = {"id": labelled["id"], "question": labelled["question"], "answers": []}
    if labelled["answerable"]:
        made["answers"] = labelled["short"][0].split("|")
        made["all_of"] = labelled["short"]
        made["documents"] = [documents] if isinstance(documents, str) else documents
        made["needed"] = labelled["needed"]
    if labelled["follows"]:
        made["follows"] = labelled["follows"]
    return made | {"tags": list(dict.fromkeys(tags))}


def main() -> None:
    """Write the set, and print how many questions and documents it has."""
    parser = argparse.ArgumentParser(description="Write an evaluation set from real files with labelled questions.")
    parser.add_argument("data", type=Path, metavar="DATA", help="folder with docs/ and questions.jsonl")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder of the set; replaced if it exists")
    given = parser.parse_args()
    labelled = [json.loads(text) for text in (given.data / QUESTIONS).read_text("utf-8").splitlines() if text.strip()]
    shutil.rmtree(given.out, ignore_errors=True)
    shutil.copytree(given.data / "docs", given.out / DOCUMENTS)
    lines = [json.dumps(line(one), ensure_ascii=False) + "\n" for one in labelled]
    (given.out / QUESTIONS).write_text("".join(lines), "utf-8")
    made = read(given.out)
    print(f"{given.out}: {len(made.questions)} questions, {len(made.files)} documents")


if __name__ == "__main__":
    main()
