"""Stops a run whose system is broken: its first questions all fail in the same way."""

import re

from recall_bench.core.errors import SystemBroken
from recall_bench.core.event import Answered, Event, NotAnswered
from recall_bench.core.trial_states import TrialStates
from recall_bench.engine.job import Observer

FIRST_QUESTIONS = 20


class EarlyFailureCheck:
    """An observer that raises SystemBroken when the first questions fail in one way."""

    def __init__(self, observe: Observer) -> None:
        self._observe = observe
        self._is_watching = True
        self._failures = 0
        self._way: str | None = None

    def __call__(self, event: Event, states: TrialStates) -> None:
        """Pass the event on, and count it while nothing was answered."""
        self._observe(event, states)
        if not self._is_watching:
            return
        match event:
            case Answered():
                self._is_watching = False
            case NotAnswered(fault=fault, message=message):
                self._count_failure(f"{fault}: {message}", states)

    def _count_failure(self, text: str, states: TrialStates) -> None:
        # Durations and counts differ between failures of one kind.
        way = re.sub(r"\d+", "0", text)
        known = states.scenarios.values()
        answered = sum(each.done_count - each.error_count for each in known)
        if answered or self._way not in (None, way):
            self._is_watching = False
            return
        self._way, self._failures = way, self._failures + 1
        if self._failures == FIRST_QUESTIONS:
            raise SystemBroken(
                f"the first {FIRST_QUESTIONS} questions failed in the same way: {text}; fix the "
                "system and use a new folder (--into), or add --keep-going to ask all questions"
            )
