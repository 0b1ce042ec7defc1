"""One scenario put to one system: what every step of asking needs to know."""

from collections.abc import Callable
from dataclasses import dataclass

from recall_bench.core.event import Event
from recall_bench.core.memory import MemorySystem
from recall_bench.core.plan import Plan
from recall_bench.core.question import Scenario
from recall_bench.core.standing import ScenarioStanding
from recall_bench.running.court import Court
from recall_bench.running.docket import Docket

Recorder = Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """The question paper, the candidate and where to write down what happens."""

    plan: Plan
    scenario: Scenario
    standing: ScenarioStanding
    system: MemorySystem
    record: Recorder
    docket: Docket
    court: Court
    """Says when nothing new is to be begun."""
    parallelism: int = 1
    skip_catchup: bool = False
    """Trust a system that attests what it has lived, instead of feeding it again."""
