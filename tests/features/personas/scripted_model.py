"""A model in this process that replies by a function, and remembers what it was asked."""

from collections.abc import Callable

import anyio

from recall_bench.core.usage import Usage
from recall_bench.systems.models.model import Prompt, Reply

Script = Callable[[Prompt], str | Reply | Exception]


class ScriptedModel:
    """Replies by its script; an exception that it returns is raised."""

    is_priced = True

    def __init__(
        self, script: Script, *, name: str = "scripted", cost_usd: float = 0.01, wait_s: float = 0.0
    ) -> None:
        self._script = script
        self._cost_usd = cost_usd
        self._wait_s = wait_s
        self.name = name
        self.asked: list[Prompt] = []
        self.at_once = 0
        self.most_at_once = 0

    async def complete(self, prompt: Prompt) -> Reply:
        """Ask once."""
        self.asked.append(prompt)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await anyio.sleep(self._wait_s)
        finally:
            self.at_once -= 1
        said = self._script(prompt)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Reply):
            return said
        usage = Usage(calls=1, input_tokens=100, output_tokens=50, cost_usd=self._cost_usd)
        return Reply(text=said, usage=usage)

    async def close(self) -> None:
        """Nothing to release."""
