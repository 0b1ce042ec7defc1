"""Derive answers that are values of slots: current, past, shared or withheld."""

import re
from itertools import groupby

from recall_bench.generate.verification.day_parser import DaySentence
from recall_bench.generate.verification.derivation import (
    AskContext,
    DerivationRecipe,
    DerivedAnswer,
    ExpectedValues,
    group_by_session,
)
from recall_bench.generate.verification.findings import VerificationCode, VerificationProblem
from recall_bench.generate.verification.statements import (
    About,
    SlotStatement,
    StatementLookup,
    Underivable,
)
from recall_bench.generate.verification.value_readers import Key


def derive_value(
    lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext
) -> DerivedAnswer:
    """The last stated value of a slot, now or as of a day."""
    about = (recipe.get_text("thread"), recipe.get_text("slot"))
    as_of = recipe.get_day("as_of")
    return derive_slot_value(lookup, about, ask, as_of=as_of)


def derive_slot_value(
    lookup: StatementLookup, about: About, ask: AskContext, *, as_of: int | None = None
) -> DerivedAnswer:
    """The last stated value of a slot up to the day of the question, or an earlier day."""
    until = ask.day if as_of is None else min(as_of, ask.day)
    stated = lookup.require_statements(*about, until)
    run = _find_last_run(stated)
    before = stated[: -len(run)]
    current = run[-1].value
    former = {s.value.key: s.value.surface for s in before if s.value.key != current.key}
    return DerivedAnswer(
        expected=(_expect_statements(lookup, about, run[:1]),),
        needed=group_by_session(s.sentence for s in _list_readable(lookup, run, ask)),
        allowed=frozenset(s.sentence for s in lookup.list_statements(*about, ask.day)),
        earlier=ExpectedValues(
            what=lookup.name_part(*about),
            reader=lookup.build_reader(*about),
            keys=tuple(former),
            surfaces=tuple(former.values()),
        ),
        lists_earlier=as_of is None,
        slots=(about,),
        problems=(
            *_find_early_values(lookup, about, before, run),
            *_check_reach(lookup, about, run, ask),
        ),
    )


def derive_history(
    lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext
) -> DerivedAnswer:
    """All values of a slot in the order of their statements."""
    about = (recipe.get_text("thread"), recipe.get_text("slot"))
    stated = lookup.require_statements(*about, ask.day)
    runs = [next(run) for _, run in groupby(stated, key=lambda s: s.value.key)]
    values = _expect_statements(lookup, about, runs)
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
        needed=group_by_session(s.sentence for s in _list_readable(lookup, stated, ask)),
        allowed=frozenset(s.sentence for s in lookup.list_statements(*about, ask.day)),
        slots=(about,),
        problems=tuple(_check_reach(lookup, about, stated, ask)),
    )


def derive_shared_value(
    lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext
) -> DerivedAnswer:
    """The one value that slots of two threads share."""
    abouts = [(thread, slot) for thread, slot in recipe.list_rows("of", 2)]
    found = [derive_slot_value(lookup, about, ask) for about in abouts]
    first = found[0].expected[0]
    for about, other in zip(abouts[1:], found[1:], strict=True):
        if other.expected[0].keys != first.keys:
            raise Underivable(
                VerificationCode.REFERENCE,
                f"{first.what} is {first.format_values()} but {other.expected[0].what} is "
                f"{other.expected[0].format_values()}, so they share nothing",
            )
        _refuse_meeting(lookup, abouts[0][0], about[0])
    return DerivedAnswer(
        expected=(first,),
        needed=tuple(group for one in found for group in one.needed),
        allowed=frozenset().union(*(one.allowed for one in found)),
        slots=tuple(abouts),
        problems=tuple(trouble for one in found for trouble in one.problems),
    )


def _find_last_run(stated: list[SlotStatement]) -> list[SlotStatement]:
    """The final statements that all give the last value."""
    count = next(
        (i for i, s in enumerate(reversed(stated)) if s.value.key != stated[-1].value.key),
        len(stated),
    )
    return stated[-count:]


def _expect_statements(
    lookup: StatementLookup, about: About, statements: list[SlotStatement]
) -> ExpectedValues:
    return ExpectedValues(
        what=lookup.name_part(*about),
        reader=lookup.build_reader(*about),
        keys=tuple(s.value.key for s in statements),
        surfaces=tuple(s.value.surface for s in statements),
    )


def _find_early_values(
    lookup: StatementLookup, about: About, before: list[SlotStatement], run: list[SlotStatement]
) -> list[VerificationProblem]:
    """Places where the current value of a changed slot is stated before the change."""
    key, surface = run[0].value.key, run[0].value.surface
    what = f"“{surface}” of {lookup.name_part(*about)} becomes true on day {run[0].day}"
    found = [
        VerificationProblem(
            VerificationCode.TOO_EARLY, f"{what} but is stated before; {s.sentence.place}"
        )
        for s in before
        if s.value.key == key
    ]
    if before and lookup.get_slot(*about).reader.is_telling:
        found += [
            VerificationProblem(
                VerificationCode.TOO_EARLY,
                f"{what} but occurs in the text before; {sentence.place}",
            )
            for sentence in lookup.find_loose_mentions(*about, key)
            if sentence.day < run[0].day
        ]
    return found


