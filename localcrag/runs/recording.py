"""A question being answered: its events as they happen, and the run that they have led to so far."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Iterator
from contextlib import closing

from localcrag.records.events import Event, RunFinished
from localcrag.records.protocols import RunLog
from localcrag.records.run import Run
from localcrag.runs import record


class Recording(Iterator[Event]):
    """Iterating has the question answered, one event a step; `run` is what has come of it so far.

    This is the only place that folds events into a run: whoever shows or stores one reads it here. The run is stored
    when all has happened, and the last event is RunFinished. Closed before that, the recording stops the language
    model, and the run is stored as far as it came, marked as stopped. Raises what the flow raises, and StoreError.
    """

    def __init__(self, run: Run, events: Generator[Event, None, None], log: RunLog) -> None:
        """Begin with `run`, as it is before the first event."""
        self._run = run
        self._recorded = self._record(events, log)

    @property
    def run(self) -> Run:
        """The run as it is after the newest event."""
        return self._run

    def __next__(self) -> Event:
        return next(self._recorded)

    def close(self) -> None:
        """Stop, as the class says; nothing happens when all has been read."""
        self._recorded.close()

    def _record(self, flow: Generator[Event, None, None], log: RunLog) -> Generator[Event, None, None]:
        try:
            with closing(flow) as events:
                for event in events:
                    self._run = record.apply(self._run, event)
                    yield event
        except (GeneratorExit, KeyboardInterrupt):
            self._run = dataclasses.replace(self._run, stopped=True)
            log.save(self._run)
            raise
        log.save(self._run)
        yield RunFinished(self._run)
