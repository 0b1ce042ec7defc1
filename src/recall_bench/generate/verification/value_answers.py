"""Derive answers that are values of slots: current, past, shared or withheld."""

import re
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
from recall_bench.generate.verification.value_readers import Key


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
