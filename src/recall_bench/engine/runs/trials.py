"""Every owed trial of a run as one row: the table that all reports are built from.

States and marks are those of the summary, so a mean over rows is the mean it prints. Times and
passages are read from the journal.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import msgspec

from recall_bench.core.errors import DataError
from recall_bench.core.memory import Delivery
from recall_bench.core.plan import Plan, Trial
from recall_bench.core.record import Record
from recall_bench.core.scenario import Item
from recall_bench.core.trial_states import ScenarioStates, TrialState, TrialStatus
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import FULL_MARKS, Finding
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trial_log import UNKNOWN_TRAIL, TrialEntry, TrialLog, trace_evidence
from recall_bench.metrics.bootstrap import TemplateNames
from recall_bench.metrics.leaks import GuardedAnswer, can_notice_leak, count_refusals, is_leaking


class TrialRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One owed trial, run or not."""

    trial: Trial
    item: Item
    days: int
    """Story days fed by its checkpoint."""
    cutoff: int
    """The last day that existed."""
    status: TrialStatus
    seconds: float | None = None
    """How long the system took to answer or to fail; None if it was not asked yet."""
    reading_s: float | None = None
    """How long the reader took, where there is one."""
    usage: Usage | None = None
    """The reported usage of the system plus that of the reader; None if neither is known."""
    delivery: Delivery | None = None
    """The passages counted; None where there were none."""
    evidence_found: int | None = None
    """Evidence days of which a passage was delivered; None where unknown."""
    evidence_missing: int | None = None
    """Evidence days of which no passage with the answer was delivered; None where unknown. Where
    turns or sentences are known, only those of the evidence count."""
    evidence_cut: int | None = None
    """Those of them of which a passage was returned and cut by the budget."""
    evidence_lost: int | None = None
    """Evidence days that the memory does not hold; None where it does not report what it holds."""
    is_evidence_exact: bool = False
    """Whether the evidence was looked for by turn or sentence, and not by day alone."""
    is_silent: bool = False
    """Whether the answer is empty."""
    tells_stale: bool = False
    """Whether the answer contains a superseded value and not the full correct answer."""
    tells_others: bool = False
    """Whether it contains a value of another session or person and not the full correct answer."""
    tells_other_people: bool = False
    """Whether an invented value is one that another persona of the run is asked about."""
    findings: tuple[Finding, ...] | None = None
    """The judge's findings; None if it is not judged, or the judge reports none."""
    score: float | None = None
    """From 0 to 1, by a dataset's own protocol."""
    leaked: bool | None = None
    """Whether a secret was disclosed; None where none could be, or it could not be noticed."""
    floor: int | None = None
    """What silence scores on the question, of six; None where the run has no bounds."""
    ceiling: int | None = None
    """What the reader scores given the evidence, of six; None where that is unknown."""
    fault: str | None = None
    """Why it was not answered or not judged."""

    @property
    def state(self) -> TrialState:
        """The state of the trial."""
        return self.status.state

    @property
    def points(self) -> int | None:
        """Of six; 0 for a question not answered, None without a verdict."""
        if self.status.state is TrialState.JUDGED:
            return self.status.composite
        return 0 if self.status.state is TrialState.NOT_ANSWERED else None

    @property
    def is_hallucination(self) -> bool | None:
        """Whether the answer is ungrounded; None unless it was judged."""
        return self.status.grounded == 0 if self.status.state is TrialState.JUDGED else None

    @property
    def is_invention(self) -> bool | None:
        """Whether it is ungrounded for another reason than a leak; None unless judged.

        A leak is not marked as grounded either, although it may be true.
        """
        is_made_up = self.is_hallucination
        return None if is_made_up is None else is_made_up and not self.leaked

    @property
    def is_refusal(self) -> bool | None:
        """Whether the answer refuses or denies; None if unknown."""
        return None if self.findings is None else bool(count_refusals([self.findings]).refused)

    @property
    def evidence_days(self) -> int:
        """The number of evidence days."""
        return len({cited.day for cited in self.item.truth.evidence})

    @property
    def category(self) -> str:
        """The category of the question."""
        return self.item.truth.category

    @property
    def difficulty(self) -> str | None:
        """The difficulty of the question, from the dataset."""
        return self.item.truth.difficulty


class ScoreScale(Record, frozen=True, kw_only=True):
    """The figure of a dataset's protocol that is the score of a trial, in place of marks."""

    name: str
    """As the protocol calls it: `locomo/official`, `judged right`, `turn recall@10`."""
    label: str
    """What it is, in a entry or two: `token F1`, `accuracy`, `turn recall@10`."""
    protocol: str
    """The methodology that has it, such as `locomo/strict`."""
    is_retrieval: bool = False
    """Whether it is about what was found, and not about the answer."""
    is_stored: bool = False
    """Whether it is about what the memory lists, so that no answer can be invented."""
    full: float = 1.0
    """The best score on its own scale, which begins at 0. Analyses hold it in points of 6 and print
    it of 100, as marks: a mean of 3 is half of this."""


