"""Drafts questions during the simulation and selects them by quota."""

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from heapq import heappop, heappush

from recall_bench.core.random_stream import RandomStream
from recall_bench.core.scenario import (
    ATTRIBUTION,
    BOUNDARY,
    CONTRADICTION,
    CROSS_REFERENCE,
    DECISION,
    FACTUAL,
    NEGATIVE,
    RECENCY,
    SYNTHESIS,
    TEMPORAL,
)
from recall_bench.features.personas.world.event_questions import (
    OrderQuestions,
    ask_step_dates,
    ask_tallies,
)
from recall_bench.features.personas.world.fact_questions import (
    SILENCE,
    SharedValueQuestions,
    ask_changed_values,
    ask_old_values,
    ask_optional_steps,
    ask_values,
)
from recall_bench.features.personas.world.ledger import Thread
from recall_bench.features.personas.world.question_draft import LedgerQuestion, QuestionContext
from recall_bench.features.personas.world.secret_questions import ask_secrets
from recall_bench.features.personas.world.simulation import SimulatedDay
from recall_bench.features.personas.world.sources import RoutineProcess

WINDOW = 30
"""Days over which the kinds of questions are balanced."""

_QUOTAS = {
    FACTUAL: 3,
    f"{TEMPORAL}/date": 1,
    f"{TEMPORAL}/gap": 1,
    f"{TEMPORAL}/order2": 1,
    f"{TEMPORAL}/order3": 1,
    DECISION: 2,
    f"{CONTRADICTION}/now": 2,
    f"{CONTRADICTION}/then": 1,
    CROSS_REFERENCE: 2,
    RECENCY: 2,
    f"{SYNTHESIS}/count": 1,
    f"{SYNTHESIS}/total": 1,
    f"{SYNTHESIS}/highest": 1,
    f"{SYNTHESIS}/lowest": 1,
    f"{NEGATIVE}/yes": 2,
    f"{NEGATIVE}/no": 2,
    ATTRIBUTION: 2,
    BOUNDARY: 2,
}
_BALANCED = frozenset({f"{SYNTHESIS}/count", f"{TEMPORAL}/gap"})
"""Kinds whose answer is a small number: no constant answer may be right too often."""

_MAX_BACKLOG_WINDOWS = 3
"""Windows of unfilled quota that may be made up later."""

_AUTHORED_QUOTA = 3
"""Questions on the authored story per category and window."""


class QuestionQuotas:
    """Collects drafts and selects some of them, window by window.

    All drafts about one secret are kept together and count as one.
    """

    def __init__(self, seed: int) -> None:
        self._chance = RandomStream(seed, "selection")
        self._waiting: dict[str, list[list[LedgerQuestion]]] = {bucket: [] for bucket in _QUOTAS}
        self._owed = dict.fromkeys(_QUOTAS, 0)
        self._authored: dict[tuple[int, str], list[list[LedgerQuestion]]] = {}
        self._asked: set[bytes] = set()
        self._given: Counter[tuple[str, str]] = Counter()

    def add_drafts(self, drafts: Iterable[LedgerQuestion]) -> None:
        """Consider the drafts of one thread for the current window."""
        for group in _group_by_secret(drafts):
            first = group[0]
            if first.is_authored:
                window = (min(draft.known_from for draft in group) - 1) // WINDOW
                self._authored.setdefault((window, first.category), []).append(group)
            else:
                self._waiting[(first.kind if first.kind in _QUOTAS else first.category)].append(
                    group
                )

    def close_window(self) -> Iterator[LedgerQuestion]:
        """The selection of this window; the rest is dropped."""
        for bucket, quota in _QUOTAS.items():
            self._owed[bucket] = min(self._owed[bucket] + quota, quota * _MAX_BACKLOG_WINDOWS)
            for group in self._order_waiting(bucket):
                if self._owed[bucket] == 0:
                    break
                if fresh := self._keep_new(group):
                    self._owed[bucket] -= 1
                    self._given[bucket, fresh[0].reference] += bucket in _BALANCED
                    yield from fresh
            self._waiting[bucket] = []

    def _order_waiting(self, bucket: str) -> list[list[LedgerQuestion]]:
        """Waiting drafts in random order; small numbers by how rarely they were the answer."""
        waiting = self._chance.shuffle(self._waiting[bucket])
        if bucket not in _BALANCED:
            return waiting
        return sorted(waiting, key=lambda group: self._given[bucket, group[0].reference])

    def select_authored_questions(self) -> Iterator[LedgerQuestion]:
        """Questions on the authored story, spread over its windows."""
        for key in sorted(self._authored):
            chosen = 0
            for group in self._chance.shuffle(self._authored[key]):
                if chosen == _AUTHORED_QUOTA:
                    break
                if fresh := self._keep_new(group):
                    chosen += 1
                    yield from fresh

    def _keep_new(self, group: list[LedgerQuestion]) -> list[LedgerQuestion]:
        """The drafts of a group that do not contain their answer and are not asked yet."""
        fresh = []
        for draft in group:
            since = draft.known_from if draft.secret else None
            keys = {
                _hash_wording(wording, draft.session, since) for wording in draft.list_unspoilt()
            }
            if keys and not keys & self._asked:
                self._asked |= keys
                fresh.append(draft)
        return fresh


