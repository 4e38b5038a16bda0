"""The launch of the API: its server on 127.0.0.1, and the models meanwhile."""

from __future__ import annotations

import sys
from contextlib import ExitStack

import uvicorn

from localcrag.app.assemble import Assembly
from localcrag.app.files_in_background import files_in_background, go_on, overwriting_beside
from localcrag.app.folders.keeper import FolderKeeper
from localcrag.app.idle_models import IdleModels
from localcrag.app.re_embedding import ReEmbeddings
from localcrag.app.warm_up import warm_up_beside
from localcrag.privacy import unexpected
from localcrag.server.doors.ports import HOST, require_free
from localcrag.server.openai.api import api
from localcrag.server.openai.doors import guarded
from localcrag.server.openai.token import token_of
from localcrag.server.questions import Questions
from localcrag.settings import Settings

SECONDS_TO_END = 5
"""That answers which are under way have when the server is stopped."""


def launch(settings: Settings, *, port: int, only: str | None) -> None:
    """Serve until interrupted. Raises SettingsError when the port is taken, and UnknownCollection."""
    if not settings.debug:
        unexpected.keep_to_oneself()
    require_free(port)
    token = token_of(settings.data_dir)
    assembly = Assembly(settings)
    with ExitStack() as at_the_end:
        at_the_end.callback(assembly.close)
        questions = Questions(assembly, only)
        keeper = FolderKeeper(assembly.folders)
        files = files_in_background(assembly, keeper, lambda: questions.busy)
        overwriting = overwriting_beside(assembly, files, lambda: questions.busy)
        embeddings = ReEmbeddings(assembly.collections.re_embed)
        idle = IdleModels(assembly.models, assembly.settings_in_use)
        for beside in (overwriting, embeddings, files, idle, keeper):
            at_the_end.callback(beside.close)
        server = uvicorn.Server(
            uvicorn.Config(
                # Of what is unexpected, api.py tells; uvicorn would show words of documents with it.
                guarded(api(questions), port, token), host=HOST, port=port, ws="none", lifespan="off",
                log_level="critical", access_log=False, server_header=False, proxy_headers=False,
                timeout_graceful_shutdown=SECONDS_TO_END,
            )
        )  # fmt: skip
        print(  # noqa: T201
            f"localcrag serves http://{HOST}:{port}/v1 (Ctrl-C stops it). `localcrag serve --show-token` prints the "
            "token, which is the API key.",
            file=sys.stderr,
            flush=True,
        )
        warm_up_beside(assembly)
        idle.begin()
        go_on(assembly, files, embeddings)
        keeper.begin(files.follow_folder)
        overwriting.begin()
        server.run()
