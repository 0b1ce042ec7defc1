"""Each clause of the contract notices the memory that breaks it, in every way it can be broken."""

from collections.abc import Callable, Sequence

import anyio
import anyio.lowlevel
import pytest

from recall_bench.core.errors import SystemFault
from recall_bench.core.memory import Answer, Asker, Clock, Holdings, Memory, Passage, RetrievalReply
from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.python.system import build_python_system
from recall_bench.testing import Honest, Outcome, assert_contract_async
from tests.faulty.fakes import CopiesInMemory, ScriptedMemory
from tests.faulty.faults import DropsWrites, LeaksSessions
from tests.features.doctor.broken import Custom, everything, result, scripted

pytestmark = pytest.mark.anyio


async def test_a_new_memory_that_returns_what_another_was_fed_is_noticed() -> None:
    only = ScriptedMemory(everything)

    outcome, message = await result(Custom(lambda: only), "empty-memory")

    assert outcome is Outcome.FAILED
    assert "which another memory was fed" in message


async def test_a_new_memory_that_finds_something_is_noticed() -> None:
    class Greets(ScriptedMemory):
        async def answer(self, question: Question) -> RetrievalReply:  # type: ignore[override]
            return RetrievalReply(passages=(Passage(text="Welcome to your memory!"),))

    outcome, message = await result(Custom(lambda: Greets(everything)), "empty-memory")

    assert outcome is Outcome.FAILED
    assert "Welcome to your memory!" in message


async def test_a_memory_that_is_emptied_by_the_opening_of_another_is_noticed() -> None:
    opened: list[ScriptedMemory] = []

    class ForgetsWhenOneIsFed(ScriptedMemory):
        async def ingest(self, episode: Episode) -> None:
            for other in opened:
                other.lived.clear()
            await super().ingest(episode)

    def opening() -> Memory:
        opened.append(ForgetsWhenOneIsFed(everything))
        return opened[-1]

    outcome, message = await result(Custom(opening), "isolation")

    assert outcome is Outcome.FAILED
    assert "know its own day beside another's" in message


async def test_sessions_are_only_reported_where_nothing_is_claimed() -> None:
    class Untold(LeaksSessions):
        honours_sessions = False

    report = await assert_contract_async(build_python_system(Untold), only=["sessions"])

    assert report.seen.asker is Asker.TOLD
    assert "is returned to another" in report.get_result("sessions").message


async def test_telling_no_session_anything_is_no_discretion() -> None:
    def reply(lived: Sequence[Episode], question: Question) -> str:
        return everything(lived, question) if question.session == "principal" else "Not you."

    outcome, message = await result(scripted(reply, asker=Asker.HONOURED), "sessions")

    assert outcome is Outcome.FAILED
    assert "keeps no secret" in message


async def test_a_clock_that_is_better_than_declared_is_no_failure() -> None:
    class Modest(Honest):
        clock = "none"

    report = await assert_contract_async(build_python_system(Modest), only=["dates"])

    assert report.seen.clock is Clock.NATIVE
    assert "the card says none, which is less" in report.get_result("dates").message


async def test_finds_that_change_while_nothing_is_fed_are_noticed() -> None:
    asked: list[str] = []

    def reply(lived: Sequence[Episode], question: Question) -> str:
        asked.append(question.text)
        return everything(lived[len(lived) > 4 and len(asked) > 30 :], question)

    outcome, message = await result(scripted(reply), "readiness")

    assert outcome is Outcome.FAILED
    assert "day 1 changed while nothing was fed" in message


class SettlesOnce(ScriptedMemory):
    """Forgets everything when it is settled with nothing new."""

    def __init__(self) -> None:
        super().__init__(everything)
        self.settled = 0

    async def settle(self) -> None:
        if self.lived and self.settled == len(self.lived):
            self.lived.clear()
        self.settled = len(self.lived)


async def test_settling_again_must_change_nothing() -> None:
    outcome, message = await result(Custom(SettlesOnce), "finalize")

    assert outcome is Outcome.FAILED
    assert "2 facts found became 0" in message


