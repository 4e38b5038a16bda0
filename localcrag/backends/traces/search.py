"""The search for traces in all files of a folder, as the app asks for it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from localcrag.backends.processes.child import ChildProcess, Over
from localcrag.records.errors import StoreError
from localcrag.records.forgetting import Mark, Place, Searched

MODULE = "localcrag.backends.traces"
PATIENCE = 600.0
"""Seconds for one file: a database of tens of gigabytes is read so often as there are marks."""


def search(folder: Path, marks: Sequence[Mark], left_out: Sequence[Path] = ()) -> Searched:
    """Return where in the files below a folder these marks are, but for the folders `left_out`. Raises StoreError."""
    folder = folder.absolute()
    process = ChildProcess(MODULE, PATIENCE)
    places: list[Place] = []
    try:
        process.ask(
            {
                "folder": os.fsencode(folder).hex(),
                "left_out": [os.fsencode(one.absolute()).hex() for one in left_out],
                "lengths": [[len(form) for form in mark.forms] for mark in marks],
            },
            b"".join(form for mark in marks for form in mark.forms),
        )
        content, _ = process.answer()
        while "end" not in content:
            if "file" in content:
                name = Path(os.fsdecode(bytes.fromhex(content["file"]))).relative_to(folder).as_posix()
                places += [Place(name, marks[number].said, at=at) for number, at in content["places"]]
            content, _ = process.answer()
    except Over as over:
        raise StoreError(
            f"The files in {folder} could not be searched to the end: {over}. Search again: localcrag forget --verify"
        ) from over
    finally:
        process.end()
    unread = [f"{os.fsdecode(bytes.fromhex(path))} ({why})" for path, why in content["unread"]]
    return Searched(tuple(places), len(marks), content["files"], content["bytes"], tuple(unread))
