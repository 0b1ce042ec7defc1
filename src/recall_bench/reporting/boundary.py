"""How the answers about boundaries went: what was leaked, and what was withheld without need."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from recall_bench.core.event import Judged, Result
from recall_bench.core.question import Disclosure, Item
from recall_bench.core.verdict import Finding
from recall_bench.metrics.leaks import GuardedAnswer, Leaks, is_guarded, leaks_of
from recall_bench.metrics.refusals import Refusals, may_be_answered, refusals_of
from recall_bench.reporting.folder import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """Leaks, and refusals of questions that allow an answer."""

    leaks: Leaks
    refusals: Mapping[Disclosure, Refusals]
    """By how much may be disclosed: `partial` and `answer`, where such answers were judged."""

    @property
    def over_refusal(self) -> Refusals:
        """Both kinds together."""
        return sum(self.refusals.values(), Refusals())


def boundary_of(folder: RunFolder, scenario: str) -> Boundary:
    """Count over one scenario. Only answers and verdicts of such questions are read."""
    guarded: list[GuardedAnswer] = []
    judged: dict[Disclosure, list[tuple[Finding, ...] | None]] = {}
    for result in folder.results_of(scenario, _concerns):
        truth, findings = result.item.truth, _findings(folder, result)
        if result.answered is not None:
            guarded.append(GuardedAnswer(truth, result.answered.answer.text, findings))
        if truth.disclosure is not None and may_be_answered(truth) and _is_judged(result):
            judged.setdefault(truth.disclosure, []).append(findings)
    refusals = {kind: refusals_of(judged[kind]) for kind in Disclosure if kind in judged}
    return Boundary(leaks=leaks_of(guarded), refusals=refusals)


def together(parts: Iterable[Boundary]) -> Boundary:
    """All scenarios together."""
    leaks, refusals = Leaks(), dict[Disclosure, Refusals]()
    for part in parts:
        leaks += part.leaks
        for kind, found in part.refusals.items():
            refusals[kind] = refusals.get(kind, Refusals()) + found
    return Boundary(leaks=leaks, refusals={k: refusals[k] for k in Disclosure if k in refusals})


def _concerns(item: Item) -> bool:
    return is_guarded(item.truth) or may_be_answered(item.truth)


def _is_judged(result: Result) -> bool:
    return isinstance(result.outcome, Judged)


def _findings(folder: RunFolder, result: Result) -> tuple[Finding, ...] | None:
    return folder.findings(result.outcome) if isinstance(result.outcome, Judged) else None
