"""Settings: what can be chosen, in groups (fields), as one frozen record (settings), and its file.

Nothing is read or made at import.
"""

from localcrag.settings.fields import DEFAULT_COLLECTION, ENGLISH_EMBEDDER, REPOSITORY_MODELS
from localcrag.settings.file import changed, load, save
from localcrag.settings.settings import FILE_NAME, OF_A_RUN, Settings
from localcrag.settings.table import SettingRow, table

__all__ = [
    "DEFAULT_COLLECTION",
    "ENGLISH_EMBEDDER",
    "FILE_NAME",
    "OF_A_RUN",
    "REPOSITORY_MODELS",
    "SettingRow",
    "Settings",
    "changed",
    "load",
    "save",
    "table",
]