def _hash_wording(wording: str, session: str | None, since: int | None) -> bytes:
    return blake2b(f"{wording}\0{session}\0{since}".encode(), digest_size=8).digest()


def _group_by_secret(drafts: Iterable[LedgerQuestion]) -> list[list[LedgerQuestion]]:
    groups: dict[object, list[LedgerQuestion]] = {}
    for number, draft in enumerate(drafts):
        groups.setdefault(draft.secret or number, []).append(draft)
    return list(groups.values())


class LedgerQuestionGenerator:
    """Turns simulated days into questions, keeping only the threads it still needs."""

    def __init__(
        self, context: QuestionContext, processes: dict[str, RoutineProcess], seed: int
    ) -> None:
        self._context = context
        self._processes = processes
        self._selection = QuestionQuotas(seed)
        self._order = OrderQuestions()
        self._crossings = SharedValueQuestions()
        self._open: dict[str, Thread] = {}
        self._ageing: list[tuple[int, str, Thread]] = []
        self._month = ""
        self._started: dict[str, list[Thread]] = {}
        self._window = 0
        self._day = 0

    def observe_day(self, simulated: SimulatedDay) -> Iterator[LedgerQuestion]:
        """Process a day; yields the questions of a window that has ended."""
        day = simulated.page.day
        self._close_month(day)
        if (day - 1) // WINDOW > self._window:
            self._window = (day - 1) // WINDOW
            yield from self._selection.close_window()
        self._day = day
        for thread in simulated.started:
            self._open[thread.key] = thread
            if not thread.is_authored:
                self._started.setdefault(thread.source, []).append(thread)
        for thread in simulated.ended:
            self._open.pop(thread.key, None)
            self._draft_questions(thread)
        self._draft_old_questions(day)

    def finish(self) -> Iterator[LedgerQuestion]:
        """The remaining questions after the last day."""
        for thread in self._open.values():
            if thread.events:
                self._draft_questions(thread)
        yield from self._selection.close_window()
        yield from self._selection.select_authored_questions()

    def _draft_questions(self, thread: Thread) -> None:
        context = self._context
        for make in (
            ask_values,
            ask_changed_values,
            ask_step_dates,
            ask_optional_steps,
            ask_secrets,
        ):
            self._selection.add_drafts(make(thread, context))
        self._selection.add_drafts(self._order.ask_orders(thread, context))
        self._selection.add_drafts(self._crossings.ask_shared_values(thread, context))
        heappush(self._ageing, (thread.last_named + SILENCE, thread.key, thread))

    def _draft_old_questions(self, day: int) -> None:
        while self._ageing and self._ageing[0][0] <= day:
            _, _, thread = heappop(self._ageing)
            if thread.last_named + SILENCE > day:
                heappush(self._ageing, (thread.last_named + SILENCE, thread.key, thread))
                continue
            self._selection.add_drafts(ask_old_values(thread, self._context))

    def _close_month(self, day: int) -> None:
        month = self._context.world.dates.get_month(day)
        if month == self._month:
            return
        for source, threads in self._started.items():
            process = self._processes[source]
            drafts = ask_tallies(process, self._month, threads, self._day, self._context)
            self._selection.add_drafts(drafts)
        self._started = {}
        self._month = month
