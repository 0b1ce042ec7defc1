"""Those who carry out a plan, as any process can call them together from the same settings."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import anyio

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.event import Answered, Judged
from recall_bench.core.fingerprint import build_scenario_card
from recall_bench.core.memory import MemorySystem, MeteringSystem, Reader
from recall_bench.core.plan import Plan, ScenarioCard
from recall_bench.core.scenario import Scenario
from recall_bench.core.trial_states import TrialState
from recall_bench.core.usage import Usage
from recall_bench.core.work_unit import WorkUnit
from recall_bench.datasets.supporting_passages import share_evidence
from recall_bench.judging.judge_call import Judges
from recall_bench.running.scenario_run import Meter, Recorder

_CLOSE_TIMEOUT_S = 5.0
"""How long judges and readers may take to hang up, even where a run is cut short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """A system, its judges and its reader, live in this process."""

    system: MemorySystem
    bench: Judges
    load: Callable[[str], Scenario]
    """The scenario of an id, read anew."""
    reader: Reader | None = None
    """Who answers from what the system finds."""

    @property
    def meter(self) -> Meter | None:
        """Tells what the system spends on models, where we count it."""
        return self.system.drain if isinstance(self.system, MeteringSystem) else None

    def refuse_others(self, plan: Plan) -> None:
        """Raise UsageError unless these are the ones that the plan names."""
        appellate = self.bench.appellate
        here = {
            "system": (self.system.card, plan.system),
            "judge": (self.bench.judge.card, plan.judge),
            "appellate judge": (None if appellate is None else appellate.card, plan.appellate),
            "reader": (None if self.reader is None else self.reader.card, plan.reader),
        }
        for role, (found, planned) in here.items():
            if found != planned:
                raise UsageError(
                    f"this worker has another {role} than the plan ({_format_card(found)}, planned was "
                    f"{_format_card(planned)}); install the same versions everywhere"
                )

    def load_planned(self, planned: ScenarioCard) -> Scenario:
        """The scenario as it was planned; DataError if it is another by now."""
        loaded = self.load(planned.id)
        if build_scenario_card(loaded) != planned:
            raise DataError(
                f"{planned.id} was changed since the run was planned; restore it to go on, "
                "or start again in another folder"
            )
        share_evidence(self.system, loaded)
        return loaded

    async def close(self) -> None:
        """Let everyone go."""
        await self.system.close()
        with anyio.move_on_after(_CLOSE_TIMEOUT_S, shield=True):
            await self.bench.close()
            if self.reader is not None:
                await self.reader.close()


ComponentFactory = Callable[[], Components]
"""Calls a staff together. One that can be pickled can do so in any process."""


def _format_card(card: object) -> str:
    name, version = getattr(card, "name", None), getattr(card, "version", None)
    return "none" if card is None else f"{name} {version}"


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
