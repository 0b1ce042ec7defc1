"""Watches the play and asks about it."""

from collections.abc import Iterator
from heapq import heappop, heappush

from recall_bench.world.ledger import Thread
from recall_bench.world.play import SimulatedDay
from recall_bench.world.questions.boundary import ask_secrets
from recall_bench.world.questions.contradiction import ask_changed_values
from recall_bench.world.questions.crossing import SharedValueQuestions
from recall_bench.world.questions.draft import LedgerQuestion, QuestionContext
from recall_bench.world.questions.negative import ask_optional_steps
from recall_bench.world.questions.recall import SILENCE, ask_old_values, ask_values
from recall_bench.world.questions.selection import WINDOW, QuestionQuotas
from recall_bench.world.questions.synthesis import ask_tallies
from recall_bench.world.questions.temporal import OrderQuestions, ask_step_dates
from recall_bench.world.sources import RoutineProcess


class LedgerQuestionGenerator:
    """Turns what has been played into questions, holding on to no more than it still needs."""

    def __init__(
        self, desk: QuestionContext, processes: dict[str, RoutineProcess], seed: int
    ) -> None:
        self._desk = desk
        self._processes = processes
        self._selection = QuestionQuotas(seed)
        self._order = OrderQuestions()
        self._crossings = SharedValueQuestions()
        self._open: dict[str, Thread] = {}
        self._ageing: list[tuple[int, str, Thread]] = []
        self._month = ""
        self._begun: dict[str, list[Thread]] = {}
        self._window = 0
        self._day = 0

    def observe_day(self, played: SimulatedDay) -> Iterator[LedgerQuestion]:
        """Take note of a day; whatever is to be asked of a window that is over comes out."""
        day = played.page.day
        self._close_month(day)
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
            self._draft_questions(thread)
        self._draft_old_questions(day)

    def finish(self) -> Iterator[LedgerQuestion]:
        """What is left to ask once the last day is played."""
        for thread in self._open.values():
            if thread.happenings:
                self._draft_questions(thread)
        yield from self._selection.close_window()
        yield from self._selection.select_authored_questions()

    def _draft_questions(self, thread: Thread) -> None:
        desk = self._desk
        for make in (
            ask_values,
            ask_changed_values,
            ask_step_dates,
            ask_optional_steps,
            ask_secrets,
        ):
            self._selection.add_drafts(make(thread, desk))
        self._selection.add_drafts(self._order.ask_orders(thread, desk))
        self._selection.add_drafts(self._crossings.ask_shared_values(thread, desk))
        heappush(self._ageing, (thread.last_named + SILENCE, thread.key, thread))

    def _draft_old_questions(self, day: int) -> None:
        while self._ageing and self._ageing[0][0] <= day:
            _, _, thread = heappop(self._ageing)
            if thread.last_named + SILENCE > day:
                heappush(self._ageing, (thread.last_named + SILENCE, thread.key, thread))
                continue
            self._selection.add_drafts(ask_old_values(thread, self._desk))

    def _close_month(self, day: int) -> None:
        month = self._desk.stage.dates.get_month(day)
        if month == self._month:
            return
        for source, threads in self._begun.items():
            process = self._processes[source]
            drafts = ask_tallies(process, self._month, threads, self._day, self._desk)
            self._selection.add_drafts(drafts)
        self._begun = {}
        self._month = month
