"""Make importing Gradio twice as fast, by leaving out the stub files that it writes for editors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

STUB_WRITER = "gradio.component_meta"
"""Gradio's module that parses the source of each component, and rewrites the .pyi file next to it if that is
outdated."""


def disable_stubs() -> None:
    """Keep Gradio from writing stub files, which are useless in an installed program. Call it before the import.

    This saves two of four seconds at every start of the app, and nothing is written where localcrag is installed. If a
    later Gradio writes the files in another module, it only takes longer.
    """
    if STUB_WRITER not in sys.modules:
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != STUB_WRITER:
            return None
        sys.meta_path.remove(self)
        found = PathFinder.find_spec(fullname, path, target)
        if found is not None and found.origin is not None:
            found.loader = _Loader(fullname, found.origin)
        return found


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        module.create_or_modify_pyi = lambda *_: None  # type: ignore[attr-defined]
