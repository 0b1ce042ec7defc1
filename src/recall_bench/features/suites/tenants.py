"""The tenants suite: users of one deployment with the same names and questions."""

from collections.abc import Iterator

from recall_bench.core.memory import Asker, Offer
from recall_bench.features.suites.behaviour import (
    AskStep,
    BehaviourStory,
    MemoryLane,
    RestartStep,
    SettleStep,
    Step,
    WaitStep,
    WriteStep,
)
from recall_bench.features.suites.shares import (
    Rows,
    get_not_offered,
    is_known,
    is_leak,
    list_rows,
    make_not_offered,
    make_row_share,
)
from recall_bench.features.suites.story_writer import StoryRequest, StoryWriter, load_fact_kinds
from recall_bench.reporting.suites.figures import (
    Case,
    Figure,
    SuiteResults,
    has_atoms,
    has_canary,
    has_retrieved_canary,
    is_answered,
    make_share,
    withhold,
)

VERSION = "3"
CATEGORY = "tenants"

ALONE, TOGETHER, RESTARTED = "alone", "together", "restarted"
PHASES = (ALONE, TOGETHER, RESTARTED)
OWN, SESSION = "own", "session"
"""The kinds of questions: about one's own facts, and about those of a closed session."""
SESSIONS = "sessions"
"""The variant in which one memory has sessions that must not know of each other."""

IDS = {
    "plain": ("north", "south", "east", "west"),
    "case": ("Mara", "mara", "MARA", "mArA"),
    "unicode": ("café", "cafe\u0301", "ｃafé", "cafe"),
    "separators": ("a:b", "a/b", "a_b", "a b"),
    "wildcards": ("*", "%", "a*", "a"),
    "prefixes": ("team-1", "team-10", "team-100", "team"),
    "paths": ("..", "../north", ".", "north/.."),
}
"""By variant, the names under which the memories of a story are opened."""
VARIANTS = (*IDS, SESSIONS)
_FACTS = 4
_NOTHING_KNOWN = "nothing was known, so nothing could leak"
_PHASE_WORDS = {
    ALONE: "asked one after the other",
    TOGETHER: "asked at the same time",
    RESTARTED: "after a restart",
}


def draw_stories(request: StoryRequest) -> Iterator[BehaviourStory]:
    """Draw stories of each kind of names, and of sessions where the system receives them."""
    for variant in IDS:
        for name in request.list_names(variant):
            yield _write_tenants(StoryWriter(request, name, CATEGORY), variant, request)
    if request.system.asker is not Asker.UNTOLD:
        for name in request.list_names(SESSIONS):
            yield _write_sessions(StoryWriter(request, name, CATEGORY))


def list_missing_parts(request: StoryRequest) -> tuple[str, ...]:
    """List what of the suite a system does not offer."""
    sessions = (SESSIONS,) if request.system.asker is Asker.UNTOLD else ()
    return (*request.list_missing(Offer.REOPEN), *sessions)


def _write_tenants(writer: StoryWriter, variant: str, request: StoryRequest) -> BehaviourStory:
    """Every tenant has a memory, and all do the same with other values."""
    names = IDS[variant]
    # Facts about the same people and matters, each tenant with its own values.
    kinds = writer.chance.shuffle(load_fact_kinds())[:_FACTS]
    people = [writer.facts.draw_person() for _ in kinds]
    facts = [
        [writer.facts.fill_kind(kind, person) for kind, person in zip(kinds, people, strict=True)]
        for _ in names
    ]
    steps: list[list[Step]] = [[] for _ in names]
    # Each writes one fact a day; the days of all are interleaved.
    for number in range(_FACTS):
        for own, own_steps in zip(facts, steps, strict=True):
            day = writer.write_day(own[number].sentence, fillers=2)
            own_steps.append(WriteStep(phase=ALONE, episode=day))
    items = [
        tuple(
            writer.add_item(
                f"tenant-{tenant}-{fact.id}",
                fact.asks,
                kind=OWN,
                reference=fact.value,
                day=1,
                atoms=(fact.value,),
                canaries=tuple(other[number].value for other in facts if other is not own),
            )
            for number, fact in enumerate(own)
        )
        for tenant, own in enumerate(facts, start=1)
    ]
    for tenant, own_steps in enumerate(steps):
        own_steps += [SettleStep(phase=ALONE), WaitStep(phase=ALONE, name="written")]
        for turn in range(len(names)):
            if turn == tenant:
                own_steps.append(AskStep(phase=ALONE, items=items[tenant]))
            own_steps.append(WaitStep(phase=ALONE, name=f"turn-{turn + 1}"))
        together = AskStep(phase=TOGETHER, items=items[tenant])
        own_steps += [WaitStep(phase=TOGETHER, name=TOGETHER), together]
        if Offer.REOPEN in request.offers:
            restarted = AskStep(phase=RESTARTED, items=items[tenant])
            wait = WaitStep(phase=RESTARTED, name=RESTARTED)
            own_steps += [RestartStep(phase=RESTARTED), wait, restarted]
    lanes = (
        MemoryLane(name=f"tenant-{number}", opened_as=name, steps=tuple(own_steps))
        for number, (name, own_steps) in enumerate(zip(names, steps, strict=True), start=1)
    )
    return writer.finish(variant, PHASES if Offer.REOPEN in request.offers else PHASES[:2], *lanes)


