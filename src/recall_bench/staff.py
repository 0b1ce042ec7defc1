"""Those who carry out a plan, as any process can call them together from the same settings."""

from collections.abc import Callable
from dataclasses import dataclass

import anyio

from recall_bench.core.fingerprint import build_scenario_card
from recall_bench.core.memory import MemorySystem, MeteringSystem
from recall_bench.core.plan import Plan, ScenarioCard
from recall_bench.core.question import Scenario
from recall_bench.core.reader import Reader
from recall_bench.datasets.evidence import share_evidence
from recall_bench.errors import DataError, UsageError
from recall_bench.running.examination import Meter
from recall_bench.running.grade import Judges

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
