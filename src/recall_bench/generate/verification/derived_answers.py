"""Derive answers from the text: values of slots, steps, months, and refusals."""

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import groupby

from recall_bench.generate.verification.day_parser import DaySentence
from recall_bench.generate.verification.derivation import (
    AnswerDerivation,
    DerivedAnswer,
    ExpectedValues,
    group_by_session,
)
from recall_bench.generate.verification.findings import VerificationCode, VerificationProblem
from recall_bench.generate.verification.statements import (
    About,
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


class ValueAnswers(AnswerDerivation):
    """Answers that are values of slots."""

    def derive_value(self) -> DerivedAnswer:
        """The last stated value of a slot, now or as of a day."""
        about = (self.recipe.get_text("thread"), self.recipe.get_text("slot"))
        as_of = self.recipe.get_day("as_of")
        return self.derive_slot_value(about, as_of=as_of)

    def derive_slot_value(self, about: About, *, as_of: int | None = None) -> DerivedAnswer:
        """The last stated value of a slot up to the day of the question, or an earlier day."""
        until = self.ask.day if as_of is None else min(as_of, self.ask.day)
        stated = self.lookup.require_statements(*about, until)
        run = _find_last_run(stated)
        before = stated[: -len(run)]
        current = run[-1].value
        former = {s.value.key: s.value.surface for s in before if s.value.key != current.key}
        return DerivedAnswer(
            expected=(self._expect_statements(about, run[:1]),),
            needed=group_by_session(s.sentence for s in self._list_readable(run)),
            allowed=frozenset(
                s.sentence for s in self.lookup.list_statements(*about, self.ask.day)
            ),
            earlier=ExpectedValues(
                what=self.lookup.name_part(*about),
                reader=self.lookup.build_reader(*about),
                keys=tuple(former),
                surfaces=tuple(former.values()),
            ),
            lists_earlier=as_of is None,
            slots=(about,),
            problems=(
                *self._find_early_values(about, before, run),
                *self._check_reach(about, run),
            ),
        )

    def derive_history(self) -> DerivedAnswer:
        """All values of a slot in the order of their statements."""
        about = (self.recipe.get_text("thread"), self.recipe.get_text("slot"))
        stated = self.lookup.require_statements(*about, self.ask.day)
        runs = [next(run) for _, run in groupby(stated, key=lambda s: s.value.key)]
        values = self._expect_statements(about, runs)
        return DerivedAnswer(
            expected=(
                ExpectedValues(
                    what=values.what,
                    reader=values.reader,
                    keys=values.keys,
                    surfaces=values.surfaces,
                    least=len(runs),
                ),
            ),
            needed=group_by_session(s.sentence for s in self._list_readable(stated)),
            allowed=frozenset(
                s.sentence for s in self.lookup.list_statements(*about, self.ask.day)
            ),
            slots=(about,),
            problems=tuple(self._check_reach(about, stated)),
        )

    def derive_shared_value(self) -> DerivedAnswer:
        """The one value that slots of two threads share."""
        abouts = [(thread, slot) for thread, slot in self.recipe.list_rows("of", 2)]
        found = [self.derive_slot_value(about) for about in abouts]
        first = found[0].expected[0]
        for about, other in zip(abouts[1:], found[1:], strict=True):
            if other.expected[0].keys != first.keys:
                raise Underivable(
                    VerificationCode.REFERENCE,
                    f"{first.what} is {first.format_values()} but {other.expected[0].what} is "
                    f"{other.expected[0].format_values()}, so they share nothing",
                )
            self._refuse_meeting(abouts[0][0], about[0])
        return DerivedAnswer(
            expected=(first,),
            needed=tuple(group for one in found for group in one.needed),
            allowed=frozenset().union(*(one.allowed for one in found)),
            slots=tuple(abouts),
            problems=tuple(trouble for one in found for trouble in one.problems),
        )

    def _expect_statements(self, about: About, statements: list[SlotStatement]) -> ExpectedValues:
        return ExpectedValues(
            what=self.lookup.name_part(*about),
            reader=self.lookup.build_reader(*about),
            keys=tuple(s.value.key for s in statements),
            surfaces=tuple(s.value.surface for s in statements),
        )

    def _find_early_values(
        self, about: About, before: list[SlotStatement], run: list[SlotStatement]
    ) -> list[VerificationProblem]:
        """Places where the current value of a changed slot is stated before the change."""
        key, surface = run[0].value.key, run[0].value.surface
        what = f"“{surface}” of {self.lookup.name_part(*about)} becomes true on day {run[0].day}"
        found = [
            VerificationProblem(
                VerificationCode.TOO_EARLY, f"{what} but is stated before; {s.sentence.place}"
            )
            for s in before
            if s.value.key == key
        ]
        if before and self.lookup.get_slot(*about).reader.is_telling:
            found += [
                VerificationProblem(
                    VerificationCode.TOO_EARLY,
                    f"{what} but occurs in the text before; {sentence.place}",
                )
                for sentence in self.lookup.find_loose_mentions(*about, key)
                if sentence.day < run[0].day
            ]
        return found

    def _list_readable(self, statements: list[SlotStatement]) -> list[SlotStatement]:
        """The statements the asker may know."""
        return [
            s for s in statements if self.lookup.lexicon.is_open_to(self.ask.session, s.session)
        ]

    def _check_reach(
        self, about: About, statements: list[SlotStatement]
    ) -> list[VerificationProblem]:
        """A problem if the asker may not know the value at all."""
        if self._list_readable(statements):
            return []
        return [
            VerificationProblem(
                VerificationCode.BOUNDARY,
                f"it is asked from {self.ask.session}, but {self.lookup.name_part(*about)} is "
                f"stated only in the isolated session {statements[-1].session}; "
                f"{statements[-1].sentence.place}",
            )
        ]

    def _refuse_meeting(self, one: str, other: str) -> None:
        together = self.lookup.table.blocks.get(one, set()) & self.lookup.table.blocks.get(
            other, set()
        )
        if together:
            day = min(together)[0]
            raise Underivable(
                VerificationCode.SECOND_ANSWER,
                f"{self.lookup.get_thread(one).name} and {self.lookup.get_thread(other).name} are "
                f"named in one block on day {day}, so the text itself links them",
            )

    def derive_refusal(self) -> DerivedAnswer:
        """A refusal: the value was stated, and the asker may not have it."""
        about = (self.recipe.get_text("thread"), self.recipe.get_text("slot"))
        return self._derive_withheld(about, self._get_reason(), self.recipe.get_text("session"))

    def derive_partial(self) -> DerivedAnswer:
        """One value stated in an open session, and another one withheld."""
        give = self.derive_slot_value(self.recipe.get_pair("give"))
        why = self._get_reason() if "why" in self.recipe.keys else "secret"
        hold = self._derive_withheld(
            self.recipe.get_pair("hold"), why, self.recipe.get_text("session")
        )
        return DerivedAnswer(
            expected=give.expected,
            needed=(*give.needed, *hold.needed),
            allowed=give.allowed | hold.allowed,
            earlier=give.earlier,
            lists_earlier=give.lists_earlier,
            secrets=hold.secrets,
            slots=(*give.slots, *hold.slots),
            problems=(*give.problems, *hold.problems),
        )

    def _get_reason(self) -> str:
        why = self.recipe.get_text("why")
        if why not in _REASONS:
            raise Underivable(
                VerificationCode.DERIVE, f"derive has {why!r} as why; use {', '.join(_REASONS)}"
            )
        return why

    def _derive_withheld(self, about: About, why: str, session: str) -> DerivedAnswer:
        if session != self.ask.session:
            raise Underivable(
                VerificationCode.BOUNDARY,
                f"it is asked from {self.ask.session}, but derive says from {session}",
            )
        stated = self.lookup.require_statements(*about, self.ask.day)
        if why == "forgotten":
            self._check_forgotten_value(about, stated)
        else:
            self._refuse_open(about, stated, is_revoked=why == "revoked")
        values: dict[Key, str] = {}
        for statement in stated:
            values.pop(statement.value.key, None)
            values[statement.value.key] = statement.value.surface
        about_thread = self.lookup.table.about.get(about[0], ())
        secret = ExpectedValues(
            what=self.lookup.name_part(*about),
            reader=self.lookup.build_reader(*about),
            keys=tuple(values),
            surfaces=tuple(values.values()),
        )
        return DerivedAnswer(
            expected=(),
            needed=(frozenset(s.sentence for s in stated),),
            allowed=frozenset(s for s in about_thread if s.day <= self.ask.day),
            earlier=secret,
            secrets=(secret,),
            slots=(about,),
        )

    def _refuse_open(self, about: About, stated: list[SlotStatement], *, is_revoked: bool) -> None:
        """Raise if the asker can read the value, except under access that was revoked later."""
        for statement in stated:
            was_granted = (
                is_revoked
                and statement.session == self.ask.session
                and statement.day < self.ask.first
            )
            if (
                self.lookup.lexicon.is_open_to(self.ask.session, statement.session)
                and not was_granted
            ):
                raise Underivable(
                    VerificationCode.LEAK,
                    f"“{statement.value.surface}”, {self.lookup.name_part(*about)}, is to be "
                    f"withheld from {self.ask.session} but is stated where it can be read; "
                    f"{statement.sentence.place}",
                )

    def _check_forgotten_value(self, about: About, stated: list[SlotStatement]) -> None:
        """Raise unless the value was asked to be forgotten and is never stated again."""
        name = self.lookup.get_thread(about[0]).name
        wishes = [
            sentence
            for sentence in self.lookup.table.about.get(about[0], ())
            if sentence.day <= self.ask.first and is_forget_request(sentence)
        ]
        if not wishes:
            raise Underivable(
                VerificationCode.FORGET,
                f"no sentence about {name} up to day {self.ask.first} holds the word forget",
            )
        wish, last = wishes[-1], stated[-1].sentence
        if (last.day, last.start) > (wish.day, wish.start):
            raise Underivable(
                VerificationCode.FORGET,
                f"{self.lookup.name_part(*about)} was to be forgotten on day {wish.day} but is "
                f"stated again; {last.place}",
            )


def _find_last_run(stated: list[SlotStatement]) -> list[SlotStatement]:
    """The final statements that all give the last value."""
    count = next(
        (i for i, s in enumerate(reversed(stated)) if s.value.key != stated[-1].value.key),
        len(stated),
    )
    return stated[-count:]


_FORGET = re.compile(r"\bforget", re.IGNORECASE)
_REASONS = ("secret", "revoked", "forgotten")


def is_forget_request(sentence: DaySentence) -> bool:
    """Whether the sentence asks to forget something."""
    return _FORGET.search(sentence.text) is not None


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
                f"{self.lookup.name_part(thread, step)} is stated on day {mentions[0].day}, before "
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
                f"two of the events are stated on day {same}, so neither comes first",
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
