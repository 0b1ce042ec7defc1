"""The freshness suite: write, then ask at once and again, update, repeat, restart."""

from collections.abc import Iterator, Sequence

from recall_bench.core.event import Observed
from recall_bench.core.memory import Offer
from recall_bench.features.suites.behaviour import (
    AskStep,
    BehaviourStory,
    LookStep,
    MemoryLane,
    PollStep,
    RestartStep,
    SettleStep,
    Step,
    WaitStep,
    WriteStep,
)
from recall_bench.features.suites.quantiles import estimate_quantile
from recall_bench.features.suites.shares import (
    Rows,
    get_not_offered,
    is_known,
    list_rows,
    make_not_offered,
    make_row_share,
)
from recall_bench.features.suites.story_writer import (
    PlantedFact,
    StoryRequest,
    StoryWriter,
    fill,
)
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.suites.figures import (
    Case,
    Figure,
    SuiteResults,
    has_atoms,
    has_canary,
    make_share,
    withhold,
)

VERSION = "4"
"""Since 3 a value counts as known as soon as it is in answer or passages."""
CATEGORY = "freshness"

QUIET, BUSY, UPDATED, SETTLED = "quiet", "busy", "updated", "settled"
REPEATED, RESTARTED, REWRITTEN = "repeated", "restarted", "rewritten"
PHASES = (QUIET, BUSY, UPDATED, SETTLED, REPEATED, RESTARTED, REWRITTEN)
VARIANTS = ("write",)
NEW, CHANGED, LAST = "new", "changed", "last"
"""The kinds of questions: about a fact stated once, a changed one, one before the restart."""
_EACH = 4
_CHANGED = 2
_OTHER_WRITES = 24
_AGAIN = 2
_WORDS = {
    QUIET: "a new fact",
    BUSY: "a new fact, while others write",
    UPDATED: "a changed fact",
}
_ANSWERS_ALONE = frozenset({"1", "2"})
"""Versions of the suite whose polls did not look at passages."""
_QUANTILES = (0.5, 0.95, 0.99)
_Polls = Sequence[tuple[str, Observed]]


def draw_stories(request: StoryRequest) -> Iterator[BehaviourStory]:
    """Draw the stories."""
    for name in request.list_names(VARIANTS[0]):
        yield _write_story(StoryWriter(request, name, CATEGORY), request)


def list_missing_parts(request: StoryRequest) -> tuple[str, ...]:
    """List what of the suite a system does not offer."""
    return request.list_missing(Offer.STORED, Offer.REOPEN)


def _write_story(writer: StoryWriter, request: StoryRequest) -> BehaviourStory:
    def poll(phase: str, item: str) -> None:
        writer.steps.append(
            PollStep(
                phase=phase, item=item, wants=True, patience_s=request.patience_s, again=_AGAIN
            )
        )

    def write_and_poll(phase: str) -> tuple[str, PlantedFact, str]:
        """Write a fact and ask for it at once; return the question, the fact and the episode."""
        fact = writer.facts.draw_fact()
        episode = writer.feed_day(phase, fact.sentence)
        item = _add_item(writer, fact, fact.value, NEW)
        poll(phase, item)
        return item, fact, episode

    old = [writer.facts.draw_fact() for _ in range(_CHANGED)]
    for fact in old:
        writer.feed_day(QUIET, fact.sentence)
    early = [write_and_poll(QUIET) for _ in range(_EACH)]
    # Another memory of the same system is written to while the next facts are.
    writer.steps.append(WaitStep(phase=BUSY, name="busy"))
    other: list[Step] = [WaitStep(phase=BUSY, name="busy")]
    other += (WriteStep(phase=BUSY, episode=writer.write_day()) for _ in range(_OTHER_WRITES))
    late = [write_and_poll(BUSY) for _ in range(_EACH)]
    changed = []
    for fact in old:
        new = writer.facts.draw_value(fact.kind)
        writer.feed_day(UPDATED, fill(fact.update, value=new))
        changed.append(_add_item(writer, fact, new, CHANGED, fact.value))
        poll(UPDATED, changed[-1])
    # Both memories may live in one process, which is killed later: the other has to be done.
    writer.steps.append(WaitStep(phase=BUSY, name="written"))
    other.append(WaitStep(phase=BUSY, name="written"))
    writer.ask(SETTLED, (*(item for item, _, _ in (*early, *late)), *changed))
    # An episode is written again, as a client does that got no reply the first time.
    item, fact, episode = early[0]
    again = WriteStep(phase=REPEATED, episode=episode)
    writer.steps += [LookStep(phase=SETTLED, planted=(fact.value,)), again, again]
    writer.steps += [SettleStep(phase=REPEATED), LookStep(phase=REPEATED, planted=(fact.value,))]
    writer.steps.append(AskStep(phase=REPEATED, items=(item,)))
    if Offer.REOPEN in request.offers:
        _restart(writer)
    lanes = (
        MemoryLane(name="memory", opened_as=writer.opaque, steps=tuple(writer.steps)),
        MemoryLane(name="other", opened_as=f"{writer.opaque}b", steps=tuple(other)),
    )
    phases = PHASES if Offer.REOPEN in request.offers else PHASES[:5]
    return writer.finish(VARIANTS[0], phases, *lanes)


def _add_item(writer: StoryWriter, fact: PlantedFact, right: str, kind: str, *wrong: str) -> str:
    return writer.add_item(
        f"{fact.id}-{kind}",
        fact.asks,
        kind=kind,
        reference=right,
        atoms=(right,),
        canaries=wrong,
    )


