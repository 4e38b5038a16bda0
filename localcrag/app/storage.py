"""How large what is kept is, by what it is."""

from __future__ import annotations

from localcrag.app.assemble import Assembly
from localcrag.app.machine import folder_size
from localcrag.text.translation import gettext as _


def sizes(assembly: Assembly) -> list[tuple[str, int]]:
    """Return what is kept, each in words and bytes."""
    folder = assembly.settings.data_dir.absolute()
    database = sum(path.stat().st_size for path in folder.glob(f"{assembly.database.path.name}*"))
    return [
        (_("database: documents, chats, questions, labels"), database),
        (_("vector indexes"), folder_size(folder / "index")),
        (_("faster copies of models, and other caches"), folder_size(folder / "cache")),
        (_("copies made here"), folder_size(assembly.backups)),
        (_("models"), folder_size(assembly.library.models_dir)),
    ]
