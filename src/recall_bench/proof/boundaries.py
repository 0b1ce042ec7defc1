"""Answers that withhold: a secret, a right withdrawn, something that was to be forgotten."""

import re

from recall_bench.proof.account import StatementLookup, Underivable
from recall_bench.proof.derived import AskContext, DerivedAnswer, ExpectedValues
from recall_bench.proof.facts import derive_slot_value
from recall_bench.proof.finding import VerificationCode
from recall_bench.proof.passages import DaySentence
from recall_bench.proof.recipe import DerivationRecipe
from recall_bench.proof.statements import About, SlotStatement
from recall_bench.proof.values import Key

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
