"""Stories of the erasure suite: facts are stated, some of them must be forgotten, all are asked."""

from collections.abc import Iterator
from dataclasses import dataclass

from recall_bench.core.memory import EraseScope, Offer
from recall_bench.features.suites.behaviour import (
    AskStep,
    BehaviourStory,
    ConsolidateStep,
    EraseStep,
    LookStep,
    MemoryLane,
    PollStep,
    RestartStep,
    SettleStep,
    Step,
    WriteStep,
)
from recall_bench.features.suites.stories.story_writer import (
    Background,
    PlantedFact,
    StoryRequest,
    StoryWriter,
)
from recall_bench.features.suites.stories.wordings import fill, load_requests

VERSION = "3"
CATEGORY = "erasure"

BEFORE, AFTER, CONSOLIDATED = "before", "after", "consolidated"
RESTARTED, SUMMARISED = "restarted", "summarised"
PHASES = (BEFORE, AFTER, CONSOLIDATED, RESTARTED, SUMMARISED)

DIRECT, REPHRASED, DEPENDENT, ELSEWHERE = "direct", "rephrased", "dependent", "other-session"
"""The kinds of questions about a fact."""

OTHER_SESSION = "colleagues"
_ERASED, _KEPT = 3, 4
_RETENTION = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureWay:
    """One way in which something is to be forgotten."""

    name: str
    offer: Offer | None
    """What the system must offer for it; None for a request in the conversation."""
    scope: EraseScope | None = None


WAYS = (
    ErasureWay(name="request", offer=None),
    ErasureWay(name="forget", offer=Offer.FORGET, scope=EraseScope.FORGET),
    ErasureWay(name="delete", offer=Offer.DELETE, scope=EraseScope.DELETE),
    ErasureWay(name="session", offer=Offer.DELETE_SESSION, scope=EraseScope.SESSION),
    ErasureWay(name="person", offer=Offer.DELETE_PERSON, scope=EraseScope.PERSON),
    ErasureWay(name="retention", offer=Offer.RETAIN, scope=EraseScope.DAYS),
)


VARIANTS = tuple(way.name for way in WAYS)


def draw_stories(request: StoryRequest) -> Iterator[BehaviourStory]:
    """Draw stories of each way of erasing that the system offers."""
    background = Background.draw(request.seed)
    for way in WAYS:
        if way.offer is not None and way.offer not in request.offers:
            continue
        for name in request.list_names(way.name):
            writer = StoryWriter(request.seed, name, background)
            yield _ErasureWriter(writer, way, request.offers, request.patience_s).write()


def list_missing_parts(request: StoryRequest) -> tuple[str, ...]:
    """List the ways of erasing, and what else is looked at, that a system does not offer."""
    offers = request.offers
    ways = [way.name for way in WAYS if way.offer is not None and way.offer not in offers]
    others = (Offer.STORED, Offer.CONSOLIDATE, Offer.REOPEN)
    return (*ways, *(other.value for other in others if other not in offers))


