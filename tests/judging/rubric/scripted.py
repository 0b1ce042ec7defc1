"""A model that says what it is told to, and the harbour's cases to put before it."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace

from recall_bench.core.errors import ModelFault
from recall_bench.core.scenario import Episode, Item
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Exhibit
from recall_bench.systems.models.model import Finish, Prompt, Reply
from tests.judging.harbour import exhibit, harbour

PAID = Usage(calls=1, input_tokens=100, output_tokens=20, cost_usd=0.001)

Saying = str | Reply | ModelFault


def verdict_json(correctness: int = 3, completeness: int = 2, grounded: int = 1) -> str:
    marks = {"correctness": correctness, "completeness": completeness, "grounded": grounded}
    return json.dumps({"reason": "as it should be", **marks})


def reply(text: str, finish: Finish = Finish.STOP) -> Reply:
    return Reply(text=text, usage=PAID, finish=finish)


class ScriptedModel:
    """Replies by script, in turn or to each prompt, and remembers what it was asked."""

    is_priced = True

    def __init__(
        self, says: Iterable[Saying] | Callable[[Prompt], Saying], name: str = "scripted:judge"
    ) -> None:
        self.name = name
        self.prompts: list[Prompt] = []
        self._says = says if callable(says) else _in_turn(says)

    async def complete(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        said = self._says(prompt)
        if isinstance(said, ModelFault):
            raise said
        return said if isinstance(said, Reply) else reply(said)

    async def close(self) -> None:
        """There is nothing to release."""


def _in_turn(says: Iterable[Saying]) -> Callable[[Prompt], Saying]:
    left = iter(says)
    return lambda _: next(left)


def case(asked: Item, answer: str, *, days: int = 10, shown: Iterable[int] = ()) -> Exhibit:
    """An answer about the harbour, with the days the judge is shown."""
    episodes: dict[int, Episode] = {each.day: each for each in harbour().episodes}
    return replace(
        exhibit(asked, answer, days=days), excerpts=tuple(episodes[day] for day in shown)
    )
