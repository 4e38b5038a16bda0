"""The command line as scripts use it: its stdout, stderr and exit status."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from localcrag.interfaces.cli.main import COMMAND_GROUPS, _parser
from tests.support.command_line import as_json, as_process, localcrag, start
from tests.support.documents import make_pages_pdf, make_pdf

pytestmark = [pytest.mark.process, pytest.mark.everyday]

RUN_KEYS = {
    "question", "standalone_question", "action", "policy", "thresholds", "answer", "abstained", "sources", "passages",
    "max_relevance", "relevance_ratio", "strips", "evidence", "web", "conflicts", "support", "steps", "warnings",
    "run_id",
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one PDF in it."""
    folder = tmp_path_factory.mktemp("cli")
    make_pdf(
        folder / "ferry.pdf", ["Timetable of the island.", "The ferry to Brackwater leaves at 7:45 every morning."]
    )
    done = as_json(as_process(folder / "data", "ingest", str(folder / "ferry.pdf"), "--json"))
    assert [(one["document"], one["status"], one["pages"], one["error"]) for one in done] == [
        ("ferry.pdf", "added", 2, None)
    ]
    assert done[0]["chunks"] == 2
    assert done[0]["seconds"] > 0
    return folder / "data"


def test_ask_prints_one_object_with_everything_that_happened(data: Path) -> None:
    run = as_json(as_process(data, "ask", "When does the ferry to Brackwater leave?", "--json"))
    assert run.keys() >= RUN_KEYS
    assert run["action"] == "CORRECT"
    assert run["thresholds"].keys() == {"upper", "lower", "strip"}
    assert not run["abstained"]
    best = max(run["passages"], key=lambda passage: passage["relevance"])
    assert (best["document"], best["page"], best["grade"]) == ("ferry.pdf", 2, "correct")
    assert run["max_relevance"] == best["relevance"] >= run["thresholds"]["upper"]
    assert {"id", "origin", "document", "page", "text", "relevance", "grade"} <= best.keys()
    assert run["evidence"][0].keys() >= {"n", "text", "source"}
    assert "7:45" in run["evidence"][0]["text"]
    assert run["sources"][0].keys() == {"id", "origin", "document", "page", "url", "title", "dated", "also"}
    assert run["totals"]["retrieved"] == len(run["passages"]) == run["totals"]["relevant"] + run["totals"]["irrelevant"]
    assert run["totals"]["plain_prompt_tokens"] > 0
    assert best["grade_reason"] == f"{best['relevance']:.2f} ≥ {run['thresholds']['upper']:.2f}"
    assert run["web"].keys() >= {"used", "query", "results", "error"}
    of_a_step = {"name", "seconds", "llm_calls", "prompt_tokens", "completion_tokens", "estimated"}
    assert all(step.keys() == of_a_step for step in run["steps"])
    listed = as_json(localcrag(data, "runs", "list", "--json"))
    assert run["run_id"] in {one["run_id"] for one in listed}
    assert as_json(localcrag(data, "runs", "show", run["run_id"], "--json")) == run


def test_a_preset_is_chosen_for_a_collection_and_overridden_for_a_question(data: Path) -> None:
    question = "When does the ferry to Brackwater leave?"
    usual = as_json(localcrag(data, "ask", question, "--json"))
    assert (usual["preset"], usual["policy"]) == ("general", "max")
    chosen = as_json(localcrag(data, "presets", "use", "strict", "--json"))
    assert chosen == {"collection": "default", "preset": "strict"}
    try:
        strict = as_json(localcrag(data, "ask", question, "--json"))
        assert (strict["preset"], strict["policy"]) == ("strict", "count")
        assert strict["thresholds"]["upper"] > usual["thresholds"]["upper"]
        assert strict["action"] == "INCORRECT", "one passage does not carry an answer"
        assert strict["rule"].startswith("1 correct and 0 ambiguous of 2 passages")
        listed = localcrag(data, "presets")
        assert "→ strict" in listed.stdout
        once = as_json(localcrag(data, "ask", question, "--preset", "general", "--json"))
        assert once["action"] == "CORRECT"
        by_hand = as_json(localcrag(data, "ask", question, "--policy", "fraction", "--upper", "0.2", "--json"))
        assert (by_hand["preset"], by_hand["policy"], by_hand["thresholds"]["upper"]) == ("strict", "fraction", 0.2)
    finally:
        localcrag(data, "presets", "use", "general")


