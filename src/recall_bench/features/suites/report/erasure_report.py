"""The figures of the erasure suite: what remains, what is lost besides, what comes back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from recall_bench.features.suites.stories.erasure import (
    AFTER,
    BEFORE,
    CONSOLIDATED,
    DEPENDENT,
    DIRECT,
    ELSEWHERE,
    REPHRASED,
    RESTARTED,
    SUMMARISED,
    WAYS,
)
from recall_bench.metrics.quantiles import estimate_quantile
from recall_bench.reporting.suites.figures import (
    Case,
    Figure,
    SuiteResults,
    has_atoms,
    has_canary,
    has_retrieved_canary,
    is_answered,
    make_share,
)

_QUESTIONS = {
    DIRECT: "asked directly",
    REPHRASED: "asked in other words",
    DEPENDENT: "needed for an answer",
    ELSEWHERE: "asked from another session",
}
_PASSAGES, _LISTING, _FILES = "passages", "listing", "files"
_PLACES = {
    _PASSAGES: "in the passages it returns",
    _LISTING: "in what it lists",
    _FILES: "in its files",
}
_LATER = {
    CONSOLIDATED: "after consolidating",
    RESTARTED: "after a restart",
    SUMMARISED: "after a note that names it",
}


@dataclass(slots=True)
class _ErasedFact:
    """A fact that was to be erased: where it was found in each phase."""

    story: str
    way: str
    value: str
    is_first: bool = False
    """Whether it is the one that is asked again and again."""
    found: dict[str, set[str]] = field(default_factory=dict)
    """By phase, the channels in which it was found."""
    unanswered: dict[str, set[str]] = field(default_factory=dict)
    """By phase, the kinds of questions about it that were not answered."""

    def is_in(self, phase: str, *channels: str) -> bool:
        """Whether it was found in any of the channels; in any at all if none is named."""
        here = self.found.get(phase, set())
        return bool(here.intersection(channels) if channels else here)

    def is_open(self, phase: str, *channels: str) -> bool:
        """Whether it was not found there, and a question that could have found it failed."""
        failed = self.unanswered.get(phase, set())
        # Passages come with the answer to any question.
        wanted = set() if _PASSAGES in channels else set(channels)
        return not self.is_in(phase, *channels) and bool(
            failed.intersection(wanted) if wanted else failed
        )


@dataclass(slots=True)
class _KeptFact:
    """A fact that was to stay: in which phases it was answered."""

    story: str
    value: str
    answered: dict[str, bool] = field(default_factory=dict)


def build_erasure_figures(results: SuiteResults) -> tuple[Figure, ...]:
    """Build the figures of a run of the erasure suite."""
    erased, kept = _collect_facts(results)
    return (
        _estimate_known(erased),
        _estimate_residue(erased, "residue", "still there, by any channel", is_headline=True),
        *_list_channels(erased),
        *_list_ways(erased, results),
        *_list_deleted(erased),
        _estimate_last_files(erased, results),
        _estimate_loss(kept),
        *_list_returns(erased, results),
        _estimate_false_confirmations(erased, results),
        *_list_delays(erased, results),
    )


def _collect_facts(results: SuiteResults) -> tuple[list[_ErasedFact], list[_KeptFact]]:
    erased: list[_ErasedFact] = []
    kept: list[_KeptFact] = []
    for story in results.stories:
        gone: dict[str, _ErasedFact] = {}
        stays: dict[str, _KeptFact] = {}
        way = story.rpartition("-")[0]
        for result in results.list_results(story):
            value, phase = result.item.truth.reference, result.trial.checkpoint
            if result.item.truth.atoms:
                fact = stays.setdefault(value, _KeptFact(story, value))
                fact.answered[phase] = has_atoms(result)
                continue
            erased_fact = gone.setdefault(value, _ErasedFact(story, way, value, not gone))
            channels = erased_fact.found.setdefault(phase, set())
            if not is_answered(result):
                kinds = erased_fact.unanswered.setdefault(phase, set())
                kinds.add(result.item.kind or DIRECT)
            if has_canary(result):
                channels.add(result.item.kind or DIRECT)
            if has_retrieved_canary(result):
                channels.add(_PASSAGES)
        for action, channel in (("list", _LISTING), ("search", _FILES)):
            for seen in results.list_observed(story, action):
                for value in seen.found:
                    gone[value].found.setdefault(seen.phase, set()).add(channel)
        erased += gone.values()
        kept += stays.values()
    return erased, kept


def _estimate_known(erased: Sequence[_ErasedFact]) -> Figure:
    cases = [Case(story=f.story, subject=f.value, happened=f.is_in(BEFORE, DIRECT)) for f in erased]
    return make_share(
        cases,
        name="known-before",
        label="known before, asked directly",
        best=1.0,
        note="what was never known cannot remain: residue counts only what was found before",
    )


def _estimate_residue(
    erased: Sequence[_ErasedFact],
    name: str,
    label: str,
    *channels: str,
    is_headline: bool = False,
) -> Figure:
    """The share of facts found before, in these channels, that are still found afterwards."""
    cases = [
        Case(story=fact.story, subject=fact.value, happened=fact.is_in(AFTER, *channels))
        for fact in erased
        if fact.is_in(BEFORE, *channels) and not fact.is_open(AFTER, *channels)
    ]
    return make_share(
        cases,
        name=name,
        label=label,
        note="" if cases else "nothing that was found there before was asked again",
        is_headline=is_headline,
    )


def _list_channels(erased: Sequence[_ErasedFact]) -> Iterator[Figure]:
    for channel, words in {**_QUESTIONS, **_PLACES}.items():
        yield _estimate_residue(erased, f"residue/{channel}", f"still there, {words}", channel)


def _list_ways(erased: Sequence[_ErasedFact], results: SuiteResults) -> Iterator[Figure]:
    card = results.folder.plan.behaviour
    missing = () if card is None else card.not_offered
    for way in WAYS:
        name, label = f"residue/by-{way.name}", f"still there, erased by {_WAY_WORDS[way.name]}"
        chosen = [fact for fact in erased if fact.way == way.name]
        if way.name in missing:
            yield Figure(name=name, label=label, best=0.0, worst=1.0, is_offered=False)
        elif chosen:
            yield _estimate_residue(chosen, name, label)


def _list_deleted(erased: Sequence[_ErasedFact]) -> Iterator[Figure]:
    """What is left after the three calls that most systems have: comparable between systems."""
    chosen = [fact for fact in erased if fact.way in _DELETIONS]
    words = "deleted by id, session or person"
    yield _estimate_residue(
        chosen,
        "residue/deleted",
        f"still in answers, passages or listing, {words}",
        *_QUESTIONS,
        _PASSAGES,
        _LISTING,
    )
    yield _estimate_residue(chosen, "residue/deleted/files", f"still in its files, {words}", _FILES)


def _estimate_last_files(erased: Sequence[_ErasedFact], results: SuiteResults) -> Figure:
    """What is in the files when they were searched for the last time."""
    cases = []
    for fact in erased:
        phases = [each.phase for each in results.list_observed(fact.story, "search")]
        if len(phases) > 1 and fact.is_in(BEFORE, _FILES):
            happened = fact.is_in(phases[-1], _FILES)
            cases.append(Case(story=fact.story, subject=fact.value, happened=happened))
    return make_share(
        cases,
        name="residue/files/last",
        label="still in its files when they were searched last",
        note="" if cases else "nothing was found in files before",
    )


_DELETIONS = ("delete", "session", "person")
_WAY_WORDS: Mapping[str, str] = {
    "request": "a request in the conversation",
    "forget": "forget(subject)",
    "delete": "delete(id)",
    "session": "deleting a session",
    "person": "deleting a person",
    "retention": "a retention rule",
}


def _estimate_loss(kept: Sequence[_KeptFact]) -> Figure:
    cases = [
        Case(story=fact.story, subject=fact.value, happened=not fact.answered.get(AFTER, False))
        for fact in kept
        if fact.answered.get(BEFORE)
    ]
    return make_share(
        cases,
        name="collateral-loss",
        label="lost besides: known before, was to stay, not known after",
        note="" if cases else "nothing that was to stay was known before",
        is_headline=True,
    )


def _list_returns(erased: Sequence[_ErasedFact], results: SuiteResults) -> Iterator[Figure]:
    card = results.folder.plan.behaviour
    offers = () if card is None else card.offers
    needed = {CONSOLIDATED: "consolidate", RESTARTED: "reopen", SUMMARISED: None}
    for phase, words in _LATER.items():
        name, label = f"returned/{phase}", f"gone, and back {words}"
        offer = needed[phase]
        if offer is not None and offer not in offers:
            yield Figure(name=name, label=label, best=0.0, worst=1.0, is_offered=False)
            continue
        channels = (*_QUESTIONS, _PASSAGES)
        cases = [
            Case(story=fact.story, subject=fact.value, happened=fact.is_in(phase, *channels))
            for fact in erased
            if fact.is_in(BEFORE, *channels)
            and not fact.is_in(AFTER, *channels)
            and not fact.is_open(AFTER, *channels)
            and not fact.is_open(phase, *channels)
        ]
        yield make_share(
            cases,
            name=name,
            label=label,
            note="" if cases else "nothing was gone",
        )


def _estimate_false_confirmations(erased: Sequence[_ErasedFact], results: SuiteResults) -> Figure:
    """The share of stories whose erasures were confirmed in which something is still there."""
    name, label = "false-confirmation", "said to be erased, and still there"
    replies = [each for s in results.stories for each in results.list_observed(s, "erase")]
    if replies and all(each.confirmed is None and each.fault is None for each in replies):
        return Figure(
            name=name,
            label=label,
            best=0.0,
            worst=1.0,
            is_offered=False,
            is_headline=True,
            note="it does not say whether it erased something",
        )
    cases = []
    for story in results.stories:
        calls = results.list_observed(story, "erase")
        known = [fact for fact in erased if fact.story == story and fact.is_in(BEFORE)]
        if not known or not calls or not all(call.confirmed for call in calls):
            continue
        remains = any(fact.is_in(AFTER) for fact in known)
        if remains or not any(fact.is_open(AFTER) for fact in known):
            cases.append(Case(story=story, subject=story, happened=remains))
    return make_share(
        cases,
        name=name,
        label=label,
        note="" if cases else "no erasure was confirmed, or it cannot be said what is left",
        is_headline=True,
    )


def _list_delays(erased: Sequence[_ErasedFact], results: SuiteResults) -> Iterator[Figure]:
    """How long a fact is still answered, of those that were answered before."""
    known = {fact.story for fact in erased if fact.is_first and fact.is_in(BEFORE, DIRECT)}
    polls = [
        (story, poll)
        for story in results.stories
        for poll in results.list_observed(story, "poll")
        if poll.phase == AFTER and story in known
    ]
    late = [Case(story=s, subject=p.item or s, happened=p.seconds is None) for s, p in polls]
    yield make_share(
        late,
        name="not-gone-in-time",
        label="still answered when the patience ended",
    )
    times = [poll.seconds for _, poll in polls]
    found = estimate_quantile(times, [story for story, _ in polls], 0.5)
    yield Figure(
        name="time-until-gone",
        label="time until gone, median",
        estimate=found,
        unit="s",
        note="" if found is not None else "longer than the patience, or nothing to measure",
    )
