"""Answers on their way to judges in other processes, whoever asked for them."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

import anyio

from recall_bench.core.event import Answered, Event, Judged, NotJudged
from recall_bench.core.plan import Trial
from recall_bench.core.standing import TrialState
from recall_bench.core.verdict import Judge, Verdict
from recall_bench.errors import BudgetSpent, JudgeGone
from recall_bench.executors.assignments import GradeTask, ReviewTask, WorkerLost
from recall_bench.executors.office import Driver
from recall_bench.running.calls import name_provider
from recall_bench.running.docket import AnswerQueue
from recall_bench.running.owing import WITHOUT_VERDICT

T = TypeVar("T")

_BATCH = 32
"""So many answers are judged in one assignment, if they are there: each costs a message."""
_LINGER_S = 0.1
"""How long a judge that only computes waits for a batch to fill: it is in no hurry."""


class JudgeDispatcher:
    """Has the answers of scenarios graded, and verdicts reviewed that are due."""

    def __init__(self, office: Driver) -> None:
        bench = office.company.bench
        self._office = office
        self._is_free = bench.judge.card.computes
        judges = (bench.judge, bench.appellate)
        self._whom = [
            _name_provider(judge) for judge in judges if judge and not judge.card.computes
        ]

    def list_leftovers(self, scenario: str) -> Iterable[Answered]:
        """What an earlier process left unjudged; to be asked for before anything is asked anew."""
        return self._office.company.unjudged(scenario, WITHOUT_VERDICT)

    async def judge_scenario(
        self, scenario: str, left_over: Iterable[Answered], docket: AnswerQueue
    ) -> None:
        """Judge what an earlier process left, then what comes, then what did not fit."""
        company = self._office.company
        await self._judge_all(scenario, left_over)
        turn = anyio.Lock()
        async with anyio.create_task_group() as group:
            for _ in range(self._office.crew.size):
                come = partial(self._judge_queue, scenario, docket, turn)
                group.start_soon(self._office.run_guarded, come)
        if docket.overflowed:
            await self._judge_all(
                scenario, company.unjudged(scenario, frozenset({TrialState.ANSWERED}))
            )
        if self._may_judge and (due := self._office.owing.find_due_reviews(scenario)):
            verdicts = self._office.owing.list_first_verdicts(scenario, due)
            await self._run_batches(partial(self._review_batch, scenario), _split_batches(verdicts))

    @property
    def _may_judge(self) -> bool:
        return self._is_free or self._office.court.stop_reason is None

    async def _judge_all(self, scenario: str, answers: Iterable[Answered]) -> None:
        await self._run_batches(partial(self._judge_batch, scenario), _split_batches(answers))

    async def _run_batches(
        self, judge: Callable[[tuple[T, ...]], Awaitable[None]], batches: Iterator[tuple[T, ...]]
    ) -> None:
        """Each batch to one of as many tasks as there are workers."""

        async def run_worker() -> None:
            for batch in batches:
                if not self._may_judge:
                    return
                await judge(batch)

        async with anyio.create_task_group() as group:
            for _ in range(self._office.crew.size):
                group.start_soon(self._office.run_guarded, run_worker)

    async def _judge_queue(self, scenario: str, docket: AnswerQueue, turn: anyio.Lock) -> None:
        linger_s = _LINGER_S if self._is_free else 0.0
        limit = _BATCH if self._is_free else self._office.company.parallelism
        while True:
            # One after another: all at once would each wait for a batch and share one out.
            async with turn:
                answers = await docket.take(limit, linger_s)
            if not answers:
                return
            if not self._may_judge:
                return
            await self._judge_batch(scenario, answers)

    async def _judge_batch(self, scenario: str, answers: Sequence[Answered]) -> None:
        def make_task(left: Sequence[Answered]) -> GradeTask:
            return GradeTask(scenario=scenario, answers=tuple(left))

        try:
            await self._run_until_judged(
                make_task, {answered.trial: answered for answered in answers}
            )
        except (BudgetSpent, JudgeGone) as reason:
            if not self._is_free:
                raise
            # Verdicts cost nothing and are all there: only their reviews are not.
            self._office.stop(reason)

    async def _review_batch(
        self, scenario: str, verdicts: Sequence[tuple[Answered, Verdict]]
    ) -> None:
        def make_task(left: Sequence[tuple[Answered, Verdict]]) -> ReviewTask:
            return ReviewTask(scenario=scenario, verdicts=tuple(left))

        await self._run_until_judged(
            make_task, {answered.trial: (answered, at) for answered, at in verdicts}
        )

    async def _run_until_judged(
        self, assignment: Callable[[Sequence[T]], GradeTask | ReviewTask], left: dict[Trial, T]
    ) -> None:
        """Have all of it judged; what is left, by another worker, if one dies over it."""
        deaths = 0
        while left and self._may_judge:
            heard: set[Trial] = set()
            try:
                await self._run_task(assignment(tuple(left.values())), heard)
                return
            except WorkerLost as lost:
                deaths = 0 if heard else deaths + lost.has_begun
                where = f"judging {next(iter(left)).scenario}"
                if self._office.give_up(deaths, where, lost):
                    return
                left = {trial: each for trial, each in left.items() if trial not in heard}

    async def _run_task(self, assignment: GradeTask | ReviewTask, heard: set[Trial]) -> None:
        def note_verdict(event: Event) -> None:
            if isinstance(event, Judged | NotJudged):
                heard.add(event.trial)

        at_once = self._office.company.parallelism
        await self._office.perform(assignment, whom=self._whom, at_once=at_once, heard=note_verdict)


def _name_provider(judge: Judge) -> str:
    return name_provider(judge.card.model or judge.card.name)


def _split_batches(things: Iterable[T]) -> Iterator[tuple[T, ...]]:
    left = iter(things)
    while batch := tuple(islice(left, _BATCH)):
        yield batch
