"""A drawer of four memories, and a recall agent whose models say what they are told to."""

from pathlib import Path

import anyio

from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.selectors.agent import RecallAgent, RecallChooser
from recall_bench.features.selection.selectors.agent_settings import build_agent_settings
from recall_bench.features.selection.selectors.selector import MemorySelection
from recall_bench.systems.models.model import Model, Prompt, Reply

PROMPT = "Where do we park when we fly from Graz?"


def memory(stem: str, hint: str, text: str | None = None, *keywords: str) -> MemoryFile:
    body = text or f"All about it: {hint}"
    return MemoryFile(name=f"memory/{stem}.md", text=body, body=body, hint=hint, keywords=keywords)


MEMORIES = (
    memory("bread", "when baking", "The rye starter is fed on Fridays.", "sourdough"),
    memory("flights", "when booking a flight", "Seat by the aisle, never before nine."),
    memory("parking", "when driving to an airport", "Car park C is the cheap one.", "car", "fly"),
    memory("wifi", "when something is offline"),
)
BREAD, FLIGHTS, PARKING, WIFI = (each.name for each in MEMORIES)


class SilentModel:
    """Never says a word; `asked` is set once somebody waits for one."""

    name = "scripted:silent"
    is_priced = False

    def __init__(self) -> None:
        self.asked = anyio.Event()

    async def complete(self, prompt: Prompt) -> Reply:
        self.asked.set()
        await anyio.sleep_forever()
        raise AssertionError

    async def close(self) -> None:
        """Nothing is open."""


def agent(first: Model, second: Model | None = None, **config: object) -> RecallAgent:
    """Of two passes if there is a second model."""
    scheme = "single" if second is None else "double"
    settings = build_agent_settings({"scheme": scheme, **config}, Path())
    return RecallAgent(settings, first, second or first)


async def opened(first: Model, second: Model | None = None, **config: object) -> RecallChooser:
    return await agent(first, second, **config).open(MEMORIES)


async def selected(first: Model, second: Model | None = None, **config: object) -> MemorySelection:
    return await (await opened(first, second, **config)).select(PROMPT)
