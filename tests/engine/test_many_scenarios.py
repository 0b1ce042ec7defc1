"""A dataset may have tens of thousands of scenarios: the journal is not read once for each."""

from collections.abc import Iterator
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from typing import Self

import pytest

from recall_bench.core import append_log
from recall_bench.core.event import Answered, Declared, Event, Judged, OtherVerdict, RunStarted
from recall_bench.core.memory import Answer, Passage
from recall_bench.core.plan import Checkpoint, Plan, Trial, build_scenario_card
from recall_bench.core.scenario import Item, Scenario, Truth
from recall_bench.core.settings import Settings
from recall_bench.core.untrusted_json import open_regular_file
from recall_bench.engine.components import Components
from recall_bench.engine.job import Job
from recall_bench.engine.runs.journal import JOURNAL, Journal, read_events_of
from recall_bench.judging.judge_call import Judges
from tests.conftest import EPOCH, episode
from tests.engine.many import FAIL, PASS, Ruled, parrot

pytestmark = pytest.mark.anyio

SCENARIOS = 200
NOW = datetime(2024, 1, 1, tzinfo=UTC)


class ReadLines:
    """How many lines are read from journals."""

    def __init__(self) -> None:
        self.count = 0

    def open_and_count(self, path: Path) -> "_Counted":
        return _Counted(open_regular_file(path), self)


class _Counted:
    def __init__(self, file: BufferedReader, total: ReadLines) -> None:
        self._file = file
        self._total = total

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def seek(self, offset: int) -> int:
        return self._file.seek(offset)

    def __iter__(self) -> Iterator[bytes]:
        for line in self._file:
            self._total.count += 1
            yield line


@pytest.fixture
def read_lines(monkeypatch: pytest.MonkeyPatch) -> ReadLines:
    counted = ReadLines()
    monkeypatch.setattr(append_log, "open_regular_file", counted.open_and_count)
    return counted


def one_question(number: int) -> Scenario:
    truth = Truth(reference="r", category="factual-recall")
    item = Item(id="q", text=f"{number}", known_from=1, truth=truth)
    return Scenario(id=f"s{number}", epoch=EPOCH, episodes=(episode(1, "text"),), items=(item,))


def answered(scenario: str) -> Answered:
    trial = Trial(scenario=scenario, item="q", checkpoint="1d", repeat=0)
    passage = Passage(text="A passage that several answers have, so it is written once.")
    answer = Answer(text=scenario.removeprefix("s"), passages=(passage,))
    return Answered(at=NOW, trial=trial, answer=answer, seconds=1.0)


def job_with_answers(plan: Plan, folder: Path) -> Job:
    """A job that judges the recorded answers, one in each scenario, with three judges."""
    scenarios = {each.id: each for each in map(one_question, range(SCENARIOS))}
    judges = Judges(
        judge=Ruled(lambda n: FAIL),
        others=(Ruled(lambda n: PASS),),
        appellate=Ruled(lambda n: PASS if n % 2 else FAIL),
    )
    plan = plan.replace(
        scenarios=tuple(build_scenario_card(each) for each in scenarios.values()),
        checkpoints=(Checkpoint(label="1d", days=1),),
        judge=judges.judge.card,
        other_judges=(judges.others[0].card,),
        appellate=judges.appellate.card if judges.appellate is not None else None,
    )
    questions = {
        name: Declared(at=NOW, scenario=name, items=each.items, days=(1,))
        for name, each in scenarios.items()
    }
    with Journal(folder / JOURNAL) as journal:
        events: list[Event] = [RunStarted(at=NOW, plan=plan, code="1")]
        for event in (*events, *questions.values(), *map(answered, scenarios)):
            journal.append(event)
    return Job(
        settings=Settings(),
        plan=plan,
        folder=folder,
        components=Components(system=parrot(), judges=judges, load=scenarios.__getitem__),
        questions=questions,
        asks=False,
    )


async def test_the_journal_is_read_once_for_all_scenarios(
    plan: Plan, tmp_path: Path, read_lines: ReadLines
) -> None:
    job = job_with_answers(plan, tmp_path)

    states = await job.run(lambda event, states: None)

    assert states.has_ended
    # Once to resume, and once to find what is judged.
    count = read_lines.count
    assert count <= 2 * len((tmp_path / JOURNAL).read_bytes().splitlines())
    verdicts = list(read_events_of(tmp_path / JOURNAL, Judged))
    reviewed = {each.trial.scenario: each.verdict for each in verdicts if each.primary == FAIL}
    assert reviewed == {f"s{n}": PASS if n % 2 else FAIL for n in range(SCENARIOS)}
    assert len(list(read_events_of(tmp_path / JOURNAL, OtherVerdict))) == SCENARIOS