def test_a_preset_that_does_not_exist_is_wrong_usage(data: Path) -> None:
    process = localcrag(data, "presets", "use", "bold")
    assert process.returncode == 2
    assert "invalid choice: 'bold'" in process.stderr
    unknown = localcrag(data, "presets", "use", "legal", "--collection", "nobody's")
    assert unknown.returncode == 1
    assert "nobody's" in unknown.stderr


def test_the_answer_goes_to_stdout_and_the_rest_to_stderr(data: Path) -> None:
    process = localcrag(data, "ask", "Who painted the Mona Lisa?")
    assert process.returncode == 0
    assert process.stdout.startswith("Your documents do not answer this question.")
    assert "INCORRECT" in process.stderr
    assert "evaluate" in process.stderr
    assert "No web search is set up. Try other words, or --read-all." in process.stderr


def test_options_change_thresholds_and_number_of_passages(data: Path) -> None:
    run = as_json(localcrag(data, "ask", "ferry?", "--k", "1", "--upper", "0.99", "--lower", "0.98", "--json"))
    assert len(run["passages"]) == 1
    assert run["thresholds"]["upper"] == 0.99
    assert run["action"] == "INCORRECT"


def test_the_language_model_can_be_the_scorer_and_its_cost_and_reasons_are_shown(data: Path) -> None:
    question = "When does the ferry to Brackwater leave?"
    run = as_json(localcrag(data, "ask", question, "--scorer", "llm", "--json"))
    assert run["scorer"] == "llm"
    assert len(run["passages"]) == 2
    assert all(0.0 <= passage["relevance"] <= 1.0 for passage in run["passages"])
    assert any("is not calibrated" in warning for warning in run["warnings"])
    costs = {step["name"]: step for step in run["steps"]}
    assert costs["evaluate"]["llm_calls"] == 2
    assert costs["evaluate"]["prompt_tokens"] > costs["evaluate"]["completion_tokens"] > 20
    process = localcrag(data, "runs", "show", run["run_id"])
    assert "graded by the language model smollm2-135m-answerer" in " ".join(process.stderr.split())
    assert all(passage["reason"].split()[0] in process.stderr for passage in run["passages"] if passage["reason"])


@pytest.fixture(scope="module")
def two_runs(data: Path) -> tuple[str, str]:
    """The ids of a question that the document answers, and of one that it does not."""
    questions = ("When does the ferry to Brackwater leave?", "Who painted the Mona Lisa?")
    first, second = (
        as_json(localcrag(data, "ask", question, "--k", "1", "--json"))["run_id"] for question in questions
    )
    return first, second


def test_runs_are_exported_as_lines_and_as_reports(data: Path, two_runs: tuple[str, str], tmp_path: Path) -> None:
    process = localcrag(data, "runs", "export", *two_runs)
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    assert [line["run_id"] for line in lines] == list(two_runs)
    assert lines[0] == as_json(localcrag(data, "runs", "show", two_runs[0], "--json"))
    every = localcrag(data, "runs", "export", "--output", str(tmp_path / "runs.jsonl"))
    assert every.stdout == ""
    exported = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text("utf-8").splitlines()]
    assert {line["run_id"] for line in exported} >= set(two_runs)
    assert [line["created_at"] for line in exported] == sorted(line["created_at"] for line in exported)
    report = localcrag(data, "runs", "export", two_runs[1], "--format", "markdown").stdout
    assert report.startswith("# Who painted the Mona Lisa?\n")
    assert "action **INCORRECT**" in report


def test_an_export_that_fails_leaves_the_file_that_was_there(data: Path, tmp_path: Path) -> None:
    (tmp_path / "kept.jsonl").write_text("earlier")
    unknown = localcrag(data, "runs", "export", "nobody", "--output", str(tmp_path / "kept.jsonl"))
    assert unknown.returncode == 1
    assert (tmp_path / "kept.jsonl").read_text() == "earlier"
    nowhere = localcrag(data, "runs", "export", "--output", str(tmp_path / "none" / "x.jsonl"))
    assert nowhere.returncode == 1
    assert "Choose another file with --output" in nowhere.stderr
    assert "Traceback" not in nowhere.stderr


