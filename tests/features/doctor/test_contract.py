"""The contract can be put to any system, and says of each clause whether it is kept and why not."""

from collections.abc import Callable, Sequence

import anyio
import pytest

from recall_bench.core import retry
from recall_bench.core.errors import SystemBusy, SystemFault, SystemGone, UsageError
from recall_bench.core.memory import Answer, Clock, Memory, MemorySystem
from recall_bench.core.scenario import Episode, Question
from recall_bench.features.doctor import check_context
from recall_bench.systems.builtin.baselines import build_none
from recall_bench.systems.builtin.retrieval_systems import build_bm25, build_hybrid, build_oracle
from recall_bench.systems.python.system import build_python_system
from recall_bench.testing import (
    CHECKS,
    Honest,
    Outcome,
    assert_contract,
    assert_contract_async,
    check_system,
)
from tests.faulty.fakes import ScriptedMemory, ScriptedSystem
from tests.faulty.faults import LeaksSessions
from tests.features.doctor.broken import Custom, everything, result, scripted
from tests.imports import imported_by

pytestmark = pytest.mark.anyio

QUICK = [check.name for check in CHECKS if check.name != "large-day"]


async def test_a_system_that_retells_everything_passes_and_only_reads_dates() -> None:
    report = await check_system(ScriptedSystem(everything, can_snapshot=True))

    assert report.is_kept
    assert report.seen.clock is Clock.IN_TEXT
    assert report.seen.recall == 1
    assert "declare clock = 'in-text'" in report.get_result("dates").message


@pytest.mark.parametrize("built_in", [build_bm25, build_hybrid])
async def test_built_in_search_keeps_the_contract(built_in: Callable[..., MemorySystem]) -> None:
    report = await check_system(built_in({}), only=QUICK)

    assert report.failures == ()
    assert report.seen.clock is Clock.NATIVE
    assert report.seen.questions_at_once == 64


async def test_a_built_in_takes_in_a_large_day() -> None:
    outcome, message = await result(build_bm25({}), "large-day")

    assert outcome is Outcome.PASSED
    assert message.endswith("found again: start, middle, end")


async def test_a_system_that_remembers_nothing_fails_once_and_is_spared_the_rest() -> None:
    report = await check_system(build_none({}))

    assert [check.name for check in report.failures] == ["round-trip"]
    assert report.get_result("isolation").outcome is Outcome.NOT_APPLICABLE
    assert "finds nothing" in report.get_result("isolation").message


async def test_a_control_that_is_confided_in_is_not_asked_to_remember() -> None:
    outcome, message = await result(build_oracle({}), "round-trip")

    assert outcome is Outcome.NOT_APPLICABLE
    assert "evidence it receives" in message


class Finds(Honest):
    """Finds, and leaves answering to a reader."""

    answers = False

    def query(self, question: str, context: object) -> object:
        reply = super().query(question, context)  # type: ignore[arg-type]
        return {"passages": reply["passages"] if isinstance(reply, dict) else []}


async def test_a_system_that_only_finds_can_keep_the_contract() -> None:
    report = await assert_contract_async(build_python_system(Finds), only=QUICK)

    assert report.seen.answers is False
    assert report.seen.clock is Clock.NATIVE


async def test_a_system_of_one_memory_is_checked_one_after_the_other() -> None:
    report = await assert_contract_async(build_python_system(Honest()), only=QUICK)

    assert report.seen.memories_at_once is False
    assert "one after the other" in report.get_result("isolation").message
    assert report.get_result("snapshots").outcome is Outcome.NOT_APPLICABLE


class Waits(ScriptedMemory):
    """Never answers."""

    async def answer(self, question: Question) -> Answer:
        await anyio.sleep_forever()
        raise AssertionError


async def test_a_system_that_hangs_has_failed() -> None:
    system = Custom(lambda: Waits(everything))

    report = await check_system(system, only=["order"], timeout_s=0.05)

    assert report.get_result("order").outcome is Outcome.FAILED
    assert "expected answering" in report.get_result("order").message
    assert "to be over within 0.05 s" in report.get_result("order").message