class SettlesForGood(ScriptedMemory):
    """Takes in nothing more once it is settled."""

    is_settled = False

    async def ingest(self, episode: Episode) -> None:
        if not self.is_settled:
            await super().ingest(episode)

    async def settle(self) -> None:
        self.is_settled = bool(self.lived)


async def test_the_story_goes_on_after_settling() -> None:
    outcome, message = await result(Custom(lambda: SettlesForGood(everything)), "finalize")

    assert outcome is Outcome.FAILED
    assert "a day fed after settling" in message


class Swaps(ScriptedMemory):
    """Keeps the question it is at in one place for all."""

    async def answer(self, question: Question) -> Answer:
        self.at = question
        await anyio.lowlevel.checkpoint()
        asked = self.at.text.lower().strip("?").split(" the ")[-1]
        holdings = [line for day in self.lived for line in day.text.splitlines() if asked in line]
        return Answer(text="\n".join(holdings))


@pytest.mark.parametrize(
    ("at_once", "expected"), [(4, Outcome.FAILED), (1, Outcome.NOT_APPLICABLE)]
)
async def test_answers_that_are_swapped_between_questions_are_noticed(
    at_once: int, expected: Outcome
) -> None:
    system = Custom(lambda: Swaps(everything), max_concurrency=at_once)

    outcome, message = await result(system, "concurrency")

    assert outcome is expected
    assert "to another question's" in message or at_once == 1


class Streams(ScriptedMemory):
    """Takes in many days, and reports them in the order the test says."""

    def __init__(self, *, is_backwards: bool) -> None:
        super().__init__(everything)
        self._step = -1 if is_backwards else 1

    async def ingest_all(
        self, episodes: Sequence[Episode], on_ingested: Callable[[Episode], None]
    ) -> None:
        self.lived += episodes
        for each in episodes[:: self._step]:
            on_ingested(each)


@pytest.mark.parametrize(("is_backwards", "expected"), [(False, "passed"), (True, "failed")])
async def test_many_days_are_taken_in_in_order(is_backwards: bool, expected: str) -> None:
    outcome, message = await result(Custom(lambda: Streams(is_backwards=is_backwards)), "order")

    assert outcome == expected
    assert "in this order, but [31, 9, 2, 1] was" in message or not is_backwards


async def test_a_refusal_of_odd_input_is_no_failure() -> None:
    def reply(lived: Sequence[Episode], question: Question) -> str:
        if not question.text.strip():
            raise SystemFault("ask something")
        return everything(lived, question)

    outcome, message = await result(scripted(reply), "errors")

    assert outcome is Outcome.PASSED
    assert message.startswith("refuses an empty question, a blank question")


async def test_a_memory_that_does_not_survive_odd_input_is_noticed() -> None:
    class Dies(ScriptedMemory):
        async def answer(self, question: Question) -> Answer:
            if not question.text.strip():
                self.lived.clear()
                raise SystemFault("ask something")
            return await super().answer(question)

    outcome, message = await result(Custom(lambda: Dies(everything)), "errors")

    assert outcome is Outcome.FAILED
    assert "go on working after odd input" in message


class SameForAll(CopiesInMemory):
    """Copies that are their original."""

    async def save(self, memory: Memory) -> str:
        self._kept["it"] = memory
        return "it"

    async def open(self, token: str) -> Memory:
        return self._kept[token]


class Blank(CopiesInMemory):
    """Copies without memories."""

    async def open(self, token: str) -> Memory:
        return ScriptedMemory(everything)


class Drains(CopiesInMemory):
    """Copies that leave their original empty."""

    async def save(self, memory: Memory) -> str:
        token = await super().save(memory)
        assert isinstance(memory, ScriptedMemory)
        memory.lived.clear()
        return token


@pytest.mark.parametrize(
    ("copies", "said"),
    [
        pytest.param(SameForAll, "stay as it was saved", id="share what comes later"),
        pytest.param(Blank, "the 2 facts its original finds, but it found 0", id="are empty"),
        pytest.param(Drains, "go on after it was copied", id="empty the original"),
    ],
)
async def test_copies_are_noticed_that(copies: type[CopiesInMemory], said: str) -> None:
    outcome, message = await result(
        Custom(lambda: ScriptedMemory(everything), snapshots=copies()), "snapshots"
    )

    assert outcome is Outcome.FAILED
    assert said in message


