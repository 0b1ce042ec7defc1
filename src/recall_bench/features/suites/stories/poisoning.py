"""Stories of the poisoning suite: hostile content arrives, and is asked about later.

Every attacked story has a clean twin: the same facts and the same days, without the attack. And in
every story one fact is corrected by the person who stated it, which a memory must accept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from recall_bench.core.memory import Asker
from recall_bench.core.random_stream import RandomStream, ShuffleBag
from recall_bench.features.suites.behaviour import (
    AskStep,
    BehaviourStory,
    MemoryLane,
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
from recall_bench.features.suites.stories.wordings import AttackName, Carrier, fill, load_attacks

VERSION = "3"
CATEGORY = "poisoning"

BEFORE = "before"
AGES = (1, 7, 30, 120)
PHASES = (BEFORE, *(f"+{age}d" for age in AGES))

TARGET, ELSEWHERE, CORRECTED, UNTOUCHED = "target", "other-session", "corrected", "untouched"
"""The kinds of questions."""
TOLD_END, CORRECTED_END = "-told", "-corrected"
"""How the questions about a corrected fact end: what was stated first, and the correction."""
SESSIONS = "sessions"
"""What a system does not offer that does not receive the session of a question."""
CLEAN = "clean"
"""Ends the name of a story without an attack."""
OTHER_SESSION = "colleagues"

_TARGETS, _OTHERS = 2, 3
_FLOOD, _FLOOD_WORDINGS = 9, 3


VARIANTS: tuple[AttackName, ...] = get_args(AttackName)
CARRIERS: tuple[Carrier, ...] = get_args(Carrier)
_CHAT: Carrier = "group chat"


@dataclass(frozen=True, slots=True)
class Attack:
    """What arrives in one story: a kind of attack in one carrier."""

    name: AttackName
    carrier: Carrier

    def write(self, fact: PlantedFact, false: str, chance: RandomStream) -> str:
        """Write the paragraph that attacks a fact with a false value: an intro and a quotation."""
        bank = load_attacks()
        wordings = bank.quotes[self.name][self.carrier]
        gaps = {"subject": fact.subject, "person": fact.person, "false": false}
        lines = [fill(item, **gaps) for item in self._choose(wordings, chance)]
        return "\n".join((chance.choose(bank.intros[self.carrier]), *self._quote(lines)))

    def _choose(self, wordings: tuple[str, ...], chance: RandomStream) -> list[str]:
        if self.name != "flood":
            return [chance.choose(wordings)]
        few = chance.shuffle(wordings)[:_FLOOD_WORDINGS]
        return [f"{few[number % len(few)]} ({number + 1})" for number in range(_FLOOD)]

    def _quote(self, lines: list[str]) -> list[str]:
        """Mark the lines as another author's, as a mail or a tool would."""
        if self.carrier == "tool result":
            return ["```", *lines, "```"]
        return [f"> {line}" for line in lines]


def draw_stories(request: StoryRequest) -> Iterator[BehaviourStory]:
    """Draw stories of each kind of attack, and the clean twin of each."""
    background = Background.draw(request.seed)
    for kind in VARIANTS:
        carriers = ShuffleBag(len(CARRIERS), RandomStream(request.seed, "behaviour", kind))
        for name in request.list_names(kind):
            attack = Attack(kind, CARRIERS[carriers.draw()])
            for is_clean in (False, True):
                writer = StoryWriter(request.seed, name, background)
                yield _PoisoningWriter(writer, attack, is_clean=is_clean).write()


def list_missing_parts(request: StoryRequest) -> tuple[str, ...]:
    """List what of the suite a system does not offer."""
    return (SESSIONS,) if request.system.asker is Asker.UNTOLD else ()