@dataclass(frozen=True, kw_only=True)
class TrialTable:
    """All trials of a run: by persona, checkpoint, repeat and asked order."""

    plan: Plan
    rows: tuple[TrialRow, ...]
    items: Mapping[str, tuple[Item, ...]]
    """The questions of each persona, asked or not."""
    scale: ScoreScale | None = None
    """What a protocol scores the trials by; None for marks."""

    @cached_property
    def points(self) -> dict[Trial, float]:
        """The points of every trial that counts, of six, which is a protocol's best score too."""
        if self.scale is not None:
            return {row.trial: FULL_MARKS * row.score for row in self.rows if row.score is not None}
        return {row.trial: float(points) for row in self.rows if (points := row.points) is not None}

    @cached_property
    def missing(self) -> int:
        """The trials without a score that were to have one; a figure need not apply to all."""
        if self.scale is None:
            return len(self.rows) - len(self.points)
        done = (TrialState.MEASURED, TrialState.JUDGED)
        return sum(row.score is None and row.state not in done for row in self.rows)

    @cached_property
    def hallucinations(self) -> dict[Trial, float]:
        """1 for every ungrounded judged answer, 0 for every other."""
        if self.scale is not None and self.scale.is_stored:
            return {}
        return {
            row.trial: float(row.is_hallucination)
            for row in self.rows
            if row.is_hallucination is not None
        }

    @cached_property
    def inventions(self) -> dict[Trial, float]:
        """1 for every judged answer that is invented, 0 for every other."""
        if self.scale is not None and self.scale.is_stored:
            return {}
        return {
            row.trial: float(row.is_invention) for row in self.rows if row.is_invention is not None
        }

    @cached_property
    def templates(self) -> TemplateNames:
        """The template of every question that has one."""
        return map_templates(self.items)

    @cached_property
    def leaks(self) -> dict[Trial, float]:
        """1 for every guarded answer that leaked, 0 for every other."""
        return {row.trial: float(row.leaked) for row in self.rows if row.leaked is not None}


def map_templates(items: Mapping[str, Iterable[Item]]) -> TemplateNames:
    """The template of every question that has one, from the questions of each persona."""
    return {
        (persona, item.id): item.template
        for persona, questions in items.items()
        for item in questions
        if item.template is not None
    }


def read_trials(folder: RunFolder) -> TrialTable:
    """Read one row for every owed trial of the scenarios that were started."""
    log = TrialLog(folder)
    path = folder.path / JOURNAL
    try:
        log.read(path)
    except (msgspec.DecodeError, LookupError, ValueError, OSError) as error:
        raise DataError(f"{path}: changed while it was read ({error})") from error
    scenarios = folder.states.scenarios
    return TrialTable(
        plan=folder.plan,
        rows=tuple(_list_rows(folder, log)),
        items={name: scenarios[name].items for name in folder.scenarios},
    )


def _list_rows(folder: RunFolder, log: TrialLog) -> Iterator[TrialRow]:
    """The row of every owed trial, by scenario, checkpoint, repeat and asked order."""
    for scenario in folder.scenarios:
        states = folder.states.scenarios[scenario]
        bounds, unfed = states.bounds, _find_unfed_days(states)
        for row, point in enumerate(states.checkpoint_plans):
            label = point.checkpoint.label
            lost = log.lost.get((scenario, label))
            for repeat, number in states.list_owed_trials(row):
                item = states.items[number]
                entry = log.get_entry(scenario, states.compute_slot(row, repeat, number))
                is_traced = log.has_passages and entry.is_traced
                trail = UNKNOWN_TRAIL
                if entry.is_answered:
                    trail = trace_evidence(
                        item.truth,
                        point.cutoff,
                        found=entry.found if is_traced else None,
                        cut=() if entry.delivery is None else entry.delivery.cut_days,
                        lost=lost,
                        unfed=unfed,
                    )
                yield TrialRow(
                    trial=Trial(scenario=scenario, item=item.id, checkpoint=label, repeat=repeat),
                    item=item,
                    days=point.checkpoint.days,
                    cutoff=point.cutoff,
                    status=states.get_status(row, repeat, number),
                    floor=None if bounds is None else bounds.get_floor(item.id),
                    ceiling=None if bounds is None else bounds.get_ceiling(item.id),
                    seconds=entry.seconds,
                    reading_s=entry.reading_s,
                    usage=entry.usage,
                    delivery=entry.delivery,
                    evidence_found=(
                        _count_found_days(item, entry) if entry.is_answered and is_traced else None
                    ),
                    evidence_missing=trail.missing,
                    evidence_cut=trail.cut,
                    evidence_lost=trail.lost,
                    is_evidence_exact=trail.is_exact,
                    is_silent=entry.is_silent,
                    tells_stale=entry.tells_stale,
                    tells_others=entry.tells_others,
                    tells_other_people=entry.tells_other_people,
                    findings=entry.findings,
                    score=entry.score,
                    leaked=_check_leak(item, entry),
                    fault=entry.fault,
                )


def _count_found_days(item: Item, entry: TrialEntry) -> int | None:
    truth = item.truth
    if not truth.evidence or not truth.is_answerable:
        return None
    return len({cited.day for cited in truth.evidence} & entry.found.days)


def _find_unfed_days(states: ScenarioStates) -> frozenset[int]:
    """Find evidence days that are not among the days to feed, where these are known."""
    if not states.days:
        return frozenset()
    cited = (evidence.day for item in states.items for evidence in item.truth.evidence)
    return frozenset(cited).difference(states.days)


def _check_leak(item: Item, entry: TrialEntry) -> bool | None:
    if entry.text is None:
        return None
    answer = GuardedAnswer(item.truth, entry.text, entry.findings)
    return is_leaking(answer) if can_notice_leak(answer) else None


def explain_missing_marks(table: TrialTable) -> str | None:
    """Explain why the run has no marks; None if it has some.

    Where a dataset's own protocol scores the answers, only unanswered questions would have points.
    """
    card = table.plan.dataset
    if card is None:
        return None if table.points else "none of its answers has marks yet"
    if table.hallucinations:
        return None
    return f"it was measured by {card.protocol}, which gives no marks of {FULL_MARKS}"


def identify_answers(folder: RunFolder) -> tuple[str, datetime]:
    """Identify the answers of a run: equal for a copy of it, and where they are judged again."""
    return folder.plan.answers_from or folder.plan.digest, folder.started
