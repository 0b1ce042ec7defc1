"""The procedures suite: who acts by what was told does the tasks; a fault has its figure."""

from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import pytest

from recall_bench.core.errors import ReaderFault, ReaderPending
from recall_bench.core.event import AgentEnded, Answered, Exchanged, ToolCalled
from recall_bench.core.memory import Answer, Passage
from recall_bench.core.scenario import Question
from recall_bench.core.settings import Settings
from recall_bench.core.usage import Usage
from recall_bench.engine.experiment import execute
from recall_bench.engine.runs.journal import JOURNAL, read_events
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.suites.behaviour_assembly import BehaviourRequest, assemble_behaviour
from recall_bench.features.suites.procedures.scripted_doer import do_task, reply_to_task
from recall_bench.features.suites.procedures.task_source import describe_task, load_tasks
from recall_bench.features.suites.story_events import render_stories
from recall_bench.reporting.run_facts import list_suite_facts
from recall_bench.reporting.suites.figures import BehaviourReport
from recall_bench.reporting.suites.report_text import render_behaviour
from recall_bench.reporting.suites.suite_comparison import compare_suites
from recall_bench.reporting.suites.suite_report import build_behaviour_report
from recall_bench.systems.models.model import Prompt, Reply
from recall_bench.systems.readers import TaskReader
from tests.commands import Invoke
from tests.engine.suite_figures import get_value
from tests.faulty.agent_program import NoteTaker
from tests.faulty.agent_server import AgentServer

DOER = "recall_bench.features.suites.procedures.scripted_doer:do_task"


def run(into: Path, *, only: tuple[str, ...] = (), **settings: object) -> BehaviourReport:
    """Run the suite over one persona, and return its figures."""
    request = BehaviourRequest(
        suite="procedures",
        settings=Settings(into=into, **settings),  # type: ignore[arg-type]
        stories=1,
        only=only,
    )
    result = execute(assemble_behaviour(request))
    assert result.stopped_by is None, result.stopped_by
    return build_behaviour_report(result.folder)


def test_a_model_that_keeps_rules_does_what_is_recalled(tmp_path: Path) -> None:
    report = run(tmp_path / "run", adapter="bm25", reader=DOER)

    assert get_value(report, "floor") == 0.0
    assert get_value(report, "ceiling") == 1.0
    assert 0.5 < get_value(report, "recalled") < 1.0
    assert get_value(report, "done") == get_value(report, "recalled")
    assert get_value(report, "done/recalled") == 1.0
    assert get_value(report, "done/not-recalled") == 0.0
    assert report.trials == 90
    page = str(render_stories(RunFolder.open(tmp_path / "run")))
    assert "breaks " in page
    assert "done as stated" in page


def test_two_memories_are_compared_task_by_task(tmp_path: Path) -> None:
    for name in ("hybrid", "vector"):
        run(tmp_path / name, adapter=name, reader=DOER, only=("memory",))

    report = compare_suites([RunFolder.open(tmp_path / name) for name in ("hybrid", "vector")])

    done = report.contrasts[0].figures[0]
    assert done.first.name == "done"
    assert done.comparison is not None
    assert done.comparison.difference.trials == 30
    assert done.difference is not None
    assert done.difference < 0
    # Tasks that share a rule are one unit: fewer units than tasks.
    assert done.comparison.difference.personas < 30


def test_a_plain_memory_is_measured_by_what_it_recalls(tmp_path: Path) -> None:
    report = run(tmp_path / "run", adapter="bm25")

    assert get_value(report, "recalled") > 0.5
    done = report.get_figure("done")
    assert done is not None
    assert not done.is_offered
    assert report.stories == 1
    text = render_behaviour(report)
    assert text.count("nothing acts here") == 1
    assert "--reader provider:model" in text


@pytest.mark.parametrize(
    ("spoil", "name", "value"),
    [
        (lambda prompt: reply_to_task(read_task(prompt)), "done", 0.0),
        (lambda prompt: do_task(prompt).text.replace("```", ""), "failed/form", 0.0),
        (lambda prompt: f"I would do this.\n{prompt.user[:0]}", "failed/form", 0.6),
        (lambda prompt: "```\n[{}]\n```", "done", 0.0),
        (lambda prompt: choose_sample(prompt, "stale"), "stale", 1.0),
        (lambda prompt: choose_sample(prompt, "default"), "done", 0.0),
        (lambda prompt: choose_sample(prompt, "right"), "done", 1.0),
    ],
    ids=["deaf", "unfenced", "chatty", "empty", "old-rules", "default", "perfect"],
)
def test_a_fault_of_the_model_is_shown_by_its_figure(
    spoil: Callable[[Prompt], str], name: str, value: float, tmp_path: Path
) -> None:
    def reply(prompt: Prompt) -> Reply:
        return Reply(text=spoil(prompt), usage=Usage())

    with mock.patch("recall_bench.features.suites.procedures.scripted_doer.do_task", reply):
        report = run(tmp_path / "run", adapter="none", reader=DOER, only=("memory",))

    assert get_value(report, name) == pytest.approx(value, abs=0.1)
    assert report.not_answered == 0


