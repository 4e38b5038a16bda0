"""The command line: `localcrag ingest|ask|ui|documents|models|presets|web|runs|labels|pins|eval|privacy|doctor|…`.

Results go to stdout (one JSON document with --json), progress and everything else to stderr. Exit status: 0 done, 1 the
thing asked for failed, 2 wrong usage. Nothing heavy is imported before it is needed: --help must answer at once.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag import __version__
from localcrag.cli.command_output import print_result
from localcrag.privacy import egress_log, private_folder
from localcrag.records.errors import LocalcragError, QuestionError, SettingsError

if TYPE_CHECKING:
    from localcrag.settings import Settings

DONE, FAILED, WRONG_USAGE = 0, 1, 2
INTERRUPTED = 130
POLICIES = ("max", "fraction", "ratio", "count")
WEB_MODES = ("never", "ask", "always")
CONFLICT_RULES = ("documents", "web", "newer", "more-relevant", "show-both")
PRESETS = ("general", "medical", "legal", "news", "fast", "strict", "balanced", "lenient", "documents-only")

STRIP_MODES = ("sentence", "multi-sentence", "paragraph", "window", "adaptive")
STRICTNESS = ("strict", "balanced", "lenient")
REFINERS = ("strips", "llm")


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit status."""
    parsed = _parser().parse_args(arguments)
    try:
        status = int(parsed.run(parsed, _settings(parsed)))
        sys.stdout.flush()
        return status
    except (SettingsError, QuestionError) as error:
        return _complain(error, parsed, WRONG_USAGE)
    except LocalcragError as error:
        return _complain(error, parsed, FAILED)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is left to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        print("Interrupted. What was reported as done is kept.", file=sys.stderr)
        return INTERRUPTED


def _complain(error: LocalcragError, parsed: argparse.Namespace, status: int) -> int:
    if parsed.json:
        print(json.dumps({"error": str(error), "kind": type(error).__name__}, ensure_ascii=False))
    print(f"localcrag: {error}", file=sys.stderr)
    return status


def _settings(parsed: argparse.Namespace) -> Settings:
    from localcrag.settings import load  # noqa: PLC0415
    from localcrag.text import translation  # noqa: PLC0415

    names = ("data_dir", "collection", "policy", "web", "k", "scorer", "upper", "lower", "strip", "searxng_url", "llm")
    more = ("strip_mode", "refiner", "conflict_rule", "strictness", "retry", "time_budget", "temperature")
    settings = load(**{name: getattr(parsed, name, None) for name in (*names, *more)})
    translation.choose(settings.language)
    private_folder.keep_private(settings.data_dir)
    egress_log.keep_in(settings.data_dir)
    return settings


def _parser() -> argparse.ArgumentParser:
    # SUPPRESS: `list` must not put its defaults over what `runs --json list` gave before it.
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--data-dir", metavar="DIR", help="where everything is kept (also LOCALCRAG_DATA_DIR)")
    common.add_argument("--json", action="store_true", help="print the result as JSON")
    within = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    within.add_argument("--collection", metavar="NAME", help="the set of documents (default: “default”)")

    parser = argparse.ArgumentParser(
        prog="localcrag",
        description="Answers from your own documents, on your own machine, with the retrieval checked first.",
    )
    parser.add_argument("--version", action="version", version=f"localcrag {__version__}")
    parser.set_defaults(json=False, data_dir=None, collection=None)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    command = commands.add_parser("ingest", parents=[common, within], help="take documents in")
    command.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files, or folders of files")
    command.add_argument("--re-embed", action="store_true", help="embed what is there anew, for another embedder")
    command.set_defaults(run=_ingest)

    _add_ask(commands.add_parser("ask", parents=[common, within], help="ask a question"))

    command = commands.add_parser("ui", parents=[common, within], help="open the page in the browser")
    add_ui_options(command)
    command.set_defaults(run=_ui)

    documents = commands.add_parser("documents", parents=[common, within], help="list or delete documents")
    documents.set_defaults(run=_list_documents)
    named = documents.add_subparsers(metavar="list | delete NAME")
    named.add_parser("list", parents=[common, within]).set_defaults(run=_list_documents)
    command = named.add_parser("delete", parents=[common, within])
    command.add_argument("name", metavar="NAME")
    command.set_defaults(run=_delete_document)

    from localcrag.cli import (  # noqa: PLC0415
        calibrate_command,
        eval_command,
        gaps_command,
        labels_command,
        models_command,
        pins_command,
        privacy_command,
        runs_command,
    )

    models_command.add_parser(commands, common)
    privacy_command.add_parser(commands, common)

    chosen = commands.add_parser("presets", parents=[common, within], help="list presets, or choose a collection's")
    chosen.set_defaults(run=_list_presets)
    named = chosen.add_subparsers(metavar="list | use NAME")
    named.add_parser("list", parents=[common, within]).set_defaults(run=_list_presets)
    command = named.add_parser("use", parents=[common, within])
    command.add_argument("name", choices=PRESETS, metavar="NAME", help="one of the list")
    command.set_defaults(run=_use_preset)

    command = commands.add_parser("web", parents=[common, within], help="show or choose a collection's web mode")
    command.add_argument("mode", nargs="?", choices=WEB_MODES, help="whether your SearXNG may be asked")
    command.set_defaults(run=_web_mode)

    for family in (runs_command, labels_command, pins_command, gaps_command, eval_command, calibrate_command):
        family.add_parser(commands, common, within)

    command = commands.add_parser("doctor", parents=[common], help="check the installation")
    command.set_defaults(run=_doctor)
    return parser