def test_a_replay_is_a_run_of_its_own_that_names_the_first_and_does_not_count(
    data: Path, two_runs: tuple[str, str]
) -> None:
    before = as_json(localcrag(data, "runs", "stats", "--json"))
    replayed = as_json(localcrag(data, "runs", "replay", two_runs[0], "--json", LOCALCRAG_UPPER="0.99"))
    assert replayed["same"]
    assert replayed["difference"]["models"] == {}
    assert (replayed["replays"], replayed["run"]["replays"]) == (two_runs[0], two_runs[0])
    assert replayed["run"]["settings"]["k"] == 1
    assert as_json(localcrag(data, "runs", "show", replayed["run_id"], "--json")) == replayed["run"]
    after = as_json(localcrag(data, "runs", "stats", "--json"))
    assert after == before
    said = localcrag(data, "runs", "replay", two_runs[1])
    assert said.returncode == 0
    assert "Nothing but the time differs." in said.stdout


def test_stats_and_filters_tell_what_the_documents_lack(data: Path, two_runs: tuple[str, str]) -> None:
    found = as_json(localcrag(data, "runs", "stats", "--json"))
    assert found["actions"]["CORRECT"] >= 1
    assert found["web_rate"] == 0
    assert "Who painted the Mona Lisa?" in {gap["question"] for gap in found["gaps"]}
    assert found["seconds"].keys() >= {"retrieve", "evaluate", "decide", "generate"}
    listed = as_json(localcrag(data, "runs", "list", "--action", "incorrect", "--collection", "default", "--json"))
    assert two_runs[1] in {one["run_id"] for one in listed}
    assert {one["action"] for one in listed} == {"INCORRECT"}


def test_settings_come_from_the_environment(data: Path) -> None:
    run = as_json(localcrag(data, "ask", "ferry?", "--json", LOCALCRAG_K="1"))
    assert len(run["passages"]) == 1


