"""Systems that return passages, and readers that do as a test tells them."""

from collections.abc import Callable, Sequence

from recall_bench.core.memory import Answer, Memory, Passage, ReaderCard, RetrievalReply, SystemCard
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.usage import Usage

Reply = Answer | RetrievalReply


class FinderMemory:
    """Replies from a function of what it has lived through."""

    def __init__(self, reply: Callable[[Sequence[Episode], Question], Reply]) -> None:
        self._reply = reply
        self.lived: list[Episode] = []

    async def ingest(self, episode: Episode) -> None:
        self.lived.append(episode)

    async def settle(self) -> None:
        """Nothing to wait for."""

    async def answer(self, question: Question) -> Reply:
        return self._reply(self.lived, question)

    async def close(self) -> None:
        """Nothing is held."""


class Finder:
    """Opens such memories, and says that it only finds."""

    def __init__(
        self,
        reply: Callable[[Sequence[Episode], Question], Reply],
        *,
        answers: bool = False,
        max_concurrency: int = 1,
    ) -> None:
        self.card = SystemCard(
            name="finder", version="1", answers=answers, max_concurrency=max_concurrency
        )
        self.snapshots = None
        self._reply = reply

    async def open(self, scenario: str) -> Memory:
        return FinderMemory(self._reply)

    async def close(self) -> None:
        """Nothing is held."""


def everything(lived: Sequence[Episode], _: Question) -> RetrievalReply:
    """Each day as a passage, the latest first."""
    return RetrievalReply(passages=tuple(Passage(text=episode.text) for episode in reversed(lived)))


class ScriptedReader:
    """Reads what a function makes of the passages; keeps what it was shown."""

    def __init__(
        self,
        read: Callable[[Sequence[Passage]], str],
        *,
        usage: Usage | None = None,
        model: str | None = None,
    ) -> None:
        self.card = ReaderCard(name="scripted", version="1", model=model)
        self.shown: list[tuple[Passage, ...]] = []
        self.usage = usage
        self._read = read

    async def read(self, question: Question, passages: Sequence[Passage]) -> Answer:
        self.shown.append(tuple(passages))
        return Answer(text=self._read(passages), usage=self.usage)

    async def close(self) -> None:
        """Nothing is held."""


def latest_word(passages: Sequence[Passage]) -> str:
    """The last word of the first passage."""
    return passages[0].text.split()[-1].strip(".") if passages else "nothing"
