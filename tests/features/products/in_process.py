"""Asks a product about the gardener's diary in this process, whose environment it is installed in.

python -m tests.features.products.in_process NAME ENDPOINT

prints what it found with its own vectors, and then with those of the endpoint.
"""

import sys

import anyio
import msgspec

from recall_bench.core import user_code
from recall_bench.core.memory import MemorySystem, RetrievalReply
from recall_bench.features.products.product import Product
from tests.systems.diary import EPISODES, QUESTIONS, question


async def finds(system: MemorySystem) -> list[list[str]]:
    """The texts found for each question, best first."""
    memory = await system.open("diary")
    for episode in EPISODES:
        await memory.ingest(episode)
    await memory.settle()
    found = []
    for text in QUESTIONS:
        reply = await memory.answer(question(text))
        assert isinstance(reply, RetrievalReply)
        found.append([passage.text for passage in reply.passages])
    await memory.close()
    await system.close()
    return found


async def both(product: Product, url: str) -> list[list[list[str]]]:
    """What is found without an endpoint and with it."""
    return [await finds(product({})), await finds(product({}, endpoint=url))]


if __name__ == "__main__":
    name, address = sys.argv[1:]
    found = anyio.run(both, user_code.load_plugin("systems", name), address)
    sys.stdout.write(msgspec.json.encode(found).decode())
