"""Collect verified runs for a leaderboard: bundles, run folders, and submissions with either."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
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
    is_fresh,
    read_run,
)
from recall_bench.features.archive.leaderboard.replay import read_replay
from recall_bench.features.archive.run_bundle import find_runs, open_run
from recall_bench.features.archive.run_verification import CheckPart, CheckState, RunVerification
from recall_bench.stories.drawn import BuildProgress

SUBMISSION: Final = "submission.yaml"
_REQUIRED = frozenset(
    {CheckPart.JOURNAL, CheckPart.TRIALS, CheckPart.DATA, CheckPart.VERDICTS, CheckPart.FILES}
)
"""What must be verified, not merely free of differences."""
_MAX_ERROR_BUDGET: Final = Settings().error_budget
"""The default. With a larger budget more failures would still be valid scores, and entries of one
board are to keep the same rule."""


class RunCollection:
    """Verified runs; their bundles stay unpacked as long as the collection is open."""

    def __init__(self, signers: Path | None = None, building: BuildProgress | None = None) -> None:
        self._signers = signers
        self._building = building
        self._unpacked = ExitStack()
        self.runs: list[BoardRun] = []
        self.refused: dict[Path, str] = {}
        """The runs that do not go on the board, and why."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._unpacked.close()

    def add_all(self, paths: Iterable[Path]) -> None:
        """Verify every run below these paths; those that fail go to `refused`."""
        for place in (place for path in paths for place in find_runs(path)):
            try:
                with ExitStack() as stack:
                    opened = stack.enter_context(open_run(place))
                    verification = opened.verify(building=self._building, signers=self._signers)
                    _refuse_unfit(opened.folder, verification)
                    badges = tuple(_list_badges(opened.folder, verification, place))
                    submission, checks = find_submission(place), verification.checks
                    run = read_run(opened.folder, place.name, submission, checks, badges)
                    self.runs.append(run)
                    # Only a run on the board keeps its unpacked folder: the board reads from it.
                    self._unpacked.enter_context(stack.pop_all())
            except BenchError as error:
                # Errors of reading begin with the place, which is named already.
                self.refused[place] = str(error).removeprefix(f"{place}: ")


def _refuse_unfit(folder: RunFolder, verification: RunVerification) -> None:
    """DataError if a run is not verified, was lenient with failures, or has no valid scores."""
    for check in verification.checks:
        is_missing = check.part in _REQUIRED and check.state is not CheckState.VERIFIED
        if check.state is CheckState.DIFFERS or is_missing:
            raise DataError(f"{check.part} {check.state.value}: {check.detail}")
    if (budget := folder.plan.error_budget) > _MAX_ERROR_BUDGET:
        raise DataError(
            f"its error budget is {budget:g}, so that failures could drop out; "
            f"run it with {_MAX_ERROR_BUDGET:g}"
        )
    validity = summarise(folder).validity
    if validity.status is not RunStatus.VALID:
        raise DataError(f"its scores are {validity.status.value}: {validity.reason}")


def find_submission(place: Path) -> BoardSubmission:
    """Read the `submission.yaml` beside a bundle or run: all empty without one.

    DataError if it is malformed.
    """
    path = place.parent / SUBMISSION
    if not path.is_file():
        return BoardSubmission()
    try:
        return msgspec.convert(load_yaml(path), BoardSubmission)
    except msgspec.ValidationError as error:
        raise DataError(f"{path}: {error}") from error


def _list_badges(folder: RunFolder, verification: RunVerification, place: Path) -> Iterator[str]:
    plan = folder.plan
    yield MODEL_JUDGED if plan.judge.rubrics else VERIFIED
    if is_fresh(plan):
        yield FRESH
    if plan.system.isolation is not None and plan.system.isolation.kind is Isolation.SANDBOX:
        yield ISOLATED
    states = {check.part: check.state for check in verification.checks}
    if states.get(CheckPart.SIGNATURE) is CheckState.VERIFIED:
        yield SIGNED
    replay = read_replay(place, folder.last_link)
    yield REPLAYED if replay is not None and replay.is_confirmed else SELF_REPORTED
