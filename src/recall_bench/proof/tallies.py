"""Answers over all threads of a process that began in one month: how many, how much, which most."""

from collections.abc import Callable, Iterable
from decimal import Decimal

from recall_bench.proof.account import Account, Underivable
from recall_bench.proof.derived import Asking, Derived, Holding
from recall_bench.proof.finding import Code
from recall_bench.proof.names import NameIndex
from recall_bench.proof.passages import Sentence
from recall_bench.proof.recipe import Recipe
from recall_bench.proof.statements import Statement
from recall_bench.proof.values import Amount, number_reader

Begun = dict[str, list[Sentence]]
"""The threads that began in the month, with the sentences that say so."""


def count(account: Account, recipe: Recipe, asking: Asking) -> Derived:
    """How many threads of a process began in a month."""
    begun = _begun(account, recipe, asking)
    number = Amount("", Decimal(len(begun)))
    holding = Holding(
        what=f"the count for {recipe.text('process')} in {recipe.text('month')}",
        reader=number_reader(),
        keys=(number,),
        surfaces=(f"{len(begun)}",),
    )
    needed = tuple(frozenset(told) for told in begun.values())
    return Derived(holdings=(holding,), needed=needed, allowed=frozenset().union(*needed))


def total(account: Account, recipe: Recipe, asking: Asking) -> Derived:
    """The sum of a slot's first stated values over those threads."""
    begun = _begun(account, recipe, asking)
    first = _first_values(account, recipe, asking, begun)
    units = {_amount(s).unit for s in first.values()}
    if len(units) > 1:
        raise Underivable(
            Code.AMBIGUOUS, f"sums in {' and '.join(sorted(units))} cannot be added up"
        )
    amount = Amount(units.pop(), sum((_amount(s).number for s in first.values()), Decimal(0)))
    holding = Holding(
        what=f"the total of {recipe.text('slot')} in {recipe.text('month')}",
        reader=account.reader(next(iter(first)), recipe.text("slot")),
        keys=(amount,),
        surfaces=(spelled(amount),),
    )
    return _derived((holding,), first, begun)


def highest(account: Account, recipe: Recipe, asking: Asking) -> Derived:
    """The thread with the largest first stated value, and that value."""
    return _extreme(account, recipe, asking, max)


def lowest(account: Account, recipe: Recipe, asking: Asking) -> Derived:
    """The thread with the smallest first stated value, and that value."""
    return _extreme(account, recipe, asking, min)


def _extreme(
    account: Account, recipe: Recipe, asking: Asking, pick: Callable[[Iterable[Decimal]], Decimal]
) -> Derived:
    process, slot = recipe.text("process"), recipe.text("slot")
    begun = _begun(account, recipe, asking)
    first = _first_values(account, recipe, asking, begun)
    most = pick(_amount(s).number for s in first.values())
    winners = [thread for thread, s in first.items() if _amount(s).number == most]
    names = [account.thread(thread).name for thread in winners]
    value = first[winners[0]].value
    if len(winners) > 1:
        raise Underivable(
            Code.AMBIGUOUS,
            f"{' and '.join(names)} both have {value.surface}, so none has the {recipe.op} {slot}",
        )
    every = {account.thread(t).name: t for t in account.lexicon.threads_of(process)}
    what = f"the thread with the {recipe.op} {slot} in {recipe.text('month')}"
    return _derived(
        (
            Holding(what=what, reader=NameIndex(every), keys=(winners[0],), surfaces=(names[0],)),
            Holding(
                what=account.called(winners[0], slot),
                reader=account.reader(winners[0], slot),
                keys=(value.key,),
                surfaces=(value.surface,),
            ),
        ),
        first,
        begun,
    )


def spelled(amount: Amount) -> str:
    """The amount as the text would print it."""
    digits = f"{amount.number:,f}"
    if amount.unit in {"$", "£", "€", "¥", "₹"}:
        return f"{amount.unit}{digits}"
    return f"{digits}{amount.unit}" if amount.unit == "%" else f"{digits} {amount.unit}".strip()


def _begun(account: Account, recipe: Recipe, asking: Asking) -> Begun:
    process, month = recipe.text("process"), recipe.month()
    first = account.first_step(process)
    begun: Begun = {}
    for thread in account.lexicon.threads_of(process):
        told = account.told(thread, first, asking.day)
        if told:
            when = account.date_of(told[0].day)
            if (when.year, when.month) == month:
                begun[thread] = told
        else:
            _refuse_unbegun(account, thread, first, asking.day)
    return begun


def _refuse_unbegun(account: Account, thread: str, first: str, until: int) -> None:
    """A thread whose beginning is missing may belong to the month."""
    about = account.table.about.get(thread, ())
    if about and about[0].day <= until:
        raise Underivable(
            Code.UNSTATED,
            f"{account.thread(thread).name} is spoken of but no sentence up to day {until} holds a "
            f"cue of its first step {first}; {about[0].place}",
        )


def _first_values(
    account: Account, recipe: Recipe, asking: Asking, begun: Begun
) -> dict[str, Statement]:
    slot = recipe.text("slot")
    account.slot_of(recipe.text("process"), slot)
    first = {
        thread: statements[0]
        for thread in begun
        if (
            statements := [
                s for s in account.statements(thread, slot, asking.day) if not s.is_stale
            ]
        )
    }
    if not first:
        raise Underivable(
            Code.UNSTATED,
            f"no {recipe.text('process')} that began in {recipe.text('month')} has its {slot} "
            f"stated up to day {asking.day}",
        )
    return first


def _amount(statement: Statement) -> Amount:
    key = statement.value.key
    if not isinstance(key, Amount):
        raise Underivable(
            Code.DERIVE, f"“{statement.value.surface}” is no amount, so it cannot be reckoned with"
        )
    return key


def _derived(holdings: tuple[Holding, ...], first: dict[str, Statement], begun: Begun) -> Derived:
    needed = tuple(frozenset({s.sentence}) for s in first.values())
    beginnings = (told for told in begun.values())
    return Derived(
        holdings=holdings, needed=needed, allowed=frozenset().union(*needed, *beginnings)
    )
