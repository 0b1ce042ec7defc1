"""The summary of a run: counts by checkpoint, category, difficulty and persona, and validity.

Everything is counted from the trial states; only answers to boundary questions are read.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple, TypedDict

from msgspec import structs

from recall_bench.core.event import FeedFailed
from recall_bench.core.plan import Checkpoint, Plan
from recall_bench.core.scenario import BOUNDARY, CATEGORIES, DIFFICULTIES, Item
from recall_bench.core.schedule import is_in_plan
from recall_bench.core.trial_states import (
    CheckpointTimes,
    ScenarioStates,
    TrialState,
    TrialStatus,
    unpack_status,
)
from recall_bench.core.usage import JudgingCosts
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.engine.runs.leak_counts import (
    BoundaryCounts,
    BoundaryReading,
    merge_boundaries,
    read_boundary,
)
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.metrics.marks import (
    ReviewCounts,
    TrialTally,
    add_leaks,
    sum_tallies,
    tally_states,
)

STUB = "stub"
"""The name of the judge that judges nothing."""

_CellKey = tuple[str, str | None, str | None]
"""Category, difficulty and expected disclosure."""


class _ItemCells(NamedTuple):
    """The cell of each question as a number: there are few, and trials are counted by them."""

    keys: tuple[_CellKey, ...]
    numbers: tuple[int, ...]
    """By the index of the question."""

    @classmethod
    def build(cls, items: Iterable[Item]) -> "_ItemCells":
        """Number the cells in the order in which questions have them."""
        places: dict[_CellKey, int] = {}
        numbers = [places.setdefault(_get_cell(item), len(places)) for item in items]
        return cls(tuple(places), tuple(numbers))


class RunStatus(StrEnum):
    """Whether the scores of a run may be quoted."""

    VALID = "valid"
    INVALID = "invalid"
    """More trials failed than the plan allows."""
    UNFINISHED = "unfinished"
    """Trials are still to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """A status, with a reason unless it is `valid`."""

    status: RunStatus
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherVerdictCounts:
    """How far one of the other judges is with the answers that it has to judge."""

    judged: int
    failed: int
    """Answers that it failed to judge; the same command asks it again."""
    open: int
    """Answers that it was not asked about yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisclosureSummary:
    """The questions with one expected disclosure, over all checkpoints."""

    tally: TrialTally
    unique: int
    """The number of distinct questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSummary:
    """One checkpoint: what was asked there, and the outcomes."""

    checkpoint: Checkpoint
    cutoff: int
    """The last story day fed."""
    overall: TrialTally
    categories: Mapping[str, TrialTally]
    difficulties: Mapping[str, TrialTally]
    disclosures: Mapping[str, TrialTally]
    new_days: int
    """Days to feed since the checkpoint before."""
    new: int
    older: int
    older_asked: int
    clock: CheckpointTimes
    is_done: bool
    """Whether nothing is left to do here."""

    def get_tally(self, name: str) -> TrialTally:
        """Return the tally of one category, empty if it has no trials."""
        return self.categories.get(name, TrialTally())


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaSummary:
    """One scenario: its checkpoints by days, and their totals."""

    id: str
    checkpoints: tuple[CheckpointSummary, ...]
    overall: TrialTally
    disclosures: Mapping[str, DisclosureSummary]
    boundary: BoundaryCounts
    questions: int
    """The number of its questions, asked or not."""
    feed_failures: tuple[FeedFailed, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Summary:
    """The summary of a run."""

    plan: Plan
    validity: Validity
    personas: tuple[PersonaSummary, ...]
    unstarted: tuple[str, ...]
    """Scenarios that were not started."""
    checkpoints: tuple[CheckpointSummary, ...]
    """Over all personas, by days."""
    overall: TrialTally
    disclosures: Mapping[str, DisclosureSummary]
    boundary: BoundaryCounts
    categories: tuple[str, ...]
    """The categories of every table, in order."""
    faults: Mapping[str, int]
    """How many trials ended in each kind of fault."""
    reviews: ReviewCounts
    costs: JudgingCosts
    other_verdicts: tuple[OtherVerdictCounts, ...] = ()
    """For each other judge of the plan, in their order."""

    def __repr__(self) -> str:
        overall, status = self.overall, self.validity.status.value
        mean = "no score" if overall.mean is None else f"{overall.mean:.2f} of {FULL_MARKS}"
        return f"<Summary: {mean}, {overall.counted:,} of {overall.owed:,} trials, {status}>"

    @property
    def is_stub(self) -> bool:
        """Whether the judge judges nothing."""
        return self.plan.judge.name == STUB

    @property
    def has_score(self) -> bool:
        """Whether few enough trials failed, so far too: more make a score invalid, not low."""
        return self.validity.status is not RunStatus.INVALID and not is_over_budget(
            self.overall.without_open, self.plan.error_budget
        )

    @property
    def asked_categories(self) -> tuple[str, ...]:
        """The categories without those this run does not ask."""
        return tuple(name for name in self.categories if is_in_plan(name, self.plan))

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The categories with questions of which none counts: the score says nothing of them."""
        tallies = {
            name: [part.get_tally(name) for part in self.checkpoints]
            for name in self.asked_categories
        }
        return tuple(
            name
            for name, parts in tallies.items()
            if any(part.eligible for part in parts) and not any(part.counted for part in parts)
        )

    @property
    def planned_checkpoints(self) -> int:
        """Checkpoints the plan visits, over all personas."""
        visited = 1 if self.plan.dry_run else len(self.plan.checkpoints)
        return visited * len(self.plan.scenarios)

    @property
    def questions(self) -> int:
        """The number of all questions, asked or not."""
        return sum(persona.questions for persona in self.personas)


def summarise(folder: RunFolder) -> Summary:
    """Summarise a run folder; computed once for each folder that is opened."""
    return folder.compute_once("summary", _count_run)


def _count_run(folder: RunFolder) -> Summary:
    personas = tuple(_summarise_persona(folder, scenario) for scenario in folder.scenarios)
    overall = sum_tallies(persona.overall for persona in personas)
    reviews = folder.count_reviews()
    return Summary(
        plan=folder.plan,
        validity=_decide_validity(folder, personas, overall, reviews),
        personas=personas,
        unstarted=folder.unstarted,
        checkpoints=_merge_checkpoints(personas),
        overall=overall,
        disclosures=_merge_disclosures(personas),
        boundary=merge_boundaries(persona.boundary for persona in personas),
        categories=_list_categories(folder),
        faults=folder.count_faults(),
        reviews=reviews,
        costs=JudgingCosts(
            total=folder.states.usage,
            reviewing=folder.states.review_usage,
            others=tuple(folder.states.other_usage),
        ),
        other_verdicts=count_other_verdicts(folder),
    )


def count_other_verdicts(folder: RunFolder) -> tuple[OtherVerdictCounts, ...]:
    """Count the verdicts of each other judge."""
    counts = [Counter[str]() for _ in folder.plan.other_judges]
    for states in folder.states.scenarios.values():
        due = states.find_due_verdicts()
        for judge, grid in enumerate(states.others):
            counts[judge]["judged"] += sum(byte & 7 >= TrialState.JUDGED for byte in grid)
        for slot, judge in due:
            state = states.get_other_status(judge, slot).state
            counts[judge]["failed" if state is TrialState.NOT_JUDGED else "open"] += 1
    return tuple(
        OtherVerdictCounts(judged=count["judged"], failed=count["failed"], open=count["open"])
        for count in counts
    )


def summarise_checkpoint(
    states: ScenarioStates, row: int, *, is_settled: bool = True
) -> CheckpointSummary:
    """Summarise one checkpoint of one scenario; leaks are not counted, as no answer is read."""
    cells = _ItemCells.build(states.items)
    return _count_checkpoint(states, row, cells, None, is_settled=is_settled)


def _count_checkpoint(
    states: ScenarioStates,
    row: int,
    cells: _ItemCells,
    boundary: BoundaryReading | None,
    *,
    is_settled: bool,
) -> CheckpointSummary:
    point = states.checkpoint_plans[row]
    tallies = _tally_cells(states, row, cells, boundary)
    categories = _merge_by_place(tallies, 0)
    # The files of an imported run lack the questions that were not asked, and may count them.
    for name, count in states.eligible.get(point.checkpoint.label, {}).items():
        categories[name] = structs.replace(categories.get(name, TrialTally()), eligible=count)
    overall = structs.replace(
        sum_tallies(tallies.values()),
        eligible=sum(category.eligible for category in categories.values()),
    )
    return CheckpointSummary(
        checkpoint=point.checkpoint,
        cutoff=point.cutoff,
        overall=overall,
        categories=categories,
        difficulties=_merge_by_place(tallies, 1),
        disclosures=_merge_by_place(tallies, 2),
        new_days=states.count_new_days(row),
        new=point.new,
        older=point.older,
        older_asked=len(point.asked) - point.new,
        clock=replace(states.times[row]),
        is_done=overall.open == 0 and (overall.owed > 0 or is_settled),
    )


def _tally_cells(
    states: ScenarioStates, row: int, cells: _ItemCells, boundary: BoundaryReading | None
) -> dict[_CellKey, TrialTally]:
    """Tally the trials and the eligible questions of each cell; equal states are unpacked once."""
    grid, point, numbers = states.grid, states.checkpoint_plans[row], cells.numbers
    counts: Counter[int] = Counter()
    for repeat in range(states.repeats):
        start = states.compute_slot(row, repeat, 0)
        # A state is a byte.
        counts.update([numbers[item] << 8 | grid[start + item] for item in point.asked])
    groups: dict[int, dict[TrialStatus, int]] = {}
    for key, count in counts.items():
        groups.setdefault(key >> 8, {})[unpack_status(key & 255)] = count
    guarded: Counter[int] = Counter()
    leaked: dict[int, list[TrialStatus]] = {}
    for repeat, item in () if boundary is None else states.list_owed_trials(row):
        slot = states.compute_slot(row, repeat, item)
        if boundary is not None and slot in boundary.guarded:
            guarded[numbers[item]] += 1
        if boundary is not None and slot in boundary.leaked:
            leaked.setdefault(numbers[item], []).append(unpack_status(grid[slot]))
    eligible = Counter([numbers[item] for item in point.eligible])
    tallies: dict[_CellKey, TrialTally] = {}
    for number in (*eligible, *groups):
        tally = tally_states(groups.get(number, {}))
        tally = add_leaks(tally, guarded[number], leaked.get(number, ()))
        tallies[cells.keys[number]] = structs.replace(tally, eligible=eligible[number])
    return tallies


def is_over_budget(tally: TrialTally, budget: float) -> bool:
    """Whether more of these trials failed than the error budget allows."""
    return tally.failed > budget * tally.owed


def are_reviews_over_budget(reviews: ReviewCounts, budget: float) -> bool:
    """Whether more of the reviews failed than the error budget allows."""
    return reviews.total.failed > budget * reviews.total.attempted


def _get_cell(item: Item) -> _CellKey:
    truth = item.truth
    disclosed = truth.disclosure if truth.category == BOUNDARY else None
    return truth.category, truth.difficulty, disclosed and disclosed.value


def _merge_by_place(tallies: Mapping[_CellKey, TrialTally], place: int) -> dict[str, TrialTally]:
    return _merge_tallies(
        {name: tally} for cell, tally in tallies.items() if (name := cell[place]) is not None
    )


def _summarise_persona(folder: RunFolder, scenario: str) -> PersonaSummary:
    states = folder.states.scenarios[scenario]
    cells = _ItemCells.build(states.items)
    boundary = read_boundary(folder, scenario)
    checkpoints = tuple(
        _count_checkpoint(
            states,
            row,
            cells,
            boundary,
            is_settled=folder.is_finished
            or folder.is_checkpoint_ready(scenario, point.checkpoint.label),
        )
        for row, point in enumerate(states.checkpoint_plans)
    )
    return PersonaSummary(
        id=scenario,
        checkpoints=checkpoints,
        overall=sum_tallies(part.overall for part in checkpoints),
        disclosures=_summarise_disclosures(states, checkpoints),
        boundary=boundary.counts,
        questions=len(states.items),
        feed_failures=folder.list_feed_failures(scenario),
    )


def _summarise_disclosures(
    states: ScenarioStates, checkpoints: Iterable[CheckpointSummary]
) -> dict[str, DisclosureSummary]:
    tallies = _merge_tallies(part.disclosures for part in checkpoints)
    items = {item for point in states.checkpoint_plans for item in point.asked}
    kinds = [_get_cell(states.items[item])[2] for item in items]
    return {
        name: DisclosureSummary(tally=tally, unique=kinds.count(name))
        for name, tally in tallies.items()
        if tally.owed
    }


def _merge_disclosures(personas: Iterable[PersonaSummary]) -> dict[str, DisclosureSummary]:
    merged: dict[str, DisclosureSummary] = {}
    for persona in personas:
        for name, part in persona.disclosures.items():
            total = merged.get(name, DisclosureSummary(tally=TrialTally(), unique=0))
            merged[name] = DisclosureSummary(
                tally=total.tally + part.tally, unique=total.unique + part.unique
            )
    return merged


def _merge_checkpoints(personas: Iterable[PersonaSummary]) -> tuple[CheckpointSummary, ...]:
    groups: dict[str, list[CheckpointSummary]] = {}
    for persona in personas:
        for part in persona.checkpoints:
            groups.setdefault(part.checkpoint.label, []).append(part)
    return tuple(
        CheckpointSummary(
            checkpoint=parts[0].checkpoint,
            cutoff=max(part.cutoff for part in parts),
            overall=sum_tallies(part.overall for part in parts),
            categories=_merge_tallies(part.categories for part in parts),
            difficulties=_merge_tallies(part.difficulties for part in parts),
            disclosures=_merge_tallies(part.disclosures for part in parts),
            new_days=sum(part.new_days for part in parts),
            new=sum(part.new for part in parts),
            older=sum(part.older for part in parts),
            older_asked=sum(part.older_asked for part in parts),
            clock=CheckpointTimes(
                ingest_s=sum(part.clock.ingest_s for part in parts),
                settle_s=sum(part.clock.settle_s for part in parts),
                query_s=sum(part.clock.query_s for part in parts),
                days_fed=sum(part.clock.days_fed for part in parts),
            ),
            is_done=all(part.is_done for part in parts),
        )
        for parts in groups.values()
    )


def _merge_tallies(groups: Iterable[Mapping[str, TrialTally]]) -> dict[str, TrialTally]:
    parts: dict[str, list[TrialTally]] = {}
    for group in groups:
        for name, tally in group.items():
            parts.setdefault(name, []).append(tally)
    return {name: sum_tallies(group) for name, group in parts.items()}


def _list_categories(folder: RunFolder) -> tuple[str, ...]:
    names = dict.fromkeys(
        item.truth.category
        for scenario in folder.scenarios
        for item in folder.states.scenarios[scenario].items
    )
    return list_names(names, CATEGORIES)


def list_names(found: Iterable[str], usual: tuple[str, ...]) -> tuple[str, ...]:
    """List the usual names, then the others; only the others if no usual one was found."""
    names = dict.fromkeys(found)
    others = tuple(name for name in names if name not in usual)
    return others if others and len(others) == len(names) else (*usual, *others)


def list_difficulties(part: CheckpointSummary) -> tuple[str, ...]:
    """List the difficulties of every table, in order."""
    return list_names(part.difficulties, DIFFICULTIES)


def _decide_validity(
    folder: RunFolder,
    personas: Iterable[PersonaSummary],
    overall: TrialTally,
    reviews: ReviewCounts,
) -> Validity:
    pending = {persona.id for persona in personas if persona.overall.open} | set(folder.unstarted)
    is_over = folder.is_finished or (pending <= folder.stopped_scenarios and not reviews.open)
    budget = folder.plan.error_budget
    if is_over and is_over_budget(overall, budget):
        reason = f"{overall.failed} of {overall.owed} trials failed, budget {budget * 100:.4g} %"
        if overall.open:
            reason += f"; {overall.open} of them could not be asked, because feeding failed"
        return Validity(status=RunStatus.INVALID, reason=reason)
    if is_over and are_reviews_over_budget(reviews, budget):
        total = reviews.total
        reason = f"{total.failed} of {total.attempted} reviews failed, budget {budget * 100:.4g} %"
        return Validity(status=RunStatus.INVALID, reason=reason)
    if pending or reviews.open:
        reason = f"{overall.open} of {overall.owed} trials open"
        if reviews.open:
            reason += f", {reviews.open} verdicts to review"
        if folder.unstarted:
            reason += f", not started: {', '.join(folder.unstarted)}"
        return Validity(status=RunStatus.UNFINISHED, reason=reason)
    card = folder.plan.imported
    if card is not None and not card.complete:
        return Validity(status=RunStatus.UNFINISHED, reason="imported, and its files are not whole")
    return Validity(status=RunStatus.VALID)


class HeatmapGrid(TypedDict):
    """Rows are categories, columns are ranges."""

    categories: list[str]
    ranges: list[str]
    scores: list[list[float | None]]
    counts: list[list[int | None]]


def heatmap_grid(summary: Summary) -> HeatmapGrid:
    """Build the means and counts by category and checkpoint; None where nothing was measured."""
    parts = {part.checkpoint.label: part for part in summary.checkpoints}
    labels = [checkpoint.label for checkpoint in summary.plan.checkpoints]
    rows = [
        [parts[label].get_tally(name) if label in parts else None for label in labels]
        for name in summary.categories
    ]
    return {
        "categories": list(summary.categories),
        "ranges": labels,
        "scores": [[None if tally is None else tally.mean for tally in row] for row in rows],
        "counts": [[None if tally is None else tally.counted for tally in row] for row in rows],
    }
