"""Start-up: settings, the language, and a data folder that only this user can read."""

from __future__ import annotations

from typing import Any

from localcrag.backends.store.database_header import DATABASE_NAME, check_data_folder
from localcrag.privacy import egress_log, private_folder
from localcrag.privacy.guard import guard
from localcrag.settings import Settings, load
from localcrag.text import translation


def begin(**settings: Any) -> Settings:
    """Return the settings in force; those given that are None do not count. Raises SettingsError and StoreError.

    A data folder of before 0.1.0 is refused here, before anything is written to it. From then on the process is
    guarded, messages are in their language, the data folder is this user's alone, and what leaves is noted in it.
    """
    guard()
    loaded = load(**settings)
    translation.choose(loaded.language)
    check_data_folder(loaded.data_dir / DATABASE_NAME)
    private_folder.keep_private(loaded.data_dir)
    egress_log.keep_in(loaded.data_dir)
    return loaded
