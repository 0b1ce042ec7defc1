"""Answers that are values of slots: the value now or then, its history, the one two share."""

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
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> DerivedAnswer:
    """The last value stated of a slot, now or as of a day."""
    about = (recipe.get_text("thread"), recipe.get_text("slot"))
    as_of = recipe.get_day("as_of")
    return derive_slot_value(account, about, asking, as_of=as_of)


def derive_slot_value(
    account: StatementLookup, about: About, asking: AskContext, *, as_of: int | None = None
) -> DerivedAnswer:
    """The last value stated of a slot up to the asking day, or to an earlier one."""
    until = asking.day if as_of is None else min(as_of, asking.day)
    stated = account.require_statements(*about, until)
    run = _find_last_run(stated)
    before = stated[: -len(run)]
    current = run[-1].value
    once = {s.value.key: s.value.surface for s in before if s.value.key != current.key}
    return DerivedAnswer(
        holdings=(_expect_statements(account, about, run[:1]),),
        needed=group_by_session(s.sentence for s in _list_readable(account, run, asking)),
        allowed=frozenset(s.sentence for s in account.list_statements(*about, asking.day)),
        earlier=ExpectedValues(
            what=account.name_part(*about),
            reader=account.build_reader(*about),
            keys=tuple(once),
            surfaces=tuple(once.values()),
        ),
        lists_earlier=as_of is None,
        slots=(about,),
        troubles=(
            *_find_early_values(account, about, before, run),
            *_check_reach(account, about, run, asking),
        ),
    )


