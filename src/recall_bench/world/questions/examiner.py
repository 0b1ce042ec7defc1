"""Watches the play and asks about it."""

from collections.abc import Iterator
from heapq import heappop, heappush

from recall_bench.world.ledger import Thread
from recall_bench.world.play import Played
from recall_bench.world.questions.boundary import guarded
from recall_bench.world.questions.contradiction import contradicted
from recall_bench.world.questions.crossing import Crossings
from recall_bench.world.questions.draft import Desk, Draft
from recall_bench.world.questions.negative import denied
from recall_bench.world.questions.recall import SILENCE, long_ago, recalled
from recall_bench.world.questions.selection import WINDOW, Selection
from recall_bench.world.questions.synthesis import tallied
from recall_bench.world.questions.temporal import Order, timed
from recall_bench.world.sources import Process


class Examiner:
    """Turns what has been played into questions, holding on to no more than it still needs."""

    def __init__(self, desk: Desk, processes: dict[str, Process], seed: int) -> None:
        self._desk = desk
        self._processes = processes
        self._selection = Selection(seed)
        self._order = Order()
        self._crossings = Crossings()
        self._open: dict[str, Thread] = {}
        self._ageing: list[tuple[int, str, Thread]] = []
        self._month = ""
        self._begun: dict[str, list[Thread]] = {}
        self._window = 0
        self._day = 0

    def watch(self, played: Played) -> Iterator[Draft]:
        """Take note of a day; whatever is to be asked of a window that is over comes out."""
        day = played.page.day
        self._turn_month(day)
        if (day - 1) // WINDOW > self._window:
            self._window = (day - 1) // WINDOW
            yield from self._selection.close_window()
        self._day = day
        for thread in played.begun:
            self._open[thread.key] = thread
            if not thread.is_authored:
                self._begun.setdefault(thread.source, []).append(thread)
        for thread in played.ended:
            self._open.pop(thread.key, None)
            self._examine(thread)
        self._age(day)

    def finish(self) -> Iterator[Draft]:
        """What is left to ask once the last day is played."""
        for thread in self._open.values():
            if thread.happenings:
                self._examine(thread)
        yield from self._selection.close_window()
        yield from self._selection.authored()

    def _examine(self, thread: Thread) -> None:
        desk = self._desk
        for make in (recalled, contradicted, timed, denied, guarded):
            self._selection.offer(make(thread, desk))
        self._selection.offer(self._order.drafts(thread, desk))
        self._selection.offer(self._crossings.drafts(thread, desk))
        heappush(self._ageing, (thread.last_named + SILENCE, thread.key, thread))

    def _age(self, day: int) -> None:
        while self._ageing and self._ageing[0][0] <= day:
            _, _, thread = heappop(self._ageing)
            if thread.last_named + SILENCE > day:
                heappush(self._ageing, (thread.last_named + SILENCE, thread.key, thread))
                continue
            self._selection.offer(long_ago(thread, self._desk))

    def _turn_month(self, day: int) -> None:
        month = self._desk.stage.dates.month(day)
        if month == self._month:
            return
        for source, threads in self._begun.items():
            process = self._processes[source]
            drafts = tallied(process, self._month, threads, self._day, self._desk)
            self._selection.offer(drafts)
        self._begun = {}
        self._month = month
