"""Behaviour stories: a history, questions, and the steps that are done with one or more memories.

A scenario is fed and asked. A behaviour story also erases, consolidates, restarts, lists and waits,
and may hold several memories at once. Every step is decided before the run, so two runs with one
seed do the same.
"""

from collections.abc import Iterator

from recall_bench.core.memory import EraseScope
from recall_bench.core.record import Record
from recall_bench.core.scenario import Episode, Scenario


class _Step(Record, frozen=True, kw_only=True, omit_defaults=True, tag_field="do"):
    phase: str
    """The part of the story the step belongs to: a checkpoint of the plan."""


class WriteStep(_Step, frozen=True, kw_only=True, tag="write"):
    """Feed one episode."""

    episode: str
    """The id of an episode of the scenario."""


class SettleStep(_Step, frozen=True, kw_only=True, tag="settle"):
    """Wait until everything written can be asked about."""


class AskStep(_Step, frozen=True, kw_only=True, tag="ask"):
    """Ask questions, one after the other."""

    items: tuple[str, ...]
    is_kept: bool = False
    """Whether each answer is recorded at once, and stays if the story is cut off: the memory is fed
    again, and asked what is still open. Asking must not change what is asked later."""


class EraseStep(_Step, frozen=True, kw_only=True, tag="erase"):
    """Let the memory erase something."""

    scope: EraseScope
    value: str
    """The subject, the id, the session, the person or the number of days."""


class ConsolidateStep(_Step, frozen=True, kw_only=True, tag="consolidate"):
    """Let the memory do what it does at night."""


class RestartStep(_Step, frozen=True, kw_only=True, tag="restart"):
    """End the memory's process, and go on with what it left."""

    kill: bool = False
    """Whether it is killed instead of closed."""


class LookStep(_Step, frozen=True, kw_only=True, tag="look"):
    """Look for planted strings in everything that the memory lists and in its files."""

    planted: tuple[str, ...]


class PollStep(_Step, frozen=True, kw_only=True, tag="poll"):
    """Ask one question again and again until its answer is as wanted."""

    item: str
    wants: bool
    """Whether the atoms of the question are awaited in answer or passages; otherwise the absence of
    its canaries from the answer."""
    patience_s: float
    again: int = 0
    """How often it is asked again afterwards: once seen, it must stay."""


class WaitStep(_Step, frozen=True, kw_only=True, tag="wait"):
    """Wait for the other memories of the story to come as far as this."""

    name: str


class LoadStep(_Step, frozen=True, kw_only=True, tag="load"):
    """Ask and write at times that do not depend on how fast the system replies."""

    rate: float
    """Arrivals a second at this memory, on average."""
    seconds: float
    """How long arrivals go on."""
    items: tuple[str, ...]
    """Asked in turn."""
    episodes: tuple[str, ...]
    """Written in turn, each once; when there are no more, everything is asked."""
    write_share: float
    seed: int


Step = (
    WriteStep
    | SettleStep
    | AskStep
    | EraseStep
    | ConsolidateStep
    | RestartStep
    | LookStep
    | PollStep
    | WaitStep
    | LoadStep
)


class MemoryLane(Record, frozen=True, kw_only=True):
    """One memory of a story, and what is done with it."""

    name: str
    opened_as: str
    """The name under which the system is asked to open it."""
    steps: tuple[Step, ...]


class BehaviourStory(Record, frozen=True, kw_only=True):
    """A story of a behaviour suite."""

    scenario: Scenario
    """Every episode that is written, and every question that is asked."""
    variant: str
    """What it tests, such as `forget` or `delete-session`."""
    phases: tuple[str, ...]
    """In order."""
    lanes: tuple[MemoryLane, ...]

    def __post_init__(self) -> None:
        episodes = {episode.id for episode in self.scenario.episodes}
        items = {item.id for item in self.scenario.items}
        for step in self.list_steps():
            if step.phase not in self.phases:
                raise ValueError(f"{self.scenario.id}: {step.phase} is not a phase of this story")
            if isinstance(step, WriteStep) and step.episode not in episodes:
                raise ValueError(f"{self.scenario.id}: there is no episode {step.episode}")
            questions = _list_asked(step)
            if unknown := next((question for question in questions if question not in items), None):
                raise ValueError(f"{self.scenario.id}: there is no question {unknown}")

    def list_steps(self) -> Iterator[Step]:
        """Yield the steps of all lanes."""
        for lane in self.lanes:
            yield from lane.steps

    def get_episode(self, name: str) -> Episode:
        """Return the episode with this id."""
        return next(episode for episode in self.scenario.episodes if episode.id == name)

    @property
    def asked(self) -> dict[str, tuple[str, ...]]:
        """By phase, the ids of the questions that are asked in it and recorded as trials."""
        items: dict[str, tuple[str, ...]] = dict.fromkeys(self.phases, ())
        for step in self.list_steps():
            if isinstance(step, AskStep):
                items[step.phase] += step.items
        return items


def _list_asked(step: Step) -> tuple[str, ...]:
    if isinstance(step, AskStep | LoadStep):
        return step.items
    return (step.item,) if isinstance(step, PollStep) else ()