def derive_history(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> DerivedAnswer:
    """All values of a slot in the order they were stated."""
    about = (recipe.get_text("thread"), recipe.get_text("slot"))
    stated = account.require_statements(*about, asking.day)
    runs = [next(run) for _, run in groupby(stated, key=lambda s: s.value.key)]
    holding = _expect_statements(account, about, runs)
    return DerivedAnswer(
        holdings=(
            ExpectedValues(
                what=holding.what,
                reader=holding.reader,
                keys=holding.keys,
                surfaces=holding.surfaces,
                least=len(runs),
            ),
        ),
        needed=group_by_session(s.sentence for s in _list_readable(account, stated, asking)),
        allowed=frozenset(s.sentence for s in account.list_statements(*about, asking.day)),
        slots=(about,),
        troubles=tuple(_check_reach(account, about, stated, asking)),
    )


def derive_shared_value(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> DerivedAnswer:
    """The one value that slots of two threads have in common."""
    abouts = [(thread, slot) for thread, slot in recipe.list_rows("of", 2)]
    found = [derive_slot_value(account, about, asking) for about in abouts]
    first = found[0].holdings[0]
    for about, other in zip(abouts[1:], found[1:], strict=True):
        if other.holdings[0].keys != first.keys:
            raise Underivable(
                VerificationCode.REFERENCE,
                f"{first.what} is {first.format_values()} but {other.holdings[0].what} is "
                f"{other.holdings[0].format_values()}, so they share nothing",
            )
        _refuse_meeting(account, abouts[0][0], about[0])
    return DerivedAnswer(
        holdings=(first,),
        needed=tuple(group for one in found for group in one.needed),
        allowed=frozenset().union(*(one.allowed for one in found)),
        slots=tuple(abouts),
        troubles=tuple(trouble for one in found for trouble in one.troubles),
    )


def _find_last_run(stated: list[SlotStatement]) -> list[SlotStatement]:
    """The statements at the end that all give the last value."""
    count = next(
        (i for i, s in enumerate(reversed(stated)) if s.value.key != stated[-1].value.key),
        len(stated),
    )
    return stated[-count:]


def _expect_statements(
    account: StatementLookup, about: About, statements: list[SlotStatement]
) -> ExpectedValues:
    return ExpectedValues(
        what=account.name_part(*about),
        reader=account.build_reader(*about),
        keys=tuple(s.value.key for s in statements),
        surfaces=tuple(s.value.surface for s in statements),
    )


def _find_early_values(
    account: StatementLookup, about: About, before: list[SlotStatement], run: list[SlotStatement]
) -> list[VerificationProblem]:
    """The present value of a slot that has changed, told before the change."""
    key, surface = run[0].value.key, run[0].value.surface
    what = f"“{surface}” of {account.name_part(*about)} becomes true on day {run[0].day}"
    found = [
        VerificationProblem(
            VerificationCode.TOO_EARLY, f"{what} but is stated before; {s.sentence.place}"
        )
        for s in before
        if s.value.key == key
    ]
    if before and account.get_slot(*about).reader.is_telling:
        found += [
            VerificationProblem(
                VerificationCode.TOO_EARLY,
                f"{what} but stands in the text before; {sentence.place}",
            )
            for sentence in account.find_loose_mentions(*about, key)
            if sentence.day < run[0].day
        ]
    return found


def _list_readable(
    account: StatementLookup, statements: list[SlotStatement], asking: AskContext
) -> list[SlotStatement]:
    """The statements the asker may know of."""
    return [s for s in statements if account.lexicon.is_open_to(asking.session, s.session)]


def _check_reach(
    account: StatementLookup, about: About, statements: list[SlotStatement], asking: AskContext
) -> list[VerificationProblem]:
    """Whether the asker may know the value at all."""
    if _list_readable(account, statements, asking):
        return []
    return [
        VerificationProblem(
            VerificationCode.BOUNDARY,
            f"it is asked from {asking.session}, but {account.name_part(*about)} is told only in "
            "the "
            f"isolated session {statements[-1].session}; {statements[-1].sentence.place}",
        )
    ]


def _refuse_meeting(account: StatementLookup, one: str, other: str) -> None:
    together = account.table.blocks.get(one, set()) & account.table.blocks.get(other, set())
    if together:
        day = min(together)[0]
        raise Underivable(
            VerificationCode.SECOND_ANSWER,
            f"{account.get_thread(one).name} and {account.get_thread(other).name} are named in "
            "one block "
            f"on day {day}, so the text itself links them",
        )


_FORGET = re.compile(r"\bforget", re.IGNORECASE)
_REASONS = ("secret", "revoked", "forgotten")


def derive_refusal(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> DerivedAnswer:
    """Nothing: the value was stated, and the asker may not have it."""
    about = (recipe.get_text("thread"), recipe.get_text("slot"))
    return _derive_withheld(account, about, asking, _get_reason(recipe), recipe.get_text("session"))


def derive_partial(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> DerivedAnswer:
    """One value told in an open session, and another withheld."""
    give = derive_slot_value(account, recipe.get_pair("give"), asking)
    why = _get_reason(recipe) if "why" in recipe.keys else "secret"
    hold = _derive_withheld(
        account, recipe.get_pair("hold"), asking, why, recipe.get_text("session")
    )
    return DerivedAnswer(
        holdings=give.holdings,
        needed=(*give.needed, *hold.needed),
        allowed=give.allowed | hold.allowed,
        earlier=give.earlier,
        lists_earlier=give.lists_earlier,
        secrets=hold.secrets,
        slots=(*give.slots, *hold.slots),
        troubles=(*give.troubles, *hold.troubles),
    )


def is_forget_request(sentence: DaySentence) -> bool:
    """Whether the sentence asks to have something forgotten."""
    return _FORGET.search(sentence.text) is not None


def _get_reason(recipe: DerivationRecipe) -> str:
    why = recipe.get_text("why")
    if why not in _REASONS:
        raise Underivable(
            VerificationCode.DERIVE, f"derive has {why!r} as why; use {', '.join(_REASONS)}"
        )
    return why


def _derive_withheld(
    account: StatementLookup, about: About, asking: AskContext, why: str, session: str
) -> DerivedAnswer:
    if session != asking.session:
        raise Underivable(
            VerificationCode.BOUNDARY,
            f"it is asked from {asking.session}, but derive says from {session}",
        )
    stated = account.require_statements(*about, asking.day)
    if why == "forgotten":
        _check_forgotten_value(account, about, stated, asking)
    else:
        _refuse_open(account, about, stated, asking, is_revoked=why == "revoked")
    values: dict[Key, str] = {}
    for statement in stated:
        values.pop(statement.value.key, None)
        values[statement.value.key] = statement.value.surface
    about_thread = account.table.about.get(about[0], ())
    secret = ExpectedValues(
        what=account.name_part(*about),
        reader=account.build_reader(*about),
        keys=tuple(values),
        surfaces=tuple(values.values()),
    )
    return DerivedAnswer(
        holdings=(),
        needed=(frozenset(s.sentence for s in stated),),
        allowed=frozenset(s for s in about_thread if s.day <= asking.day),
        earlier=secret,
        secrets=(secret,),
        slots=(about,),
    )


def _refuse_open(
    account: StatementLookup,
    about: About,
    stated: list[SlotStatement],
    asking: AskContext,
    *,
    is_revoked: bool,
) -> None:
    """A value the asker can read is no secret; a right withdrawn was one until then."""
    for statement in stated:
        was_granted = (
            is_revoked and statement.session == asking.session and statement.day < asking.first
        )
        if account.lexicon.is_open_to(asking.session, statement.session) and not was_granted:
            raise Underivable(
                VerificationCode.LEAK,
                f"“{statement.value.surface}”, {account.name_part(*about)}, is to be withheld from "
                f"{asking.session} but is told where it can be read; {statement.sentence.place}",
            )


def _check_forgotten_value(
    account: StatementLookup, about: About, stated: list[SlotStatement], asking: AskContext
) -> None:
    """What is forgotten was asked to be, and is never told again."""
    name = account.get_thread(about[0]).name
    wishes = [
        sentence
        for sentence in account.table.about.get(about[0], ())
        if sentence.day <= asking.first and is_forget_request(sentence)
    ]
    if not wishes:
        raise Underivable(
            VerificationCode.FORGET,
            f"no sentence about {name} up to day {asking.first} holds the word forget",
        )
    wish, last = wishes[-1], stated[-1].sentence
    if (last.day, last.start) > (wish.day, wish.start):
        raise Underivable(
            VerificationCode.FORGET,
            f"{account.name_part(*about)} was to be forgotten on day {wish.day} but is told again; "
            f"{last.place}",
        )
