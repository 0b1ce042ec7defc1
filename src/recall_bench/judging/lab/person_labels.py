"""Labels that people give to answers, in `labels.jsonl` of the run folder.

A line is what `judge-lab agreement` reads, with the trial, the label, who gave it, when, and a
comment. A later label of the same person for the same trial replaces an earlier one.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from itertools import combinations
from pathlib import Path

import msgspec
import numpy as np

from recall_bench.core.append_log import AppendLog
from recall_bench.core.json_lines import read_json_lines
from recall_bench.core.plan import Trial
from recall_bench.core.record import ComputedRecord, Record
from recall_bench.core.scenario import Item, WallTime
from recall_bench.core.verdict import SCALES
from recall_bench.metrics.agreement import compute_pass_figures

LABELS = "labels.jsonl"


class PersonLabel(StrEnum):
    """What a person says of an answer."""

    RIGHT = "right"
    WRONG = "wrong"
    INVENTED = "invented"
    """It states what no record supports."""
    LEAKED = "leaked"
    """It discloses what the asker may not know."""
    BAD_QUESTION = "bad-question"
    """No answer can be judged; it is left out of agreement."""
    WITHDRAWN = "withdrawn"
    """The person takes an earlier label back."""


_MARKS: Mapping[PersonLabel, tuple[int, ...]] = {
    PersonLabel.RIGHT: tuple(SCALES.values()),
    PersonLabel.WRONG: (0, 0, 1),
    PersonLabel.INVENTED: (0, 0, 0),
    # A leak is not marked as grounded either.
    PersonLabel.LEAKED: (0, 0, 0),
}


class LabelLine(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the file."""

    trial: str
    label: PersonLabel
    by: str
    at: WallTime
    question: str
    reference: str
    answer: str
    category: str
    question_id: str
    relevant_days: tuple[int, ...] = ()
    checkpoint_days: int | None = None
    comment: str = ""
    correctness: int | None = None
    completeness: int | None = None
    grounded: int | None = None


class PeopleAgreement(ComputedRecord, frozen=True, kw_only=True):
    """How well the labels of two people agree."""

    first: str
    second: str
    answers: int
    """Answers that both labelled, bad questions left out."""
    same: int
    """Those with the same label."""
    kappa: float | None
    """Cohen's kappa of right or not; None where it is undefined."""


def make_label(
    trial: Trial, item: Item, answer: str, label: PersonLabel, *, by: str, days: int, comment: str
) -> LabelLine:
    """The line of a label that is given now; `days` are the story days the system knew."""
    marks = _MARKS.get(label)
    return LabelLine(
        trial=str(trial),
        label=label,
        by=by,
        at=datetime.now(UTC),
        question=item.text,
        reference=item.truth.reference,
        answer=answer,
        category=item.truth.category,
        question_id=f"{trial.scenario}/{item.id}",
        relevant_days=tuple(dict.fromkeys(cited.day for cited in item.truth.evidence)),
        checkpoint_days=days,
        comment=comment,
        **({} if marks is None else dict(zip(SCALES, marks, strict=True))),
    )


def append_label(folder: Path, line: LabelLine) -> None:
    """Append a label to the file of a run folder."""
    otherwise = "label again in a moment"
    with AppendLog(folder / LABELS, otherwise=otherwise, elsewhere="make it writable") as log:
        log.append_line(msgspec.json.encode(line))


def read_labels(folder: Path) -> tuple[LabelLine, ...]:
    """The labels of a run that hold, oldest first."""
    path = folder / LABELS
    if not path.is_file():
        return ()
    held: dict[tuple[str, str], LabelLine] = {}
    for label in read_json_lines(path, LabelLine, may_be_torn=True):
        held.pop((label.trial, label.by), None)
        held[label.trial, label.by] = label
    return tuple(each for each in held.values() if each.label is not PersonLabel.WITHDRAWN)


def compare_people(labels: Iterable[LabelLine]) -> tuple[PeopleAgreement, ...]:
    """The agreement of every two people who labelled the same answers."""
    people: dict[str, dict[str, PersonLabel]] = {}
    for each in labels:
        if each.label is not PersonLabel.BAD_QUESTION:
            people.setdefault(each.by, {})[each.trial] = each.label
    return tuple(
        _compare_two(first, second, people[first], people[second])
        for first, second in combinations(people, 2)
        if people[first].keys() & people[second].keys()
    )


def _compare_two(
    first: str, second: str, ours: Mapping[str, PersonLabel], theirs: Mapping[str, PersonLabel]
) -> PeopleAgreement:
    both = [trial for trial in ours if trial in theirs]
    right = [
        np.array([labels[trial] is PersonLabel.RIGHT for trial in both])
        for labels in (ours, theirs)
    ]
    kappa = compute_pass_figures(np.ones((1, len(both))), *right)["kappa"][0]
    return PeopleAgreement(
        first=first,
        second=second,
        answers=len(both),
        same=sum(ours[trial] is theirs[trial] for trial in both),
        kappa=None if np.isnan(kappa) else float(kappa),
    )
