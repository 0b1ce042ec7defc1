"""Answers that are values of slots: the value now or then, its history, the one two share."""

from itertools import groupby

from recall_bench.proof.account import Account, Underivable
from recall_bench.proof.derived import Asking, Derived, Holding, grouped
from recall_bench.proof.finding import Code, Problem
from recall_bench.proof.recipe import Recipe
from recall_bench.proof.statements import About, Statement


def value(account: Account, recipe: Recipe, asking: Asking) -> Derived:
    """The last value stated of a slot, now or as of a day."""
    about = (recipe.text("thread"), recipe.text("slot"))
    as_of = recipe.day_or_none("as_of")
    return value_of(account, about, asking, as_of=as_of)


def value_of(
    account: Account, about: About, asking: Asking, *, as_of: int | None = None
) -> Derived:
    """The last value stated of a slot up to the asking day, or to an earlier one."""
    until = asking.day if as_of is None else min(as_of, asking.day)
    stated = account.stated(*about, until)
    run = _last_run(stated)
    before = stated[: -len(run)]
    current = run[-1].value
    once = {s.value.key: s.value.surface for s in before if s.value.key != current.key}
    return Derived(
        holdings=(_holding(account, about, run[:1]),),
        needed=grouped(s.sentence for s in _readable(account, run, asking)),
        allowed=frozenset(s.sentence for s in account.statements(*about, asking.day)),
        earlier=Holding(
            what=account.called(*about),
            reader=account.reader(*about),
            keys=tuple(once),
            surfaces=tuple(once.values()),
        ),
        lists_earlier=as_of is None,
        slots=(about,),
        troubles=(
            *_too_early(account, about, before, run),
            *_out_of_reach(account, about, run, asking),
        ),
    )


def history(account: Account, recipe: Recipe, asking: Asking) -> Derived:
    """All values of a slot in the order they were stated."""
    about = (recipe.text("thread"), recipe.text("slot"))
    stated = account.stated(*about, asking.day)
    runs = [next(run) for _, run in groupby(stated, key=lambda s: s.value.key)]
    holding = _holding(account, about, runs)
    return Derived(
        holdings=(
            Holding(
                what=holding.what,
                reader=holding.reader,
                keys=holding.keys,
                surfaces=holding.surfaces,
                least=len(runs),
            ),
        ),
        needed=grouped(s.sentence for s in _readable(account, stated, asking)),
        allowed=frozenset(s.sentence for s in account.statements(*about, asking.day)),
        slots=(about,),
        troubles=tuple(_out_of_reach(account, about, stated, asking)),
    )


def shared(account: Account, recipe: Recipe, asking: Asking) -> Derived:
    """The one value that slots of two threads have in common."""
    abouts = [(thread, slot) for thread, slot in recipe.rows("of", 2)]
    found = [value_of(account, about, asking) for about in abouts]
    first = found[0].holdings[0]
    for about, other in zip(abouts[1:], found[1:], strict=True):
        if other.holdings[0].keys != first.keys:
            raise Underivable(
                Code.REFERENCE,
                f"{first.what} is {first.spelled()} but {other.holdings[0].what} is "
                f"{other.holdings[0].spelled()}, so they share nothing",
            )
        _refuse_meeting(account, abouts[0][0], about[0])
    return Derived(
        holdings=(first,),
        needed=tuple(group for one in found for group in one.needed),
        allowed=frozenset().union(*(one.allowed for one in found)),
        slots=tuple(abouts),
        troubles=tuple(trouble for one in found for trouble in one.troubles),
    )


def _last_run(stated: list[Statement]) -> list[Statement]:
    """The statements at the end that all give the last value."""
    count = next(
        (i for i, s in enumerate(reversed(stated)) if s.value.key != stated[-1].value.key),
        len(stated),
    )
    return stated[-count:]


def _holding(account: Account, about: About, statements: list[Statement]) -> Holding:
    return Holding(
        what=account.called(*about),
        reader=account.reader(*about),
        keys=tuple(s.value.key for s in statements),
        surfaces=tuple(s.value.surface for s in statements),
    )


def _too_early(
    account: Account, about: About, before: list[Statement], run: list[Statement]
) -> list[Problem]:
    """The present value of a slot that has changed, told before the change."""
    key, surface = run[0].value.key, run[0].value.surface
    what = f"“{surface}” of {account.called(*about)} becomes true on day {run[0].day}"
    found = [
        Problem(Code.TOO_EARLY, f"{what} but is stated before; {s.sentence.place}")
        for s in before
        if s.value.key == key
    ]
    if before and account.slot(*about).reader.is_telling:
        found += [
            Problem(Code.TOO_EARLY, f"{what} but stands in the text before; {sentence.place}")
            for sentence in account.loose(*about, key)
            if sentence.day < run[0].day
        ]
    return found


def _readable(account: Account, statements: list[Statement], asking: Asking) -> list[Statement]:
    """The statements the asker may know of."""
    return [s for s in statements if account.lexicon.is_open_to(asking.session, s.session)]


def _out_of_reach(
    account: Account, about: About, statements: list[Statement], asking: Asking
) -> list[Problem]:
    """Whether the asker may know the value at all."""
    if _readable(account, statements, asking):
        return []
    return [
        Problem(
            Code.BOUNDARY,
            f"it is asked from {asking.session}, but {account.called(*about)} is told only in the "
            f"isolated session {statements[-1].session}; {statements[-1].sentence.place}",
        )
    ]


def _refuse_meeting(account: Account, one: str, other: str) -> None:
    together = account.table.blocks.get(one, set()) & account.table.blocks.get(other, set())
    if together:
        day = min(together)[0]
        raise Underivable(
            Code.SECOND_ANSWER,
            f"{account.thread(one).name} and {account.thread(other).name} are named in one block "
            f"on day {day}, so the text itself links them",
        )
