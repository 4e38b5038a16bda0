"""`localcrag models`: list, download, choose, check and verify models.

The progress of downloads goes to stderr: a bar on a terminal, a line every few seconds elsewhere.
"""

from __future__ import annotations

import argparse
import getpass
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, TextIO

from localcrag.interfaces.cli.command import DONE, FAILED, Commands, print_result, say, values
from localcrag.records.errors import LocalcragError, SettingsError
from localcrag.records.models import FileState, ModelRole, is_served

if TYPE_CHECKING:
    from localcrag.app.models.library import ModelLibrary
    from localcrag.evaluation.model_check import CheckPart
    from localcrag.records.models import DownloadProgress, Model, Report
    from localcrag.settings import Settings


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
                # A line of its own, which the bar does not overwrite: each connection must stay visible.
                progress.console.print(_describe_progress(record), markup=False)
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
    """Return the destination of a connection, or the progress of a download, in words.

    For instance `downloading qwen3-4b-instruct: 120 of 2,497 MB, 11.2 MB/s, 3 min 32 s left`.
    """
    if record.phase == "connect":
        return f"connecting to {record.file} for {record.model}"
    text = f"{WORDS[record.phase]} {record.model}: {record.done / 1e6:,.0f} of {record.total / 1e6:,.0f} MB"
    if record.bytes_per_second is not None and record.seconds_left:
        minutes, seconds = divmod(round(record.seconds_left), 60)
        left = f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"
        text += f", {record.bytes_per_second / 1e6:,.1f} MB/s, {left} left"
    return text


EMBEDDED = "embedded"
"""Name that stands for the default models in `localcrag models get`."""


def add_commands(commands: Commands) -> None:
    """Add `models` and its subcommands."""
    models = commands.add("models", _list, "list, download, choose and check models")
    named = commands.subcommands(models, "COMMAND", required=True)

    words = "list the models that localcrag knows, your GGUF files, and models of servers on this computer"
    command = named.add("list", _list, words)
    command.add_argument("address", nargs="?", metavar="ADDRESS", help="a model server whose models to list, too")

    command = named.add("get", _get, "download models, or repair damaged ones")
    words = f"a model or set from `models list`; {EMBEDDED}: the default models"
    command.add_argument("names", nargs="+", metavar="NAME", help=words)

    model = ("NAME", "a model or set from `models list`, the path of a model, or http://HOST:PORT/v1#MODEL")
    command = named.add("use", _use, "choose a model (saved in the settings)", model)
    words = "what to use the model for, if its files do not tell"
    command.add_argument("--role", choices=values(ModelRole), help=words)
    words = "approve that questions and parts of documents go to a server on another computer"
    command.add_argument("--agree", action="store_true", help=words)

    words = "store the API key of a model server, read from the terminal or stdin; an empty key removes it"
    named.add("key", _key, words, ("ADDRESS", "address of the server: http://HOST:PORT"))

    model = ("NAME", "a model from `models list`, the path of a model, or http://HOST:PORT/v1#MODEL")
    named.add("check", _check, "test a language model briefly, and use it for the tasks it passes", model)

    command = named.add("path", _path, "print the path of the model in use")
    words = "embedder (embedding model), relevance (reranker) or llm"
    command.add_argument("role", metavar="ROLE", choices=values(ModelRole), help=words)

    command = named.add("verify", _verify, "read models completely and compare their checksums")
    words = "the model to verify (default: all installed models)"
    command.add_argument("name", nargs="?", metavar="NAME", help=words)


def _library(settings: Settings) -> ModelLibrary:
    from localcrag.app.models.library import ModelLibrary
    from localcrag.app.shared_state import CurrentSettings

    return ModelLibrary(CurrentSettings(settings))


def _list(parsed: argparse.Namespace, settings: Settings) -> None:
    library = _library(settings)
    library.servers.discover()
    if parsed.address:
        library.servers.discover(parsed.address)
    models = library.models()
    in_use = {model.name for model in models if getattr(settings, model.role) in (model.name, str(model.path))}
    width = max(len(model.name) for model in models)
    lines = [f"{'*' if model.name in in_use else ' '} {_describe(model, width)}" for model in models]
    print_result([_record(model) | {"in_use": model.name in in_use} for model in models], parsed, "\n".join(lines))
    if not parsed.json:
        from localcrag.app.models import hardware

        for one in library.manifest.sets:
            say(f"{one.title}: `localcrag models use {one.name}` ({' and '.join(one.models)}). {one.description}")
        say("\n".join(hardware.report().lines()))
        say(f"* in use. The models folder is {library.models_dir}: GGUF files that you put there are listed, too.")


def _describe(model: Model, width: int) -> str:
    if model.path is None:
        return f"{model.name:<{width}}  {model.role:<9}  {model.place}"
    size = f"{'' if model.exact else 'about '}{model.size / 1e6:,.0f} MB"
    about = f"{model.licence or 'yours'}\n    {model.description or model.path}"
    return f"{model.name:<{width}}  {model.role:<9}  {model.state:<7}  {size:>14}  {about}"


def _record(model: Model) -> dict[str, Any]:
    names = ("name", "role", "state", "source", "size", "exact", "licence", "description", "path", "place")
    return {name: getattr(model, name) for name in names}


