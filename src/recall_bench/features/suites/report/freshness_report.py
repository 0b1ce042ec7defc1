"""The figures of the freshness suite: how soon a write is read, and whether it stays."""

from collections.abc import Iterator, Sequence

from recall_bench.core.event import Observed, TrialResult
from recall_bench.core.memory import Offer
from recall_bench.features.suites.stories.freshness import (
    BUSY,
    CHANGED,
    LAST,
    NEW,
    QUIET,
    REPEATED,
    RESTARTED,
    REWRITTEN,
    SETTLED,
    UPDATED,
)
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.quantiles import estimate_quantile
from recall_bench.reporting.suites.figures import (
    Case,
    Figure,
    SuiteResults,
    has_atoms,
    has_canary,
    has_retrieved_atoms,
    make_share,
    withhold,
)

_WORDS = {
    QUIET: "a new fact",
    BUSY: "a new fact, while others write",
    UPDATED: "a changed fact",
}
_ANSWERS_ALONE = frozenset({"1", "2"})
"""Versions of the suite whose polls did not look at passages."""
_QUANTILES = (0.5, 0.95, 0.99)
_Polls = Sequence[tuple[str, Observed]]


def build_freshness_figures(results: SuiteResults) -> tuple[Figure, ...]:
    """Build the figures of a run of the freshness suite."""
    polls = [(s, each) for s in results.stories for each in results.list_observed(s, "poll")]
    rows = [(s, each) for s in results.stories for each in results.list_results(s)]
    known = _find_known(rows, results)
    return (
        _estimate_known(rows),
        *_list_first_reads(polls, known),
        *_list_delays(polls, known),
        _estimate_unstable(polls, known),
        *_list_updates(rows),
        _estimate_duplicates(results),
        _estimate_lost(rows, results),
    )


def _find_known(
    rows: Sequence[tuple[str, TrialResult]], results: SuiteResults
) -> set[tuple[str, str]]:
    """The questions whose value the memory finds at all, once everything has settled.

    It is looked for where the polls of the run looked.
    """
    card = results.folder.plan.behaviour
    is_known = has_atoms if card is not None and card.version in _ANSWERS_ALONE else _is_returned
    return {
        (story, each.item.id)
        for story, each in rows
        if each.trial.checkpoint == SETTLED and is_known(each)
    }


def _is_returned(result: TrialResult) -> bool:
    return has_atoms(result) or has_retrieved_atoms(result)


def _estimate_known(rows: Sequence[tuple[str, TrialResult]]) -> Figure:
    cases = [
        Case(story=story, subject=each.item.id, happened=has_atoms(each))
        for story, each in rows
        if each.trial.checkpoint == SETTLED and each.item.kind == NEW
    ]
    return make_share(
        cases,
        name="known-settled",
        label="known once everything has settled",
        best=1.0,
        note="what is not known even then says nothing about freshness and is left out below",
    )


def _choose_polls(polls: _Polls, known: set[tuple[str, str]], phase: str | None = None) -> _Polls:
    """The polls of questions that the memory can answer once everything has settled."""
    return [
        (story, poll)
        for story, poll in polls
        if (phase is None or poll.phase == phase) and (story, poll.item or "") in known
    ]


def _list_first_reads(polls: _Polls, known: set[tuple[str, str]]) -> Iterator[Figure]:
    for phase, words in _WORDS.items():
        cases = [
            Case(story=story, subject=poll.item or story, happened=not poll.confirmed)
            for story, poll in _choose_polls(polls, known, phase)
        ]
        yield make_share(
            cases,
            name=f"read-your-writes/{phase}",
            label=f"{words} not known at once",
            is_headline=phase != BUSY,
        )