async def test_a_question_to_a_copy_that_others_hear_of_is_noticed() -> None:
    asked: list[str] = []

    def reply(lived: Sequence[Episode], question: Question) -> str:
        asked.append(question.text)
        return "\n".join([everything(lived, question), *asked])

    system = Custom(lambda: ScriptedMemory(reply), snapshots=CopiesInMemory())

    outcome, message = await result(system, "snapshots")

    assert outcome is Outcome.FAILED
    assert "leave no trace elsewhere" in message


async def test_a_memory_that_fails_while_it_is_empty_may_still_be_reset() -> None:
    def reply(lived: Sequence[Episode], question: Question) -> str:
        if not lived:
            raise SystemFault("nothing to search")
        return everything(lived, question)

    empty, _ = await result(scripted(reply), "empty-memory")
    reset, _ = await result(scripted(reply), "reset")

    assert (empty, reset) == (Outcome.FAILED, Outcome.PASSED)


class Reports(ScriptedMemory):
    """Reports the holdings that the test gives, from the days it was fed."""

    def __init__(self, holdings: Callable[[list[int]], Holdings]) -> None:
        super().__init__(everything)
        self._told = holdings

    async def holdings(self) -> Holdings:
        return self._told([day.day for day in self.lived])


@pytest.mark.parametrize(
    ("holdings", "said"),
    [
        pytest.param(
            lambda days: Holdings(days=(0, *days)),
            "hold nothing yet, but it says that it holds day 0",
            id="days before it was fed any",
        ),
        pytest.param(
            lambda days: Holdings(days=tuple(day + 1 for day in days)),
            "days 1–5 and no others, but it says that it holds day 6",
            id="days it was not fed",
        ),
        pytest.param(
            lambda days: Holdings(days=tuple(days[:-1])),
            "returns what was fed on day 5 and says that it does not hold it",
            id="less than it knows",
        ),
        pytest.param(
            lambda days: Holdings(bytes=-len(days)),
            "in which 0 days can be kept, but it says -5",
            id="fewer bytes than none",
        ),
        pytest.param(
            lambda days: Holdings(days=tuple(days), bytes=0),
            "in which 5 days can be kept, but it says 0",
            id="days in no bytes",
        ),
    ],
)
async def test_a_memory_is_noticed_that_says_it_holds(
    holdings: Callable[[list[int]], Holdings], said: str
) -> None:
    outcome, message = await result(Custom(lambda: Reports(holdings)), "holdings")

    assert outcome is Outcome.FAILED
    assert said in message


@pytest.mark.parametrize(
    ("holdings", "expected", "said"),
    [
        (lambda days: Holdings(days=tuple(days), bytes=9), "passed", "5 of the 5 days it was fed"),
        (lambda days: Holdings(bytes=2000), "passed", "holds something, in 2,000 bytes"),
        (lambda days: Holdings(), "not-applicable", "does not say what it holds"),
    ],
    ids=["days and bytes", "bytes alone", "nothing"],
)
async def test_a_memory_may_say_of_what_it_holds(
    holdings: Callable[[list[int]], Holdings], expected: str, said: str
) -> None:
    outcome, message = await result(Custom(lambda: Reports(holdings)), "holdings")

    assert outcome == expected
    assert said in message


async def test_a_memory_that_cannot_be_looked_into_is_asked_for_nothing() -> None:
    outcome, _ = await result(scripted(everything), "holdings")

    assert outcome is Outcome.NOT_APPLICABLE


async def test_days_that_are_gone_are_only_reported_where_the_memory_admits_it() -> None:
    outcome, message = await result(build_python_system(DropsWrites), "holdings")

    assert outcome is Outcome.PASSED
    assert "2 of the 5 days it was fed and lacks days 1–2, 5" in message