def _list_readable(
    lookup: StatementLookup, statements: list[SlotStatement], ask: AskContext
) -> list[SlotStatement]:
    """The statements the asker may know."""
    return [s for s in statements if lookup.lexicon.is_open_to(ask.session, s.session)]


def _check_reach(
    lookup: StatementLookup, about: About, statements: list[SlotStatement], ask: AskContext
) -> list[VerificationProblem]:
    """A problem if the asker may not know the value at all."""
    if _list_readable(lookup, statements, ask):
        return []
    return [
        VerificationProblem(
            VerificationCode.BOUNDARY,
            f"it is asked from {ask.session}, but {lookup.name_part(*about)} is stated only in the "
            f"isolated session {statements[-1].session}; {statements[-1].sentence.place}",
        )
    ]


def _refuse_meeting(lookup: StatementLookup, one: str, other: str) -> None:
    together = lookup.table.blocks.get(one, set()) & lookup.table.blocks.get(other, set())
    if together:
        day = min(together)[0]
        raise Underivable(
            VerificationCode.SECOND_ANSWER,
            f"{lookup.get_thread(one).name} and {lookup.get_thread(other).name} are named in one "
            f"block on day {day}, so the text itself links them",
        )


_FORGET = re.compile(r"\bforget", re.IGNORECASE)
_REASONS = ("secret", "revoked", "forgotten")


def derive_refusal(
    lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext
) -> DerivedAnswer:
    """A refusal: the value was stated, and the asker may not have it."""
    about = (recipe.get_text("thread"), recipe.get_text("slot"))
    return _derive_withheld(lookup, about, ask, _get_reason(recipe), recipe.get_text("session"))


def derive_partial(
    lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext
) -> DerivedAnswer:
    """One value stated in an open session, and another one withheld."""
    give = derive_slot_value(lookup, recipe.get_pair("give"), ask)
    why = _get_reason(recipe) if "why" in recipe.keys else "secret"
    hold = _derive_withheld(lookup, recipe.get_pair("hold"), ask, why, recipe.get_text("session"))
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


def is_forget_request(sentence: DaySentence) -> bool:
    """Whether the sentence asks to forget something."""
    return _FORGET.search(sentence.text) is not None


def _get_reason(recipe: DerivationRecipe) -> str:
    why = recipe.get_text("why")
    if why not in _REASONS:
        raise Underivable(
            VerificationCode.DERIVE, f"derive has {why!r} as why; use {', '.join(_REASONS)}"
        )
    return why


def _derive_withheld(
    lookup: StatementLookup, about: About, ask: AskContext, why: str, session: str
) -> DerivedAnswer:
    if session != ask.session:
        raise Underivable(
            VerificationCode.BOUNDARY,
            f"it is asked from {ask.session}, but derive says from {session}",
        )
    stated = lookup.require_statements(*about, ask.day)
    if why == "forgotten":
        _check_forgotten_value(lookup, about, stated, ask)
    else:
        _refuse_open(lookup, about, stated, ask, is_revoked=why == "revoked")
    values: dict[Key, str] = {}
    for statement in stated:
        values.pop(statement.value.key, None)
        values[statement.value.key] = statement.value.surface
    about_thread = lookup.table.about.get(about[0], ())
    secret = ExpectedValues(
        what=lookup.name_part(*about),
        reader=lookup.build_reader(*about),
        keys=tuple(values),
        surfaces=tuple(values.values()),
    )
    return DerivedAnswer(
        expected=(),
        needed=(frozenset(s.sentence for s in stated),),
        allowed=frozenset(s for s in about_thread if s.day <= ask.day),
        earlier=secret,
        secrets=(secret,),
        slots=(about,),
    )


def _refuse_open(
    lookup: StatementLookup,
    about: About,
    stated: list[SlotStatement],
    ask: AskContext,
    *,
    is_revoked: bool,
) -> None:
    """Raise if the asker can read the value, except under access that was revoked later."""
    for statement in stated:
        was_granted = is_revoked and statement.session == ask.session and statement.day < ask.first
        if lookup.lexicon.is_open_to(ask.session, statement.session) and not was_granted:
            raise Underivable(
                VerificationCode.LEAK,
                f"“{statement.value.surface}”, {lookup.name_part(*about)}, is to be withheld from "
                f"{ask.session} but is stated where it can be read; {statement.sentence.place}",
            )


def _check_forgotten_value(
    lookup: StatementLookup, about: About, stated: list[SlotStatement], ask: AskContext
) -> None:
    """Raise unless the value was asked to be forgotten and is never stated again."""
    name = lookup.get_thread(about[0]).name
    wishes = [
        sentence
        for sentence in lookup.table.about.get(about[0], ())
        if sentence.day <= ask.first and is_forget_request(sentence)
    ]
    if not wishes:
        raise Underivable(
            VerificationCode.FORGET,
            f"no sentence about {name} up to day {ask.first} holds the word forget",
        )
    wish, last = wishes[-1], stated[-1].sentence
    if (last.day, last.start) > (wish.day, wish.start):
        raise Underivable(
            VerificationCode.FORGET,
            f"{lookup.name_part(*about)} was to be forgotten on day {wish.day} but is stated "
            f"again; {last.place}",
        )
