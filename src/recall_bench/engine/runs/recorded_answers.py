"""Copies the answers of an earlier run into the journal of a new one.

Everything about asking is copied as it was recorded, in its order, and never held in memory:
what was fed, what went wrong, and the last word on each trial. Verdicts stay behind. The copy
appears under its name only when it is whole.
"""

from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from recall_bench.core.append_log import split_link
from recall_bench.core.atomic_file import AtomicFile
from recall_bench.core.errors import FolderBusy, UsageError
from recall_bench.core.event import Event, Judged, RunStarted
from recall_bench.core.plan import Plan, Trial
from recall_bench.core.trial_states import ScenarioStates, TrialState
from recall_bench.core.verdict import PEOPLE, Verdict
from recall_bench.engine.runs.journal import (
    JOURNAL,
    JournalEncoder,
    make_lock,
    read_events,
    read_lines,
)
from recall_bench.engine.runs.journal_lines import decode_trial_line
from recall_bench.engine.runs.run_folder import RunFolder

_COPIED_LINES = tuple(
    b'{"type":"%s"' % kind
    for kind in (b"run_resumed", b"declared", b"ingested", b"settled", b"feed_failed")
)
_ANSWER_LINES = (b'{"type":"answered"', b'{"type":"not_answered"')
_UNANSWERED = (TrialState.OPEN, TrialState.NOT_ANSWERED)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run folder up to where its journal ended when it was opened."""

    folder: RunFolder
    end: int

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read the run in `path`; one that is still going on is taken as it stands."""
        journal = path / JOURNAL
        end = journal.stat().st_size if journal.is_file() else 0
        return cls(RunFolder.open(path), end)

    @property
    def unasked(self) -> int:
        """How many of the trials it owes were never asked."""
        return sum(states.count_states(TrialState.OPEN) for states in self._scenarios.values())

    def copy_answers(
        self, plan: Plan, folder: Path, labelled: Mapping[Trial, Verdict] | None = None
    ) -> None:
        """Begin the journal in `folder` with these answers, or see that it began with them.

        `labelled` are the verdicts of people on some of them. Questions that the plan leaves out
        are not copied.
        """
        journal = folder / JOURNAL
        with _hold_lock(journal):
            if journal.exists() and next(read_events(journal), None) is not None:
                copy = RunFolder.open(folder)
                if copy.started != self.folder.started:
                    raise UsageError(
                        f"{copy.path} holds the answers of another run with the same plan; "
                        "choose another folder with --into"
                    )
                for scenario, states in self._scenarios.items():
                    copied = copy.states.scenarios.get(scenario)
                    if copied is None or _list_states(copied, states) != _list_states(
                        copied, copied
                    ):
                        raise UsageError(
                            f"{self.folder.path} has gone on since its answers were copied to "
                            f"{copy.path}; choose another folder with --into"
                        )
                return
            self._write(plan, journal, labelled or {})

    @property
    def _scenarios(self) -> dict[str, ScenarioStates]:
        return self.folder.states.scenarios

    def _write(self, plan: Plan, path: Path, labelled: Mapping[Trial, Verdict]) -> None:
        with AtomicFile(path) as file:
            encoder = JournalEncoder()
            for event in self._iterate_lines(plan, labelled):
                if isinstance(event, bytes):
                    line = encoder.add(split_link(event)[0])
                else:
                    line = encoder.encode(event)
                file.write(line + b"\n")
            file.commit()

    def _iterate_lines(
        self, plan: Plan, labelled: Mapping[Trial, Verdict]
    ) -> Iterator[bytes | Event]:
        # When and by which code the answers came to be stays as it was: the run that judges
        # them adds its own time and code when it resumes this journal.
        folder = self.folder
        yield _restart(folder, plan)
        last = self._find_last_answers()
        left_out = {scenario: plan.list_left_out(scenario) for scenario in self._scenarios}
        for offset, line in self._read_lines():
            if line.startswith(_COPIED_LINES):
                yield line
            elif line.startswith(_ANSWER_LINES):
                copied = decode_trial_line(line)
                trial = copied.trial
                slot = self._scenarios[trial.scenario].find_slot(trial)
                if last[trial.scenario][slot] != offset or trial.item in left_out[trial.scenario]:
                    continue
                yield folder.decode_line(line, offset)
                if (verdict := labelled.get(trial)) is not None:
                    yield Judged(at=copied.at, trial=trial, verdict=verdict, judge=PEOPLE)

    def _find_last_answers(self) -> dict[str, "array[int]"]:
        """Where in the file the last word of the system on each trial begins."""
        last = {
            scenario: array("q", [0]) * len(states.grid)
            for scenario, states in self._scenarios.items()
        }
        for offset, line in self._read_lines():
            if line.startswith(_ANSWER_LINES):
                trial = decode_trial_line(line).trial
                last[trial.scenario][self._scenarios[trial.scenario].find_slot(trial)] = offset
        return last

    def _read_lines(self) -> Iterator[tuple[int, bytes]]:
        for offset, line in read_lines(self.folder.path / JOURNAL):
            if offset >= self.end:
                return
            yield offset, line


def _restart(folder: RunFolder, plan: Plan) -> RunStarted:
    first = next(iter(folder.environments), None)
    return RunStarted(at=folder.started, plan=plan, code=folder.codes[0], environment=first)


def _list_states(owed: ScenarioStates, states: ScenarioStates) -> list[TrialState]:
    """For each trial owed whether it was never asked, failed or answered, however it was judged."""
    return [
        state
        if (state := states.get_status(row, repeat, item).state) in _UNANSWERED
        else TrialState.ANSWERED
        for row in range(len(owed.checkpoint_plans))
        for repeat, item in owed.list_owed_trials(row)
    ]


@contextmanager
def _hold_lock(journal: Path) -> Iterator[None]:
    """Hold the lock that every writer of this journal holds."""
    from filelock import Timeout

    try:
        journal.parent.mkdir(parents=True, exist_ok=True)
        lock = make_lock(journal)
        lock.acquire()
    except Timeout as error:
        raise FolderBusy(
            f"{journal.parent}: another run is writing to this folder; "
            "wait for it, or choose another with --into"
        ) from error
    except OSError as error:
        raise UsageError(
            f"{journal.parent}: cannot write there ({error.strerror}); "
            "choose another folder with --into"
        ) from error
    try:
        yield
    finally:
        lock.release()
