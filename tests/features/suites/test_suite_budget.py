"""A suite stops where the money ends, counts all that was paid for, and goes on with more."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from recall_bench.core.errors import BudgetSpent, SystemGone
from recall_bench.core.event import Answered, Exchanged, Observed, ReadingPaid
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.settings import Settings
from recall_bench.core.tool_call import AgentSession, SessionEnd
from recall_bench.core.usage import Usage, UsageMeter
from recall_bench.engine.experiment import RunResult, execute
from recall_bench.engine.runs.journal import JOURNAL, read_events
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.suites.behaviour_assembly import BehaviourRequest, assemble_behaviour
from tests.commands import Invoke
from tests.faulty.agent_server import AgentServer
from tests.faulty.fakes import ScriptedMemory, ScriptedSystem

PAID_READER = """
from recall_bench.core.usage import Usage
from recall_bench.features.suites.procedures.scripted_doer import reply_to_task
from recall_bench.systems.models.model import Reply
from pathlib import Path

def model(prompt):
    with Path({calls!r}).open("a") as file:
        file.write("x")
    usage = Usage(calls=1, input_tokens=90, output_tokens=10, cost_usd=0.25)
    return Reply(text=reply_to_task(prompt.user), usage=usage)

model.is_priced = True
"""


class PaidSuite:
    """Runs of one suite in one folder, with a reader that costs a quarter of a dollar."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.into = folder / "run"
        self.calls_file = folder / "calls"
        self.reader = folder / "reader.py"
        self.reader.write_text(PAID_READER.format(calls=str(self.calls_file)))

    @property
    def calls(self) -> int:
        """How often the reader was called in all runs."""
        return len(self.calls_file.read_text()) if self.calls_file.exists() else 0

    @property
    def recorded(self) -> Usage:
        """What the journal says that was paid."""
        return RunFolder.open(self.into).states.reading_usage

    def run(self, suite: str, only: tuple[str, ...], **limits: object) -> RunResult:
        settings = Settings(into=self.into, adapter="bm25", reader=str(self.reader), **limits)  # type: ignore[arg-type]
        request = BehaviourRequest(
            suite=suite, settings=settings, stories=1, patience_s=0.1, only=only
        )
        return execute(assemble_behaviour(request))


@pytest.fixture
def paid(tmp_path: Path) -> PaidSuite:
    return PaidSuite(tmp_path)


def test_tasks_that_are_paid_for_are_kept(paid: PaidSuite) -> None:
    stopped = paid.run("procedures", (), max_cost_usd=2.0)

    assert isinstance(stopped.stopped_by, BudgetSpent)
    assert "reading has cost $2.0000 and --max-cost allows $2.0000" in str(stopped.stopped_by)
    assert paid.calls == 8

    finished = paid.run("procedures", ())

    assert finished.stopped_by is None
    owed = sum(isinstance(each, Answered) for each in read_events(paid.into / JOURNAL))
    assert paid.calls == owed == 90
    assert paid.recorded.cost_usd == pytest.approx(0.25 * paid.calls)


@pytest.mark.parametrize(
    ("suite", "kind", "limit"), [("freshness", "write", 6), ("tenants", "plain", 10)]
)
def test_a_story_that_is_cut_off_counts_with_all_it_cost(
    paid: PaidSuite, suite: str, kind: str, limit: int
) -> None:
    stopped = paid.run(suite, (kind,), max_cost_usd=0.25 * limit)

    assert isinstance(stopped.stopped_by, BudgetSpent)
    assert "the story that was cut off is repeated" in str(stopped.stopped_by)
    assert limit <= paid.calls < limit + 4
    assert paid.recorded.cost_usd == pytest.approx(0.25 * paid.calls)
    assert any(isinstance(each, ReadingPaid) for each in read_events(paid.into / JOURNAL))

    before = paid.calls
    assert isinstance(paid.run(suite, (kind,), max_tokens=100 * limit).stopped_by, BudgetSpent)
    assert paid.calls == before, "nothing is left to be spent"

    assert paid.run(suite, (kind,)).stopped_by is None
    assert paid.recorded.cost_usd == pytest.approx(0.25 * paid.calls)


def test_the_command_says_what_was_paid(paid: PaidSuite, invoke: Invoke) -> None:
    words = ("suite", "freshness", "--adapter", "bm25", "--reader", paid.reader, "--stories", "1")

    shown = invoke(*words, "--patience", "100ms", "--max-cost", "1.5", "--into", paid.into)
    as_json = invoke(*words, "--patience", "100ms", "--json", "--into", paid.folder / "other")

    assert shown.code == 8, shown.err
    assert f"Cost         reader and loop agent: {paid_calls(shown.out)} calls" in shown.out
    assert "error: reading has cost $1.5000 and --max-cost allows $1.5000" in shown.err
    assert json.loads(as_json.out)["suite"] == "freshness"
    assert "Cost         reader and loop agent: " in as_json.err


