"""Answers that are about steps: when, how long after the first, in what order, whether at all."""

from collections.abc import Callable, Iterable
from decimal import Decimal

from recall_bench.generate.verification.day_parser import DaySentence
from recall_bench.generate.verification.derivation import (
    AskContext,
    DerivationRecipe,
    DerivedAnswer,
    ExpectedValues,
)
from recall_bench.generate.verification.findings import VerificationCode
from recall_bench.generate.verification.statements import (
    SlotStatement,
    StatementLookup,
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


def derive_step_date(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> DerivedAnswer:
    """The date of the day that tells of a step."""
    thread, step = recipe.get_text("thread"), recipe.get_text("step")
    told = account.require_step(thread, step, asking.day)
    return _build_answer([_expect_date(account, thread, step, told)], [told])


def derive_gap(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> DerivedAnswer:
    """The days from the first step of a thread to another."""
    thread, step = recipe.get_text("thread"), recipe.get_text("step")
    first = account.require_first_step(account.get_thread(thread).process)
    began = account.require_step(thread, first, asking.day)
    told = account.require_step(thread, step, asking.day)
    days = told[0].day - began[0].day
    if days < 0:
        raise Underivable(
            VerificationCode.REFERENCE,
            f"{account.name_part(thread, step)} is told on day {told[0].day}, before its first "
            "step "
            f"on day {began[0].day}",
        )
    what = f"the days from {first} to {account.name_part(thread, step)}"
    return _build_answer(
        [_expect_one(what, build_number_reader(), Amount("", Decimal(days)), f"{days}")],
        [began, told],
    )


def derive_order(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> DerivedAnswer:
    """Events by date, as the question phrases them."""
    events = [
        (account.require_step(thread, step, asking.day), phrase)
        for thread, step, phrase in recipe.list_rows("events", 3)
    ]
    events.sort(key=lambda event: event[0][0].day)
    days = [told[0].day for told, _ in events]
    if len(set(days)) < len(days):
        same = next(day for day in days if days.count(day) > 1)
        raise Underivable(
            VerificationCode.AMBIGUOUS,
            f"two of the events are told on day {same}, so neither comes first",
        )
    phrases = tuple(phrase for _, phrase in events)
    if len(set(phrases)) < len(phrases):
        raise Underivable(VerificationCode.DERIVE, "two of the events have the same phrase")
    holding = ExpectedValues(
        what="the order of events",
        reader=build_choice_reader(phrases),
        keys=phrases,
        surfaces=phrases,
        least=1 if len(events) == 2 else len(events),
        fewest_atoms=1,
    )
    return _build_answer([holding], [told for told, _ in events])


def derive_did(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> DerivedAnswer:
    """Whether a step was ever told, and if so when."""
    thread, step = recipe.get_text("thread"), recipe.get_text("step")
    told = account.find_step(thread, step, asking.day)
    what = f"whether there is {account.name_part(thread, step)}"
    if told:
        yes = _expect_one(what, build_yes_no_reader(), "yes", "Yes")
        return _build_answer([yes, _expect_date(account, thread, step, told)], [told])
    about = [s for s in account.table.about.get(thread, ()) if s.day <= asking.day]
    if not about:
        raise Underivable(
            VerificationCode.UNSTATED,
            f"the text never names {account.get_thread(thread).name} up to day {asking.day}, so a "
            "no "
            "about it rests on nothing",
        )
    return DerivedAnswer(
        holdings=(_expect_one(what, build_yes_no_reader(), "no", "No"),),
        needed=(),
        allowed=frozenset(about),
    )


def _build_answer(holdings: list[ExpectedValues], told: list[list[DaySentence]]) -> DerivedAnswer:
    needed = tuple(frozenset(sentences) for sentences in told)
    return DerivedAnswer(
        holdings=tuple(holdings), needed=needed, allowed=frozenset().union(*needed)
    )


def _expect_date(
    account: StatementLookup, thread: str, step: str, told: list[DaySentence]
) -> ExpectedValues:
    when = account.get_date(told[0].day)
    what = f"the date of {account.name_part(thread, step)}"
    return _expect_one(what, build_date_reader(), when, f"{when.day} {when:%B %Y}")


def _expect_one(what: str, reader: ValueReader, key: Key, surface: str) -> ExpectedValues:
    return ExpectedValues(what=what, reader=reader, keys=(key,), surfaces=(surface,))


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
            f"{account.get_thread(thread).name} is spoken of but no sentence up to day {until} "
            "holds a "
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
            f"no {recipe.get_text('process')} that began in {recipe.get_text('month')} has its "
            f"{slot} "
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