class NeverCloses(ScriptedMemory):
    async def close(self) -> None:
        await anyio.sleep_forever()


async def test_a_memory_that_does_not_close_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_context, "CLOSE_TIMEOUT_S", 0.01)

    outcome, message = await result(Custom(lambda: NeverCloses(everything)), "asking")

    assert outcome is Outcome.FAILED
    assert "to close" in message


def failing(error: Exception) -> Custom:
    def reply(lived: Sequence[Episode], question: Question) -> str:
        raise error

    return scripted(reply)


async def test_an_exception_that_is_none_of_ours_breaks_the_contract() -> None:
    outcome, message = await result(failing(KeyError("row")), "empty-memory")

    assert outcome is Outcome.FAILED
    assert "to raise SystemFault, but it raised KeyError" in message


async def test_a_fault_at_a_plain_question_breaks_the_contract() -> None:
    outcome, message = await result(failing(SystemFault("no index")), "empty-memory")

    assert outcome is Outcome.FAILED
    assert "SystemFault: no index" in message


async def test_a_reply_that_is_no_answer_breaks_the_contract() -> None:
    class SaysText(ScriptedMemory):
        async def answer(self, question: Question) -> Answer:
            return "It is blue."  # type: ignore[return-value]

    outcome, message = await result(Custom(lambda: SaysText(everything)), "empty-memory")

    assert outcome is Outcome.FAILED
    assert "an Answer or a Found, but answering gave a str" in message


async def test_a_failed_check_closes_what_it_opened() -> None:
    opened: list[ScriptedMemory] = []

    def opening() -> Memory:
        opened.append(ScriptedMemory(lambda lived, question: "Who knows?"))
        return opened[-1]

    await check_system(Custom(opening))

    assert opened
    assert all(memory.closed for memory in opened)


async def test_a_system_that_is_not_there_is_not_judged() -> None:
    def opened() -> Memory:
        raise SystemGone("nothing listens")

    with pytest.raises(SystemGone, match="nothing listens"):
        await check_system(Custom(opened))


async def test_a_system_that_goes_away_during_a_check_has_failed() -> None:
    outcome, message = await result(failing(SystemGone("it hung up")), "round-trip")

    assert outcome is Outcome.FAILED
    assert "SystemGone: it hung up" in message


async def test_a_busy_system_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "RETRY_PAUSES_S", (0.0, 0.0))
    calls: list[str] = []

    def reply(lived: Sequence[Episode], question: Question) -> str:
        calls.append(question.text)
        if len(calls) % 3:
            raise SystemBusy("later")
        return everything(lived, question)

    outcome, _ = await result(scripted(reply), "round-trip")

    assert outcome is Outcome.PASSED
    assert len(calls) == 3 * len(set(calls))


async def test_the_same_seed_gives_the_same_report_and_another_tells_other_facts() -> None:
    heard: list[set[str]] = []

    def reply(lived: Sequence[Episode], question: Question) -> str:
        heard[-1].update(episode.text for episode in lived)
        return everything(lived, question)

    reports = []
    for seed in (1, 1, 2):
        heard.append(set())
        reports.append(await check_system(scripted(reply), only=["round-trip"], seed=seed))

    assert reports[0] == reports[1]
    assert heard[0] == heard[1]
    assert not heard[0] & heard[2]
    assert all(report.is_kept for report in reports)


async def test_a_check_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="no check 'ordre'; there are round-trip, order"):
        await check_system(build_none({}), only=["ordre"])


def test_a_broken_contract_is_an_assertion_that_names_the_clauses() -> None:
    with pytest.raises(AssertionError, match="breaks the contract\nsessions: expected what"):
        assert_contract(build_python_system(LeaksSessions), only=["sessions", "count"])


def test_the_report_is_a_table_with_what_was_seen() -> None:
    report = assert_contract(build_python_system(Honest), only=["sessions", "dates"])

    shown = report.render()

    assert "✓ dates     saw native" in shown
    assert "use of the asker's session          honoured  honoured" in shown


def test_pytest_is_not_needed() -> None:
    assert "pytest" not in imported_by("from recall_bench.testing import *")
