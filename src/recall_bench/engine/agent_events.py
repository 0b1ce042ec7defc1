"""Record what an agent did with a memory: every tool call, and how each session ended."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

from recall_bench.core.errors import BudgetSpent
from recall_bench.core.event import AgentEnded, NeededValue, ToolCalled
from recall_bench.core.memory import Memory
from recall_bench.core.plan import Trial
from recall_bench.core.retry import Budget
from recall_bench.core.scenario import Episode, Item, Scenario
from recall_bench.core.tool_call import AgentSession, ToolUsingMemory
from recall_bench.engine.components import Recorder
from recall_bench.text.words import WordSequence, normalise_words

_NAME_OR_NUMBER = re.compile(r"\w*\d(?:[\w.,:/-]*\w)?|\b[A-Z][\w'’-]*")


class SessionRun(Protocol):
    """The run of a scenario or of a story, as far as an agent's sessions need it."""

    @property
    def scenario(self) -> Scenario:
        """The scenario."""

    @property
    def record(self) -> Recorder:
        """What records an event."""

    @property
    def budget(self) -> Budget:
        """What the agent is paid from."""


def record_day_sessions(run: SessionRun, memory: Memory, episode: Episode, label: str) -> None:
    """Record the agent's sessions about a day, if an agent works with the memory."""
    if not isinstance(memory, ToolUsingMemory):
        return
    for session in memory.take_sessions(episode.id):
        _record_session(run, session, run.scenario.id, label, day=episode.day)


def record_question_sessions(
    run: SessionRun, memory: Memory, question: str, trial: Trial, item: Item | None
) -> None:
    """Record the agent's sessions about a question, if an agent works with the memory.

    Without the item, as for a task, no values are noted that the memory should hold.
    """
    # Called for every question: the one attribute is looked up faster than the protocol.
    if not (hasattr(memory, "take_sessions") and isinstance(memory, ToolUsingMemory)):
        return
    for session in memory.take_sessions(question):
        needs = () if item is None else find_needed_values(item, run.scenario)
        _record_session(run, session, trial.scenario, trial.checkpoint, trial=trial, needs=needs)


def _record_session(
    run: SessionRun,
    session: AgentSession,
    scenario: str,
    checkpoint: str,
    *,
    day: int | None = None,
    trial: Trial | None = None,
    needs: tuple[NeededValue, ...] = (),
) -> None:
    """Record the calls and the end, and charge the budget, which stops the run once it is spent."""
    for call in session.calls:
        run.record(
            ToolCalled(
                at=datetime.now(UTC),
                scenario=scenario,
                checkpoint=checkpoint,
                memory=session.memory,
                day=day,
                trial=trial,
                call=call,
            )
        )
    run.record(
        AgentEnded(
            at=datetime.now(UTC),
            scenario=scenario,
            checkpoint=checkpoint,
            memory=session.memory,
            day=day,
            trial=trial,
            calls=len(session.calls),
            steps=session.steps,
            unreadable=session.unreadable,
            end=session.end,
            usage=session.usage,
            needs=needs,
        )
    )
    run.budget.record_usage(session.usage, "the agent's")
    with suppress(BudgetSpent):
        run.budget.refuse_if_spent()


def find_needed_values(item: Item, scenario: Scenario) -> tuple[NeededValue, ...]:
    """The values of an answer that stand in its evidence as it was fed, each with its first day.

    They are the atoms of the truth. Without atoms they are the numbers and names of the reference
    that are not in the question, or else its other words.
    """
    truth = item.truth
    if not truth.is_answerable:
        return ()
    days = sorted({cited.day for cited in truth.evidence})
    texts = {episode.day: episode.text for episode in scenario.fed_episodes if episode.day in days}
    pages = {day: WordSequence(texts[day]) for day in days if day in texts}
    for values in _list_candidates(item):
        first_days = {
            value: next((day for day, page in pages.items() if page.contains(words)), None)
            for value in values
            if not (words := WordSequence(value)).is_empty
        }
        if needed := [
            NeededValue(value=value, day=day)
            for value, day in first_days.items()
            if day is not None
        ]:
            return tuple(needed)
    return ()


def _list_candidates(item: Item) -> Iterator[list[str]]:
    """Values that a note may have to hold, the most telling kind first."""
    reference = item.truth.reference
    from recall_bench.text.text import STOPWORDS

    common = {*normalise_words(item.text), *STOPWORDS}
    yield list(item.truth.atoms)
    named = _NAME_OR_NUMBER.findall(reference)
    yield [word for word in named if not common.issuperset(normalise_words(word))]
    yield [word for word in normalise_words(reference) if word not in common]
