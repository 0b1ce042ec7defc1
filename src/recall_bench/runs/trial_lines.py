"""Where a growing journal holds the last answer to each trial, and the last verdict on it.

A run may have tens of thousands of scenarios, so the journal is read once for all of them: each
time only what was appended since. Only offsets are kept.
"""

from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from recall_bench.core.errors import DataError
from recall_bench.core.event import Answered, Judged
from recall_bench.core.trial_states import TrialState, TrialStates, unpack_status
from recall_bench.runs.journal import JournalDecoder, read_lines
from recall_bench.runs.journal_lines import ANSWER_OPENING, decode_trial_line

_VERDICT_OPENING = b'{"type":"judged"'
_NOWHERE = -1

_Kind = TypeVar("_Kind", Answered, Judged)
_Offsets = dict[str, "array[int]"]
"""The offset of the last line of each slot, for each scenario that has one."""


class TrialLines:
    """Finds answers and verdicts in the journal of a run while it is written."""

    def __init__(self, journal: Path, states: TrialStates) -> None:
        """The states are those of all events of the journal, at every call."""
        self._journal = journal
        self._states = states
        self._answers: _Offsets = {}
        self._verdicts: _Offsets = {}
        self._end = 0
        """Where the first line begins that was not read yet."""

    def find_answers(self, scenario: str, wanted: frozenset[TrialState]) -> Iterator[Answered]:
        """Find the answers recorded so far whose trials are in one of the states, in order."""
        trials = self._states.scenarios[scenario]
        if not trials.count_states(*wanted):
            return iter(())
        self._read_on()

        def is_wanted(slot: int) -> bool:
            return unpack_status(trials.grid[slot]).state in wanted

        return self._read_events(self._answers.get(scenario), Answered, is_wanted)

    def find_verdicts(self, scenario: str) -> Iterator[Judged]:
        """Find the last verdict on each judged trial of a scenario, in order."""
        trials = self._states.scenarios[scenario]
        self._read_on()

        def is_wanted(slot: int) -> bool:
            return trials.is_first_verdict_failure(slot) is not None

        return self._read_events(self._verdicts.get(scenario), Judged, is_wanted)

    def _read_on(self) -> None:
        """Note the lines that were appended since the last call."""
        for offset, line in read_lines(self._journal, self._end):
            if line.startswith(ANSWER_OPENING):
                self._note(self._answers, offset, line)
            elif line.startswith(_VERDICT_OPENING):
                self._note(self._verdicts, offset, line)
            self._end = offset + len(line) + 1

    def _note(self, found: _Offsets, offset: int, line: bytes) -> None:
        try:
            trial = decode_trial_line(line).trial
        except msgspec.DecodeError as error:
            raise self._refuse_line(offset, error) from error
        trials = self._states.scenarios[trial.scenario]
        if trial.scenario not in found:
            found[trial.scenario] = array("q", [_NOWHERE]) * len(trials.grid)
        found[trial.scenario][trials.find_slot(trial)] = offset

    def _read_events(
        self, offsets: "array[int] | None", kind: type[_Kind], is_wanted: Callable[[int], bool]
    ) -> Iterator[_Kind]:
        """Read the events of the slots that are wanted when it is their turn."""
        if offsets is None:
            return iter(())
        # A copy: what is recorded from now on is not part of it.
        known = array("q", offsets)
        slots = (slot for slot, offset in enumerate(known) if offset != _NOWHERE)
        order = array("q", sorted(slots, key=known.__getitem__))

        def iterate() -> Iterator[_Kind]:
            decoder = JournalDecoder(self._journal)
            with self._journal.open("rb") as file:
                for slot in filter(is_wanted, order):
                    offset = known[slot]
                    file.seek(offset)
                    try:
                        event = decoder.decode(file.readline(), offset)
                    except (msgspec.DecodeError, ValueError) as error:
                        raise self._refuse_line(offset, error) from error
                    if isinstance(event, kind):
                        yield event

        return iterate()

    def _refuse_line(self, offset: int, error: Exception) -> DataError:
        return DataError(f"{self._journal}, byte {offset}: changed while it was read ({error})")
