"""A language model that says what it was told to say."""

from recall_bench.core.usage import Usage
from recall_bench.systems.models.model import Finish, Prompt, Reply

CALL = Usage(calls=1, input_tokens=10, output_tokens=1)


class ScriptedModel:
    """Gives its replies in turn and remembers what it was asked; a reply may be a failure."""

    name = "scripted"
    is_priced = False

    def __init__(self, *replies: str | Reply | Exception) -> None:
        self._replies = iter(replies)
        self.asked: list[Prompt] = []

    async def complete(self, prompt: Prompt) -> Reply:
        self.asked.append(prompt)
        reply = next(self._replies)
        if isinstance(reply, Exception):
            raise reply
        return Reply(text=reply, usage=CALL) if isinstance(reply, str) else reply

    async def close(self) -> None:
        """Nothing is open."""


def cut_off(text: str) -> Reply:
    return Reply(text=text, usage=CALL, finish=Finish.LENGTH)


def filtered(text: str) -> Reply:
    return Reply(text=text, usage=CALL, finish=Finish.FILTERED)