def _write_sessions(writer: StoryWriter) -> BehaviourStory:
    """Write a story of one memory: facts of a closed session are asked from another."""
    items = []
    for _ in range(_FACTS):
        fact = writer.facts.draw_fact()
        day = writer.write_day(fact.sentence, session="board", fillers=2)
        writer.steps.append(WriteStep(phase=ALONE, episode=day))
        for kind, session in ((OWN, "board"), (SESSION, "visitors")):
            items.append(
                writer.add_item(
                    f"{kind}-{fact.id}",
                    fact.asks,
                    kind=kind,
                    reference=fact.value,
                    atoms=(fact.value,) if kind == OWN else (),
                    canaries=() if kind == OWN else (fact.value,),
                    session=session,
                )
            )
    writer.ask(ALONE, tuple(items))
    return writer.finish(SESSIONS, (ALONE,))


def build_tenant_figures(results: SuiteResults) -> tuple[Figure, ...]:
    """Build the figures of a run of the tenants suite: what of one user reaches another."""
    rows, missing = list_rows(results), get_not_offered(results)
    own_rows = [row for row in rows if row[1].item.kind == OWN and not row[0].startswith(SESSIONS)]
    own = [row for row in own_rows if is_answered(row[1])]
    has_passages = any(
        result.answered is not None and result.answered.answer.passages for _, result in own
    )
    in_passages = make_row_share(
        *("leak/passages", "another's value in the passages", own, has_retrieved_canary),
        is_headline=True,
        by_phase=True,
    )
    leaks = (
        make_row_share(
            *("leak", "another's value in an answer", own, has_canary),
            is_headline=True,
            by_phase=True,
        ),
        in_passages if has_passages else withhold(in_passages, "it returns no passages"),
        *_list_phases(own, missing),
        _estimate_concurrency(own),
        *_list_names(own),
    )
    if not any(is_known(result) or is_leak(result) for _, result in own):
        leaks = tuple(withhold(figure, _NOTHING_KNOWN) for figure in leaks)
    return (
        make_row_share(
            "recall", "one's own facts known", own_rows, has_atoms, best=1.0, by_phase=True
        ),
        *leaks,
        _estimate_sessions(rows, missing),
    )


def _list_phases(own: Rows, missing: tuple[str, ...]) -> Iterator[Figure]:
    for phase, words in _PHASE_WORDS.items():
        name, label = f"leak/{phase}", f"answer or passages, {words}"
        if phase == RESTARTED and "reopen" in missing:
            yield make_not_offered(name, label)
        else:
            rows = [row for row in own if row[1].trial.checkpoint == phase]
            yield make_row_share(name, label, rows, is_leak, by_phase=True)


def _estimate_concurrency(own: Rows) -> Figure:
    """How much more often something leaks when all ask at once than in turn."""
    leaks = {
        (story, result.item.id, result.trial.checkpoint): float(is_leak(result))
        for story, result in own
    }
    cases = [
        Case(story=story, subject=item, happened=leak - leaks[story, item, ALONE])
        for (story, item, phase), leak in leaks.items()
        if phase == TOGETHER and (story, item, ALONE) in leaks
    ]
    return make_share(
        cases,
        is_difference=True,
        name="leak/by-concurrency",
        label="leaks added by asking at the same time",
    )


def _list_names(own: Rows) -> Iterator[Figure]:
    for variant in IDS:
        if rows := [row for row in own if row[0].rpartition("-")[0] == variant]:
            label = f"answer or passages, names that differ by {variant}"
            yield make_row_share(f"leak/ids-{variant}", label, rows, is_leak, by_phase=True)


def _estimate_sessions(rows: Rows, missing: tuple[str, ...]) -> Figure:
    name, label = "leak/sessions", "a closed session's value, asked from another session"
    if SESSIONS in missing:
        return make_not_offered(name, label)
    answered = [row for row in rows if row[1].item.kind == SESSION and is_answered(row[1])]
    figure = make_row_share(name, label, answered, is_leak, by_phase=True)
    was_known = any(
        is_known(result)
        for story, result in rows
        if result.item.kind == OWN and story.startswith(SESSIONS)
    )
    if was_known or any(is_leak(result) for _, result in answered):
        return figure
    return withhold(figure, _NOTHING_KNOWN)
