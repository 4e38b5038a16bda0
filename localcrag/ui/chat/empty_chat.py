"""What stands in the place of a chat without turns, as HTML: what can be done first."""

from __future__ import annotations

from localcrag.app import samples
from localcrag.app.assemble import Assembly
from localcrag.app.outgoing import may_leave, outgoing
from localcrag.records.enums import Skill
from localcrag.records.errors import LocalcragError
from localcrag.records.models import Model, ModelState
from localcrag.ui.html import TEMPLATES, message


def empty_chat(assembly: Assembly) -> str:
    """Return what stands in the place of a chat without turns: what can be done first."""
    try:
        servers = outgoing(assembly)
        elsewhere = {name for server in servers for name in server.collections}
        # Servers on other computers are not asked: this screen is shown although one of them does not answer.
        counts = {
            name: len(assembly.collections.documents(name))
            for name in assembly.collections.names()
            if name not in elsewhere
        }
    except LocalcragError as error:
        return message(str(error))
    llm = assembly.settings.llm
    return TEMPLATES.get_template("empty_chat.html").render(
        documents=bool(elsewhere) or any(counts.values()),
        samples=counts.get(samples.COLLECTION, 0),
        sample_documents=len(list(samples.DOCUMENTS.iterdir())),
        questions=samples.first_questions(web=bool(assembly.settings.searxng_url)),
        llm=llm,
        small=Skill.ALONE not in assembly.library.skills(llm),
        offered=_offered(assembly),
        private=may_leave(servers),
    )


def _offered(assembly: Assembly) -> Model | None:
    """Return the smallest language model that can be downloaded and is not there; None where none is left."""
    return min(assembly.library.language_models(ModelState.MISSING), key=lambda model: model.size, default=None)
