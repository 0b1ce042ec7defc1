"""Stories of the load suite: memories of several sizes, asked at rising rates."""

from collections.abc import Iterator

from recall_bench.core.random_stream import derive_seed
from recall_bench.features.suites.behaviour import (
    AskStep,
    BehaviourStory,
    LoadStep,
    MemoryLane,
    SettleStep,
    Step,
    WaitStep,
    WriteStep,
)
from recall_bench.features.suites.stories.story_writer import Background, StoryRequest, StoryWriter

VERSION = "3"
CATEGORY = "load"

REST = "rest"
SIZES = (10, 100)
"""Days in each memory."""
VARIANTS = tuple(f"days-{size}" for size in SIZES)
RATES = (4, 16, 64, 256)
"""Arrivals a second at all memories of a story together."""
PHASES = (REST, *(f"{rate}/s" for rate in RATES))
CLIENTS = 4
"""Memories of a story, each a user of its own."""
WRITE_SHARE = 0.1
_ASKED = 4
_MOST_WRITES = 40
"""Days that are written to a memory at one rate: each has to be sent and kept."""
_EXPECTED_WRITES = 32
"""Where there would be more, this many on average: hardly ever more than the most."""


def draw_stories(request: StoryRequest) -> Iterator[BehaviourStory]:
    """Draw a story for each size."""
    background = Background.draw(request.seed)
    for size in SIZES:
        for name in request.list_names(f"days-{size}"):
            writer = StoryWriter(request.seed, name, background)
            yield _write_story(writer, request, size)


def list_missing_parts(request: StoryRequest) -> tuple[str, ...]:  # noqa: ARG001
    """Nothing: every system can be fed and asked."""
    return ()


def _choose_write_share(arrivals: float) -> float:
    """The share of writes, small enough that they are spread over all of the time."""
    return WRITE_SHARE if arrivals * WRITE_SHARE <= _MOST_WRITES else _EXPECTED_WRITES / arrivals


def _write_story(writer: StoryWriter, request: StoryRequest, size: int) -> BehaviourStory:
    lanes = []
    day = 0
    for client in range(1, CLIENTS + 1):
        steps: list[Step] = []
        items: list[str] = []
        for number in range(size):
            day += 1
            is_told = number % max(1, size // _ASKED) == 0 and len(items) < _ASKED
            fact = writer.facts.draw_fact() if is_told else None
            name = writer.write_day(day, *(() if fact is None else (fact.sentence,)))
            steps.append(WriteStep(phase=REST, episode=name))
            if fact is not None:
                items.append(
                    writer.add_item(
                        f"client-{client}-{fact.id}",
                        fact.asks,
                        kind=REST,
                        category=CATEGORY,
                        reference=fact.value,
                        day=day,
                        atoms=(fact.value,),
                    )
                )
        steps += [SettleStep(phase=REST), AskStep(phase=REST, items=tuple(items))]
        for rate, phase in zip(RATES, PHASES[1:], strict=True):
            write_share = _choose_write_share(rate / CLIENTS * request.load_s)
            due = int(rate / CLIENTS * request.load_s * write_share * 2) + 1
            fresh = []
            for _ in range(min(due, _MOST_WRITES)):
                day += 1
                fresh.append(writer.write_day(day))
            steps += [
                WaitStep(phase=phase, name=phase),
                LoadStep(
                    phase=phase,
                    rate=rate / CLIENTS,
                    seconds=request.load_s,
                    items=tuple(items),
                    episodes=tuple(fresh),
                    write_share=write_share,
                    seed=derive_seed(request.seed, writer.name, f"client-{client}"),
                ),
            ]
        lanes.append(
            MemoryLane(
                name=f"client-{client}",
                opened_as=f"{writer.opaque}{client}",
                steps=tuple(steps),
            )
        )
    return BehaviourStory(
        scenario=writer.finish(), variant=f"days-{size}", phases=PHASES, lanes=tuple(lanes)
    )
