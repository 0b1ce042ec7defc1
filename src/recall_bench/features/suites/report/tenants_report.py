"""The figures of the tenants suite: what of one user reaches another."""

from collections.abc import Callable, Iterator, Sequence

from recall_bench.core.event import TrialResult
from recall_bench.features.suites.stories.tenants import (
    ALONE,
    IDS,
    OWN,
    PHASES,
    RESTARTED,
    SESSION,
    SESSIONS,
    TOGETHER,
)
from recall_bench.reporting.suites.figures import (
    Case,
    Figure,
    SuiteResults,
    has_atoms,
    has_canary,
    has_retrieved_atoms,
    has_retrieved_canary,
    is_answered,
    make_share,
    withhold,
)

_Rows = Sequence[tuple[str, TrialResult]]
_NOTHING_KNOWN = "nothing was known, so nothing could leak"
_PHASE_WORDS = {
    ALONE: "asked one after the other",
    TOGETHER: "asked at the same time",
    RESTARTED: "after a restart",
}


def build_tenant_figures(results: SuiteResults) -> tuple[Figure, ...]:
    """Build the figures of a run of the tenants suite."""
    rows = [(story, each) for story in results.stories for each in results.list_results(story)]
    own = [row for row in rows if row[1].item.kind == OWN and not row[0].startswith(SESSIONS)]
    card = results.folder.plan.behaviour
    missing = () if card is None else card.not_offered
    asked = own
    own = [row for row in own if is_answered(row[1])]
    has_passages = any(
        each.answered is not None and each.answered.answer.passages for _, each in own
    )
    leaked = _make_share(
        "leak/passages",
        "another's value in the passages",
        own,
        has_retrieved_canary,
        is_headline=True,
    )
    leaks = (
        _make_share("leak", "another's value in an answer", own, has_canary, is_headline=True),
        leaked if has_passages else withhold(leaked, "it returns no passages"),
        *_list_phases(own, missing),
        _estimate_concurrency(own),
        *_list_names(own),
    )
    if not any(_is_known(each) or _is_leak(each) for _, each in own):
        leaks = tuple(withhold(each, _NOTHING_KNOWN) for each in leaks)
    return (
        _make_share("recall", "one's own facts known", asked, has_atoms, best=1.0),
        *leaks,
        *_list_sessions(rows, missing),
    )


def _make_share(
    name: str,
    label: str,
    rows: _Rows,
    chosen: Callable[[TrialResult], bool],
    *,
    best: float = 0.0,
    is_headline: bool = False,
) -> Figure:
    cases = [
        Case(
            story=story,
            subject=result.item.id,
            happened=chosen(result),
            phase=result.trial.checkpoint,
        )
        for story, result in rows
    ]
    return make_share(
        cases,
        name=name,
        label=label,
        best=best,
        is_headline=is_headline,
    )


def _is_known(result: TrialResult) -> bool:
    return has_atoms(result) or has_retrieved_atoms(result)


def _is_leak(result: TrialResult) -> bool:
    return has_canary(result) or has_retrieved_canary(result)


def _list_phases(own: _Rows, missing: Sequence[str]) -> Iterator[Figure]:
    for phase in PHASES:
        name, label = f"leak/{phase}", f"answer or passages, {_PHASE_WORDS[phase]}"
        if phase == RESTARTED and "reopen" in missing:
            yield Figure(name=name, label=label, best=0.0, worst=1.0, is_offered=False)
            continue
        chosen = [row for row in own if row[1].trial.checkpoint == phase]
        yield _make_share(name, label, chosen, _is_leak)


def _estimate_concurrency(own: _Rows) -> Figure:
    """How much more often something leaks when all ask at once than in turn."""
    found = {
        (story, each.item.id, each.trial.checkpoint): float(_is_leak(each)) for story, each in own
    }
    cases = [
        Case(story=story, subject=item, happened=leaks - found[story, item, ALONE])
        for (story, item, phase), leaks in found.items()
        if phase == TOGETHER and (story, item, ALONE) in found
    ]
    return make_share(
        cases,
        is_difference=True,
        name="leak/by-concurrency",
        label="leaks added by asking at the same time",
    )


def _list_names(own: _Rows) -> Iterator[Figure]:
    for variant in IDS:
        chosen = [row for row in own if row[0].rpartition("-")[0] == variant]
        words = f"answer or passages, names that differ by {variant}"
        if not chosen:
            continue
        yield _make_share(f"leak/ids-{variant}", words, chosen, _is_leak)


def _list_sessions(rows: _Rows, missing: Sequence[str]) -> Iterator[Figure]:
    name, label = "leak/sessions", "a closed session's value, asked from another session"
    if SESSIONS in missing:
        yield Figure(name=name, label=label, best=0.0, worst=1.0, is_offered=False)
        return
    chosen = [row for row in rows if row[1].item.kind == SESSION and is_answered(row[1])]
    found = _make_share(name, label, chosen, _is_leak)
    inside = [each for story, each in rows if each.item.kind == OWN and story.startswith(SESSIONS)]
    is_known = any(map(_is_known, inside)) or any(_is_leak(each) for _, each in chosen)
    yield found if is_known else withhold(found, _NOTHING_KNOWN)
