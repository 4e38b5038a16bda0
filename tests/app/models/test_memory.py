"""Objects that only hold each other are freed soon, and those that were there from the beginning are not looked at."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from localcrag.app.models import lifecycle


class Circle:
    """Holds itself."""

    def __init__(self) -> None:
        self.held = self


@pytest.fixture(autouse=True)
def python_collects_nothing() -> Iterator[None]:
    gc.disable()
    yield
    gc.unfreeze()
    gc.enable()


def test_circles_that_came_since_are_freed_and_what_was_there_is_left() -> None:
    there = Circle()
    first = weakref.ref(there)
    lifecycle.freeze_objects()
    later = weakref.ref(Circle())
    del there
    lifecycle.free_memory()
    assert later() is None
    assert first() is not None
    lifecycle.free_memory(unloaded=True)
    assert first() is None, "as models are that are put away"
    again = weakref.ref(Circle())
    lifecycle.free_memory()
    assert again() is None, "it is settled still"


def test_a_process_that_has_not_settled_is_not_made_to_look_at_everything() -> None:
    circle = weakref.ref(Circle())
    lifecycle.free_memory()
    assert circle() is not None
    lifecycle.free_memory(unloaded=True)
    assert circle() is None
    assert gc.get_freeze_count() == 0