def test_a_file_that_fails_makes_the_exit_status_1_and_says_why(data: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.pdf").write_bytes(b"no pdf")
    done = as_json(localcrag(data, "ingest", str(tmp_path / "bad.pdf"), "--json"), status=1)
    assert done[0]["status"] == "failed"
    assert "bad.pdf" in done[0]["error"]


@pytest.mark.slow
def test_pages_without_text_are_named_on_stderr_and_in_the_json(tmp_path: Path) -> None:
    path = make_pages_pdf(tmp_path / "[scans].pdf", ["text", "scan", "scan", "blank"])
    waits = "Pages 2–3 are pictures: they can be found as soon as their text is recognised."
    none = "No text that can be recognised was found on: page 2–3."
    process = localcrag(tmp_path / "one", "ingest", str(path), COLUMNS="200")
    assert (process.returncode, process.stdout) == (0, "")
    assert waits in process.stderr
    assert f"warning: {none}" in process.stderr
    added, read = as_json(localcrag(tmp_path / "two", "ingest", str(path), "--json"))
    assert (added["note"], added["warnings"], read["warnings"]) == (waits, [], [none])
    assert {"document", "status", "pages", "chunks", "seconds", "error"} <= added.keys()
    (again,) = as_json(localcrag(tmp_path / "two", "ingest", str(path), "--json"))
    assert (again["status"], again["warnings"]) == ("unchanged", [])


def test_where_scans_are_not_to_be_read_their_pages_are_a_warning(tmp_path: Path) -> None:
    path = make_pages_pdf(tmp_path / "[scans].pdf", ["text", "scan", "scan", "blank"])
    (done,) = as_json(localcrag(tmp_path, "ingest", str(path), "--json", LOCALCRAG_READ_SCANS="off"))
    assert done["warnings"] == ["Pages 2–3 hold no text (scans?): they cannot be found or quoted."]


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        pytest.param(["frobnicate"], 2, "invalid choice", id="unknown command"),
        pytest.param(["ask", "  "], 2, "question is empty", id="empty question"),
        pytest.param(["ask", "q", "--scorer", "me"], 2, "invalid choice: 'me'", id="unknown scorer"),
        pytest.param(["ask", "q", "--k", "0"], 2, "--k must be a whole number between 1 and 50.", id="k of 0"),
        pytest.param(["ask", "q", "--upper", "0.2", "--lower", "0.4"], 2, "must not be above", id="thresholds"),
        pytest.param(["ask", "q", "--collection", "none"], 1, "no collection “none” (there are: def", id="collection"),
        pytest.param(["ask", "q", "--llm", "nomodel"], 1, "localcrag models", id="unknown model"),
        pytest.param(["ingest"], 2, "Name files", id="nothing to ingest"),
        pytest.param(["documents", "delete", "x.pdf"], 1, "no document “x.pdf”", id="unknown document"),
        pytest.param(["runs", "show", "x"], 1, "no stored run “x”", id="unknown run"),
        pytest.param(["runs", "replay", "x"], 1, "no stored run “x”", id="unknown run to replay"),
        pytest.param(["runs", "list", "--number", "-3"], 2, "not a number of runs", id="impossible number"),
        pytest.param(["ui", "--port", "99999"], 2, "99999 is not a port", id="impossible port"),
        pytest.param(["documents", "delete", "caf\udce9"], 1, "no document “caf\ufffd”", id="undecodable name"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_without_a_traceback(data: Path, arguments: list[str], status: int, says: str) -> None:
    process = localcrag(data, *arguments)
    assert process.returncode == status, process.stderr
    assert says in process.stderr
    assert "Traceback" not in process.stderr
    assert process.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["ask"], "Missing: QUESTION. See `localcrag ask --help`", id="no question"),
        pytest.param(["models"], "Missing: COMMAND. See `localcrag models --help`", id="no command of models"),
        pytest.param([], "Missing: COMMAND. See `localcrag --help`", id="no command"),
        pytest.param(["ask", "q", "--upper", "2"], "--upper must be between 0 and 1. ", id="above"),
        pytest.param(["ask", "q", "--lower", "-0.1"], "--lower must be between 0 and 1. ", id="below"),
        pytest.param(["ask", "q", "--strip", "nan"], "--strip must be between 0 and 1. ", id="no number at all"),
        pytest.param(["ask", "q", "--upper", "high"], "--upper must be between 0 and 1. ", id="a word"),
        pytest.param(["ask", "q", "--k", "2.5"], "--k must be a whole number between 1 and 50. ", id="no whole number"),
        pytest.param(["ask", "q", "--k", "²"], "--k must be a whole number between 1 and 50. ", id="an odd digit"),
        pytest.param(["ask", "q", "--k", "9" * 5000], "--k must be a whole number between 1 and 50. ", id="too long"),
        pytest.param(["ask", "q", "--temperature", "3"], "--temperature must be between 0 and 2. ", id="temperature"),
        pytest.param(["ask", "q", "--time-budget", "-1"], "--time-budget must be 0 or more. ", id="time"),
        pytest.param(["ingest", "x", "--workers", "65"], "--workers must be a whole number between 0 and 64. ", id="n"),
        pytest.param(["eval", "x", "--k", "0"], "--k must be a whole number between 1 and 50. ", id="of an evaluation"),
        pytest.param(["runs", "thresholds", "--upper", "1.1"], "--upper must be between 0 and 1. ", id="of past runs"),
        pytest.param(["ask", "q", "--strictness", "soft"], "--strictness must be supported-only, mark", id="a name"),
        pytest.param(["labels", "remove", "one"], "one is not the number of a label. Give a whole", id="a label"),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_line_that_points_to_the_help(data: Path, arguments: list[str], says: str) -> None:
    process = localcrag(data, *arguments)
    assert process.returncode == 2
    (line,) = process.stderr.splitlines()
    assert line.startswith("localcrag: ")
    assert says in line
    assert line.endswith("--help`.")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("UPPER", "2", "upper must be between 0 and 1 (given: '2')."),
        ("K", "many", "k must be a whole number between 1 and 50 (given: 'many')."),
        ("SEARCH_TIMEOUT", "0", "search_timeout must be above 0 and at most 120 (given: '0')."),
        ("POLICY", "best", "policy must be max, fraction, ratio or count (given: 'best')."),
        ("RETRY", "perhaps", "retry must be on or off (given: 'perhaps')."),
    ],
)
def test_a_setting_that_is_not_valid_is_said_in_our_words(data: Path, name: str, value: str, says: str) -> None:
    process = localcrag(data, "runs", "list", **{f"LOCALCRAG_{name}": value})
    assert process.returncode == 2
    assert process.stderr.startswith(f"localcrag: {says}")


