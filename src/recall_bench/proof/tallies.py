"""Answers over all threads of a process that began in one month: how many, how much, which most."""

from collections.abc import Callable, Iterable
from decimal import Decimal

from recall_bench.proof.account import StatementLookup, Underivable
from recall_bench.proof.derived import AskContext, DerivedAnswer, ExpectedValues
from recall_bench.proof.finding import VerificationCode
from recall_bench.proof.names import NameIndex
from recall_bench.proof.passages import DaySentence
from recall_bench.proof.recipe import DerivationRecipe
from recall_bench.proof.statements import SlotStatement
from recall_bench.proof.values import Amount, build_number_reader

StartedThreads = dict[str, list[DaySentence]]
"""The threads that began in the month, with the sentences that say so."""


def derive_count(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> DerivedAnswer:
    """How many threads of a process began in a month."""
    begun = _find_started_threads(account, recipe, asking)
    number = Amount("", Decimal(len(begun)))
    holding = ExpectedValues(
        what=f"the count for {recipe.get_text('process')} in {recipe.get_text('month')}",
        reader=build_number_reader(),
        keys=(number,),
        surfaces=(f"{len(begun)}",),
    )
    needed = tuple(frozenset(told) for told in begun.values())
    return DerivedAnswer(holdings=(holding,), needed=needed, allowed=frozenset().union(*needed))


def derive_total(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> DerivedAnswer:
    """The sum of a slot's first stated values over those threads."""
    begun = _find_started_threads(account, recipe, asking)
    first = _find_first_values(account, recipe, asking, begun)
    units = {_get_amount(s).unit for s in first.values()}
    if len(units) > 1:
        raise Underivable(
            VerificationCode.AMBIGUOUS, f"sums in {' and '.join(sorted(units))} cannot be added up"
        )
    amount = Amount(units.pop(), sum((_get_amount(s).number for s in first.values()), Decimal(0)))
    holding = ExpectedValues(
        what=f"the total of {recipe.get_text('slot')} in {recipe.get_text('month')}",
        reader=account.build_reader(next(iter(first)), recipe.get_text("slot")),
        keys=(amount,),
        surfaces=(format_amount(amount),),
    )
    return _build_tally((holding,), first, begun)


def derive_highest(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> DerivedAnswer:
    """The thread with the largest first stated value, and that value."""
    return _derive_extreme(account, recipe, asking, max)


def derive_lowest(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> DerivedAnswer:
    """The thread with the smallest first stated value, and that value."""
    return _derive_extreme(account, recipe, asking, min)


def _derive_extreme(
    account: StatementLookup,
    recipe: DerivationRecipe,
    asking: AskContext,
    pick: Callable[[Iterable[Decimal]], Decimal],
) -> DerivedAnswer:
    process, slot = recipe.get_text("process"), recipe.get_text("slot")
    begun = _find_started_threads(account, recipe, asking)
    first = _find_first_values(account, recipe, asking, begun)
    most = pick(_get_amount(s).number for s in first.values())
    winners = [thread for thread, s in first.items() if _get_amount(s).number == most]
    names = [account.get_thread(thread).name for thread in winners]
    value = first[winners[0]].value
    if len(winners) > 1:
        raise Underivable(
            VerificationCode.AMBIGUOUS,
            f"{' and '.join(names)} both have {value.surface}, so none has the {recipe.op} {slot}",
        )
    every = {account.get_thread(t).name: t for t in account.lexicon.list_threads(process)}
    what = f"the thread with the {recipe.op} {slot} in {recipe.get_text('month')}"
    return _build_tally(
        (
            ExpectedValues(
                what=what, reader=NameIndex(every), keys=(winners[0],), surfaces=(names[0],)
            ),
            ExpectedValues(
                what=account.name_part(winners[0], slot),
                reader=account.build_reader(winners[0], slot),
                keys=(value.key,),
                surfaces=(value.surface,),
            ),
        ),
        first,
        begun,
    )


def format_amount(amount: Amount) -> str:
    """The amount as the text would print it."""
    digits = f"{amount.number:,f}"
    if amount.unit in {"$", "£", "€", "¥", "₹"}:
        return f"{amount.unit}{digits}"
    return f"{digits}{amount.unit}" if amount.unit == "%" else f"{digits} {amount.unit}".strip()


def _find_started_threads(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> StartedThreads:
    process, month = recipe.get_text("process"), recipe.parse_month()
    first = account.require_first_step(process)
    begun: StartedThreads = {}
    for thread in account.lexicon.list_threads(process):
        told = account.find_step(thread, first, asking.day)
        if told:
            when = account.get_date(told[0].day)
            if (when.year, when.month) == month:
                begun[thread] = told
        else:
            _refuse_missing_start(account, thread, first, asking.day)
    return begun


def _refuse_missing_start(account: StatementLookup, thread: str, first: str, until: int) -> None:
    """A thread whose beginning is missing may belong to the month."""
    about = account.table.about.get(thread, ())
    if about and about[0].day <= until:
        raise Underivable(
            VerificationCode.UNSTATED,
            f"{account.get_thread(thread).name} is spoken of but no sentence up to day {until} holds a "
            f"cue of its first step {first}; {about[0].place}",
        )


def _find_first_values(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext, begun: StartedThreads
) -> dict[str, SlotStatement]:
    slot = recipe.get_text("slot")
    account.get_process_slot(recipe.get_text("process"), slot)
    first = {
        thread: statements[0]
        for thread in begun
        if (
            statements := [
                s for s in account.list_statements(thread, slot, asking.day) if not s.is_stale
            ]
        )
    }
    if not first:
        raise Underivable(
            VerificationCode.UNSTATED,
            f"no {recipe.get_text('process')} that began in {recipe.get_text('month')} has its {slot} "
            f"stated up to day {asking.day}",
        )
    return first


def _get_amount(statement: SlotStatement) -> Amount:
    key = statement.value.key
    if not isinstance(key, Amount):
        raise Underivable(
            VerificationCode.DERIVE,
            f"“{statement.value.surface}” is no amount, so it cannot be reckoned with",
        )
    return key


def _build_tally(
    holdings: tuple[ExpectedValues, ...], first: dict[str, SlotStatement], begun: StartedThreads
) -> DerivedAnswer:
    needed = tuple(frozenset({s.sentence}) for s in first.values())
    beginnings = (told for told in begun.values())
    return DerivedAnswer(
        holdings=holdings, needed=needed, allowed=frozenset().union(*needed, *beginnings)
    )
