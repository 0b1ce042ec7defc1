"""The sessions of an agent, from the journal of a run."""

from collections import defaultdict
from dataclasses import dataclass, field

from recall_bench.core.event import AgentEnded, ToolCalled, decode_event
from recall_bench.core.plan import Trial
from recall_bench.core.tool_call import AgentCall
from recall_bench.engine.runs.journal import JOURNAL, read_lines
from recall_bench.engine.runs.run_folder import RunFolder

_KINDS = (b'{"type":"tool_called"', b'{"type":"agent_ended"')
_Key = tuple[str, str, int | Trial | None]


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """One session with its calls."""

    ended: AgentEnded
    calls: tuple[AgentCall, ...]


@dataclass(slots=True)
class AgentLog:
    """The sessions of a run: about days by memory, about questions by trial."""

    days: dict[str, list[RecordedSession]] = field(default_factory=lambda: defaultdict(list))
    """By the name of the memory, in the order in which it was fed."""
    trials: dict[Trial, RecordedSession] = field(default_factory=dict)
    """The last session of each trial."""
    _calls: dict[_Key, list[AgentCall]] = field(default_factory=lambda: defaultdict(list))

    def note(self, event: ToolCalled | AgentEnded) -> None:
        """Apply one event; calls that no end follows were cut off with their process."""
        about = event.day if event.trial is None else event.trial
        key = event.scenario, event.memory, about
        if isinstance(event, ToolCalled):
            self._calls[key].append(event.call)
            return
        calls = self._calls.pop(key, [])
        session = RecordedSession(event, tuple(calls[len(calls) - event.calls :]))
        if event.trial is None:
            self.days[event.memory].append(session)
        else:
            self.trials[event.trial] = session


def read_agent_log(folder: RunFolder) -> AgentLog:
    """Read the sessions of a run; other events are skipped without being decoded."""
    log = AgentLog()
    for _, line in read_lines(folder.path / JOURNAL):
        if line.startswith(_KINDS):
            event = decode_event(line)
            if isinstance(event, ToolCalled | AgentEnded):
                log.note(event)
    return log
