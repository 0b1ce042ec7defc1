"""Grade the reply to a task: which of the rules it needs were kept."""

from dataclasses import dataclass

import msgspec

from recall_bench.core.errors import DataError
from recall_bench.core.record import Record
from recall_bench.core.scenario import Evidence, Truth
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.features.suites.outcome_checks import (
    OutcomeCheck,
    OutcomeForm,
    TaskOutcome,
    find_failures,
    read_outcome,
)


class TaskGrading(Record, frozen=True, kw_only=True, omit_defaults=True):
    """How the outcome of one task is checked, as a run folder holds it."""

    form: OutcomeForm
    checks: tuple[OutcomeCheck, ...]
    old: tuple[OutcomeCheck, ...] = ()
    """What an outcome passes that follows a rule which was replaced."""
    needs: dict[str, tuple[Evidence, ...]] = msgspec.field(default_factory=dict)
    """By rule without which the task goes wrong, the places that tell it; any of them will do."""


def encode_grading(grading: TaskGrading) -> str:
    """The grading as the truth of a question holds it."""
    return msgspec.json.encode(grading).decode()


def decode_grading(truth: Truth) -> TaskGrading:
    """The grading that `encode_grading` made; DataError if it is none."""
    try:
        return decode_untrusted_json(truth.grading or "", TaskGrading)
    except msgspec.DecodeError as error:
        raise DataError(f"a task of the run cannot be graded: {error}; run it again") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGrade:
    """What came of a task."""

    outcome: TaskOutcome | None
    """None if there is no reply, or none in the form that was asked for."""
    broken: tuple[str, ...]
    """The rules that it breaks, in order; all of them if there is no outcome."""
    is_off: bool
    """Whether it fails a check that belongs to no rule: something other than the task was done."""
    is_old: bool
    """Whether it follows a rule that was replaced."""

    @property
    def is_done(self) -> bool:
        """Whether it passes every check."""
        return self.outcome is not None and not self.broken and not self.is_off


def grade_reply(reply: str, grading: TaskGrading) -> TaskGrade:
    """Grade a reply; an empty one breaks every rule."""
    outcome = read_outcome(reply, grading.form)
    if outcome is None:
        return TaskGrade(outcome=None, broken=tuple(grading.needs), is_off=True, is_old=False)
    failed = find_failures(outcome, grading.checks, grading.form)
    broken = {check.rule for check in failed}
    is_old = bool(grading.old) and not find_failures(outcome, grading.old, grading.form)
    return TaskGrade(
        outcome=outcome,
        broken=tuple(rule for rule in grading.needs if rule in broken),
        is_off=None in broken,
        is_old=is_old,
    )
