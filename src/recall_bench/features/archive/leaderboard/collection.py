"""Collect verified runs for a leaderboard: bundles, run folders, and submissions with either."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import msgspec

from recall_bench.core.errors import BenchError, DataError
from recall_bench.core.memory import Isolation
from recall_bench.core.settings import Settings
from recall_bench.core.yaml12 import load_yaml
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import RunStatus, summarise
from recall_bench.features.archive.leaderboard.board import (
    FRESH,
    ISOLATED,
    MODEL_JUDGED,
    REPLAYED,
    SELF_REPORTED,
    SIGNED,
    VERIFIED,
    BoardRun,
    BoardSubmission,
    EntryCheck,
    is_fresh,
    read_run,
)
from recall_bench.features.archive.replay import read_replay
from recall_bench.features.archive.run_bundle import find_runs, open_run
from recall_bench.features.archive.run_verification import CheckPart, CheckState, RunVerification
from recall_bench.stories.drawn import BuildProgress

SUBMISSION: Final = "submission.yaml"
_REQUIRED = frozenset(
    {
        CheckPart.JOURNAL,
        CheckPart.TRIALS,
        CheckPart.DATA,
        CheckPart.VERDICTS,
        CheckPart.FILES,
    }
)
"""What must be verified, not merely free of differences."""
_MAX_ERROR_BUDGET: Final = Settings().error_budget
"""The default. With a larger budget more failures would still be valid scores, and entries of one
board are to keep the same rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRun:
    """A run that does not go on the board, and why."""

    source: str
    reason: str


class RunCollection:
    """Verified runs; their bundles stay unpacked as long as the collection is open."""

    def __init__(self, signers: Path | None = None, building: BuildProgress | None = None) -> None:
        self._signers = signers
        self._building = building
        self._unpacked = ExitStack()
        self.runs: list[BoardRun] = []
        self.refused: list[RefusedRun] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._unpacked.close()

    def add_all(self, paths: Iterable[Path]) -> None:
        """Verify every run below these paths; those that fail go to `refused`."""
        for path in paths:
            for place in find_runs(path):
                try:
                    self._add(place)
                except BenchError as error:
                    # Errors of reading begin with the place, which `source` names already.
                    reason = str(error).removeprefix(f"{place}: ")
                    self.refused.append(RefusedRun(source=str(place), reason=reason))

    def _add(self, place: Path) -> None:
        with ExitStack() as stack:
            opened = stack.enter_context(open_run(place))
            found = opened.verify(data=None, building=self._building, signers=self._signers)
            _refuse_unfit(opened.folder, found)
            self.runs.append(_build_run(place, opened.folder, found))
            # Only a run on the board keeps its unpacked folder: the board reads from it.
            self._unpacked.enter_context(stack.pop_all())


def _refuse_unfit(folder: RunFolder, found: RunVerification) -> None:
    """DataError if a run is not verified, was lenient with failures, or has no valid scores."""
    for check in found.checks:
        is_missing = check.part in _REQUIRED and check.state is not CheckState.VERIFIED
        if check.state is CheckState.DIFFERS or is_missing:
            raise DataError(f"{check.part} {check.state.value}: {check.detail}")
    budget = folder.plan.error_budget
    if budget > _MAX_ERROR_BUDGET:
        raise DataError(
            f"its error budget is {budget:g}, so that failures could drop out; "
            f"run it with {_MAX_ERROR_BUDGET:g}"
        )
    validity = summarise(folder).validity
    if validity.status is not RunStatus.VALID:
        raise DataError(f"its scores are {validity.status.value}: {validity.reason}")


def _build_run(place: Path, folder: RunFolder, found: RunVerification) -> BoardRun:
    checks = tuple(
        EntryCheck(part=check.part.value, state=check.state.value, detail=check.detail)
        for check in found.checks
    )
    badges = tuple(_list_badges(folder, found, place))
    return read_run(folder, place.name, find_submission(place), checks, badges)


def find_submission(place: Path) -> BoardSubmission:
    """Read the `submission.yaml` beside a bundle or run; all empty without one."""
    return read_submission(place.parent / SUBMISSION)


def read_submission(path: Path) -> BoardSubmission:
    """Read a `submission.yaml`; all empty if there is no file, DataError if it is malformed."""
    if not path.is_file():
        return BoardSubmission()
    try:
        return msgspec.convert(load_yaml(path), BoardSubmission)
    except msgspec.ValidationError as error:
        raise DataError(f"{path}: {error}") from error


def _list_badges(folder: RunFolder, found: RunVerification, place: Path) -> Iterator[str]:
    plan = folder.plan
    states = {check.part: check.state for check in found.checks}
    yield MODEL_JUDGED if plan.judge.rubrics else VERIFIED
    if is_fresh(plan):
        yield FRESH
    isolation = plan.system.isolation
    if isolation is not None and isolation.kind is Isolation.SANDBOX:
        yield ISOLATED
    if states.get(CheckPart.SIGNATURE) is CheckState.VERIFIED:
        yield SIGNED
    replay = read_replay(place, folder.last_link)
    yield REPLAYED if replay is not None and replay.is_confirmed else SELF_REPORTED
