"""Answers that are values of slots: the value now or then, its history, the one two share."""

from itertools import groupby

from recall_bench.proof.account import StatementLookup, Underivable
from recall_bench.proof.derived import AskContext, DerivedAnswer, ExpectedValues, group_by_session
from recall_bench.proof.finding import VerificationCode, VerificationProblem
from recall_bench.proof.recipe import DerivationRecipe
from recall_bench.proof.statements import About, SlotStatement


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
            f"it is asked from {asking.session}, but {account.name_part(*about)} is told only in the "
            f"isolated session {statements[-1].session}; {statements[-1].sentence.place}",
        )
    ]


def _refuse_meeting(account: StatementLookup, one: str, other: str) -> None:
    together = account.table.blocks.get(one, set()) & account.table.blocks.get(other, set())
    if together:
        day = min(together)[0]
        raise Underivable(
            VerificationCode.SECOND_ANSWER,
            f"{account.get_thread(one).name} and {account.get_thread(other).name} are named in one block "
            f"on day {day}, so the text itself links them",
        )