def _add_ask(command: argparse.ArgumentParser) -> None:
    command.add_argument("question", metavar="QUESTION")
    # Written out, since the enums are imported with the rest, later; a test compares them.
    command.add_argument("--policy", choices=POLICIES, help="the rule from relevances to an action")
    command.add_argument(
        "--preset", choices=PRESETS, help="for this question; `localcrag presets` says whom each is for"
    )
    command.add_argument("--web", choices=WEB_MODES, help="whether your SearXNG may be asked; ask: you see the query")
    command.add_argument("--searxng-url", metavar="URL", help="the SearXNG to ask, for this question")
    command.add_argument(
        "--conflicts",
        choices=CONFLICT_RULES,
        dest="conflict_rule",
        help="which side counts where documents and web differ",
    )
    command.add_argument("--k", type=int, metavar="N", help="passages to retrieve")
    command.add_argument("--llm", metavar="NAME", help="the language model, for this question")
    command.add_argument(
        "--scorer", choices=["cross-encoder", "llm"], help="what grades the passages; llm needs a good model"
    )
    command.add_argument("--strip-mode", choices=STRIP_MODES, help="how passages are cut into strips")
    command.add_argument("--refiner", choices=REFINERS, help="what picks the strips; llm needs a good model")
    command.add_argument(
        "--retry",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="look once more, in other words, when the first passages are not enough",
    )
    command.add_argument("--strictness", choices=STRICTNESS, help="which sentences are shown; marked if in doubt")
    command.add_argument(
        "--time-budget", type=float, metavar="S", help="seconds; what there is no time for is left out"
    )
    command.add_argument("--temperature", type=float, metavar="T", help="of the answer; 0 gives the same every time")
    for name in ("upper", "lower", "strip"):
        command.add_argument(f"--{name}", type=float, metavar="P", help=f"the threshold {name}, in 0..1")
    command.set_defaults(run=_ask)


def add_ui_options(parser: argparse.ArgumentParser) -> None:
    """Add what `localcrag ui` and `app.py` take."""
    parser.add_argument("--port", type=_port, metavar="N", help="port on 127.0.0.1 (7860, or the next free one)")
    parser.add_argument("--host", type=_host, metavar="ADDRESS", help="127.0.0.1; others are refused, with the reason")
    parser.add_argument("--no-browser", action="store_true", help="do not open the browser")


def _host(text: str) -> str:
    if text not in ("127.0.0.1", "localhost"):
        raise argparse.ArgumentTypeError(
            f"localcrag does not listen on {text}: it has no users and passwords, and would show your documents to "
            "whoever can reach that address. From another computer of yours, go through SSH (ssh -L "
            "7860:127.0.0.1:7860 you@this-computer) and open http://127.0.0.1:7860 there; see SECURITY.md"
        )
    return text


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: choose one from 1 to 65535")
    return int(text)


