"""`localcrag models`: list, download, choose, check and verify models.

The progress of downloads goes to stderr: a bar on a terminal, a line every few seconds elsewhere.
"""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

from localcrag.interfaces.cli.command import ROLES, print_result
from localcrag.records.errors import LocalcragError, SettingsError
from localcrag.records.models import ModelRole

if TYPE_CHECKING:
    from localcrag.app.models.library import ModelLibrary
    from localcrag.app.models.lifecycle import LoadedModels
    from localcrag.evaluation.model_check import CheckPart
    from localcrag.records.models import DownloadProgress, Model, Report
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


LINE_SECONDS = 5.0
"""Seconds between two lines of progress if there is no terminal: frequent enough to watch, rare enough for a log."""
WORDS = {"transfer": "downloading", "check": "checking"}


@contextmanager
def display(stream: TextIO | None = None) -> Iterator[Report]:
    """Yield a function that shows the successive records of a download on `stream` (stderr)."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield _line_reporter(stream)
        return
    from rich.console import Console  # Import this here, because only a terminal needs it.
    from rich.progress import Progress, TextColumn

    bar = Progress.get_default_columns()[1]
    with Progress(TextColumn("{task.description}"), bar, console=Console(file=stream), transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(record: DownloadProgress) -> None:
            if record.phase == "connect":
                progress.console.print(
                    _describe_progress(record), markup=False
                )  # Use a separate line, which the bar does not overwrite: each connection must stay visible.
            else:
                progress.update(task, description=_describe_progress(record), completed=record.done, total=record.total)

        yield show


def _line_reporter(stream: TextIO, clock: Callable[[], float] = time.monotonic) -> Report:
    last: tuple[str, float] | None = None

    def report(record: DownloadProgress) -> None:
        nonlocal last
        now = clock()
        finished = record.done == record.total
        if last is None or last[0] != record.phase or finished or now - last[1] >= LINE_SECONDS:
            last = (record.phase, now)
            stream.write(_describe_progress(record) + "\n")
            stream.flush()

    return report


def _describe_progress(record: DownloadProgress) -> str:
    """Describe the destination of a connection, or the progress of a download."""
    if record.phase == "connect":
        return f"connecting to {record.file} for {record.model}"
    return _format_download(record)


def _format_download(record: DownloadProgress) -> str:
    """Return the progress: `downloading qwen3-4b-instruct: 120 of 2,497 MB, 11.2 MB/s, 3 min 32 s left`."""
    text = f"{WORDS[record.phase]} {record.model}: {record.done / 1e6:,.0f} of {record.total / 1e6:,.0f} MB"
    if record.bytes_per_second is not None and record.seconds_left:
        minutes, seconds = divmod(round(record.seconds_left), 60)
        left = f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"
        text += f", {record.bytes_per_second / 1e6:,.1f} MB/s, {left} left"
    return text


def check(arguments: argparse.Namespace, library: ModelLibrary, models: LoadedModels) -> int:
    """Check a language model, print the result of each part, and store it. Raises ModelError and GenerationError."""
    from localcrag.evaluation import model_check

    name = arguments.name
    if library.role(name) is not ModelRole.LLM:
        raise SettingsError(f"{name} is not a language model. Only language models can be checked.")
    llm = models.language_model(name)
    says_window = getattr(llm, "says_window", True)
    parts: list[CheckPart] = []
    sys.stderr.write(f"checking {llm.name}, context window of {llm.context_tokens} tokens …\n")
    for part in model_check.check(llm, says_window=says_window):
        parts.append(part)
        wrong = "" if part.passed else f": wrote “{part.wrong}”"
        sys.stderr.write(f"{'ok  ' if part.passed else 'no  '} {part.name} {part.right}/{part.asked}{wrong}\n")
    skills = model_check.skills(parts)
    kept = library.save_check(llm.name, parts, skills, datetime.now(UTC).date().isoformat())
    used = library.skills(llm.name)
    summary = f"{llm.name}: used for {', '.join(sorted(used)) or 'answers only, shown with the best sentences'}"
    if not kept:
        summary += " (from the model list; this check changes nothing)"
    result = {
        "name": llm.name, "window": llm.context_tokens, "says_window": says_window,
        "parts": [asdict(part) for part in parts], "skills": sorted(used),
    }  # fmt: skip
    print_result(result, arguments, summary)
    return DONE


DONE, FAILED = 0, 1
EMBEDDED = "embedded"
"""Name that stands for the default models in `localcrag models get`."""


def add_models_parser(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Add `models` and its subcommands; `common` has `--json` and `--data-dir`."""
    models = subparsers.add_parser("models", help="list, download, choose and check models", parents=[common])
    commands = models.add_subparsers(dest="models_command", required=True, metavar="COMMAND")

    def add(name: str, does: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=does, description=does, parents=[common])
        command.set_defaults(run=run)
        return command

    listing = add(
        "list", "list the models that localcrag knows, your GGUF files, and models of servers on this computer"
    )
    listing.add_argument("address", nargs="?", metavar="ADDRESS", help="a model server whose models to list as well")
    get = add("get", "download models, or repair damaged ones")
    get.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help=f"a model or set from `models list`; {EMBEDDED}: the default models",
    )
    use = add("use", "choose a model (saved in the settings)")
    use.add_argument(
        "name",
        metavar="NAME",
        help="a model or set from `models list`, the path of a model, or http://HOST:PORT/v1#MODEL",
    )
    use.add_argument("--role", choices=ROLES, help="what to use the model for, if its files do not show it")
    use.add_argument(
        "--agree",
        action="store_true",
        help="approve that questions and parts of documents go to a server on another computer",
    )
    key = add("key", "store the API key of a model server, read from the terminal or stdin; an empty key removes it")
    key.add_argument("address", metavar="ADDRESS", help="address of the server: http://HOST:PORT")
    check = add("check", "test a language model briefly, and use it for the tasks it passes")
    check.add_argument(
        "name", metavar="NAME", help="a model from `models list`, the path of a model, or http://HOST:PORT/v1#MODEL"
    )
    path = add("path", "print the path of the model in use")
    path.add_argument(
        "role", metavar="ROLE", choices=ROLES, help="embedder (embedding model), relevance (reranker) or llm"
    )
    verify = add("verify", "read models completely and compare their checksums")
    verify.add_argument("name", nargs="?", metavar="NAME", help="the model to verify (default: all installed models)")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Run a subcommand; return 0 if it succeeded, 1 if it failed. Raises LocalcragError."""
    from localcrag.app.models.library import ModelLibrary
    from localcrag.app.shared_state import CurrentSettings

    commands = {"list": _list, "get": _get, "use": _use, "path": _path, "verify": _verify, "key": _key, "check": _check}
    return commands[arguments.models_command](arguments, settings, ModelLibrary(CurrentSettings(settings)))


def _list(arguments: argparse.Namespace, settings: Settings, library: ModelLibrary) -> int:
    library.servers.look()
    if arguments.address:
        library.servers.look(arguments.address)
    models = library.models()
    in_use = {model.name for model in models if getattr(settings, model.role) in (model.name, str(model.path))}
    width = max(len(model.name) for model in models)
    for model in models:
        _line(arguments, f"{'*' if model.name in in_use else ' '} {_describe(model, width)}")
    _document(arguments, [_record(model) | {"in_use": model.name in in_use} for model in models])
    if not arguments.json:
        for one in library.sets():
            _say(f"{one.title}: `localcrag models use {one.name}` ({' and '.join(one.models)}). {one.description}")
        from localcrag.app.models import hardware as graphics

        _say("\n".join(graphics.report().lines()))
        _say(f"* in use. The models folder is {library.folder}: GGUF files that you put there are listed, too.")
    return DONE


def _describe(model: Model, width: int) -> str:
    if model.path is None:
        return f"{model.name:<{width}}  {model.role:<9}  {model.place}"
    size = f"{'' if model.exact else 'about '}{model.size / 1e6:,.0f} MB"
    about = f"{model.licence or 'yours'}\n    {model.description or model.path}"
    return f"{model.name:<{width}}  {model.role:<9}  {model.state:<7}  {size:>14}  {about}"


def _record(model: Model) -> dict[str, Any]:
    names = ("name", "role", "state", "source", "size", "exact", "licence", "description", "path", "place")
    return {name: getattr(model, name) for name in names}


def _get(arguments: argparse.Namespace, settings: Settings, library: ModelLibrary) -> int:

    wanted = [
        name
        for given in arguments.names
        for name in (library.embedded() if given == EMBEDDED else library.named(given))
    ]
    results: list[dict[str, Any]] = []
    for name in dict.fromkeys(wanted):
        try:
            with display() as report:
                downloaded = library.get(name, report)
        except LocalcragError as error:
            # The other models are still downloaded, so that a set-up whose connection breaks misses as little as
            # possible.
            results.append({"name": name, "state": "failed", "error": str(error)})
            _say(f"localcrag: {error}")
            continue
        path = next(model.path for model in library.models() if model.name == name)
        state = "downloaded" if downloaded else "already there"
        results.append({"name": name, "state": state, "path": path})
        _line(arguments, f"{name}: {state}, {path}")
    _document(arguments, results)
    return FAILED if any(result["state"] == "failed" for result in results) else DONE


def _use(arguments: argparse.Namespace, settings: Settings, library: ModelLibrary) -> int:
    from localcrag.records.models import ModelRole, is_served

    names = library.named(arguments.name)
    if names == (arguments.name,):  # The name belongs to a model, not to a set.
        role = ModelRole(arguments.role) if arguments.role else library.role(arguments.name)
        if role is None:
            raise SettingsError(
                f"The files of {arguments.name} do not show what the model is for. Add --role {'|'.join(ROLES)}."
            )
        if is_served(arguments.name):
            _agree(arguments, library)
        chosen = [library.choose(arguments.name, role)]
    else:
        chosen = library.choose_all(names)
    done = [one._asdict() | {"before": getattr(settings, one.role)} for one in chosen]
    for one in chosen:
        _line(arguments, f"{one.role}: {one.name}")
    _document(arguments, done if len(done) > 1 else done[0])
    for one in chosen:
        _print_consequences(one.role, one.name, getattr(settings, one.role))
    return DONE


def _print_consequences(role: str, name: str, before: str) -> None:
    from localcrag.records.models import ModelRole

    if role is ModelRole.EMBEDDER and name != before:
        _say(
            f"Collections that were indexed with {before} must be re-indexed before you can search them: run "
            f"`localcrag ingest --re-embed --collection NAME` for each. To go back: `localcrag models use {before}`."
        )
    variable = f"LOCALCRAG_{role.upper()}"
    if variable in os.environ:
        _say(f"The environment variable {variable} is set and overrides this choice. Remove it.")


def _agree(arguments: argparse.Namespace, library: ModelLibrary) -> None:
    """Get the user's consent to a server on another computer, once: on the terminal, or by the option."""
    sentence = library.servers.required_agreement(arguments.name)
    if not sentence:
        return
    if not arguments.agree:
        _say(sentence)
        if not sys.stdin.isatty():
            raise SettingsError("Sending data to this server needs your approval. Repeat the command with --agree.")
        _say("Approve? This holds until you remove the server from agreed_servers in settings.json. [y/N]")
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise SettingsError("You did not approve the server, so nothing was changed.")
    library.servers.agree(arguments.name)


