"""Answers that withhold: a secret, a right withdrawn, something that was to be forgotten."""

import re

from recall_bench.proof.account import Account, Underivable
from recall_bench.proof.derived import Asking, Derived, Holding
from recall_bench.proof.facts import value_of
from recall_bench.proof.finding import Code
from recall_bench.proof.passages import Sentence
from recall_bench.proof.recipe import Recipe
from recall_bench.proof.statements import About, Statement
from recall_bench.proof.values import Key

_FORGET = re.compile(r"\bforget", re.IGNORECASE)
_REASONS = ("secret", "revoked", "forgotten")


def denied(account: Account, recipe: Recipe, asking: Asking) -> Derived:
    """Nothing: the value was stated, and the asker may not have it."""
    about = (recipe.text("thread"), recipe.text("slot"))
    return _denied(account, about, asking, _why(recipe), recipe.text("session"))


def partly(account: Account, recipe: Recipe, asking: Asking) -> Derived:
    """One value told in an open session, and another withheld."""
    give = value_of(account, recipe.pair("give"), asking)
    why = _why(recipe) if "why" in recipe.keys else "secret"
    hold = _denied(account, recipe.pair("hold"), asking, why, recipe.text("session"))
    return Derived(
        holdings=give.holdings,
        needed=(*give.needed, *hold.needed),
        allowed=give.allowed | hold.allowed,
        earlier=give.earlier,
        lists_earlier=give.lists_earlier,
        secrets=hold.secrets,
        slots=(*give.slots, *hold.slots),
        troubles=(*give.troubles, *hold.troubles),
    )


def asks_to_forget(sentence: Sentence) -> bool:
    """Whether the sentence asks to have something forgotten."""
    return _FORGET.search(sentence.text) is not None


def _why(recipe: Recipe) -> str:
    why = recipe.text("why")
    if why not in _REASONS:
        raise Underivable(Code.DERIVE, f"derive has {why!r} as why; use {', '.join(_REASONS)}")
    return why


def _denied(account: Account, about: About, asking: Asking, why: str, session: str) -> Derived:
    if session != asking.session:
        raise Underivable(
            Code.BOUNDARY, f"it is asked from {asking.session}, but derive says from {session}"
        )
    stated = account.stated(*about, asking.day)
    if why == "forgotten":
        _refuse_remembered(account, about, stated, asking)
    else:
        _refuse_open(account, about, stated, asking, is_revoked=why == "revoked")
    values: dict[Key, str] = {}
    for statement in stated:
        values.pop(statement.value.key, None)
        values[statement.value.key] = statement.value.surface
    about_thread = account.table.about.get(about[0], ())
    secret = Holding(
        what=account.called(*about),
        reader=account.reader(*about),
        keys=tuple(values),
        surfaces=tuple(values.values()),
    )
    return Derived(
        holdings=(),
        needed=(frozenset(s.sentence for s in stated),),
        allowed=frozenset(s for s in about_thread if s.day <= asking.day),
        earlier=secret,
        secrets=(secret,),
        slots=(about,),
    )


def _refuse_open(
    account: Account,
    about: About,
    stated: list[Statement],
    asking: Asking,
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
                Code.LEAK,
                f"“{statement.value.surface}”, {account.called(*about)}, is to be withheld from "
                f"{asking.session} but is told where it can be read; {statement.sentence.place}",
            )


def _refuse_remembered(
    account: Account, about: About, stated: list[Statement], asking: Asking
) -> None:
    """What is forgotten was asked to be, and is never told again."""
    name = account.thread(about[0]).name
    wishes = [
        sentence
        for sentence in account.table.about.get(about[0], ())
        if sentence.day <= asking.first and asks_to_forget(sentence)
    ]
    if not wishes:
        raise Underivable(
            Code.FORGET,
            f"no sentence about {name} up to day {asking.first} holds the word forget",
        )
    wish, last = wishes[-1], stated[-1].sentence
    if (last.day, last.start) > (wish.day, wish.start):
        raise Underivable(
            Code.FORGET,
            f"{account.called(*about)} was to be forgotten on day {wish.day} but is told again; "
            f"{last.place}",
        )
