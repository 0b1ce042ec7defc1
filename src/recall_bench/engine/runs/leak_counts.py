"""The boundary questions of a run: which answers leak, and which refuse without need.

Only answers to questions with something to withhold are read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from recall_bench.core.event import Judged
from recall_bench.core.scenario import Disclosure, Item
from recall_bench.core.verdict import Finding
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.metrics.leaks import (
    GuardedAnswer,
    Leaks,
    Refusals,
    can_notice_leak,
    count_refusals,
    is_confidential,
    is_leaking,
    may_disclose,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryCounts:
    """Leaks, and refusals of questions that allow an answer."""

    leaks: Leaks
    refusals: Mapping[Disclosure, Refusals]
    """By allowed disclosure, `partial` and `answer`, where such answers were judged."""

    @property
    def over_refusal(self) -> Refusals:
        """The refusals of both kinds."""
        return sum(self.refusals.values(), Refusals())


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryReading:
    """The boundary of one scenario: its counts, and the trials behind them."""

    counts: BoundaryCounts
    guarded: frozenset[int]
    """The slots of the trials in which a leak could be noticed."""
    leaked: frozenset[int]
    """The slots of those that leak."""

    def check_leak(self, slot: int) -> bool | None:
        """Check whether the trial leaks; None if that could not be noticed."""
        return slot in self.leaked if slot in self.guarded else None


def read_boundary(folder: RunFolder, scenario: str) -> BoundaryReading:
    """Read the leaks and refusals of one scenario; once for each folder that is opened."""
    return folder.compute_once(
        f"boundary of {scenario}", lambda folder: _read_boundary(folder, scenario)
    )


def _read_boundary(folder: RunFolder, scenario: str) -> BoundaryReading:
    states = folder.states.scenarios[scenario]
    guarded: dict[int, GuardedAnswer] = {}
    judged: dict[Disclosure, list[tuple[Finding, ...] | None]] = {}
    for result in folder.read_results_of(scenario, _is_relevant, reads_passages=False):
        truth, outcome, findings = result.item.truth, result.outcome, None
        if isinstance(outcome, Judged):
            findings = folder.get_findings(outcome)
            if truth.disclosure is not None and may_disclose(truth):
                judged.setdefault(truth.disclosure, []).append(findings)
        if result.answered is not None:
            answer = GuardedAnswer(truth, result.answered.answer.text, findings)
            if can_notice_leak(answer):
                guarded[states.find_slot(result.trial)] = answer
    refusals = {kind: count_refusals(judged[kind]) for kind in Disclosure if kind in judged}
    leaked = frozenset(slot for slot, answer in guarded.items() if is_leaking(answer))
    return BoundaryReading(
        counts=BoundaryCounts(leaks=Leaks(len(guarded), len(leaked)), refusals=refusals),
        guarded=frozenset(guarded),
        leaked=leaked,
    )


def merge_boundaries(parts: Iterable[BoundaryCounts]) -> BoundaryCounts:
    """Merge the counts of several scenarios."""
    leaks, refusals = Leaks(), dict[Disclosure, Refusals]()
    for part in parts:
        leaks += part.leaks
        for kind, counts in part.refusals.items():
            refusals[kind] = refusals.get(kind, Refusals()) + counts
    return BoundaryCounts(
        leaks=leaks, refusals={k: refusals[k] for k in Disclosure if k in refusals}
    )


def _is_relevant(item: Item) -> bool:
    return is_confidential(item.truth) or may_disclose(item.truth)
