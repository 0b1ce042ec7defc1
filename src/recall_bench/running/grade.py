"""Puts recorded answers before a judge. Needs the journal and the dataset, never the system."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Self

import anyio
from anyio.lowlevel import checkpoint as breathe

from recall_bench.core.event import Answered, Judged, NotJudged
from recall_bench.core.history import Episode
from recall_bench.core.plan import Plan
from recall_bench.core.question import Item, Scenario
from recall_bench.core.standing import ScenarioStanding
from recall_bench.core.verdict import Exhibit, Judge, Verdict
from recall_bench.errors import JudgeFault, JudgeTimeout
from recall_bench.running.docket import Docket
from recall_bench.running.examination import Recorder
from recall_bench.running.patience import Busy, persistently, postponed, within

_TURN = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Who judges."""

    judge: Judge
    appellate: Judge | None = None

    def study(self, scenario: Scenario) -> None:
        """Let everyone prepare."""
        self.judge.study(scenario)
        if self.appellate is not None:
            self.appellate.study(scenario)


@dataclass(frozen=True, slots=True)
class _Chair:
    """A judge, and how long a verdict may take: for ever where it only computes."""

    judge: Judge
    timeout_s: float | None

    @classmethod
    def of(cls, judge: Judge, plan: Plan) -> Self:
        return cls(judge, None if judge.card.computes else plan.judge_timeout_s)

    async def rule(self, exhibit: Exhibit, told: Callable[[Busy], None]) -> Verdict:
        """The verdict, asked for again while the judge is busy; a JudgeFault if there is none."""
        return await persistently(partial(self._once, exhibit), told)

    async def _once(self, exhibit: Exhibit) -> Verdict:
        if self.timeout_s is None:
            return await self.judge.judge(exhibit)
        overrun = JudgeTimeout(f"no verdict within {self.timeout_s:g} s")
        return await within(self.timeout_s, self.judge.judge(exhibit), overrun)


class Grading:
    """One scenario's answers before the bench."""

    def __init__(
        self,
        scenario: Scenario,
        standing: ScenarioStanding,
        *,
        plan: Plan,
        bench: Bench,
        record: Recorder,
    ) -> None:
        self._scenario = scenario
        self._standing = standing
        self._plan = plan
        self._record = record
        self._verdicts = 0
        self._first = _Chair.of(bench.judge, plan)
        self._second = _Chair.of(bench.appellate, plan) if bench.appellate is not None else None
        self._episodes = {episode.day: episode for episode in scenario.episodes}
        self._asked_at = {
            sheet.checkpoint.label: (scenario.date_of(sheet.cutoff), sheet.cutoff)
            for sheet in standing.sheets
        }

    async def run(
        self,
        left_over: Iterable[Answered],
        docket: Docket,
        overflow: Callable[[], Iterable[Answered]],
        workers: int,
    ) -> None:
        """Judge what an earlier run left, then what comes, then what the docket could not hold."""
        await self._all(left_over, workers)
        async with anyio.create_task_group() as group:
            for _ in range(workers):
                group.start_soon(self._from_docket, docket)
        if docket.overflowed:
            await self._all(overflow(), workers)

    async def _from_docket(self, docket: Docket) -> None:
        while (answered := await docket.next()) is not None:
            self._record(await self._judged(answered))
            await self._breathe()

    async def _all(self, answers: Iterable[Answered], workers: int) -> None:
        shared = iter(answers)

        async def work() -> None:
            for answered in shared:
                self._record(await self._judged(answered))
                await self._breathe()

        async with anyio.create_task_group() as group:
            for _ in range(workers):
                group.start_soon(work)

    async def _breathe(self) -> None:
        """Let the others have a turn now and then: a judge that computes never waits."""
        self._verdicts += 1
        if self._verdicts % _TURN == 0:
            await breathe()

    async def _judged(self, answered: Answered) -> Judged | NotJudged:
        trial = answered.trial
        exhibit = self._exhibit(answered)

        def told(busy: Busy) -> None:
            self._record(postponed(trial, busy))

        try:
            verdict = await self._first.rule(exhibit, told)
        except JudgeFault as fault:
            kind = type(fault).__name__
            return NotJudged(at=datetime.now(UTC), trial=trial, fault=kind, message=str(fault))
        if self._second is None or not verdict.is_failure:
            return Judged(at=datetime.now(UTC), trial=trial, verdict=verdict)
        try:
            final = await self._second.rule(exhibit, told)
        except JudgeFault as fault:
            reason = f"{type(fault).__name__}: {fault}"
            return Judged(at=datetime.now(UTC), trial=trial, verdict=verdict, review_fault=reason)
        return Judged(at=datetime.now(UTC), trial=trial, verdict=final, primary=verdict)

    def _exhibit(self, answered: Answered) -> Exhibit:
        trial = answered.trial
        item = self._standing.items[self._standing.index[trial.item]]
        asked_at, days = self._asked_at[trial.checkpoint]
        return Exhibit(
            scenario=trial.scenario,
            item=item,
            answer=answered.answer,
            asked_at=asked_at,
            days=days,
            excerpts=tuple(self._excerpts(item, days)),
        )

    def _excerpts(self, item: Item, days: int) -> Iterator[Episode]:
        """The evidence days and their neighbours, none later than the checkpoint."""
        window = self._plan.judge_memory_window
        if window == 0:
            return
        wanted = {
            day
            for cited in item.truth.evidence
            for day in range(cited.day - window, cited.day + window + 1)
        }
        for day in sorted(wanted):
            if day <= days and day in self._episodes:
                yield self._episodes[day]