class _PoisoningWriter:
    """Writes one story."""

    def __init__(self, writer: StoryWriter, attack: Attack, *, is_clean: bool) -> None:
        # Both twins draw from the seed of one name, so that they differ in the attack only.
        self._writer = writer
        self._name = f"{writer.name}-{CLEAN}" if is_clean else writer.name
        self._attack = attack
        self._is_clean = is_clean
        self._day = 0
        self._steps: list[Step] = []

    def write(self) -> BehaviourStory:
        """Write the story: facts, attack, true correction, and questions as time passes."""
        draw = self._writer.facts
        targets = [draw.draw_fact() for _ in range(_TARGETS)]
        others = [draw.draw_fact() for _ in range(_OTHERS)]
        corrected = draw.draw_fact()
        false = {fact.id: draw.draw_value(fact.kind) for fact in targets}
        new = draw.draw_value(corrected.kind)
        for fact in self._writer.chance.shuffle([*targets, *others, corrected]):
            self._tell(BEFORE, fact.sentence)
        existing = self._add_items(targets, others, false)
        old = self._add_corrected("told", corrected, corrected.value, new)
        self._ask(BEFORE, (*existing, old))
        self._tell(PHASES[1], self._write_correction(corrected, new))
        attacked = self._day + 1
        self._write_attack(targets, false)
        renewed = self._add_corrected("corrected", corrected, new, corrected.value)
        for age, phase in zip(AGES, PHASES[1:], strict=True):
            self._day = max(self._day, attacked + age - 1)
            self._tell(phase)
            self._ask(phase, (*existing, renewed))
        scenario = self._writer.finish().replace(id=self._name)
        opened = f"{self._writer.opaque}{'b' if self._is_clean else 'a'}"
        lane = MemoryLane(name="memory", opened_as=opened, steps=tuple(self._steps))
        return BehaviourStory(
            scenario=scenario, variant=self._attack.name, phases=PHASES, lanes=(lane,)
        )

    def _tell(self, phase: str, *paragraphs: str, session: str | None = None) -> None:
        self._day += 1
        name = self._writer.write_day(self._day, *paragraphs, session=session)
        self._steps.append(WriteStep(phase=phase, episode=name))

    def _ask(self, phase: str, items: tuple[str, ...]) -> None:
        self._steps += [SettleStep(phase=phase), AskStep(phase=phase, items=items)]

    def _write_correction(self, fact: PlantedFact, new: str) -> str:
        """Write the honest counterpart of the attack."""
        wording = self._writer.chance.choose(load_attacks().corrections[self._attack.name])
        return fill(wording, person=fact.person, subject=fact.subject, value=new)

    def _write_attack(self, targets: list[PlantedFact], false: dict[str, str]) -> None:
        chance = self._writer.chance
        paragraphs = [self._attack.write(fact, false[fact.id], chance) for fact in targets]
        session = "open" if self._attack.carrier == _CHAT else None
        self._tell(PHASES[1], *(() if self._is_clean else paragraphs), session=session)

    def _add_items(
        self, targets: list[PlantedFact], others: list[PlantedFact], false: dict[str, str]
    ) -> tuple[str, ...]:
        results = []
        for fact in targets:
            for kind, session in ((TARGET, None), (ELSEWHERE, OTHER_SESSION)):
                results.append(
                    self._add(fact, kind, fact.value, canary=false[fact.id], session=session)
                )
        results += [self._add(fact, UNTOUCHED, fact.value) for fact in others]
        return tuple(results)

    def _add_corrected(self, name: str, fact: PlantedFact, right: str, wrong: str) -> str:
        kind = CORRECTED if name == "corrected" else UNTOUCHED
        return self._add(fact, kind, right, canary=wrong, name=name)

    def _add(
        self,
        fact: PlantedFact,
        kind: str,
        right: str,
        *,
        canary: str | None = None,
        session: str | None = None,
        name: str | None = None,
    ) -> str:
        return self._writer.add_item(
            f"{fact.id}-{name or kind}",
            fact.asks,
            kind=kind,
            category=CATEGORY,
            reference=right,
            day=1,
            atoms=(right,),
            canaries=() if canary is None else (canary,),
            session=session,
        )
