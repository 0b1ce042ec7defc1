"""Answers that are about steps: when, how long after the first, in what order, whether at all."""

from decimal import Decimal

from recall_bench.proof.account import StatementLookup, Underivable
from recall_bench.proof.derived import AskContext, DerivedAnswer, ExpectedValues
from recall_bench.proof.finding import VerificationCode
from recall_bench.proof.passages import DaySentence
from recall_bench.proof.recipe import DerivationRecipe
from recall_bench.proof.values import (
    Amount,
    Key,
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
            f"{account.name_part(thread, step)} is told on day {told[0].day}, before its first step "
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
            f"the text never names {account.get_thread(thread).name} up to day {asking.day}, so a no "
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