def _key(arguments: argparse.Namespace, settings: Settings, library: ModelLibrary) -> int:
    if sys.stdin.isatty():
        key = getpass.getpass(f"Key of {arguments.address} (not shown): ", sys.stderr)
    else:
        key = sys.stdin.readline()
    library.servers.save_key(arguments.address, key)
    did = "kept" if key.strip() else "removed"
    _line(arguments, f"key of {arguments.address}: {did}")
    _document(arguments, {"address": arguments.address, "key": did})
    return DONE


def _check(arguments: argparse.Namespace, settings: Settings, library: ModelLibrary) -> int:
    from localcrag.app.models.lifecycle import LoadedModels
    from localcrag.app.shared_state import CurrentSettings, LazyCache

    return check(arguments, library, LoadedModels(CurrentSettings(settings), library, LazyCache()))


def _path(arguments: argparse.Namespace, settings: Settings, library: ModelLibrary) -> int:
    from localcrag.records.models import ModelRole

    name = getattr(settings, arguments.role)
    path = library.path(name, ModelRole(arguments.role))
    _line(arguments, str(path))
    _document(arguments, {"role": arguments.role, "name": name, "path": path})
    return DONE


def _verify(arguments: argparse.Namespace, settings: Settings, library: ModelLibrary) -> int:
    from localcrag.records.models import FileState

    checks = []
    for check in library.verify(arguments.name):
        checks.append(check)
        _line(arguments, f"{check.state:<7}  {check.path}")
    _document(arguments, [{"model": check.model, "path": check.path, "state": check.state} for check in checks])
    bad = {check.model for check in checks if check.state in (FileState.MISSING, FileState.WRONG)}
    for name, remedy in library.remedies(bad).items():
        _say(f"{name} is incomplete or damaged. {remedy}")
    return FAILED if bad else DONE


def _line(arguments: argparse.Namespace, text: str) -> None:
    if not arguments.json:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def _document(arguments: argparse.Namespace, result: object) -> None:
    if arguments.json:
        sys.stdout.write(json.dumps(result, ensure_ascii=False, indent=2, default=str) + "\n")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
