"""What the figures of several suites have in common."""

from collections.abc import Callable, Iterable

from recall_bench.core.event import TrialResult
from recall_bench.reporting.suites.figures import (
    Case,
    Figure,
    SuiteResults,
    has_atoms,
    has_canary,
    has_retrieved_atoms,
    has_retrieved_canary,
    make_share,
)

Rows = list[tuple[str, TrialResult]]
"""Trials with their stories."""


def list_rows(results: SuiteResults) -> Rows:
    """Every trial of a run with its story."""
    return [(story, result) for story in results.stories for result in results.list_results(story)]


def make_row_share(
    name: str,
    label: str,
    rows: Iterable[tuple[str, TrialResult]],
    happened: Callable[[TrialResult], bool],
    *,
    best: float = 0.0,
    note: str = "",
    is_headline: bool = False,
    by_phase: bool = False,
) -> Figure:
    """The share of trials in which something happened; by phase if a question has several."""
    cases = [
        Case(
            story=story,
            subject=result.item.id,
            happened=happened(result),
            phase=result.trial.checkpoint if by_phase else "",
        )
        for story, result in rows
    ]
    return make_share(cases, name=name, label=label, best=best, note=note, is_headline=is_headline)


def make_not_offered(name: str, label: str, *, note: str = "", is_headline: bool = False) -> Figure:
    """The figure of something that the system does not offer."""
    return Figure(
        name=name,
        label=label,
        best=0.0,
        worst=1.0,
        is_offered=False,
        note=note,
        is_headline=is_headline,
    )


def get_not_offered(results: SuiteResults) -> tuple[str, ...]:
    """What of the suite the system does not offer."""
    card = results.folder.plan.behaviour
    return () if card is None else card.not_offered


def is_known(result: TrialResult) -> bool:
    """Whether answer or passages hold the right value."""
    return has_atoms(result) or has_retrieved_atoms(result)


def is_leak(result: TrialResult) -> bool:
    """Whether answer or passages hold a value that should not be there."""
    return has_canary(result) or has_retrieved_canary(result)
