"""Derive answers about steps and months: dates, gaps, order, occurrence, counts, totals."""

from collections.abc import Callable, Iterable
from decimal import Decimal

from recall_bench.generate.verification.day_parser import DaySentence
from recall_bench.generate.verification.derivation import (
    AnswerDerivation,
    DerivedAnswer,
    ExpectedValues,
)
from recall_bench.generate.verification.findings import VerificationCode
from recall_bench.generate.verification.statements import (
    SlotStatement,
    Underivable,
)
from recall_bench.generate.verification.value_readers import (
    Amount,
    Key,
    NameIndex,
    ValueReader,
    build_choice_reader,
    build_date_reader,
    build_number_reader,
    build_yes_no_reader,
)

StartedThreads = dict[str, list[DaySentence]]
"""The threads that started in the month, with the sentences that say so."""


class EventAnswers(AnswerDerivation):
    """Answers about steps and months."""

    def derive_step_date(self) -> DerivedAnswer:
        """The date of a step."""
        thread, step = self.recipe.get_text("thread"), self.recipe.get_text("step")
        mentions = self.lookup.require_step(thread, step, self.ask.day)
        return _build_answer([self._expect_date(thread, step, mentions)], [mentions])

    def derive_gap(self) -> DerivedAnswer:
        """The days from the first step of a thread to another step."""
        thread, step = self.recipe.get_text("thread"), self.recipe.get_text("step")
        first = self.lookup.require_first_step(self.lookup.get_thread(thread).process)
        began = self.lookup.require_step(thread, first, self.ask.day)
        mentions = self.lookup.require_step(thread, step, self.ask.day)
        days = mentions[0].day - began[0].day
        if days < 0:
            raise Underivable(
                VerificationCode.REFERENCE,
                f"{self.lookup.name_part(thread, step)} is told on day {mentions[0].day}, before "
                f"its first step on day {began[0].day}",
            )
        what = f"the days from {first} to {self.lookup.name_part(thread, step)}"
        return _build_answer(
            [_expect_one(what, build_number_reader(), Amount("", Decimal(days)), f"{days}")],
            [began, mentions],
        )

    def derive_order(self) -> DerivedAnswer:
        """Events by date, in the question's phrases."""
        events = [
            (self.lookup.require_step(thread, step, self.ask.day), phrase)
            for thread, step, phrase in self.recipe.list_rows("events", 3)
        ]
        events.sort(key=lambda event: event[0][0].day)
        days = [mentions[0].day for mentions, _ in events]
        if len(set(days)) < len(days):
            same = next(day for day in days if days.count(day) > 1)
            raise Underivable(
                VerificationCode.AMBIGUOUS,
                f"two of the events are told on day {same}, so neither comes first",
            )
        phrases = tuple(phrase for _, phrase in events)
        if len(set(phrases)) < len(phrases):
            raise Underivable(VerificationCode.DERIVE, "two of the events have the same phrase")
        values = ExpectedValues(
            what="the order of events",
            reader=build_choice_reader(phrases),
            keys=phrases,
            surfaces=phrases,
            least=1 if len(events) == 2 else len(events),
            fewest_atoms=1,
        )
        return _build_answer([values], [mentions for mentions, _ in events])

    def derive_did(self) -> DerivedAnswer:
        """Whether a step ever happened, and when."""
        thread, step = self.recipe.get_text("thread"), self.recipe.get_text("step")
        mentions = self.lookup.find_step(thread, step, self.ask.day)
        what = f"whether there is {self.lookup.name_part(thread, step)}"
        if mentions:
            yes = _expect_one(what, build_yes_no_reader(), "yes", "Yes")
            return _build_answer([yes, self._expect_date(thread, step, mentions)], [mentions])
        about = [s for s in self.lookup.table.about.get(thread, ()) if s.day <= self.ask.day]
        if not about:
            raise Underivable(
                VerificationCode.UNSTATED,
                f"the text never names {self.lookup.get_thread(thread).name} up to day "
                f"{self.ask.day}, so a no about it rests on nothing",
            )
        return DerivedAnswer(
            expected=(_expect_one(what, build_yes_no_reader(), "no", "No"),),
            needed=(),
            allowed=frozenset(about),
        )

    def _expect_date(self, thread: str, step: str, mentions: list[DaySentence]) -> ExpectedValues:
        when = self.lookup.get_date(mentions[0].day)
        what = f"the date of {self.lookup.name_part(thread, step)}"
        return _expect_one(what, build_date_reader(), when, f"{when.day} {when:%B %Y}")

    def derive_count(self) -> DerivedAnswer:
        """The number of threads of a process that started in a month."""
        started = self._find_started_threads()
        process, month = self.recipe.get_text("process"), self.recipe.get_text("month")
        what = f"the count for {process} in {month}"
        number = Amount("", Decimal(len(started)))
        values = _expect_one(what, build_number_reader(), number, f"{len(started)}")
        return _build_answer([values], list(started.values()))

    def derive_total(self) -> DerivedAnswer:
        """The sum of a slot's first stated values over those threads."""
        started = self._find_started_threads()
        first = self._find_first_values(started)
        units = {_get_amount(s).unit for s in first.values()}
        if len(units) > 1:
            raise Underivable(
                VerificationCode.AMBIGUOUS,
                f"sums in {' and '.join(sorted(units))} cannot be added up",
            )
        amount = Amount(
            units.pop(), sum((_get_amount(s).number for s in first.values()), Decimal(0))
        )
        slot, month = self.recipe.get_text("slot"), self.recipe.get_text("month")
        reader = self.lookup.build_reader(next(iter(first)), slot)
        what = f"the total of {slot} in {month}"
        values = _expect_one(what, reader, amount, format_amount(amount))
        return _build_tally((values,), first, started)

    def derive_highest(self) -> DerivedAnswer:
        """The thread with the largest first stated value, and that value."""
        return self._derive_extreme(max)

    def derive_lowest(self) -> DerivedAnswer:
        """The thread with the smallest first stated value, and that value."""
        return self._derive_extreme(min)

    def _derive_extreme(self, pick: Callable[[Iterable[Decimal]], Decimal]) -> DerivedAnswer:
        process, slot = self.recipe.get_text("process"), self.recipe.get_text("slot")
        started = self._find_started_threads()
        first = self._find_first_values(started)
        most = pick(_get_amount(s).number for s in first.values())
        winners = [thread for thread, s in first.items() if _get_amount(s).number == most]
        names = [self.lookup.get_thread(thread).name for thread in winners]
        value = first[winners[0]].value
        if len(winners) > 1:
            raise Underivable(
                VerificationCode.AMBIGUOUS,
                f"{' and '.join(names)} both have {value.surface}, so none has the "
                f"{self.recipe.op} {slot}",
            )
        every = {
            self.lookup.get_thread(t).name: t for t in self.lookup.lexicon.list_threads(process)
        }
        what = f"the thread with the {self.recipe.op} {slot} in {self.recipe.get_text('month')}"
        part = self.lookup.name_part(winners[0], slot)
        reader = self.lookup.build_reader(winners[0], slot)
        expected = (
            _expect_one(what, NameIndex(every), winners[0], names[0]),
            _expect_one(part, reader, value.key, value.surface),
        )
        return _build_tally(expected, first, started)

    def _find_started_threads(self) -> StartedThreads:
        process, month = self.recipe.get_text("process"), self.recipe.parse_month()
        first = self.lookup.require_first_step(process)
        started: StartedThreads = {}
        for thread in self.lookup.lexicon.list_threads(process):
            mentions = self.lookup.find_step(thread, first, self.ask.day)
            if mentions:
                when = self.lookup.get_date(mentions[0].day)
                if (when.year, when.month) == month:
                    started[thread] = mentions
            else:
                self._refuse_missing_start(thread, first, self.ask.day)
        return started

    def _refuse_missing_start(self, thread: str, first: str, until: int) -> None:
        """Raise if a thread without a stated start may belong to the month."""
        about = self.lookup.table.about.get(thread, ())
        if about and about[0].day <= until:
            raise Underivable(
                VerificationCode.UNSTATED,
                f"{self.lookup.get_thread(thread).name} is mentioned but no sentence up to day "
                f"{until} holds a cue of its first step {first}; {about[0].place}",
            )

    def _list_current(self, thread: str, slot: str) -> list[SlotStatement]:
        found = self.lookup.list_statements(thread, slot, self.ask.day)
        return [statement for statement in found if not statement.is_stale]

    def _find_first_values(self, started: StartedThreads) -> dict[str, SlotStatement]:
        slot = self.recipe.get_text("slot")
        self.lookup.get_process_slot(self.recipe.get_text("process"), slot)
        first = {
            thread: statements[0]
            for thread in started
            if (statements := self._list_current(thread, slot))
        }
        if not first:
            raise Underivable(
                VerificationCode.UNSTATED,
                f"no {self.recipe.get_text('process')} that began in "
                f"{self.recipe.get_text('month')} has its {slot} stated up to day {self.ask.day}",
            )
        return first


