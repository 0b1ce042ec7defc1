"""Derive answers about steps and months: dates, gaps, order, occurrence, counts, totals."""

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
    lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext
) -> DerivedAnswer:
    """The date of a step."""
    thread, step = recipe.get_text("thread"), recipe.get_text("step")
    mentions = lookup.require_step(thread, step, ask.day)
    return _build_answer([_expect_date(lookup, thread, step, mentions)], [mentions])


def derive_gap(lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext) -> DerivedAnswer:
    """The days from the first step of a thread to another step."""
    thread, step = recipe.get_text("thread"), recipe.get_text("step")
    first = lookup.require_first_step(lookup.get_thread(thread).process)
    began = lookup.require_step(thread, first, ask.day)
    mentions = lookup.require_step(thread, step, ask.day)
    days = mentions[0].day - began[0].day
    if days < 0:
        raise Underivable(
            VerificationCode.REFERENCE,
            f"{lookup.name_part(thread, step)} is told on day {mentions[0].day}, before its first "
            f"step on day {began[0].day}",
        )
    what = f"the days from {first} to {lookup.name_part(thread, step)}"
    return _build_answer(
        [_expect_one(what, build_number_reader(), Amount("", Decimal(days)), f"{days}")],
        [began, mentions],
    )


def derive_order(
    lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext
) -> DerivedAnswer:
    """Events by date, in the question's phrases."""
    events = [
        (lookup.require_step(thread, step, ask.day), phrase)
        for thread, step, phrase in recipe.list_rows("events", 3)
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


def derive_did(lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext) -> DerivedAnswer:
    """Whether a step ever happened, and when."""
    thread, step = recipe.get_text("thread"), recipe.get_text("step")
    mentions = lookup.find_step(thread, step, ask.day)
    what = f"whether there is {lookup.name_part(thread, step)}"
    if mentions:
        yes = _expect_one(what, build_yes_no_reader(), "yes", "Yes")
        return _build_answer([yes, _expect_date(lookup, thread, step, mentions)], [mentions])
    about = [s for s in lookup.table.about.get(thread, ()) if s.day <= ask.day]
    if not about:
        raise Underivable(
            VerificationCode.UNSTATED,
            f"the text never names {lookup.get_thread(thread).name} up to day {ask.day}, so a no "
            "about it rests on nothing",
        )
    return DerivedAnswer(
        expected=(_expect_one(what, build_yes_no_reader(), "no", "No"),),
        needed=(),
        allowed=frozenset(about),
    )


def _build_answer(
    expected: list[ExpectedValues], mentions: list[list[DaySentence]]
) -> DerivedAnswer:
    needed = tuple(frozenset(sentences) for sentences in mentions)
    return DerivedAnswer(
        expected=tuple(expected), needed=needed, allowed=frozenset().union(*needed)
    )


def _expect_date(
    lookup: StatementLookup, thread: str, step: str, mentions: list[DaySentence]
) -> ExpectedValues:
    when = lookup.get_date(mentions[0].day)
    what = f"the date of {lookup.name_part(thread, step)}"
    return _expect_one(what, build_date_reader(), when, f"{when.day} {when:%B %Y}")


def _expect_one(what: str, reader: ValueReader, key: Key, surface: str) -> ExpectedValues:
    return ExpectedValues(what=what, reader=reader, keys=(key,), surfaces=(surface,))


StartedThreads = dict[str, list[DaySentence]]
"""The threads that started in the month, with the sentences that say so."""


def derive_count(
    lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext
) -> DerivedAnswer:
    """The number of threads of a process that started in a month."""
    started = _find_started_threads(lookup, recipe, ask)
    number = Amount("", Decimal(len(started)))
    values = ExpectedValues(
        what=f"the count for {recipe.get_text('process')} in {recipe.get_text('month')}",
        reader=build_number_reader(),
        keys=(number,),
        surfaces=(f"{len(started)}",),
    )
    needed = tuple(frozenset(mentions) for mentions in started.values())
    return DerivedAnswer(expected=(values,), needed=needed, allowed=frozenset().union(*needed))


def derive_total(
    lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext
) -> DerivedAnswer:
    """The sum of a slot's first stated values over those threads."""
    started = _find_started_threads(lookup, recipe, ask)
    first = _find_first_values(lookup, recipe, ask, started)
    units = {_get_amount(s).unit for s in first.values()}
    if len(units) > 1:
        raise Underivable(
            VerificationCode.AMBIGUOUS, f"sums in {' and '.join(sorted(units))} cannot be added up"
        )
    amount = Amount(units.pop(), sum((_get_amount(s).number for s in first.values()), Decimal(0)))
    values = ExpectedValues(
        what=f"the total of {recipe.get_text('slot')} in {recipe.get_text('month')}",
        reader=lookup.build_reader(next(iter(first)), recipe.get_text("slot")),
        keys=(amount,),
        surfaces=(format_amount(amount),),
    )
    return _build_tally((values,), first, started)


def derive_highest(
    lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext
) -> DerivedAnswer:
    """The thread with the largest first stated value, and that value."""
    return _derive_extreme(lookup, recipe, ask, max)


def derive_lowest(
    lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext
) -> DerivedAnswer:
    """The thread with the smallest first stated value, and that value."""
    return _derive_extreme(lookup, recipe, ask, min)


def _derive_extreme(
    lookup: StatementLookup,
    recipe: DerivationRecipe,
    ask: AskContext,
    pick: Callable[[Iterable[Decimal]], Decimal],
) -> DerivedAnswer:
    process, slot = recipe.get_text("process"), recipe.get_text("slot")
    started = _find_started_threads(lookup, recipe, ask)
    first = _find_first_values(lookup, recipe, ask, started)
    most = pick(_get_amount(s).number for s in first.values())
    winners = [thread for thread, s in first.items() if _get_amount(s).number == most]
    names = [lookup.get_thread(thread).name for thread in winners]
    value = first[winners[0]].value
    if len(winners) > 1:
        raise Underivable(
            VerificationCode.AMBIGUOUS,
            f"{' and '.join(names)} both have {value.surface}, so none has the {recipe.op} {slot}",
        )
    every = {lookup.get_thread(t).name: t for t in lookup.lexicon.list_threads(process)}
    what = f"the thread with the {recipe.op} {slot} in {recipe.get_text('month')}"
    return _build_tally(
        (
            ExpectedValues(
                what=what, reader=NameIndex(every), keys=(winners[0],), surfaces=(names[0],)
            ),
            ExpectedValues(
                what=lookup.name_part(winners[0], slot),
                reader=lookup.build_reader(winners[0], slot),
                keys=(value.key,),
                surfaces=(value.surface,),
            ),
        ),
        first,
        started,
    )


def format_amount(amount: Amount) -> str:
    """The amount as the text would print it."""
    digits = f"{amount.number:,f}"
    if amount.unit in {"$", "£", "€", "¥", "₹"}:
        return f"{amount.unit}{digits}"
    return f"{digits}{amount.unit}" if amount.unit == "%" else f"{digits} {amount.unit}".strip()


def _find_started_threads(
    lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext
) -> StartedThreads:
    process, month = recipe.get_text("process"), recipe.parse_month()
    first = lookup.require_first_step(process)
    started: StartedThreads = {}
    for thread in lookup.lexicon.list_threads(process):
        mentions = lookup.find_step(thread, first, ask.day)
        if mentions:
            when = lookup.get_date(mentions[0].day)
            if (when.year, when.month) == month:
                started[thread] = mentions
        else:
            _refuse_missing_start(lookup, thread, first, ask.day)
    return started


def _refuse_missing_start(lookup: StatementLookup, thread: str, first: str, until: int) -> None:
    """Raise if a thread without a stated start may belong to the month."""
    about = lookup.table.about.get(thread, ())
    if about and about[0].day <= until:
        raise Underivable(
            VerificationCode.UNSTATED,
            f"{lookup.get_thread(thread).name} is mentioned but no sentence up to day {until} "
            f"holds a cue of its first step {first}; {about[0].place}",
        )


def _find_first_values(
    lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext, started: StartedThreads
) -> dict[str, SlotStatement]:
    slot = recipe.get_text("slot")
    lookup.get_process_slot(recipe.get_text("process"), slot)
    first = {
        thread: statements[0]
        for thread in started
        if (
            statements := [
                s for s in lookup.list_statements(thread, slot, ask.day) if not s.is_stale
            ]
        )
    }
    if not first:
        raise Underivable(
            VerificationCode.UNSTATED,
            f"no {recipe.get_text('process')} that began in {recipe.get_text('month')} has its "
            f"{slot} stated up to day {ask.day}",
        )
    return first


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
    beginnings = (mentions for mentions in started.values())
    return DerivedAnswer(
        expected=expected, needed=needed, allowed=frozenset().union(*needed, *beginnings)
    )
