"""Code, data, notebooks, subtitles and AsciiDoc: text files that are no running text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcrag.documents.readers.open_document import SUPPORTED, open_document
from localcrag.documents.readers.text import PARAGRAPH_CHARACTERS
from localcrag.text.blocks import BlockKind, split_blocks

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Rents\n", "\n", "Of the attic."]},
        {"cell_type": "code", "source": "print(310)\n", "outputs": [
            {"output_type": "stream", "text": ["310\n"]},
            {"output_type": "execute_result", "data": {"text/plain": "'euros'", "text/html": "<b>no</b>"}},
            {"output_type": "display_data", "data": {"image/png": "AAAA"}},
        ]},
        {"cell_type": "code", "source": [], "outputs": []},
    ]
}  # fmt: skip
SRT = "1\n00:00:01,000 --> 00:00:04,000\n<i>Good evening.</i>\n\n2\n00:01:02,500 --> 00:01:05,000\nThe lamp\nis lit.\n"
VTT = (
    "WEBVTT\n\nNOTE made by hand\n\n00:01.000 --> 00:04.000 line:0\n<v Ada>Good evening.\n\n"
    "1:01:02.500 --> 1:01:05.000\nThe lamp is lit."
)
TEX = r"""\documentclass{article}
\title{On rents}
\begin{document}
\maketitle
\section{Rents}\label{s}
The \textbf{attic costs \emph{310} euros}, 5\% more \& heating\cite{a}. \% no comment% a comment

\begin{itemize}
  \item Pay early.
  \item[or] late
\end{itemize}

\begin{tabular}{ll}
\hline
Room & Rent \\
Attic & $310$ \\[2pt]
\end{tabular}

\subsection*{Old ones}
None.
\end{document}
"""
ADOC = ":toc:\n\n= Rents\n\n[source,sh]\n----\n== no title\n----\n\n== Attic ==\n\n// hidden\nIt is dry.\n"


def read(folder: Path, name: str, text: str) -> str:
    (folder / "a").write_text(text, "utf-8")
    (page,) = open_document(folder / "a", name).pages
    return page.text


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        pytest.param("a.py", "# not a title\nx = 1\n\n\ndef f():\n    y = 2\n\n    return y\n",
                     "```\n# not a title\nx = 1\n```\n\n```\ndef f():\n    y = 2\n\n    return y\n```", id="code"),
        pytest.param("a.sh", "cat <<E\n```\nE\n", "````\ncat <<E\n```\nE\n````", id="fences within code"),
        pytest.param("a.json", '{"name": "Quay", "rooms": 3, "of": {"attic": 310}}',
                     '```\n"name": "Quay"\n"rooms": 3\n```\n\n```\n"of": {\n  "attic": 310\n}\n```', id="an object"),
        pytest.param("a.json", '[{"room": "Attic", "rent": 310}, {"room": "Cellar", "dry": false, "rent": null}]',
                     "| room | rent | dry |\n| --- | --- | --- |\n| Attic | 310 | |\n| Cellar | | false |",
                     id="records"),
        pytest.param("a.json", '{"rooms": [{"a": "x|y", "b": 1}, {"a": "z", "b": 2}]}',
                     "## rooms\n\n| a | b |\n| --- | --- |\n| x\\|y | 1 |\n| z | 2 |", id="records within an object"),
        pytest.param("a.jsonl", '{"a": "x", "b": 1}\n{"a": "y", "b": 2}\n',
                     "| a | b |\n| --- | --- |\n| x | 1 |\n| y | 2 |", id="lines of records"),
        pytest.param("a.jsonl", '{"a": [1]}\n{"a": [2]}\n', '```\n{"a": [1]}\n```\n\n```\n{"a": [2]}\n```', id="lines"),
        pytest.param("a.json", '{"a": ', '```\n{"a": \n```', id="data that was cut off"),
        pytest.param("a.json", "[" * 100_000, f"```\n{'[' * 100_000}\n```", id="nested without end"),
        pytest.param("a.ipynb", json.dumps(NOTEBOOK),
                     "# Rents\n\nOf the attic.\n\n```\nprint(310)\n```\n\n```\n310\n```\n\n```\n'euros'\n```",
                     id="notebook"),
        pytest.param("a.ipynb", '{"cells": 5}', '```\n{"cells": 5}\n```', id="no notebook"),
        pytest.param("a.srt", SRT, "[0:00:01] Good evening. The lamp is lit.", id="subtitles"),
        pytest.param("a.vtt", VTT, "[0:00:01] Good evening. The lamp is lit.", id="web subtitles"),
        pytest.param("a.adoc", ADOC,
                     "\n# Rents\n\n```\n== no title\n```\n\n## Attic\n\nIt is dry.\n", id="AsciiDoc"),
        pytest.param("a.tex", TEX,
                     "# On rents\n## Rents\n\nThe attic costs 310 euros, 5% more & heating. % no comment\n\n"
                     "- Pay early.\n- or late\n\n| Room | Rent |\n| Attic | $310$ |\n\n### Old ones\n\nNone.\n",
                     id="LaTeX"),
    ],
)  # fmt: skip
def test_what_is_no_running_text_is_read_as_markdown(tmp_path: Path, name: str, text: str, shown: str) -> None:
    assert read(tmp_path, name, text) == shown


def test_long_subtitles_are_paragraphs_with_their_times(tmp_path: Path) -> None:
    cues = "".join(
        f"00:{at:02}:00.000 --> 00:{at:02}:09.000\nSentence number {at} of the film ends here.\n\n" for at in range(20)
    )
    paragraphs = read(tmp_path, "a.vtt", f"WEBVTT\n\n{cues}").split("\n\n")
    assert len(paragraphs) > 2
    assert all(len(paragraph) < 2 * PARAGRAPH_CHARACTERS for paragraph in paragraphs)
    assert paragraphs[1].startswith("[0:04:00] Sentence number 4")


def test_code_is_one_block_a_piece_and_has_no_headings(tmp_path: Path) -> None:
    text = read(tmp_path, "a.yaml", "# rents\nattic: 310\n\n# others\ncellar: 90\n")
    assert [block.kind for block in split_blocks(text)] == [BlockKind.CODE, BlockKind.CODE]


def test_secrets_and_pictures_are_not_among_what_is_read() -> None:
    assert not {".env", ".svg", ".pem", ".key"} & SUPPORTED.keys()
