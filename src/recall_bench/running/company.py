"""Everyone who takes part in a run, and where they are heard."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from recall_bench.core.event import Answered, Judged
from recall_bench.core.memory import MemorySystem
from recall_bench.core.question import Scenario
from recall_bench.core.reader import Reader
from recall_bench.core.shard import WorkUnit
from recall_bench.core.standing import TrialState
from recall_bench.core.usage import Usage
from recall_bench.running.examination import Meter, Recorder
from recall_bench.running.grade import Judges


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """Everyone and everything a run needs beside its plan."""

    system: MemorySystem
    bench: Judges
    load: Callable[[str], Scenario]
    """The scenario called by an id; called at most once for each, when its turn comes."""
    record: Recorder
    unjudged: Callable[[str, frozenset[TrialState]], Iterable[Answered]]
    """Answers of a scenario recorded before this call whose trials stand in one of the states."""
    judged: Callable[[str], Iterable[Judged]]
    """The last verdict on record on each judged trial of a scenario."""
    reader: Reader | None = None
    """Who answers from what the system finds; None leaves answering to the system."""
    meter: Meter | None = None
    """Tells what the system spends at our model endpoint, where it is given one."""
    parallelism: int = 1
    skip_catchup: bool = False
    asks: bool = True
    """Whether questions are put; if not, nothing is fed either, and answers are only judged."""
    max_cost_usd: float | None = None
    """What judging and reading may cost in all, earlier processes included; None is no limit."""
    max_tokens: int | None = None
    """How many tokens that may take in all."""
    max_calls: int | None = None
    """So many calls may be under way to the system, and to any one provider; None is no limit."""
    elsewhere: Callable[[], Usage] = Usage
    """What other runs have spent that keep to the same limits."""
    shards: Callable[[str], tuple[WorkUnit, ...]] | None = None
    """The shards of a scenario that are this run's to ask; None is all there is. A run of only
    some never says that it has ended: what is left of the plan is for others to do."""