def read_task(prompt: Prompt) -> str:
    """The task of a prompt, without what was found for it."""
    return prompt.user.partition("Passages, best first")[0]


def choose_sample(prompt: Prompt, kind: str) -> str:
    """The sample of this kind for the task of a prompt, or else a right one."""
    source = load_tasks("backend-eng-saas")
    task = next(each for each in source.tasks if describe_task(each) in prompt.user)
    found = {each.kind: each.reply for each in reversed(task.outcomes)}
    return found.get(kind, found["right"])  # type: ignore[call-overload,no-any-return]


def test_our_agent_saves_searches_and_does_the_tasks(tmp_path: Path) -> None:
    report = run(tmp_path / "run", adapter="loop:bm25", agent_model=DOER)

    assert get_value(report, "floor") == 0.0
    assert get_value(report, "ceiling") == 1.0
    assert 0.5 < get_value(report, "done") <= 1.0
    events = list(read_events(tmp_path / "run" / JOURNAL))
    asked = [each for each in events if isinstance(each, ToolCalled) and each.trial is not None]
    saved = [each for each in events if isinstance(each, ToolCalled) and each.day is not None]
    ended = [each for each in events if isinstance(each, AgentEnded)]
    assert len(asked) == 90
    assert len(saved) == 42
    assert len(ended) == 132


def act(agent: NoteTaker, message: str) -> str:
    """Remember everything, and do tasks by all of it."""
    if "Do it the way we do things here." in message:
        return reply_to_task("\n".join([message, *(line for told in agent.notes for line in told)]))
    agent.notes.append([message])
    return "Noted."


@pytest.mark.parametrize("way", ["openai:{url}/notes/v1", "a2a:{url}/notes/a2a"])
def test_a_black_box_receives_weeks_and_does_tasks(way: str, tmp_path: Path) -> None:
    with mock.patch.object(NoteTaker, "reply", act), AgentServer() as server:
        report = run(tmp_path / "run", adapter=way.format(url=server.url))

    assert (get_value(report, "floor"), get_value(report, "ceiling")) == (0.0, 1.0)
    assert get_value(report, "done") == 1.0
    recalled = report.get_figure("recalled")
    assert recalled is not None
    assert not recalled.is_offered
    events = list(read_events(tmp_path / "run" / JOURNAL))
    said = [each.exchange for each in events if isinstance(each, Exchanged)]
    assert len(said) == 42 + 90
    facts = dict(list_suite_facts(RunFolder.open(tmp_path / "run")))
    assert facts.keys() == {"Messages", "Spent"}
    assert facts["Messages"] == "132"
    assert "ingest: 42 calls, " in facts["Spent"]
    assert "query: 90 calls, " in facts["Spent"]
    assert {each.scenario for each in said} == {
        f"{variant}-backend-eng-saas" for variant in ("memory", "floor", "ceiling")
    }


def test_a_reply_that_comes_later_is_asked_for_with_all_others(tmp_path: Path) -> None:
    asked: list[str] = []

    async def wait(_: object, question: object, __: object) -> None:
        asked.append(str(question))
        raise ReaderPending("later")

    request = BehaviourRequest(
        suite="procedures",
        settings=Settings(into=tmp_path / "run", adapter="none", reader=DOER),
        stories=1,
    )
    with mock.patch.object(TaskReader, "read", wait):
        stopped = execute(assemble_behaviour(request))
    assert isinstance(stopped.stopped_by, ReaderPending)
    assert len(asked) == 90

    resumed = execute(assemble_behaviour(request))

    assert resumed.stopped_by is None
    events = list(read_events(tmp_path / "run" / JOURNAL))
    assert sum(isinstance(each, Answered) for each in events) == 90


def test_what_was_answered_is_not_asked_again(tmp_path: Path) -> None:
    read = TaskReader.read
    asked: list[str] = []

    async def break_off(reader: TaskReader, question: Question, found: Sequence[Passage]) -> Answer:
        asked.append(question.id)
        if len(asked) == 40:
            raise ReaderFault("the network is down")
        return await read(reader, question, found)

    request = BehaviourRequest(
        suite="procedures",
        settings=Settings(into=tmp_path / "run", adapter="bm25", reader=DOER),
        stories=1,
    )
    with mock.patch.object(TaskReader, "read", break_off):
        stopped = execute(assemble_behaviour(request))
        assert isinstance(stopped.stopped_by, ReaderFault)
        resumed = execute(assemble_behaviour(request))

    assert resumed.stopped_by is None
    assert len(asked) == 91
    assert len(set(asked)) == 90
    report = build_behaviour_report(resumed.folder)
    whole = run(tmp_path / "whole", adapter="bm25", reader=DOER)
    assert report.figures == whole.figures
    assert str(render_stories(resumed.folder)).count("<td>do</td>") == 90


def test_the_command_takes_an_agent_and_says_what_is_missing(invoke: Invoke) -> None:
    shown = invoke("suite", "procedures", "--adapter", "loop:bm25")
    assert shown.code == 2
    assert "--agent-model" in shown.err

    shown = invoke("suite", "procedures", "--adapter", "bm25", "--only", "floor")
    assert shown.code == 2
    assert "offers nothing that procedures measures" in shown.err