@pytest.mark.parametrize("order", ["before", "between", "after"])
def test_options_count_wherever_they_stand(data: Path, order: str) -> None:
    given = ["--json", "--data-dir", str(data)]
    words = {"before": ["runs", *given, "list"], "between": ["runs", "list", *given], "after": ["documents", *given]}
    assert isinstance(as_json(localcrag(data / "elsewhere", *words[order])), list)


def test_errors_are_json_too(data: Path) -> None:
    result = as_json(as_process(data, "runs", "show", "x", "--json"), status=1)
    assert result["kind"] == "UnknownRun"
    assert "localcrag runs list" in result["error"]


@pytest.mark.parametrize(
    "command",
    [
        "ask x", "documents", "documents list", "documents delete x", "web", "web never", "presets", "presets list",
        "presets use fast", "runs list", "runs export", "runs stats", "runs thresholds", "labels", "labels list",
        "labels remove --all", "labels export --as training x.jsonl", "labels export --as set x", "pins", "pins list",
        "gaps", "gaps list", "eval --pinned", "calibrate show", "calibrate undo", "calibrate --from-use",
        "ingest --re-embed",
    ],
)  # fmt: skip
def test_a_collection_that_is_not_there_is_an_error_that_names_those_there_are(data: Path, command: str) -> None:
    process = localcrag(data, *command.split(), "--collection", "typo", "--json")
    error = as_json(process, status=1)
    assert error["kind"] == "UnknownCollection"
    assert "no collection “typo” (there are: default)" in error["error"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["ask", "--json"],
        ["ask", "q", "--json", "--colection", "x"],
        ["--json"],
        ["frobnicate", "--json"],
        ["runs", "--json", "list", "--number", "0"],
        ["runs", "list", "--js", "--number", "x"],
    ],
)
def test_wrong_usage_is_json_too(data: Path, arguments: list[str]) -> None:
    process = localcrag(data, *arguments)
    result = as_json(process, status=2)
    assert result["kind"] == "SettingsError"
    assert "--help`." in result["error"]
    assert process.stderr == f"localcrag: {result['error']}\n"


