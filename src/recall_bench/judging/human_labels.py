"""Labels that people give to answers, in `labels.jsonl` of the run folder.

A line is what `judge-lab agreement` reads, with the trial, the label, who gave it, when, and a
comment. A later label of the same person for the same trial replaces an earlier one.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
from recall_bench.core.verdict import SCALES, Finding, Verdict
from recall_bench.metrics.agreement import MarkPairs, measure_agreement
from recall_bench.metrics.bootstrap import Interval, number_names

LABELS = "labels.jsonl"


class HumanLabel(StrEnum):
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


_MARKS: Mapping[HumanLabel, tuple[int, ...]] = {
    HumanLabel.RIGHT: tuple(SCALES.values()),
    HumanLabel.WRONG: (0, 0, 1),
    HumanLabel.INVENTED: (0, 0, 0),
    # A leak is not marked as grounded either.
    HumanLabel.LEAKED: (0, 0, 0),
}
_FINDINGS: Mapping[HumanLabel, tuple[Finding, ...]] = {
    HumanLabel.INVENTED: (Finding.FABRICATION,),
    HumanLabel.LEAKED: (Finding.LEAK,),
}


class LabelLine(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the file."""

    trial: str
    label: HumanLabel
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


class AnnotatorAgreement(ComputedRecord, frozen=True, kw_only=True):
    """How well the labels of two people agree."""

    first: str
    second: str
    answers: int
    """Answers that both labelled, bad questions left out."""
    same: int
    """Those with the same label."""
    kappa: float | None
    """Cohen's kappa of right or not; None where it is undefined."""
    interval: Interval | None
    """Of kappa; None where it is undefined or rests on too few questions."""
    splits: tuple[str, ...]
    """The trials with different labels, and the labels: `trial: right, wrong`."""


def make_label(
    trial: Trial, item: Item, answer: str, label: HumanLabel, *, by: str, days: int, comment: str
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
    return read_label_file(path) if path.is_file() else ()


def read_label_file(path: Path) -> tuple[LabelLine, ...]:
    """The labels of a file that hold: of each person and trial the last, unless withdrawn."""
    held: dict[tuple[str, str], LabelLine] = {}
    for label in read_json_lines(path, LabelLine, may_be_torn=True):
        held.pop((label.trial, label.by), None)
        held[label.trial, label.by] = label
    return tuple(each for each in held.values() if each.label is not HumanLabel.WITHDRAWN)


def find_human_labels(path: Path) -> tuple[LabelLine, ...]:
    """The labels that hold if people gave those of a file; else none."""
    first = next(read_json_lines(path, LabelKeys), None)
    is_given = first is not None and None not in (first.trial, first.by, first.label)
    return read_label_file(path) if is_given else ()


class LabelKeys(msgspec.Struct):
    """As much of a line as says whether a person gave the label."""

    trial: str | None = None
    by: str | None = None
    label: str | None = None


def combine_labels(labels: Iterable[HumanLabel]) -> HumanLabel:
    """The label of several people: right or not invented if more than half of them say so."""
    counts = Counter(labels)
    if 2 * counts[HumanLabel.RIGHT] > counts.total():
        return HumanLabel.RIGHT
    if 2 * (counts[HumanLabel.RIGHT] + counts[HumanLabel.WRONG]) > counts.total():
        return HumanLabel.WRONG
    is_leak = counts[HumanLabel.LEAKED] >= counts[HumanLabel.INVENTED]
    return HumanLabel.LEAKED if is_leak else HumanLabel.INVENTED


def make_verdict(labels: Sequence[LabelLine]) -> Verdict:
    """The verdict that follows from the labels of one answer; none of them is `bad-question`."""
    label = combine_labels(label.label for label in labels)
    reason = "; ".join(
        f"{label.by}: {label.label.value}" + (f" ({label.comment})" if label.comment else "")
        for label in labels
    )
    return Verdict(
        marks=dict(zip(SCALES, _MARKS[label], strict=True)),
        reason=reason,
        findings=_FINDINGS.get(label, ()),
    )


def find_bad_questions(labels: Iterable[LabelLine]) -> tuple[str, ...]:
    """The questions that more than half of the people who labelled their answers call bad."""
    people: dict[str, dict[str, bool]] = {}
    for label in labels:
        said = people.setdefault(label.question_id, {})
        said[label.by] = said.get(label.by, False) or label.label is HumanLabel.BAD_QUESTION
    return tuple(
        sorted(name for name, said in people.items() if 2 * sum(said.values()) > len(said))
    )


def compare_people(labels: Iterable[LabelLine]) -> tuple[AnnotatorAgreement, ...]:
    """The agreement of every two people who labelled the same answers."""
    people: dict[str, dict[str, LabelLine]] = {}
    for label in labels:
        if label.label is not HumanLabel.BAD_QUESTION:
            people.setdefault(label.by, {})[label.trial] = label
    return tuple(
        _compare_two(first, second, people[first], people[second])
        for first, second in combinations(people, 2)
        if people[first].keys() & people[second].keys()
    )


def _compare_two(
    first: str, second: str, ours: Mapping[str, LabelLine], theirs: Mapping[str, LabelLine]
) -> AnnotatorAgreement:
    both = [trial for trial in ours if trial in theirs]
    given, label = (
        np.array([labels[trial].label is HumanLabel.RIGHT for trial in both], dtype=np.int64)
        for labels in (ours, theirs)
    )
    question = number_names([ours[trial].question_id for trial in both])
    agreement = measure_agreement(
        MarkPairs(given=given, label=label, question=question, top=1, level=1)
    )
    splits = tuple(
        f"{trial}: {ours[trial].label.value}, {theirs[trial].label.value}"
        for trial in both
        if ours[trial].label is not theirs[trial].label
    )
    return AnnotatorAgreement(
        first=first,
        second=second,
        answers=len(both),
        same=len(both) - len(splits),
        kappa=agreement.kappa,
        interval=agreement.intervals["kappa"],
        splits=splits,
    )