def _ingest(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.assemble import Assembly, uploads_from  # noqa: PLC0415
    from localcrag.cli import terminal  # noqa: PLC0415
    from localcrag.records.enums import IngestStatus  # noqa: PLC0415

    if bool(parsed.paths) == parsed.re_embed:
        raise SettingsError("Name files or folders to take in, or --re-embed without any.")
    assembly = Assembly(settings)
    if parsed.re_embed:
        done = terminal.show_re_embedding(assembly.re_embed())
        print_result({"collection": settings.collection, "chunks": done}, parsed, f"{done} chunks embedded anew.")
        return DONE
    results = terminal.show_ingest(assembly.ingest(uploads_from(parsed.paths)), quiet=parsed.json)
    print_result([dataclasses.asdict(result) for result in results], parsed, None)
    return FAILED if any(result.status is IngestStatus.FAILED for result in results) else DONE


def _ask(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.assemble import Assembly  # noqa: PLC0415
    from localcrag.cli import terminal  # noqa: PLC0415
    from localcrag.records.enums import Preset  # noqa: PLC0415
    from localcrag.runs import record  # noqa: PLC0415

    # Only where somebody sits: a script must not wait for an answer that never comes.
    consent = terminal.ask_consent if sys.stdin.isatty() and sys.stderr.isatty() else None
    preset = parsed.preset and Preset(parsed.preset)
    assembly = Assembly(settings)
    if parsed.llm:
        _ = assembly.llm  # A model that was named is meant: without it, no lesser answer but what is wrong.
    run = terminal.show_run(assembly.ask(parsed.question, preset=preset, consent=consent))
    print_result(record.to_json(run), parsed, terminal.answer_text(run))
    return DONE


def _ui(parsed: argparse.Namespace, settings: Settings) -> int:
    # Gradio reads it when it is imported; its default is a folder that every user of the machine can look into.
    # matplotlib, which Gradio imports, makes a folder beside the person's settings of other programs.
    for name in ("GRADIO_TEMP_DIR", "MPLCONFIGDIR"):
        os.environ[name] = str(settings.uploads_dir)
    from localcrag.ui.server.launch import launch  # noqa: PLC0415

    launch(settings, port=parsed.port, browser=not parsed.no_browser)
    return DONE


def _list_documents(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.assemble import Assembly  # noqa: PLC0415

    documents = Assembly(settings).documents()
    lines = [f"{d.name}  ·  {d.pages or '–'} pages, {d.chunks} chunks, {d.added_at}" for d in documents]
    print_result([dataclasses.asdict(d) for d in documents], parsed, "\n".join(lines) or "No documents.")
    return DONE


def _delete_document(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.assemble import Assembly  # noqa: PLC0415
    from localcrag.text.words import valid  # noqa: PLC0415

    name = valid(parsed.name)
    Assembly(settings).delete(name)
    print_result({"deleted": name}, parsed, f"{name}: deleted")
    return DONE


def _list_presets(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.assemble import Assembly  # noqa: PLC0415
    from localcrag.records.presets import PRESETS as RULES  # noqa: PLC0415

    used = Assembly(settings).preset()
    lines = [f"{'→' if name is used else ' '} {name:<15} {rules.purpose}" for name, rules in RULES.items()]
    listed = [{"name": name, "used": name is used, **dataclasses.asdict(rules)} for name, rules in RULES.items()]
    print_result(listed, parsed, "\n".join(lines))
    return DONE


def _use_preset(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.assemble import Assembly  # noqa: PLC0415
    from localcrag.records.enums import Preset  # noqa: PLC0415
    from localcrag.records.presets import PRESETS as RULES  # noqa: PLC0415

    preset = Preset(parsed.name)
    Assembly(settings).set_preset(preset)
    text = f"The collection “{settings.collection}” is asked under the preset {preset}. {RULES[preset].purpose}"
    print_result({"collection": settings.collection, "preset": preset}, parsed, text)
    return DONE


def _web_mode(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.assemble import Assembly  # noqa: PLC0415
    from localcrag.records.enums import WebMode  # noqa: PLC0415

    assembly = Assembly(settings)
    if parsed.mode:
        assembly.set_web_mode(WebMode(parsed.mode))
    mode = assembly.web_mode()
    fixed = parsed.mode and mode != parsed.mode
    note = " It is set for all collections (setting web), which wins." if fixed else ""
    text = f"For the collection “{settings.collection}” the web mode is {mode}.{note}"
    print_result({"collection": settings.collection, "web": mode}, parsed, text)
    return DONE


def _doctor(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.assemble import Assembly  # noqa: PLC0415
    from localcrag.app.health import State, examine  # noqa: PLC0415

    findings = []
    for finding in examine(Assembly(settings)):
        findings.append(finding)
        if not parsed.json:
            print(f"{finding.state:<6}  {finding.name}: {finding.detail}", flush=True)
    if parsed.json:
        print_result([dataclasses.asdict(finding) for finding in findings], parsed, None)
    return FAILED if any(finding.state is State.FAILED for finding in findings) else DONE