def test_what_an_agent_spends_on_repeated_questions_is_spent_on_questions(tmp_path: Path) -> None:
    with AgentServer() as server:
        settings = Settings(into=tmp_path / "run", adapter=f"openai:{server.url}/echo/v1")
        request = BehaviourRequest(suite="freshness", settings=settings, stories=1, patience_s=0.1)
        execute(assemble_behaviour(request))

    events = list(read_events(tmp_path / "run" / JOURNAL))
    said = [each.exchange for each in events if isinstance(each, Exchanged)]
    asked = [each for each in said if each.question is not None]
    polled = [each for each in events if isinstance(each, Observed) and each.action == "poll"]
    metered = RunFolder.open(tmp_path / "run").service.metered
    assert polled
    assert metered["query"].calls == len(asked) > sum(each.count or 0 for each in polled)
    assert metered["ingest"].calls == len(said) - len(asked)


def test_what_is_said_to_an_agent_under_load_is_recorded(tmp_path: Path) -> None:
    pytest.importorskip("hdrh", reason="hdrhistogram is not installed")
    with AgentServer() as server:
        settings = Settings(into=tmp_path / "run", adapter=f"openai:{server.url}/echo/v1")
        request = BehaviourRequest(
            suite="load", settings=settings, stories=1, load_s=0.2, only=("days-10",)
        )
        execute(assemble_behaviour(request))

    events = list(read_events(tmp_path / "run" / JOURNAL))
    loads = [each for each in events if isinstance(each, Observed) and each.action == "load"]
    sent = {
        phase: sum(isinstance(each, Exchanged) and each.checkpoint == phase for each in events)
        for phase in {each.phase for each in loads}
    }
    assert len(sent) == 4
    # A day may be told in several messages.
    assert all(sent[each] >= count_answered(loads, each) for each in sent)
    metered = RunFolder.open(tmp_path / "run").service.metered
    said = sum(isinstance(each, Exchanged) for each in events)
    assert sum(each.calls for each in metered.values()) == said


def count_answered(loads: list[Observed], phase: str) -> float:
    """How many questions and days of a phase got a reply."""
    return sum(
        each.values["answered"] + each.values["written"] for each in loads if each.phase == phase
    )


class MeteredSystem(ScriptedSystem):
    """Calls a model once for each day and each question, and keeps no transcript."""

    def __init__(self) -> None:
        super().__init__(self._reply_to_question)
        self.told = self.asked = 0
        self.meter = UsageMeter()

    async def open(self, scenario: str) -> ScriptedMemory:
        system = self

        class Memory(ScriptedMemory):
            async def ingest(self, episode: Episode) -> None:
                system.told += 1
                system.meter.add(Usage(calls=1))
                await super().ingest(episode)

        return Memory(self._reply_to_question)

    def drain(self) -> Usage:
        return self.meter.drain()

    def _reply_to_question(self, lived: Sequence[Episode], question: Question) -> str:
        self.asked += 1
        self.meter.add(Usage(calls=1))
        return "unknown"


def test_what_a_memory_spends_at_our_endpoint_is_recorded_in_a_suite(tmp_path: Path) -> None:
    system = MeteredSystem()
    settings = Settings(into=tmp_path / "run")
    request = BehaviourRequest(suite="freshness", settings=settings, stories=1, patience_s=0.1)
    execute(assemble_behaviour(request, system))

    metered = RunFolder.open(tmp_path / "run").service.metered
    assert metered["ingest"].calls == system.told
    assert metered["query"].calls == system.asked


class AgentOverMemory(ScriptedMemory):
    """An agent calls a model for each day; the memory is lost at the third."""

    async def ingest(self, episode: Episode) -> None:
        await super().ingest(episode)
        if len(self.lived) == 3:
            raise SystemGone("the backend is gone")

    def take_sessions(self, about: str) -> tuple[AgentSession, ...]:
        usage = Usage(calls=1, cost_usd=0.5)
        end = SessionEnd.DONE
        return (AgentSession(memory=about, calls=(), steps=1, unreadable=0, end=end, usage=usage),)


def test_what_our_agent_spent_in_a_story_cut_off_is_not_the_readers(tmp_path: Path) -> None:
    system = ScriptedSystem(lambda lived, question: "")

    async def open_memory(scenario: str) -> ScriptedMemory:
        return AgentOverMemory(lambda lived, question: "")

    system.open = open_memory  # type: ignore[method-assign]
    request = BehaviourRequest(
        suite="freshness", settings=Settings(into=tmp_path / "run"), stories=1
    )
    stopped = execute(assemble_behaviour(request, system))

    assert isinstance(stopped.stopped_by, SystemGone)
    folder = RunFolder.open(tmp_path / "run")
    (paid,) = (each for each in read_events(folder.path / JOURNAL) if isinstance(each, ReadingPaid))
    assert paid.by_agent
    assert paid.usage == folder.states.reading_usage
    assert paid.usage.calls >= 3
    assert folder.service.reader_usage == Usage()


def paid_calls(text: str) -> int:
    """The calls of the reader, which cost a quarter of a dollar each."""
    found = re.search(r"\$([\d.]+)", text)
    assert found is not None
    return round(4 * float(found[1]))


def test_a_reader_without_a_price_is_refused(invoke: Invoke) -> None:
    model = "recall_bench.features.suites.procedures.scripted_doer:do_task"
    words = ("suite", "procedures", "--adapter", "bm25", "--reader", model)

    shown = invoke(*words, "--max-cost", "1")

    assert shown.code == 2
    assert "--max-cost: the price of" in shown.err
