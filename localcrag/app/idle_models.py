"""Idle models: what nobody has used for a time is put away, and its memory given back to the system."""

from __future__ import annotations

import time
from collections.abc import Callable

from localcrag.app.loaded_models import LoadedModels
from localcrag.app.regular_looks import RegularLooks
from localcrag.app.settings_in_use import SettingsInUse
from localcrag.backends.processes.memory import give_back, tidy

BETWEEN_LOOKS = 20.0
"""Seconds between two looks, so that models stay at most so much longer than was set."""


class IdleModels(RegularLooks):
    """Looks now and then whether the models are used, and puts them away when they have not been for long enough."""

    def __init__(
        self, models: LoadedModels, settings: SettingsInUse, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` gives seconds; models count as used now."""
        self._models, self._settings, self._clock = models, settings, clock
        super().__init__(self.look, BETWEEN_LOOKS, "idle models")
        self._used, self._since = models.uses(), clock()

    def look(self) -> bool:
        """Put the models away if it is time; return whether any went.

        As long as they are used, what their calls have left free goes back to the system: else it grows for days.
        """
        now, uses = self._clock(), self._models.uses()
        if uses != self._used or self._models.in_use():
            self._used, self._since = uses, now
            tidy()
        minutes = self._settings.now.idle_minutes
        if not minutes or now - self._since < minutes * 60 or not self._models.put_away():
            return False
        give_back()
        return True
