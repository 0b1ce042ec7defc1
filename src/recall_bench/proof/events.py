"""Answers that are about steps: when, how long after the first, in what order, whether at all."""

from decimal import Decimal

from recall_bench.proof.account import Account, Underivable
from recall_bench.proof.derived import Asking, Derived, Holding
from recall_bench.proof.finding import Code
from recall_bench.proof.passages import Sentence
from recall_bench.proof.recipe import Recipe
from recall_bench.proof.values import (
    Amount,
    Key,
    Reader,
    choice_reader,
    date_reader,
    number_reader,
    word_reader,
)


def date_of_step(account: Account, recipe: Recipe, asking: Asking) -> Derived:
    """The date of the day that tells of a step."""
    thread, step = recipe.text("thread"), recipe.text("step")
    told = account.happened(thread, step, asking.day)
    return _derived([_date_holding(account, thread, step, told)], [told])


def gap(account: Account, recipe: Recipe, asking: Asking) -> Derived:
    """The days from the first step of a thread to another."""
    thread, step = recipe.text("thread"), recipe.text("step")
    first = account.first_step(account.thread(thread).process)
    began = account.happened(thread, first, asking.day)
    told = account.happened(thread, step, asking.day)
    days = told[0].day - began[0].day
    if days < 0:
        raise Underivable(
            Code.REFERENCE,
            f"{account.called(thread, step)} is told on day {told[0].day}, before its first step "
            f"on day {began[0].day}",
        )
    what = f"the days from {first} to {account.called(thread, step)}"
    return _derived(
        [_one(what, number_reader(), Amount("", Decimal(days)), f"{days}")], [began, told]
    )


def order(account: Account, recipe: Recipe, asking: Asking) -> Derived:
    """Events by date, as the question phrases them."""
    events = [
        (account.happened(thread, step, asking.day), phrase)
        for thread, step, phrase in recipe.rows("events", 3)
    ]
    events.sort(key=lambda event: event[0][0].day)
    days = [told[0].day for told, _ in events]
    if len(set(days)) < len(days):
        same = next(day for day in days if days.count(day) > 1)
        raise Underivable(
            Code.AMBIGUOUS, f"two of the events are told on day {same}, so neither comes first"
        )
    phrases = tuple(phrase for _, phrase in events)
    if len(set(phrases)) < len(phrases):
        raise Underivable(Code.DERIVE, "two of the events have the same phrase")
    holding = Holding(
        what="the order of events",
        reader=choice_reader(phrases),
        keys=phrases,
        surfaces=phrases,
        least=1 if len(events) == 2 else len(events),
        fewest_atoms=1,
    )
    return _derived([holding], [told for told, _ in events])


def did(account: Account, recipe: Recipe, asking: Asking) -> Derived:
    """Whether a step was ever told, and if so when."""
    thread, step = recipe.text("thread"), recipe.text("step")
    told = account.told(thread, step, asking.day)
    what = f"whether there is {account.called(thread, step)}"
    if told:
        yes = _one(what, word_reader(), "yes", "Yes")
        return _derived([yes, _date_holding(account, thread, step, told)], [told])
    about = [s for s in account.table.about.get(thread, ()) if s.day <= asking.day]
    if not about:
        raise Underivable(
            Code.UNSTATED,
            f"the text never names {account.thread(thread).name} up to day {asking.day}, so a no "
            "about it rests on nothing",
        )
    return Derived(
        holdings=(_one(what, word_reader(), "no", "No"),), needed=(), allowed=frozenset(about)
    )


def _derived(holdings: list[Holding], told: list[list[Sentence]]) -> Derived:
    needed = tuple(frozenset(sentences) for sentences in told)
    return Derived(holdings=tuple(holdings), needed=needed, allowed=frozenset().union(*needed))


def _date_holding(account: Account, thread: str, step: str, told: list[Sentence]) -> Holding:
    when = account.date_of(told[0].day)
    what = f"the date of {account.called(thread, step)}"
    return _one(what, date_reader(), when, f"{when.day} {when:%B %Y}")


def _one(what: str, reader: Reader, key: Key, surface: str) -> Holding:
    return Holding(what=what, reader=reader, keys=(key,), surfaces=(surface,))