def test_a_broken_settings_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{not json")
    process = as_process(tmp_path, "runs", "list")
    assert process.returncode == 2
    assert "settings.json" in process.stderr


def test_some_documents_alone_are_asked_by_name_folder_tag_kind_or_day(data: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "ferry times.txt").write_text("The night ferry to Arvik leaves at 23:15.")
    as_json(localcrag(data, "ingest", str(tmp_path), "--json"))
    name = "notes/ferry times.txt"

    def listed(*options: str) -> set[str]:
        return {one["name"] for one in as_json(localcrag(data, "documents", "list", *options, "--json"))}

    try:
        assert as_json(localcrag(data, "documents", "tag", name, "night", "sea", "--json"))["tagged"] == [
            "night",
            "sea",
        ]
        assert localcrag(data, "documents", "tag", "notes/", "mine").stdout == "notes/: tagged mine\n"
        assert localcrag(data, "documents", "untag", name, "sea").stdout == f"{name}: removed tags sea\n"
        assert "#mine, #night" in localcrag(data, "documents").stdout
        assert listed("--tag", "night") == listed("--folder", "notes") == listed("--kind", "text") == {name}
        assert listed("--document", "ferry.pdf", "--document", "nothing") == {"ferry.pdf"}
        assert listed("--until", "1999") == set()
        run = as_json(localcrag(data, "ask", "When does the night ferry leave?", "--tag", "mine", "--json"))
        assert {passage["document"] for passage in run["passages"]} == {name}
        assert run["scope"]["documents"] == 1
        said = localcrag(data, "ask", "When does the ferry leave?", "--kind", "PDF")
        assert "searched: 1 of 2 documents (PDF)" in said.stderr
        again = as_json(localcrag(data, "runs", "replay", run["run_id"], "--json"))
        assert again["run"]["scope"] == run["scope"]
        for options, words in (
            (("--tag", "tax"), "No document fits “tag tax”: no document has the tag “tax”."),
            (("--since", "soon"), "“soon” is not a date."),
        ):
            refused = localcrag(data, "ask", "When?", *options)
            assert (refused.returncode, words in refused.stderr) == (2, True)
    finally:
        localcrag(data, "documents", "delete", name)


def test_documents_are_listed_and_deleted(data: Path, tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("A short-lived document.")
    as_json(localcrag(data, "ingest", str(tmp_path / "short.txt"), "--json"))
    assert {one["name"] for one in as_json(localcrag(data, "documents", "--json"))} == {"ferry.pdf", "short.txt"}
    assert as_json(localcrag(data, "documents", "delete", "short.txt", "--json")) == {
        "deleted": "short.txt",
        "also": [],
        "attachments": 0,
        "warnings": [],
    }
    assert {one["name"] for one in as_json(localcrag(data, "documents", "--json"))} == {"ferry.pdf"}
    refused = localcrag(data, "documents", "delete", "short.txt", "--collection", "typo")
    assert refused.returncode == 1
    assert "There is no collection “typo”" in refused.stderr


def test_doctor_finds_a_sound_installation(data: Path) -> None:
    findings = {one["name"]: one for one in as_json(localcrag(data, "doctor", "--json"))}
    assert findings["web search"]["state"] == "off"
    assert {one["state"] for name, one in findings.items() if name != "web search"} == {"ok"}
    assert "checksums match" in findings["files of all-minilm-l6-v2"]["detail"]
    assert "1 document, 2 chunks, 2 of them in the index" in findings["collection default"]["detail"]
    assert "threads" in findings["language model"]["detail"]
    assert "computes in " in findings["relevance"]["detail"]


def test_doctor_says_that_searxng_is_not_running_and_hides_its_password(data: Path) -> None:
    findings = as_json(
        localcrag(data, "doctor", "--json", LOCALCRAG_SEARXNG_URL="http://me:hush@127.0.0.1:9"), status=1
    )
    web = next(one for one in findings if one["name"] == "web search")
    assert web["state"] == "failed"
    assert "127.0.0.1:9" in web["detail"]
    assert "hush" not in web["detail"]


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, localcrag.interfaces.cli.main as c\ntry:\n c.main(['--help'])\nexcept SystemExit: pass\n"
        "print([m for m in ('torch', 'gradio', 'pydantic', 'numpy', 'transformers', 'llama_cpp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_help_lists_every_command_in_one_group() -> None:
    (action,) = (one for one in _parser()._actions if isinstance(one, argparse._SubParsersAction))
    listed = [name for names in COMMAND_GROUPS.values() for name in names]
    assert sorted(listed) == sorted(action.choices)
    text = _parser().format_help()
    assert [line for line in text.splitlines() if line.endswith(":")] == [
        "Use:",
        "Manage:",
        "Improve:",
        "System:",
        "Options:",
    ]


@pytest.mark.parametrize("name", ["mark-partial", "balanced"])
def test_strictness_takes_the_shown_name_and_the_stored_one(name: str) -> None:
    assert _parser().parse_args(["ask", "q", "--strictness", name]).strictness == "balanced"


def test_the_client_of_postgresql_is_imported_for_who_has_a_server() -> None:
    code = "import sys, localcrag.app.assembly; print('pg8000' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("content", ["null", '"x"', "[1]", "3"])
def test_a_settings_file_that_holds_no_object_is_an_error_that_names_it(tmp_path: Path, content: str) -> None:
    (tmp_path / "settings.json").write_text(content)
    process = localcrag(tmp_path, "documents")
    assert process.returncode == 2, process.stdout
    assert "settings.json" in process.stderr
    assert "Traceback" not in process.stderr


def test_a_reader_that_goes_away_is_no_traceback(data: Path) -> None:
    (gone, printed), (reading, said) = os.pipe(), os.pipe()
    process = start(data, "doctor", "--json", stdout=printed, stderr=said)
    for end in (gone, printed, said):
        os.close(end)
    with os.fdopen(reading, encoding="utf-8") as complaints:
        complaint = complaints.read()
    process.wait()
    assert "Traceback" not in complaint
    assert "BrokenPipeError" not in complaint
