"""The erasure suite: facts are stated, some of them must be forgotten, all are asked.

Its figures say what remains, what is lost besides, and what comes back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from recall_bench.core.memory import EraseScope, Offer
from recall_bench.features.suites.behaviour import (
    BehaviourStory,
    ConsolidateStep,
    EraseStep,
    LookStep,
    PollStep,
    RestartStep,
    Step,
)
from recall_bench.features.suites.quantiles import estimate_quantile
from recall_bench.features.suites.shares import get_not_offered, make_not_offered
from recall_bench.features.suites.story_writer import (
    PlantedFact,
    StoryRequest,
    StoryWriter,
    fill,
    load_requests,
)
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

VERSION = "3"
CATEGORY = "erasure"

BEFORE, AFTER, CONSOLIDATED = "before", "after", "consolidated"
RESTARTED, SUMMARISED = "restarted", "summarised"
PHASES = (BEFORE, AFTER, CONSOLIDATED, RESTARTED, SUMMARISED)

DIRECT, REPHRASED, DEPENDENT, ELSEWHERE = "direct", "rephrased", "dependent", "other-session"
_QUESTIONS = {
    DIRECT: "asked directly",
    REPHRASED: "asked in other words",
    DEPENDENT: "needed for an answer",
    ELSEWHERE: "asked from another session",
}
"""The kinds of questions about a fact."""
_PASSAGES, _LISTING, _FILES = "passages", "listing", "files"
_PLACES = {
    _PASSAGES: "in the passages it returns",
    _LISTING: "in what it lists",
    _FILES: "in its files",
}
OTHER_SESSION = "colleagues"
_SESSION = "planning"
_ERASED, _KEPT = 3, 4
_RETENTION = 30


@dataclass(frozen=True, slots=True)
class ErasureWay:
    """One way in which something is to be forgotten."""

    name: str
    words: str
    offer: Offer | None = None
    """What the system must offer for it; None for a request in the conversation."""
    scope: EraseScope | None = None
    is_deletion: bool = False
    """Whether it is one of the three calls that most systems have."""


WAYS = (
    ErasureWay("request", "a request in the conversation"),
    ErasureWay("forget", "forget(subject)", Offer.FORGET, EraseScope.FORGET),
    ErasureWay("delete", "delete(id)", Offer.DELETE, EraseScope.DELETE, is_deletion=True),
    ErasureWay(
        *("session", "deleting a session", Offer.DELETE_SESSION, EraseScope.SESSION),
        is_deletion=True,
    ),
    ErasureWay(
        *("person", "deleting a person", Offer.DELETE_PERSON, EraseScope.PERSON),
        is_deletion=True,
    ),
    ErasureWay("retention", "a retention rule", Offer.RETAIN, EraseScope.DAYS),
)
VARIANTS = tuple(way.name for way in WAYS)


def draw_stories(request: StoryRequest) -> Iterator[BehaviourStory]:
    """Draw stories of each way of erasing that the system offers."""
    for way in WAYS:
        if way.offer is None or way.offer in request.offers:
            for name in request.list_names(way.name):
                yield _write_story(StoryWriter(request, name, CATEGORY), way, request)


def list_missing_parts(request: StoryRequest) -> tuple[str, ...]:
    """List the ways of erasing, and what else is looked at, that a system does not offer."""
    ways = [way.name for way in WAYS if way.offer is not None and way.offer not in request.offers]
    return (*ways, *request.list_missing(Offer.STORED, Offer.CONSOLIDATE, Offer.REOPEN))


def _write_story(writer: StoryWriter, way: ErasureWay, request: StoryRequest) -> BehaviourStory:
    """Write the story: facts, the order to forget, and what happens afterwards."""
    draw = writer.facts.draw_fact
    person = writer.facts.draw_person() if way.scope is EraseScope.PERSON else None
    erased = [draw(person) for _ in range(_ERASED)]
    others = [draw() for _ in range(_KEPT)]
    days, episodes = _tell(writer, way, erased, others)
    items = _add_items(writer, erased, others, days)
    planted = tuple(fact.value for fact in erased)
    writer.ask(BEFORE, items)
    writer.steps.append(LookStep(phase=BEFORE, planted=planted))
    if way.scope is None:
        writer.feed_day(AFTER, *(fact.forget for fact in erased))
    else:
        values = {
            EraseScope.FORGET: [fact.subject for fact in erased],
            EraseScope.DELETE: [episodes[fact.id] for fact in erased],
            EraseScope.SESSION: [_SESSION],
            EraseScope.PERSON: [erased[0].person],
            EraseScope.DAYS: [str(_RETENTION)],
        }[way.scope]
        writer.steps += [EraseStep(phase=AFTER, scope=way.scope, value=value) for value in values]
    writer.steps.append(
        PollStep(phase=AFTER, item=items[0], wants=False, patience_s=request.patience_s)
    )
    phases = [BEFORE, AFTER]
    later: list[tuple[str, list[Step]]] = [(AFTER, [])]
    if Offer.CONSOLIDATE in request.offers:
        later.append((CONSOLIDATED, [ConsolidateStep(phase=CONSOLIDATED)]))
    if Offer.REOPEN in request.offers:
        later.append((RESTARTED, [RestartStep(phase=RESTARTED)]))
    for phase, steps in later:
        writer.ask(phase, items, *steps)
        writer.steps.append(LookStep(phase=phase, planted=planted))
    # A note that names every subject and no value must not bring one back.
    subjects = ", ".join(fact.subject for fact in (*others, *erased))
    wording = writer.chance.choose(load_requests().summaries)
    writer.feed_day(SUMMARISED, fill(wording, subjects=subjects))
    writer.ask(SUMMARISED, items)
    phases += [phase for phase, _ in later[1:]]
    return writer.finish(way.name, (*phases, SUMMARISED))


def _tell(
    writer: StoryWriter, way: ErasureWay, erased: list[PlantedFact], others: list[PlantedFact]
) -> tuple[dict[str, int], dict[str, str]]:
    """Tell each fact on a day of its own, unless a session or their age joins some.

    The day and the episode of each.
    """
    tellings: list[tuple[list[PlantedFact], str | None]] = [([fact], None) for fact in erased]
    untouched: list[tuple[list[PlantedFact], str | None]] = [([fact], None) for fact in others]
    if way.scope is EraseScope.SESSION:
        tellings = [(erased[:2], _SESSION), (erased[2:], _SESSION)]
    if way.scope is not EraseScope.DAYS:
        tellings, untouched = writer.chance.shuffle([*tellings, *untouched]), []
    days: dict[str, int] = {}
    episodes: dict[str, str] = {}
    for number, (facts, session) in enumerate([*tellings, *untouched]):
        if number == len(tellings):
            # What is to go is older than the retention; the days between are quiet.
            writer.day += _RETENTION
        episode = writer.feed_day(BEFORE, *(fact.sentence for fact in facts), session=session)
        for fact in facts:
            days[fact.id], episodes[fact.id] = writer.day, episode
        writer.feed_day(BEFORE)
    return days, episodes


def _add_items(
    writer: StoryWriter,
    erased: list[PlantedFact],
    others: list[PlantedFact],
    days: dict[str, int],
) -> tuple[str, ...]:
    items = []
    for fact in erased:
        texts = {
            DIRECT: fact.asks,
            REPHRASED: fact.rephrased,
            DEPENDENT: fact.depends,
            ELSEWHERE: fact.asks,
        }
        items += [
            writer.add_item(
                f"{fact.id}-{kind}",
                text,
                kind=kind,
                reference=fact.value,
                day=days[fact.id],
                canaries=(fact.value,),
                session=OTHER_SESSION if kind == ELSEWHERE else None,
            )
            for kind, text in texts.items()
        ]
    items += [
        writer.add_item(
            f"{fact.id}-kept",
            fact.asks,
            kind="kept",
            reference=fact.value,
            day=days[fact.id],
            atoms=(fact.value,),
        )
        for fact in others
    ]
    return tuple(items)


@dataclass(slots=True)
class _ErasedFact:
    """A fact that was to be erased: where it was found in each phase."""

    story: str
    value: str
    is_first: bool = False
    """Whether it is the one that is asked again and again."""
    found: dict[str, set[str]] = field(default_factory=dict)
    """By phase, the channels in which it was found."""
    unanswered: dict[str, set[str]] = field(default_factory=dict)
    """By phase, the kinds of questions about it that were not answered."""

    @property
    def way(self) -> str:
        return self.story.rpartition("-")[0]

    def is_in(self, phase: str, *channels: str) -> bool:
        """Whether it was found in any of the channels; in any at all if none is named."""
        here = self.found.get(phase, set())
        return bool(here.intersection(channels) if channels else here)

    def is_open(self, phase: str, *channels: str) -> bool:
        """Whether it was not found there, and a question that could have found it failed."""
        failed = self.unanswered.get(phase, set())
        # Passages come with the answer to any question.
        if channels and _PASSAGES not in channels:
            failed = failed.intersection(channels)
        return bool(failed) and not self.is_in(phase, *channels)

    def make_case(self, *, happened: bool) -> Case:
        return Case(story=self.story, subject=self.value, happened=happened)


@dataclass(slots=True)
class _KeptFact:
    """A fact that was to stay: in which phases it was answered."""

    story: str
    value: str
    answered: dict[str, bool] = field(default_factory=dict)


def build_erasure_figures(results: SuiteResults) -> tuple[Figure, ...]:
    """Build the figures of a run of the erasure suite."""
    erased, stays = _collect_facts(results)
    deleted = [
        fact for fact in erased if any(way.name == fact.way for way in WAYS if way.is_deletion)
    ]
    return (
        make_share(
            [fact.make_case(happened=fact.is_in(BEFORE, DIRECT)) for fact in erased],
            name="known-before",
            label="known before, asked directly",
            best=1.0,
            note="what was never known cannot remain: residue counts only what was found before",
        ),
        _estimate_residue(erased, "residue", "still there, by any channel", is_headline=True),
        *(
            _estimate_residue(erased, f"residue/{channel}", f"still there, {words}", channel)
            for channel, words in {**_QUESTIONS, **_PLACES}.items()
        ),
        *_list_ways(erased, results),
        _estimate_residue(
            *(deleted, "residue/deleted"),
            "still in answers, passages or listing, deleted by id, session or person",
            *(*_QUESTIONS, _PASSAGES, _LISTING),
        ),
        _estimate_residue(
            *(deleted, "residue/deleted/files"),
            *("still in its files, deleted by id, session or person", _FILES),
        ),
        _estimate_last_files(erased, results),
        _estimate_loss(stays),
        *_list_returns(erased, results),
        _estimate_false_confirmations(erased, results),
        *_list_delays(erased, results),
    )


def _collect_facts(results: SuiteResults) -> tuple[list[_ErasedFact], list[_KeptFact]]:
    erased: list[_ErasedFact] = []
    all_stays: list[_KeptFact] = []
    for story in results.stories:
        gone: dict[str, _ErasedFact] = {}
        stays: dict[str, _KeptFact] = {}
        for result in results.list_results(story):
            value, phase = result.item.truth.reference, result.trial.checkpoint
            if result.item.truth.atoms:
                fact = stays.setdefault(value, _KeptFact(story, value))
                fact.answered[phase] = has_atoms(result)
                continue
            erased_fact = gone.setdefault(value, _ErasedFact(story, value, is_first=not gone))
            channels = erased_fact.found.setdefault(phase, set())
            kind = result.item.kind or DIRECT
            if not is_answered(result):
                erased_fact.unanswered.setdefault(phase, set()).add(kind)
            if has_canary(result):
                channels.add(kind)
            if has_retrieved_canary(result):
                channels.add(_PASSAGES)
        for action, channel in (("list", _LISTING), ("search", _FILES)):
            for observed in results.list_observed(story, action):
                for value in observed.found:
                    gone[value].found.setdefault(observed.phase, set()).add(channel)
        erased += gone.values()
        all_stays += stays.values()
    return erased, all_stays


def _estimate_residue(
    erased: Sequence[_ErasedFact],
    name: str,
    label: str,
    *channels: str,
    is_headline: bool = False,
) -> Figure:
    """The share of facts found before, in these channels, that are still found afterwards."""
    cases = [
        fact.make_case(happened=fact.is_in(AFTER, *channels))
        for fact in erased
        if fact.is_in(BEFORE, *channels) and not fact.is_open(AFTER, *channels)
    ]
    note = "" if cases else "nothing that was found there before was asked again"
    return make_share(cases, name=name, label=label, note=note, is_headline=is_headline)


def _list_ways(erased: Sequence[_ErasedFact], results: SuiteResults) -> Iterator[Figure]:
    missing = get_not_offered(results)
    for way in WAYS:
        name, label = f"residue/by-{way.name}", f"still there, erased by {way.words}"
        if way.name in missing:
            yield make_not_offered(name, label)
        elif facts := [fact for fact in erased if fact.way == way.name]:
            yield _estimate_residue(facts, name, label)


def _estimate_last_files(erased: Sequence[_ErasedFact], results: SuiteResults) -> Figure:
    """What is in the files when they were searched for the last time."""
    cases = []
    for fact in erased:
        phases = [search.phase for search in results.list_observed(fact.story, "search")]
        if len(phases) > 1 and fact.is_in(BEFORE, _FILES):
            cases.append(fact.make_case(happened=fact.is_in(phases[-1], _FILES)))
    return make_share(
        cases,
        name="residue/files/last",
        label="still in its files when they were searched last",
        note="" if cases else "nothing was found in files before",
    )


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
    channels = (*_QUESTIONS, _PASSAGES)
    for phase, words, offer in (
        (CONSOLIDATED, "after consolidating", Offer.CONSOLIDATE),
        (RESTARTED, "after a restart", Offer.REOPEN),
        (SUMMARISED, "after a note that names it", None),
    ):
        name, label = f"returned/{phase}", f"gone, and back {words}"
        if offer is not None and (card is None or offer not in card.offers):
            yield make_not_offered(name, label)
            continue
        cases = [
            fact.make_case(happened=fact.is_in(phase, *channels))
            for fact in erased
            if fact.is_in(BEFORE, *channels)
            and not fact.is_in(AFTER, *channels)
            and not fact.is_open(AFTER, *channels)
            and not fact.is_open(phase, *channels)
        ]
        yield make_share(cases, name=name, label=label, note="" if cases else "nothing was gone")


def _estimate_false_confirmations(erased: Sequence[_ErasedFact], results: SuiteResults) -> Figure:
    """The share of stories whose erasures were confirmed in which something is still there."""
    name, label = "false-confirmation", "said to be erased, and still there"
    calls = {story: results.list_observed(story, "erase") for story in results.stories}
    replies = [reply for own in calls.values() for reply in own]
    if replies and all(reply.confirmed is None and reply.fault is None for reply in replies):
        note = "it does not say whether it erased something"
        return make_not_offered(name, label, note=note, is_headline=True)
    cases = []
    for story, own in calls.items():
        known_before = [fact for fact in erased if fact.story == story and fact.is_in(BEFORE)]
        if known_before and own and all(call.confirmed for call in own):
            remains = any(fact.is_in(AFTER) for fact in known_before)
            if remains or not any(fact.is_open(AFTER) for fact in known_before):
                cases.append(Case(story=story, subject=story, happened=remains))
    note = "" if cases else "no erasure was confirmed, or it cannot be said what is left"
    return make_share(cases, name=name, label=label, note=note, is_headline=True)


def _list_delays(erased: Sequence[_ErasedFact], results: SuiteResults) -> Iterator[Figure]:
    """How long a fact is still answered, of those that were answered before."""
    known_before = {fact.story for fact in erased if fact.is_first and fact.is_in(BEFORE, DIRECT)}
    polls = [
        (story, poll)
        for story in results.stories
        for poll in results.list_observed(story, "poll")
        if poll.phase == AFTER and story in known_before
    ]
    yield make_share(
        [Case(story=s, subject=p.item or s, happened=p.seconds is None) for s, p in polls],
        name="not-gone-in-time",
        label="still answered when the patience ended",
    )
    stories = [story for story, _ in polls]
    estimate = estimate_quantile([poll.seconds for _, poll in polls], stories, 0.5)
    yield Figure(
        name="time-until-gone",
        label="time until gone, median",
        estimate=estimate,
        unit="s",
        note="longer than the patience, or nothing to measure" if estimate is None else "",
    )