def _restart(writer: StoryWriter) -> None:
    """Write facts that are acknowledged, kill the process, and ask what is left."""
    items, episodes = [], []
    for _ in range(_EACH):
        fact = writer.facts.draw_fact()
        episodes.append(writer.feed_day(RESTARTED, fact.sentence))
        items.append(_add_item(writer, fact, fact.value, LAST))
    writer.ask(RESTARTED, tuple(items), RestartStep(phase=RESTARTED, kill=True))
    # What is not found even when it is written once more was not lost by the restart.
    rewritten = (WriteStep(phase=REWRITTEN, episode=name) for name in episodes)
    writer.ask(REWRITTEN, tuple(items), *rewritten)


def build_freshness_figures(results: SuiteResults) -> tuple[Figure, ...]:
    """Build the figures of a run of the suite: how soon a write is read, and whether it stays."""
    rows, missing = list_rows(results), get_not_offered(results)
    settled = [row for row in rows if row[1].trial.checkpoint == SETTLED]
    # What a memory never finds says nothing about freshness. It is looked for where polls looked.
    card = results.folder.plan.behaviour
    is_found = has_atoms if card is not None and card.version in _ANSWERS_ALONE else is_known
    settled_items = {(story, result.item.id) for story, result in settled if is_found(result)}
    polls = [
        (story, poll)
        for story in results.stories
        for poll in results.list_observed(story, "poll")
        if (story, poll.item or "") in settled_items
    ]
    return (
        make_row_share(
            "known-settled",
            "known once everything has settled",
            [row for row in settled if row[1].item.kind == NEW],
            has_atoms,
            best=1.0,
            note="what is not known even then says nothing about freshness and is left out below",
        ),
        *_list_first_reads(polls),
        *_list_delays(polls),
        make_share(
            [
                Case(
                    story=story, subject=poll.item or story, happened=poll.values["lost again"] > 0
                )
                for story, poll in polls
                if poll.seconds is not None and "lost again" in poll.values
            ],
            name="non-monotonic",
            label="known, and then not known again",
        ),
        *_list_updates([row for row in settled if row[1].item.kind == CHANGED]),
        _estimate_duplicates(results, missing),
        _estimate_lost(rows, results, missing),
    )


def _list_first_reads(polls: _Polls) -> Iterator[Figure]:
    for phase, words in _WORDS.items():
        yield make_share(
            [
                Case(story=story, subject=poll.item or story, happened=not poll.confirmed)
                for story, poll in polls
                if poll.phase == phase
            ],
            name=f"read-your-writes/{phase}",
            label=f"{words} not known at once",
            is_headline=phase != BUSY,
        )


def _list_delays(polls: _Polls) -> Iterator[Figure]:
    yield make_share(
        [
            Case(story=story, subject=poll.item or story, happened=poll.seconds is None)
            for story, poll in polls
        ],
        name="late",
        label="not known when the patience ended, though known once settled",
    )
    times = [poll.seconds for _, poll in polls]
    for share in _QUANTILES:
        is_enough = len(times) * (1 - share) >= 1 - 1e-9
        estimate: Estimate | None = None
        note = "too few facts for this quantile"
        if is_enough:
            estimate = estimate_quantile(times, [story for story, _ in polls], share)
            note = "later than the patience"
        if estimate is not None:
            has_interval = estimate.interval is not None
            note = "" if has_interval else "no interval: it may reach beyond the patience"
        yield Figure(
            name=f"availability/p{100 * share:g}",
            label=f"time until known, {100 * share:g} % quantile",
            estimate=estimate,
            unit="s",
            note=note,
            is_headline=share == _QUANTILES[0],
        )


def _list_updates(changed: Rows) -> Iterator[Figure]:
    stale = make_row_share(
        *("stale", "old value given after everything has settled", changed),
        lambda result: has_canary(result) and not has_atoms(result),
        is_headline=True,
    )
    if not any(has_atoms(result) or has_canary(result) for _, result in changed):
        stale = withhold(stale, "neither the old nor the new value was known")
    yield stale
    yield make_row_share(
        *("lost-update", "new value not given after everything has settled", changed),
        lambda result: not has_atoms(result),
    )


def _estimate_duplicates(results: SuiteResults, missing: tuple[str, ...]) -> Figure:
    """The share of stories in which a repeated write left more entries than the first."""
    name, label = "duplicates", "stored again when a write is repeated"
    if Offer.STORED in missing:
        return make_not_offered(name, label)
    cases = []
    for story in results.stories:
        listings = {listing.phase: listing for listing in results.list_observed(story, "list")}
        if REPEATED not in listings or SETTLED not in listings:
            continue
        for value, count in listings[REPEATED].values.items():
            if (before := listings[SETTLED].values.get(value, 0.0)) > 0:
                cases.append(Case(story=story, subject=value, happened=count > before))
    note = "" if cases else "nothing of it could be listed"
    return make_share(cases, name=name, label=label, note=note)


def _estimate_lost(rows: Rows, results: SuiteResults, missing: tuple[str, ...]) -> Figure:
    """The share of acknowledged writes that a restart loses."""
    name, label = "lost-at-restart", "acknowledged, and lost when the process is killed"
    if Offer.REOPEN in missing:
        return make_not_offered(name, label, is_headline=True)
    restarts = [e for s in results.stories for e in results.list_observed(s, "restart")]
    is_killed = bool(restarts) and all(restart.confirmed for restart in restarts)
    last = [row for row in rows if row[1].item.kind == LAST]
    findable = {
        (story, result.item.id)
        for story, result in last
        if result.trial.checkpoint == REWRITTEN and is_known(result)
    }
    return make_row_share(
        name,
        label,
        [
            (story, result)
            for story, result in last
            if result.trial.checkpoint == RESTARTED and (story, result.item.id) in findable
        ],
        lambda result: not is_known(result),
        note="" if is_killed else "the process was closed, not killed: it is not ours to kill",
        is_headline=True,
    )