def _build_answer(
    expected: list[ExpectedValues], mentions: list[list[DaySentence]]
) -> DerivedAnswer:
    needed = tuple(frozenset(sentences) for sentences in mentions)
    return DerivedAnswer(
        expected=tuple(expected), needed=needed, allowed=frozenset().union(*needed)
    )


def _expect_one(what: str, reader: ValueReader, key: Key, surface: str) -> ExpectedValues:
    return ExpectedValues(what=what, reader=reader, keys=(key,), surfaces=(surface,))


def format_amount(amount: Amount) -> str:
    """The amount as the text would print it."""
    digits = f"{amount.number:,f}"
    if amount.unit in {"$", "£", "€", "¥", "₹"}:
        return f"{amount.unit}{digits}"
    return f"{digits}{amount.unit}" if amount.unit == "%" else f"{digits} {amount.unit}".strip()


def _get_amount(statement: SlotStatement) -> Amount:
    key = statement.value.key
    if not isinstance(key, Amount):
        raise Underivable(
            VerificationCode.DERIVE,
            f"“{statement.value.surface}” is no amount, so it cannot be added or compared",
        )
    return key


def _build_tally(
    expected: tuple[ExpectedValues, ...], first: dict[str, SlotStatement], started: StartedThreads
) -> DerivedAnswer:
    needed = tuple(frozenset({s.sentence}) for s in first.values())
    return DerivedAnswer(
        expected=expected, needed=needed, allowed=frozenset().union(*needed, *started.values())
    )
