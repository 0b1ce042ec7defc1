"""What a run is made of: system, judges, reader and scenarios, and the context they run in."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

import anyio

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.event import Answered, Event, Judged
from recall_bench.core.event_redaction import redact_card
from recall_bench.core.memory import (
    EvidenceControl,
    MemorySystem,
    MeteringSystem,
    PassageControl,
    Reader,
    ReaderCard,
    SystemCard,
)
from recall_bench.core.plan import Plan, ScenarioCard, build_scenario_card
from recall_bench.core.scenario import Scenario
from recall_bench.core.trial_states import TrialState
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import JudgeCard
from recall_bench.core.work_unit import WorkUnit
from recall_bench.judging.judge_call import Judges

_CLOSE_TIMEOUT_S = 5.0
"""How long judges and reader may take to close, even if the run was interrupted."""


Card = SystemCard | JudgeCard | ReaderCard
Recorder = Callable[[Event], None]

Meter = Callable[[], Usage]
"""Returns what the system spent on language models since the last call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """A system, its judges and its reader, open in this process."""

    system: MemorySystem
    judges: Judges
    load: Callable[[str], Scenario]
    """Loads the scenario with this id."""
    reader: Reader | None = None
    """Answers from the passages that the system returns."""

    @property
    def meter(self) -> Meter | None:
        """Returns what the system spends on models; None if we cannot count it."""
        return self.system.drain if isinstance(self.system, MeteringSystem) else None

    def list_others(self, plan: Plan) -> Iterator[tuple[str, object, object]]:
        """Each role that another component has than the plan names, with both cards."""
        appellate = self.judges.appellate
        others = [judge.card for judge in self.judges.others]
        here: dict[str, tuple[Card | None, Card | None]] = {
            "system": (self.system.card, plan.system),
            "judge": (self.judges.judge.card, plan.judge),
            "appellate judge": (None if appellate is None else appellate.card, plan.appellate),
            "reader": (None if self.reader is None else self.reader.card, plan.reader),
        }
        for number, pair in enumerate(zip_longest(others, plan.other_judges), start=2):
            here[f"judge {number}"] = pair
        for role, (card, planned) in here.items():
            redacted = None if card is None else redact_card(card)
            if redacted != planned:
                yield role, redacted, planned

    def refuse_others(self, plan: Plan) -> None:
        """Raise UsageError unless these are the components that the plan names."""
        for role, here, planned in self.list_others(plan):
            raise UsageError(
                f"this worker has another {role} than the plan ({_format_card(here)}, "
                f"planned was {_format_card(planned)}); install the same versions everywhere"
            )

    def load_planned(self, planned: ScenarioCard) -> Scenario:
        """Load a scenario; DataError if it changed since the run was planned."""
        loaded = self.load(planned.id)
        if build_scenario_card(loaded) != planned:
            raise DataError(
                f"{planned.id} was changed since the run was planned; restore it to go on, "
                "or start again in another folder"
            )
        if isinstance(self.system, EvidenceControl | PassageControl):
            from recall_bench.stories.supporting_passages import share_evidence

            share_evidence(self.system, loaded)
        return loaded

    async def close(self) -> None:
        """Close the system, the judges and the reader."""
        await self.system.close()
        with anyio.move_on_after(_CLOSE_TIMEOUT_S, shield=True):
            await self.judges.close()
            if self.reader is not None:
                await self.reader.close()


ComponentFactory = Callable[[], Components]
"""Builds the components of a run. If it can be pickled, any process can build them."""


def _format_card(card: object) -> str:
    name, version = getattr(card, "name", None), getattr(card, "version", None)
    return "none" if card is None else f"{name} {version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """Everything a run needs beside its plan."""

    system: MemorySystem
    judges: Judges
    load: Callable[[str], Scenario]
    """Loads the scenario with this id; called at most once for each."""
    record: Recorder
    find_answers: Callable[[str, frozenset[TrialState]], Iterable[Answered]]
    """Finds the answers of a scenario recorded so far whose trials are in one of these states."""
    find_verdicts: Callable[[str], Iterable[Judged]]
    """Finds the last verdict on each judged trial of a scenario."""
    reader: Reader | None = None
    """Answers from the passages that the system returns; None if the system answers itself."""
    meter: Meter | None = None
    """Returns what the system spends at our model endpoint; None if it does not use it."""
    parallelism: int = 1
    skip_catchup: bool = False
    asks: bool = True
    """Whether the system is fed and asked; if not, recorded answers are only judged."""
    max_cost_usd: float | None = None
    """What judging and reading may cost in all, earlier processes included; None is no limit."""
    max_tokens: int | None = None
    """How many tokens judging and reading may take in all; None is no limit."""
    max_calls: int | None = None
    """Calls at a time to the system, and to any one provider; None is no limit."""
    spent_elsewhere: Callable[[], Usage] = Usage
    """Returns what other runs under the same limits have spent."""
    units: Callable[[str], tuple[WorkUnit, ...]] | None = None
    """Lists the work units of a scenario that belong to this shard; None if the run is whole.
    A shard never records that the run has ended."""
