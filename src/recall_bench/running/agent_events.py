"""Record what an agent did with a memory: every tool call, and how each session ended."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from recall_bench.core.event import AgentEnded, NeededValue, ToolCalled
from recall_bench.core.memory import Memory
from recall_bench.core.plan import Trial
from recall_bench.core.scenario import Episode, Expects, Item, Scenario
from recall_bench.core.text import STOPWORDS
from recall_bench.core.tool_call import ToolUsingMemory
from recall_bench.core.words import WordSequence, normalise_words
from recall_bench.running.scenario_run import Recorder

_NAME_OR_NUMBER = re.compile(r"\w*\d(?:[\w.,:/-]*\w)?|\b[A-Z][\w'’-]*")


def record_day_sessions(
    record: Recorder, memory: Memory, episode: Episode, *, scenario: str, checkpoint: str
) -> None:
    """Record the agent's sessions about a day, if an agent works with the memory."""
    if not isinstance(memory, ToolUsingMemory):
        return
    for session in memory.take_sessions(episode.id):
        for call in session.calls:
            record(
                ToolCalled(
                    at=datetime.now(UTC),
                    scenario=scenario,
                    checkpoint=checkpoint,
                    memory=session.memory,
                    day=episode.day,
                    call=call,
                )
            )
        record(
            AgentEnded(
                at=datetime.now(UTC),
                scenario=scenario,
                checkpoint=checkpoint,
                memory=session.memory,
                day=episode.day,
                calls=len(session.calls),
                steps=session.steps,
                unreadable=session.unreadable,
                end=session.end,
            )
        )


def record_question_sessions(
    record: Recorder, memory: Memory, question: str, *, trial: Trial, scenario: Scenario
) -> None:
    """Record the agent's sessions about a question, if an agent works with the memory."""
    if not isinstance(memory, ToolUsingMemory):
        return
    for session in memory.take_sessions(question):
        for call in session.calls:
            record(
                ToolCalled(
                    at=datetime.now(UTC),
                    scenario=trial.scenario,
                    checkpoint=trial.checkpoint,
                    memory=session.memory,
                    trial=trial,
                    call=call,
                )
            )
        item = next(each for each in scenario.items if each.id == trial.item)
        record(
            AgentEnded(
                at=datetime.now(UTC),
                scenario=trial.scenario,
                checkpoint=trial.checkpoint,
                memory=session.memory,
                trial=trial,
                calls=len(session.calls),
                steps=session.steps,
                unreadable=session.unreadable,
                end=session.end,
                needs=find_needed_values(item, scenario),
            )
        )


def find_needed_values(item: Item, scenario: Scenario) -> tuple[NeededValue, ...]:
    """The values of an answer that stand in its evidence as it was fed, each with its first day.

    They are the atoms of the truth. Without atoms they are the numbers and names of the reference
    that are not in the question, or else its other words.
    """
    truth = item.truth
    if truth.expects is not Expects.ANSWER:
        return ()
    days = sorted({cited.day for cited in truth.evidence})
    texts = {each.day: each.text for each in scenario.fed_episodes if each.day in days}
    pages = {day: WordSequence(texts[day]) for day in days if day in texts}
    for values in _list_candidates(item):
        found = {
            value: next((day for day, page in pages.items() if page.contains(words)), None)
            for value in values
            if not (words := WordSequence(value)).is_empty
        }
        if needed := [
            NeededValue(value=value, day=day) for value, day in found.items() if day is not None
        ]:
            return tuple(needed)
    return ()


def _list_candidates(item: Item) -> Iterator[list[str]]:
    """Values that a note may have to hold, the most telling kind first."""
    reference = item.truth.reference
    asked = {*normalise_words(item.text), *STOPWORDS}
    yield list(item.truth.atoms)
    named = _NAME_OR_NUMBER.findall(reference)
    yield [word for word in named if not asked.issuperset(normalise_words(word))]
    yield [word for word in normalise_words(reference) if word not in asked]