def _get(parsed: argparse.Namespace, settings: Settings) -> int:
    library = _library(settings)
    named = (library.embedded() if given == EMBEDDED else library.named(given) for given in parsed.names)
    results: list[dict[str, Any]] = []
    for name in dict.fromkeys(chain.from_iterable([*named])):
        try:
            with display() as report:
                downloaded = library.get(name, report)
        except LocalcragError as error:
            # The other models are still downloaded, so that a set-up whose connection breaks misses as little as
            # possible.
            results.append({"name": name, "state": "failed", "error": str(error)})
            say(f"localcrag: {error}")
            continue
        path = next(model.path for model in library.models() if model.name == name)
        state = "downloaded" if downloaded else "already there"
        results.append({"name": name, "state": state, "path": path})
        _line(parsed, f"{name}: {state}, {path}")
    print_result(results, parsed, None)
    return FAILED if any(result["state"] == "failed" for result in results) else DONE


def _use(parsed: argparse.Namespace, settings: Settings) -> None:
    library = _library(settings)
    names = library.named(parsed.name)
    if names == (parsed.name,):  # The name is that of a model and not of a set.
        role = ModelRole(parsed.role) if parsed.role else library.role(parsed.name)
        if role is None:
            why = f"The files of {parsed.name} do not tell what the model is for."
            raise SettingsError(f"{why} Add --role {'|'.join(ModelRole)}.")
        if is_served(parsed.name):
            _agree(parsed, library)
        chosen = [library.choose(parsed.name, role)]
    else:
        chosen = library.choose_all(names)
    done = [one._asdict() | {"before": getattr(settings, one.role)} for one in chosen]
    print_result(done if len(done) > 1 else done[0], parsed, "\n".join(f"{one.role}: {one.name}" for one in chosen))
    for one in chosen:
        _print_consequences(one.role, one.name, getattr(settings, one.role))


def _print_consequences(role: str, name: str, before: str) -> None:
    if role is ModelRole.EMBEDDER and name != before:
        reindex = "run `localcrag ingest --re-embed --collection NAME` for each"
        why = f"Collections that were indexed with {before} must be re-indexed before you can search them"
        say(f"{why}: {reindex}. To go back: `localcrag models use {before}`.")
    variable = f"LOCALCRAG_{role.upper()}"
    if variable in os.environ:
        say(f"The environment variable {variable} is set and overrides this choice. Remove it.")


def _agree(parsed: argparse.Namespace, library: ModelLibrary) -> None:
    """Get the user's consent to a server on another computer, once: on the terminal, or by the option."""
    sentence = library.servers.required_agreement(parsed.name)
    if not sentence:
        return
    if not parsed.agree:
        say(sentence)
        if not sys.stdin.isatty():
            raise SettingsError("Sending data to this server needs your approval. Repeat the command with --agree.")
        say("Approve? This holds until you remove the server from agreed_servers in settings.json. [y/N]")
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise SettingsError("You did not approve the server, so nothing was changed.")
    library.servers.agree(parsed.name)


def _key(parsed: argparse.Namespace, settings: Settings) -> None:
    if sys.stdin.isatty():
        key = getpass.getpass(f"Key of {parsed.address} (not shown): ", sys.stderr)
    else:
        key = sys.stdin.readline()
    _library(settings).servers.save_key(parsed.address, key)
    did = "kept" if key.strip() else "removed"
    print_result({"address": parsed.address, "key": did}, parsed, f"key of {parsed.address}: {did}")


def _check(parsed: argparse.Namespace, settings: Settings) -> None:
    """Check a language model, print the result of each part, and store it. Raises ModelError and GenerationError."""
    from localcrag.app.models.lifecycle import LoadedModels
    from localcrag.app.shared_state import CurrentSettings, LazyCache
    from localcrag.evaluation import model_check

    library = _library(settings)
    if library.role(parsed.name) is not ModelRole.LLM:
        raise SettingsError(f"{parsed.name} is not a language model. Only language models can be checked.")
    llm = LoadedModels(CurrentSettings(settings), library, LazyCache()).language_model(parsed.name)
    says_window = getattr(llm, "says_window", True)
    parts: list[CheckPart] = []
    say(f"checking {llm.name}, context window of {llm.context_tokens} tokens …")
    for part in model_check.check(llm, says_window=says_window):
        parts.append(part)
        wrong = "" if part.passed else f": wrote “{part.wrong}”"
        say(f"{'ok  ' if part.passed else 'no  '} {part.name} {part.right}/{part.asked}{wrong}")
    kept = library.save_check(llm.name, parts, model_check.skills(parts), datetime.now(UTC).date().isoformat())
    used = sorted(library.skills(llm.name))
    summary = f"{llm.name}: used for {', '.join(used) or 'answers only, shown with the best sentences'}"
    if not kept:
        summary += " (from the model list; this check changes nothing)"
    window = {"window": llm.context_tokens, "says_window": says_window}
    print_result({"name": llm.name, **window, "parts": parts, "skills": used}, parsed, summary)


def _path(parsed: argparse.Namespace, settings: Settings) -> None:
    name = getattr(settings, parsed.role)
    path = _library(settings).path(name, ModelRole(parsed.role))
    print_result({"role": parsed.role, "name": name, "path": path}, parsed, str(path))


def _verify(parsed: argparse.Namespace, settings: Settings) -> int:
    library, checks = _library(settings), []
    for check in library.verify(parsed.name) if parsed.name else library.verify_all():
        checks.append(check)
        _line(parsed, f"{check.state:<7}  {check.path}")
    print_result(checks, parsed, None)
    bad = {check.model for check in checks if check.state in (FileState.MISSING, FileState.WRONG)}
    for name, remedy in library.remedies(bad).items():
        say(f"{name} is incomplete or damaged. {remedy}")
    return FAILED if bad else DONE


def _line(parsed: argparse.Namespace, text: str) -> None:
    if not parsed.json:
        print(text, flush=True)
