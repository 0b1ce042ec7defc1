"""The gardener's agent as a model of one's own, for `--agent-model`.

It is free: what feeding a memory again costs is part of a result, and would tell a resumed run from
one that was never killed.
"""

from recall_bench.core.usage import Usage
from recall_bench.systems.models.model import Prompt, Reply
from tests.features.agents.loop.scripted import keep_garden


async def complete(prompt: Prompt) -> Reply:
    """Reply as the script does."""
    return Reply(text=keep_garden(prompt), usage=Usage())
