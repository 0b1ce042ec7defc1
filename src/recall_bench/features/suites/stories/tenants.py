"""Stories of the tenants suite: users of one deployment with the same names and questions."""

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
from recall_bench.features.suites.stories.story_writer import (
    Background,
    PlantedFact,
    StoryRequest,
    StoryWriter,
)
from recall_bench.features.suites.stories.wordings import load_fact_kinds

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


def draw_stories(request: StoryRequest) -> Iterator[BehaviourStory]:
    """Draw stories of each kind of names, and of sessions where the system receives them."""
    background = Background.draw(request.seed)
    for variant, names in IDS.items():
        for name in request.list_names(variant):
            writer = StoryWriter(request.seed, name, background)
            yield _TenantsWriter(writer, variant, names, request.offers).write()
    if request.system.asker is not Asker.UNTOLD:
        for name in request.list_names(SESSIONS):
            yield _write_sessions(StoryWriter(request.seed, name, background))


def list_missing_parts(request: StoryRequest) -> tuple[str, ...]:
    """List what of the suite a system does not offer."""
    missing = [] if Offer.REOPEN in request.offers else [Offer.REOPEN.value]
    return (*missing, *((SESSIONS,) if request.system.asker is Asker.UNTOLD else ()))


class _TenantsWriter:
    """Writes one story: every tenant has a memory, and all do the same with other values."""

    def __init__(
        self,
        writer: StoryWriter,
        variant: str,
        names: tuple[str, ...],
        offers: frozenset[Offer],
    ) -> None:
        self._writer = writer
        self._variant = variant
        self._names = names
        self._offers = offers
        self._steps: list[list[Step]] = [[] for _ in names]

    def write(self) -> BehaviourStory:
        """Write the story."""
        facts = self._draw_facts()
        self._tell(facts)
        items = self._add_items(facts)
        self._ask_in_turn(items)
        self._ask_together(TOGETHER, items)
        phases = [ALONE, TOGETHER]
        if Offer.REOPEN in self._offers:
            for steps in self._steps:
                steps.append(RestartStep(phase=RESTARTED))
            self._ask_together(RESTARTED, items)
            phases.append(RESTARTED)
        lanes = tuple(
            MemoryLane(name=f"tenant-{number}", opened_as=name, steps=tuple(steps))
            for number, (name, steps) in enumerate(zip(self._names, self._steps, strict=True), 1)
        )
        return BehaviourStory(
            scenario=self._writer.finish(),
            variant=self._variant,
            phases=tuple(phases),
            lanes=lanes,
        )

    def _draw_facts(self) -> list[list[PlantedFact]]:
        """Draw, for each tenant, facts about the same people and matters with its own values."""
        draw, kinds = self._writer.facts, self._writer.chance.shuffle(load_fact_kinds())[:_FACTS]
        people = [draw.draw_person() for _ in kinds]
        return [
            [draw.fill_kind(kind, person) for kind, person in zip(kinds, people, strict=True)]
            for _ in self._names
        ]

    def _tell(self, facts: list[list[PlantedFact]]) -> None:
        """Each tenant writes its facts, one a day; the days of all are interleaved."""
        day = 0
        for number in range(_FACTS):
            for tenant, steps in enumerate(self._steps):
                day += 1
                name = self._writer.write_day(day, facts[tenant][number].sentence, fillers=2)
                steps.append(WriteStep(phase=ALONE, episode=name))
        for steps in self._steps:
            steps += [SettleStep(phase=ALONE), WaitStep(phase=ALONE, name="written")]

    def _add_items(self, facts: list[list[PlantedFact]]) -> list[tuple[str, ...]]:
        results = []
        for tenant, own in enumerate(facts):
            names = []
            for number, fact in enumerate(own):
                others = [item[number].value for at, item in enumerate(facts) if at != tenant]
                names.append(
                    self._writer.add_item(
                        f"tenant-{tenant + 1}-{fact.id}",
                        fact.asks,
                        kind=OWN,
                        category=CATEGORY,
                        reference=fact.value,
                        day=1,
                        atoms=(fact.value,),
                        canaries=tuple(others),
                    )
                )
            results.append(tuple(names))
        return results

    def _ask_in_turn(self, items: list[tuple[str, ...]]) -> None:
        """Let one tenant ask at a time."""
        for turn in range(len(items)):
            for tenant, steps in enumerate(self._steps):
                if tenant == turn:
                    steps.append(AskStep(phase=ALONE, items=items[tenant]))
                steps.append(WaitStep(phase=ALONE, name=f"turn-{turn + 1}"))

    def _ask_together(self, phase: str, items: list[tuple[str, ...]]) -> None:
        for steps, step in zip(self._steps, items, strict=True):
            steps += [WaitStep(phase=phase, name=phase), AskStep(phase=phase, items=step)]


def _write_sessions(writer: StoryWriter) -> BehaviourStory:
    """Write a story of one memory: facts of a closed session are asked from another."""
    steps: list[Step] = []
    items = []
    for day in range(1, _FACTS + 1):
        fact = writer.facts.draw_fact()
        name = writer.write_day(day, fact.sentence, session="board", fillers=2)
        steps.append(WriteStep(phase=ALONE, episode=name))
        for kind, session in ((OWN, "board"), (SESSION, "visitors")):
            own = kind == OWN
            items.append(
                writer.add_item(
                    f"{kind}-{fact.id}",
                    fact.asks,
                    kind=kind,
                    category=CATEGORY,
                    reference=fact.value,
                    day=day,
                    atoms=(fact.value,) if own else (),
                    canaries=() if own else (fact.value,),
                    session=session,
                )
            )
    steps += [SettleStep(phase=ALONE), AskStep(phase=ALONE, items=tuple(items))]
    lane = MemoryLane(name="memory", opened_as=writer.opaque, steps=tuple(steps))
    return BehaviourStory(
        scenario=writer.finish(), variant=SESSIONS, phases=(ALONE,), lanes=(lane,)
    )
