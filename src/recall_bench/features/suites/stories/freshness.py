"""Stories of the freshness suite: write, then ask at once and again, update, repeat, restart."""

from collections.abc import Iterator

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
from recall_bench.features.suites.stories.story_writer import (
    Background,
    PlantedFact,
    StoryRequest,
    StoryWriter,
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


def draw_stories(request: StoryRequest) -> Iterator[BehaviourStory]:
    """Draw the stories."""
    background = Background.draw(request.seed)
    for name in request.list_names(VARIANTS[0]):
        writer = StoryWriter(request.seed, name, background)
        yield _FreshnessWriter(writer, request).write()


def list_missing_parts(request: StoryRequest) -> tuple[str, ...]:
    """List what of the suite a system does not offer."""
    parts = (Offer.STORED, Offer.REOPEN)
    return tuple(part.value for part in parts if part not in request.offers)


class _FreshnessWriter:
    """Writes one story."""

    def __init__(self, writer: StoryWriter, request: StoryRequest) -> None:
        self._writer = writer
        self._request = request
        self._day = 0
        self._steps: list[Step] = []
        self._other: list[Step] = []
        """What another memory of the same system does at the same time."""

    def write(self) -> BehaviourStory:
        """Write the story."""
        old = [self._writer.facts.draw_fact() for _ in range(_CHANGED)]
        for fact in old:
            self._write_fact(QUIET, fact.sentence)
        early = [self._write_and_poll(QUIET) for _ in range(_EACH)]
        self._begin_busy()
        late = [self._write_and_poll(BUSY) for _ in range(_EACH)]
        stable = [item for item, _, _ in (*early, *late)]
        changed = [self._update(fact) for fact in old]
        # Both memories may live in one process, which is killed later: the other has to be done.
        self._wait_for_other("written")
        self._steps += [
            SettleStep(phase=SETTLED),
            AskStep(phase=SETTLED, items=(*stable, *changed)),
        ]
        self._repeat(early[0])
        phases = [QUIET, BUSY, UPDATED, SETTLED, REPEATED]
        if Offer.REOPEN in self._request.offers:
            self._restart()
            phases += [RESTARTED, REWRITTEN]
        lanes = (
            MemoryLane(name="memory", opened_as=self._writer.opaque, steps=tuple(self._steps)),
            MemoryLane(name="other", opened_as=f"{self._writer.opaque}b", steps=tuple(self._other)),
        )
        return BehaviourStory(
            scenario=self._writer.finish(), variant=VARIANTS[0], phases=tuple(phases), lanes=lanes
        )

    def _write_fact(self, phase: str, sentence: str) -> str:
        self._day += 1
        name = self._writer.write_day(self._day, sentence)
        self._steps.append(WriteStep(phase=phase, episode=name))
        return name

    def _write_and_poll(self, phase: str) -> tuple[str, PlantedFact, str]:
        """Write a fact and ask for it at once; return the question, the fact and the episode."""
        fact = self._writer.facts.draw_fact()
        name = self._write_fact(phase, fact.sentence)
        item = self._add_item(fact, fact.value, NEW)
        self._poll(phase, item)
        return item, fact, name

    def _poll(self, phase: str, item: str) -> None:
        patience_s = self._request.patience_s
        self._steps.append(
            PollStep(phase=phase, item=item, wants=True, patience_s=patience_s, again=_AGAIN)
        )

    def _add_item(self, fact: PlantedFact, right: str, kind: str, wrong: str | None = None) -> str:
        return self._writer.add_item(
            f"{fact.id}-{kind}",
            fact.asks,
            kind=kind,
            category=CATEGORY,
            reference=right,
            day=self._day,
            atoms=(right,),
            canaries=() if wrong is None else (wrong,),
        )

    def _begin_busy(self) -> None:
        """Let another memory be written to while the next facts are."""
        self._wait_for_other("busy")
        for _ in range(_OTHER_WRITES):
            self._day += 1
            name = self._writer.write_day(self._day)
            self._other.append(WriteStep(phase=BUSY, episode=name))

    def _wait_for_other(self, name: str) -> None:
        for steps in (self._steps, self._other):
            steps.append(WaitStep(phase=BUSY, name=name))

    def _update(self, fact: PlantedFact) -> str:
        """Replace a fact's value, and ask at once; return the question."""
        new = self._writer.facts.draw_value(fact.kind)
        self._write_fact(UPDATED, fact.change_value(new))
        item = self._add_item(fact, new, CHANGED, wrong=fact.value)
        self._poll(UPDATED, item)
        return item

    def _repeat(self, written: tuple[str, PlantedFact, str]) -> None:
        """Write an episode again, as a client does that got no reply the first time."""
        item, fact, episode = written
        look = LookStep(phase=SETTLED, planted=(fact.value,))
        again = WriteStep(phase=REPEATED, episode=episode)
        self._steps += [look, again, again, SettleStep(phase=REPEATED)]
        self._steps += [
            LookStep(phase=REPEATED, planted=(fact.value,)),
            AskStep(phase=REPEATED, items=(item,)),
        ]

    def _restart(self) -> None:
        """Write facts that are acknowledged, kill the process, and ask what is left."""
        items, episodes = [], []
        for _ in range(_EACH):
            fact = self._writer.facts.draw_fact()
            episodes.append(self._write_fact(RESTARTED, fact.sentence))
            items.append(self._add_item(fact, fact.value, LAST))
        self._steps += [
            RestartStep(phase=RESTARTED, kill=True),
            SettleStep(phase=RESTARTED),
            AskStep(phase=RESTARTED, items=tuple(items)),
            # What is not found even when it is written once more was not lost by the restart.
            *(WriteStep(phase=REWRITTEN, episode=name) for name in episodes),
            SettleStep(phase=REWRITTEN),
            AskStep(phase=REWRITTEN, items=tuple(items)),
        ]
