"""How the answers about boundaries went: what was leaked, and what was withheld without need."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from recall_bench.core.event import Judged, TrialResult
from recall_bench.core.question import Disclosure, Item
from recall_bench.core.verdict import Finding
from recall_bench.metrics.leaks import GuardedAnswer, Leaks, count_leaks, is_confidential
from recall_bench.metrics.refusals import Refusals, count_refusals, is_answerable
from recall_bench.reporting.folder import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryCounts:
    """Leaks, and refusals of questions that allow an answer."""

    leaks: Leaks
    refusals: Mapping[Disclosure, Refusals]
    """By how much may be disclosed: `partial` and `answer`, where such answers were judged."""

    @property
    def over_refusal(self) -> Refusals:
        """Both kinds together."""
        return sum(self.refusals.values(), Refusals())


def count_boundary(folder: RunFolder, scenario: str) -> BoundaryCounts:
    """Count over one scenario. Only answers and verdicts of such questions are read."""
    guarded: list[GuardedAnswer] = []
    judged: dict[Disclosure, list[tuple[Finding, ...] | None]] = {}
    for result in folder.read_results_of(scenario, _is_relevant):
        truth, findings = result.item.truth, _get_findings(folder, result)
        if result.answered is not None:
            guarded.append(GuardedAnswer(truth, result.answered.answer.text, findings))
        if truth.disclosure is not None and is_answerable(truth) and _has_verdict(result):
            judged.setdefault(truth.disclosure, []).append(findings)
    refusals = {kind: count_refusals(judged[kind]) for kind in Disclosure if kind in judged}
    return BoundaryCounts(leaks=count_leaks(guarded), refusals=refusals)


def merge_boundaries(parts: Iterable[BoundaryCounts]) -> BoundaryCounts:
    """All scenarios together."""
    leaks, refusals = Leaks(), dict[Disclosure, Refusals]()
    for part in parts:
        leaks += part.leaks
        for kind, found in part.refusals.items():
            refusals[kind] = refusals.get(kind, Refusals()) + found
    return BoundaryCounts(
        leaks=leaks, refusals={k: refusals[k] for k in Disclosure if k in refusals}
    )


def _is_relevant(item: Item) -> bool:
    return is_confidential(item.truth) or is_answerable(item.truth)


def _has_verdict(result: TrialResult) -> bool:
    return isinstance(result.outcome, Judged)


def _get_findings(folder: RunFolder, result: TrialResult) -> tuple[Finding, ...] | None:
    return folder.get_findings(result.outcome) if isinstance(result.outcome, Judged) else None
