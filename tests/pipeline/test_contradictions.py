"""Contradictions with the real models, a real document and a real search server: from a file's date to the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.records.enums import Action, Origin
from localcrag.records.events import RunFinished
from localcrag.records.run import Run
from localcrag.settings import load
from tests.support.command_line import as_json, localcrag
from tests.support.contradiction import BOTH_SIDES, PAGE, QUESTION, RESULT, reply
from tests.support.documents import make_dated_pdf
from tests.support.first_start import started_before
from tests.support.search_servers import real_searx, scripted_search
from tests.support.web_pages import WebPage

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a PDF of 2019."""
    folder = tmp_path_factory.mktemp("reconcile")
    path = make_dated_pdf(folder / "rules.pdf", PAGE, created="20190502120000", modified="20190502120000")
    assembly = Assembly(load(data_dir=started_before(folder / "data")))
    list(assembly.ingest(uploads_from([path])))
    assembly.close()
    return folder / "data"


def ask(data: Path, **settings: object) -> Run:
    assembly = Assembly(load(data_dir=data, upper=float(BOTH_SIDES), web="always", **settings))
    last = list(assembly.ask(QUESTION))[-1]
    assembly.close()
    assert isinstance(last, RunFinished)
    assert last.run.action is Action.AMBIGUOUS
    return last.run


def test_a_document_and_the_web_disagree_and_the_answer_says_so_with_dates(data: Path) -> None:
    with scripted_search(reply()) as server:
        run = ask(data, searxng_url=server.url)
    (conflict,) = run.conflicts
    assert (conflict.local.differs, conflict.local.dated) == ("195 euros", "2019-05-02")
    assert (conflict.web.differs, conflict.web.dated) == ("210 euros", "2026-03-01")
    assert run.answer.startswith("Your documents and the web disagree here.")
    assert "rules.pdf, page 1 (2019-05-02) says: “The hotel limit in London is 195 euros per night.” [" in run.answer
    assert "“Travel limits” (2026-03-01) says: “The hotel limit in London is 210 euros per night.” [" in run.answer
    assert run.answer.endswith("your document rules.pdf is from 2019; the web page “Travel limits” is from 2026.")


@pytest.mark.parametrize(
    ("rule", "origin", "out"), [("newer", Origin.WEB, "195 euros"), ("documents", Origin.LOCAL, "210 euros")]
)
def test_a_rule_leaves_the_losing_side_out_of_evidence_and_answer(
    data: Path, rule: str, origin: Origin, out: str
) -> None:
    with scripted_search(reply()) as server:
        run = ask(data, searxng_url=server.url, conflict_rule=rule)
    assert [conflict.winner for conflict in run.conflicts] == [origin]
    origins = {source.id: source.origin for source in run.sources}
    assert {origins[piece.source] for piece in run.evidence} == {origin}
    assert out not in run.answer


def test_the_command_line_takes_the_rule_and_shows_both_sides(data: Path) -> None:
    options = (QUESTION, "--web", "always", "--upper", BOTH_SIDES, "--conflicts", "newer")
    with scripted_search(reply(), reply()) as server:
        run = as_json(localcrag(data, "ask", *options, "--searxng-url", server.url, "--json"))
        process = localcrag(data, "ask", *options, "--searxng-url", server.url)
    assert run["conflicts"][0]["winner"] == "web"
    assert run["conflicts"][0]["local"]["dated"] == "2019-05-02"
    assert {source["dated"] for source in run["sources"]} == {"2019-05-02", "2026-03-01"}
    assert run["evidence"][0]["n"] == run["conflicts"][0]["web"]["n"]
    shown = " ".join(process.stderr.split())
    assert "contradiction (the newer source takes precedence, 2026-03-01 against 2019-05-02" in shown
    assert "rules.pdf, page 1 (2019-05-02): The hotel limit in London is 195 euros per night." in shown


@pytest.mark.search
def test_a_web_page_without_a_date_cannot_be_the_newer(data: Path, tmp_path: Path) -> None:
    pages = [WebPage(str(RESULT["title"]), str(RESULT["url"]), str(RESULT["content"]))]
    with real_searx(tmp_path, pages) as url:
        run = ask(data, searxng_url=url, conflict_rule="newer")
    (conflict,) = run.conflicts
    assert conflict.winner is None
    assert (
        conflict.resolution == "the rule “newer” could not be applied: the web page has no date: both sides are shown"
    )
    assert "(no date) says" in run.answer