def _list_delays(polls: _Polls, known: set[tuple[str, str]]) -> Iterator[Figure]:
    chosen = _choose_polls(polls, known)
    late = [
        Case(story=story, subject=poll.item or story, happened=poll.seconds is None)
        for story, poll in chosen
    ]
    yield make_share(
        late,
        name="late",
        label="not known when the patience ended, though known once settled",
    )
    times = [poll.seconds for _, poll in chosen]
    stories = [story for story, _ in chosen]
    for share in _QUANTILES:
        is_enough = len(times) * (1 - share) >= 1 - 1e-9
        found = estimate_quantile(times, stories, share) if is_enough else None
        yield Figure(
            name=f"availability/p{100 * share:g}",
            label=f"time until known, {100 * share:g} % quantile",
            estimate=found,
            unit="s",
            note=_explain_quantile(found, is_enough=is_enough),
            is_headline=share == _QUANTILES[0],
        )


def _explain_quantile(found: Estimate | None, *, is_enough: bool) -> str:
    if not is_enough:
        return "too few facts for this quantile"
    if found is None:
        return "later than the patience"
    return "" if found.interval is not None else "no interval: it may reach beyond the patience"


def _estimate_unstable(polls: _Polls, known: set[tuple[str, str]]) -> Figure:
    cases = [
        Case(story=story, subject=poll.item or story, happened=poll.values["lost again"] > 0)
        for story, poll in _choose_polls(polls, known)
        if poll.seconds is not None and "lost again" in poll.values
    ]
    return make_share(
        cases,
        name="non-monotonic",
        label="known, and then not known again",
    )


def _list_updates(rows: Sequence[tuple[str, TrialResult]]) -> Iterator[Figure]:
    changed = [
        (story, each)
        for story, each in rows
        if each.trial.checkpoint == SETTLED and each.item.kind == CHANGED
    ]
    stale = [
        Case(story=s, subject=e.item.id, happened=has_canary(e) and not has_atoms(e))
        for s, e in changed
    ]
    lost = [Case(story=s, subject=e.item.id, happened=not has_atoms(e)) for s, e in changed]
    found = make_share(
        stale,
        name="stale",
        label="old value given after everything has settled",
        is_headline=True,
    )
    is_known = any(has_atoms(each) or has_canary(each) for _, each in changed)
    yield found if is_known else withhold(found, "neither the old nor the new value was known")
    yield make_share(
        lost,
        name="lost-update",
        label="new value not given after everything has settled",
    )


def _estimate_duplicates(results: SuiteResults) -> Figure:
    """The share of stories in which a repeated write left more entries than the first."""
    name, label = "duplicates", "stored again when a write is repeated"
    card = results.folder.plan.behaviour
    if card is not None and Offer.STORED in card.not_offered:
        return Figure(name=name, label=label, best=0.0, worst=1.0, is_offered=False)
    cases = []
    for story in results.stories:
        seen = {each.phase: each for each in results.list_observed(story, "list")}
        if REPEATED not in seen or SETTLED not in seen:
            continue
        for value, count in seen[REPEATED].values.items():
            if (before := seen[SETTLED].values.get(value, 0.0)) > 0:
                cases.append(Case(story=story, subject=value, happened=count > before))
    return make_share(
        cases,
        name=name,
        label=label,
        note="" if cases else "nothing of it could be listed",
    )


def _estimate_lost(rows: Sequence[tuple[str, TrialResult]], results: SuiteResults) -> Figure:
    """The share of acknowledged writes that a restart loses."""
    name, label = "lost-at-restart", "acknowledged, and lost when the process is killed"
    card = results.folder.plan.behaviour
    if card is not None and Offer.REOPEN in card.not_offered:
        return Figure(
            name=name, label=label, best=0.0, worst=1.0, is_offered=False, is_headline=True
        )
    restarts = [e for s in results.stories for e in results.list_observed(s, "restart")]
    last = [(story, each) for story, each in rows if each.item.kind == LAST]
    findable = {
        (story, each.item.id)
        for story, each in last
        if each.trial.checkpoint == REWRITTEN and _is_returned(each)
    }
    cases = [
        Case(story=story, subject=each.item.id, happened=not _is_returned(each))
        for story, each in last
        if each.trial.checkpoint == RESTARTED and (story, each.item.id) in findable
    ]
    is_killed = bool(restarts) and all(each.confirmed for each in restarts)
    return make_share(
        cases,
        name=name,
        label=label,
        note="" if is_killed else "the process was closed, not killed: it is not ours to kill",
        is_headline=True,
    )