class _ErasureWriter:
    """Writes one story."""

    def __init__(
        self, writer: StoryWriter, way: ErasureWay, offers: frozenset[Offer], patience_s: float
    ) -> None:
        self._writer = writer
        self._way = way
        self._offers = offers
        self._patience_s = patience_s
        self._steps: list[Step] = []
        self._day = 0
        self._place: dict[str, int] = {}
        """The day on which each fact was stated."""
        self._episodes: dict[int, str] = {}
        """The id of the episode of each day."""

    def write(self) -> BehaviourStory:
        """Write the story: facts, the order to forget, and what happens afterwards."""
        erased, others = self._draw_facts()
        self._tell(erased, others)
        items = self._add_items(erased, others)
        planted = tuple(fact.value for fact in erased)
        self._add(SettleStep(phase=BEFORE), AskStep(phase=BEFORE, items=items))
        self._add(LookStep(phase=BEFORE, planted=planted))
        self._erase(erased)
        first = _name_item(erased[0], DIRECT)
        poll = PollStep(phase=AFTER, item=first, wants=False, patience_s=self._patience_s)
        self._add(poll, SettleStep(phase=AFTER), AskStep(phase=AFTER, items=items))
        self._add(LookStep(phase=AFTER, planted=planted))
        phases = [BEFORE, AFTER]
        if Offer.CONSOLIDATE in self._offers:
            self._ask_later(CONSOLIDATED, ConsolidateStep(phase=CONSOLIDATED), items, planted)
            phases.append(CONSOLIDATED)
        if Offer.REOPEN in self._offers:
            self._ask_later(RESTARTED, RestartStep(phase=RESTARTED), items, planted)
            phases.append(RESTARTED)
        self._write_summary(erased, others)
        self._add(SettleStep(phase=SUMMARISED), AskStep(phase=SUMMARISED, items=items))
        phases.append(SUMMARISED)
        scenario = self._writer.finish()
        lane = MemoryLane(name="memory", opened_as=self._writer.opaque, steps=tuple(self._steps))
        return BehaviourStory(
            scenario=scenario, variant=self._way.name, phases=tuple(phases), lanes=(lane,)
        )

    def _draw_facts(self) -> tuple[list[PlantedFact], list[PlantedFact]]:
        draw = self._writer.facts
        if self._way.scope is EraseScope.PERSON:
            person = draw.draw_person()
            return [draw.draw_fact(person) for _ in range(_ERASED)], self._draw_kept()
        return [draw.draw_fact() for _ in range(_ERASED)], self._draw_kept()

    def _draw_kept(self) -> list[PlantedFact]:
        return [self._writer.facts.draw_fact() for _ in range(_KEPT)]

    def _add(self, *steps: Step) -> None:
        self._steps += steps

    def _write_day(self, phase: str, *paragraphs: str, session: str | None = None) -> str:
        name = self._writer.write_day(self._day, *paragraphs, session=session)
        self._add(WriteStep(phase=phase, episode=name))
        self._episodes[self._day] = name
        return name

    def _tell(self, erased: list[PlantedFact], kept: list[PlantedFact]) -> None:
        """Tell each fact on a day of its own, unless a session or their age joins some."""
        tellings: list[tuple[list[PlantedFact], str | None]]
        if self._way.scope is EraseScope.SESSION:
            tellings = [(erased[:2], "planning"), (erased[2:], "planning")]
        else:
            tellings = [([fact], None) for fact in erased]
        if self._way.scope is EraseScope.DAYS:
            # What is to go is older than the retention; the days between are quiet.
            self._tell_days(tellings)
            self._day += _RETENTION
            self._tell_days([([fact], None) for fact in kept])
            return
        others = [([fact], None) for fact in kept]
        self._tell_days(self._writer.chance.shuffle([*tellings, *others]))

    def _tell_days(self, tellings: list[tuple[list[PlantedFact], str | None]]) -> None:
        for facts, session in tellings:
            self._day += 1
            self._write_day(BEFORE, *(fact.sentence for fact in facts), session=session)
            self._place.update((fact.id, self._day) for fact in facts)
            self._day += 1
            self._write_day(BEFORE)

    def _add_items(self, erased: list[PlantedFact], kept: list[PlantedFact]) -> tuple[str, ...]:
        results = []
        for fact in erased:
            question: dict[str, tuple[str, str | None]] = {
                DIRECT: (fact.asks, None),
                REPHRASED: (fact.rephrased, None),
                DEPENDENT: (fact.depends, None),
                ELSEWHERE: (fact.asks, OTHER_SESSION),
            }
            for kind, (text, session) in question.items():
                results.append(
                    self._writer.add_item(
                        _name_item(fact, kind),
                        text,
                        kind=kind,
                        category=CATEGORY,
                        reference=fact.value,
                        day=self._place[fact.id],
                        canaries=(fact.value,),
                        session=session,
                    )
                )
        results += [
            self._writer.add_item(
                _name_item(fact, "kept"),
                fact.asks,
                kind="kept",
                category=CATEGORY,
                reference=fact.value,
                day=self._place[fact.id],
                atoms=(fact.value,),
            )
            for fact in kept
        ]
        return tuple(results)

    def _erase(self, erased: list[PlantedFact]) -> None:
        way = self._way
        match way.scope:
            case None:
                self._day += 1
                self._write_day(AFTER, *(fact.forget for fact in erased))
            case EraseScope.FORGET:
                self._erase_each([fact.subject for fact in erased])
            case EraseScope.DELETE:
                self._erase_each([self._episodes[self._place[fact.id]] for fact in erased])
            case EraseScope.SESSION:
                self._erase_each(["planning"])
            case EraseScope.PERSON:
                self._erase_each([erased[0].person])
            case EraseScope.DAYS:
                self._erase_each([str(_RETENTION)])

    def _erase_each(self, values: list[str]) -> None:
        scope = self._way.scope
        if scope is None:
            raise AssertionError("a request in the conversation erases by words")
        self._add(*(EraseStep(phase=AFTER, scope=scope, value=value) for value in values))

    def _ask_later(
        self, phase: str, step: Step, items: tuple[str, ...], planted: tuple[str, ...]
    ) -> None:
        self._add(step, SettleStep(phase=phase), AskStep(phase=phase, items=items))
        self._add(LookStep(phase=phase, planted=planted))

    def _write_summary(self, erased: list[PlantedFact], kept: list[PlantedFact]) -> None:
        """Feed a note that names every subject and no value: it must not bring one back."""
        self._day += 1
        subjects = ", ".join(fact.subject for fact in (*kept, *erased))
        wording = self._writer.chance.choose(load_requests().summaries)
        self._write_day(SUMMARISED, fill(wording, subjects=subjects))


def _name_item(fact: PlantedFact, kind: str) -> str:
    return f"{fact.id}-{kind}"
