"""The pages of docs/: those made from the code are what it says; files, links and pictures that they name are there."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from make_docs import PAGES, ROOT
from make_screens import DESKTOP, SCENES, SCREENS, shown

WRITTEN = sorted(
    {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("models/*.md"), *ROOT.glob("models/*/CARD.md"),
     *ROOT.glob("tests/*.md")}
)  # fmt: skip
README_BYTES = 8192

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
OUR_PATH = re.compile(r"\b(?:localcrag|scripts|tests|docs|models)/[\w./-]*\w")
FILE_NAME = re.compile(r"^[\w./-]*\w\.(?:py|md|toml|json|jsonl|txt|html|css|js|po|mo|png|gguf)$")
LINK = re.compile(r"\]\(([^)\s]+)\)")
LINKED = re.compile(r"\[`[^`\n]+`\]")
CHOSEN_TESTS = re.compile(r'(tests/[\w/]+\.py)\s+-k\s+(?:"([^"]+)"|(\w+))')
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
NOT_OF_THE_REPOSITORY = {
    "settings.json", "server_keys.json", "model_checks.json",
    ".verified.json", "checksums.json", "questions.jsonl", "report.html", "report.md", "report.json",
    "runs.jsonl", "conversations.jsonl", "calibration.json", "config.json", "localcrag.po", "localcrag.mo",
    "model.gguf", "page.json", "requirements.txt", "bundle.json", "install.py", "README.txt",
}  # fmt: skip
"""What the app writes, is given, or has many of."""
A_MODEL = re.compile(r"^models/(?!relevance-v3/|answerer-v1/)[\w.-]+(/.*)?$")
"""Where downloads go: nothing of it is in the repository."""


def the(page: Path) -> str:
    return str(page.relative_to(ROOT))


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=the)
def test_a_page_made_from_the_code_is_what_the_code_says(page: Path) -> None:
    assert text_of(page) == PAGES[page](), "run .venv/bin/python scripts/make_docs.py"


@pytest.mark.parametrize("page", [page for page in WRITTEN if page not in PAGES], ids=the)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    assert [name for name in named_files(text_of(page)) if not is_there(name, page)] == []


@pytest.mark.parametrize("page", WRITTEN, ids=the)
def test_every_test_that_a_page_chooses_is_there(page: Path) -> None:
    assert list(missing_tests(text_of(page))) == []


@pytest.mark.parametrize("page", WRITTEN, ids=the)
def test_no_row_of_a_table_is_broken_into_lines(page: Path) -> None:
    rows = re.findall(r"^\|.*(?:\n(?!\n).*)?", FENCE.sub("", text_of(page)), re.MULTILINE)
    assert [row for row in rows if not all(line.endswith("|") for line in row.splitlines())] == []


@pytest.mark.parametrize("page", WRITTEN, ids=the)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    local = [link for link in LINK.findall(FENCE.sub("", text_of(page))) if "://" not in link]
    assert [link for link in local if not leads_somewhere(link, page)] == []


def test_every_page_that_the_code_names_is_there() -> None:
    files = subprocess.check_output(["git", "ls-files", "-z", "*.py", "*.toml", "*.html"], cwd=ROOT, text=True)
    sources = [ROOT / name for name in files.split("\0") if name and (ROOT / name).is_file()]
    named = {name for source in sources for name in re.findall(r"(?<![/\w])docs/[\w/-]+\.md", text_of(source))}
    assert sorted(name for name in named if not (ROOT / name).is_file()) == []


def test_every_page_is_reached_from_the_readme() -> None:
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        linked = {(page.parent / link.partition("#")[0]).resolve() for link in LINK.findall(text_of(page))}
        ahead += [one for one in linked - reached if one.suffix == ".md" and one.is_file()]
    assert [the(page) for page in WRITTEN if page not in reached] == []


def test_the_screens_are_those_that_pages_show() -> None:
    assert sorted(path.name for path in SCREENS.iterdir()) == sorted(shown())


def test_every_picture_that_a_page_shows_has_a_scene() -> None:
    assert sorted([*(scene.name for scene in SCENES), DESKTOP]) == sorted(shown())


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= README_BYTES


def test_what_is_not_there_would_be_noticed() -> None:
    page = ROOT / "docs" / "a.md"
    text = (
        "`planted.py`, `scripts/test.py`, `.venv/bin/python scripts/gone.py --all`, `settings.json`, localcrag/no.py."
    )
    assert [name for name in named_files(text) if not is_there(name, page)] == [
        "planted.py", "scripts/gone.py", "localcrag/no.py",
    ]  # fmt: skip
    file = "tests/app/collections/test_secure_deletion.py"
    assert list(missing_tests(f"`{file} -k killed_midway`, and `{file} -k planted`")) == [f"{file} -k planted"]
    assert not leads_somewhere("gone.md", page)
    assert not leads_somewhere("../README.md#no-such-heading", page)
    assert leads_somewhere("../README.md", page)


def named_files(text: str) -> list[str]:
    """Return what looks like a file or folder of ours: words of code that end like files, and paths anywhere."""
    words = [word for code in CODE.findall(LINKED.sub("", text)) for word in code.split()]
    paths = OUR_PATH.findall(re.sub(r"\S*://\S*", "", text))
    return list(dict.fromkeys([word for word in words if FILE_NAME.match(word)] + paths))


def is_there(name: str, page: Path) -> bool:
    """Whether a file lies where its page names it: from the top, the package, or the page's own folder."""
    if Path(name).name in NOT_OF_THE_REPOSITORY or A_MODEL.match(name):
        return True
    return any((folder / name).exists() for folder in (ROOT, ROOT / "localcrag", page.parent))


def missing_tests(text: str) -> Iterator[str]:
    """Yield what `-k` chooses of a file's tests where no test's name, nor a case's, has it."""
    for file, some, one in CHOSEN_TESTS.findall(text):
        source = text_of(ROOT / file)
        yield from (f"{file} -k {word}" for word in (some or one).split(" or ") if word not in source)


def leads_somewhere(link: str, page: Path) -> bool:
    """Whether a link's file is there, with the heading that it points at."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists() or not anchor:
        return target.exists()
    return anchor in {slug(heading) for heading in HEADING.findall(FENCE.sub("", text_of(target)))}


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
