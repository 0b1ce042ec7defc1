"""A few weeks from a Monday on, and the built-in systems that live through them."""

from datetime import date

from recall_bench.core.memory import Answer, Memory, MemorySystem
from recall_bench.core.scenario import Episode, Question, compute_story_date
from recall_bench.systems.builtin import retrieval_systems
from tests.systems.asking import answered

EPOCH = date(2025, 3, 3)
"""A Monday."""


def episode(day: int, text: str) -> Episode:
    return Episode(id=f"day-{day:04}", day=day, at=compute_story_date(EPOCH, day), text=text)


def asked(text: str, *, day: int = 28, session: str = "principal") -> Question:
    return Question(
        id="q",
        text=text,
        asked_at=compute_story_date(EPOCH, day),
        scenario="story",
        session=session,
    )


async def lived(system: MemorySystem, *episodes: Episode) -> Memory:
    memory = await system.open("story")
    for each in episodes:
        await memory.ingest(each)
    await memory.settle()
    return memory


async def found(text: str, *days: str, **config: object) -> Answer:
    """What the hybrid replies after these days, whether or not it is sure."""
    system = retrieval_systems.build_hybrid({"threshold": 0, **config})
    episodes = [episode(number, day) for number, day in enumerate(days, start=1)]
    return await answered(await lived(system, *episodes), asked(text))


def fortnight() -> list[Episode]:
    """Two weeks and a day in which a boiler is the subject, and one day is not about it."""
    return [
        episode(
            day,
            f"# session: principal\n\nThe boiler was set to {day} degrees. The boiler ran well. "
            f"The boiler was cleaned at {day} o'clock.\n\nA heron stood on the wall.\n\n"
            "# session: family\n\nTess went for a swim.",
        )
        for day in range(1, 16)
    ]
