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
from recall_bench.generate.shipped_personas import BuildProgress
from recall_bench.reporting.leaderboard.board import (
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
from recall_bench.running.replay import read_replay
from recall_bench.running.run_bundle import find_runs, open_run
from recall_bench.running.run_verification import CheckState, RunVerification
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.summary import RunStatus, summarise

SUBMISSION: Final = "submission.yaml"
_NEEDED = ("journal", "trials", "data", "verdicts", "files")
"""What must be verified, not merely free of differences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRun:
    """A run that does not go on the board, and why."""

    source: str
    reason: str


class RunCollection:
    """Verified runs; bundles are unpacked as long as the collection is open."""

    def __init__(self, signers: Path | None = None, building: BuildProgress | None = None) -> None:
        self._signers = signers
        self._building = building
        self._open = ExitStack()
        self.runs: list[BoardRun] = []
        self.refused: list[RefusedRun] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def add_all(self, paths: Iterable[Path]) -> None:
        """Verify every run below these paths and keep those that hold."""
        for path in paths:
            for place in find_runs(path):
                try:
                    self.runs.append(self._read(place))
                except BenchError as error:
                    reason = str(error).removeprefix(f"{place}: ")
                    self.refused.append(RefusedRun(source=str(place), reason=reason))

    def _read(self, place: Path) -> BoardRun:
        opened = self._open.enter_context(open_run(place))
        found = opened.verify(None, self._building, signers=self._signers)
        require_verified(found)
        folder = opened.folder
        plan = folder.plan
        if plan.error_budget > Settings().error_budget:
            raise DataError(
                f"its error budget is {plan.error_budget:g}, so that failures could drop out; "
                f"run it with {Settings().error_budget:g}"
            )
        validity = summarise(folder).validity
        if validity.status is not RunStatus.VALID:
            raise DataError(f"its scores are {validity.status.value}: {validity.reason}")
        checks = tuple(
            EntryCheck(part=check.part, state=check.state.value, detail=check.detail)
            for check in found.checks
        )
        badges = tuple(_list_badges(folder, found, place))
        return read_run(folder, place.name, find_submission(place), checks, badges)


def find_submission(place: Path) -> BoardSubmission:
    """What people say of a bundle or run, in the file beside it."""
    return read_submission(place.parent / SUBMISSION)


def require_verified(found: RunVerification) -> None:
    """DataError if something differs or an essential part could not be verified."""
    for check in found.checks:
        is_needed = check.part in _NEEDED and check.state is not CheckState.VERIFIED
        if check.state is CheckState.DIFFERS or is_needed:
            raise DataError(f"{check.part} {check.state.value}: {check.detail}")


def read_submission(path: Path) -> BoardSubmission:
    """What the people behind an entry say of it; nothing if there is no file."""
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
    if states.get("signature") is CheckState.VERIFIED:
        yield SIGNED
    replay = read_replay(place, folder.last_link)
    yield REPLAYED if replay is not None and replay.is_confirmed else SELF_REPORTED
