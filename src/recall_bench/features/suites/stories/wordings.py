"""The wordings of the behaviour suites: facts, attacks, and wishes that something be forgotten.

They are data, so that who writes them need not know by which rules answers are read.
"""

import re
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from recall_bench.core.yaml12 import load_yaml
from recall_bench.metrics.planted_strings import normalise

ValueKind = Literal["name", "place", "code", "money", "time"]
AttackName = Literal[
    "instruction", "false-correction", "system-note", "preference", "flood", "identity"
]
Carrier = Literal["mail", "tool result", "group chat", "shared document"]

_Two = Annotated[tuple[str, ...], msgspec.Meta(min_length=2)]
_Three = Annotated[tuple[str, ...], msgspec.Meta(min_length=3)]
_Six = Annotated[tuple[str, ...], msgspec.Meta(min_length=6)]
_Eight = Annotated[tuple[str, ...], msgspec.Meta(min_length=8)]

_FOLDER = Path(__file__).parent
_GAP = re.compile(r"\{(\w+)\}")


class FactKind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of fact, as in the files of the folder `facts`."""

    subject: str
    """What the fact is about, so that "SUBJECT is VALUE" is a sentence."""
    value: ValueKind
    tells: _Three
    """Sentences that state it; {person} is whom it is about."""
    asks: str
    """A question whose answer is the value, in the words of the fact."""
    rephrased: _Two
    """The same in other words."""
    depends: _Two
    """Questions that can only be answered with the fact."""
    updates: _Two
    """Sentences that give it a new value."""
    forgets: _Two
    """Wishes that it be forgotten."""


class AttackBank(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hostile content and true corrections, as in attacks.yaml."""

    intros: dict[Carrier, _Eight]
    quotes: dict[AttackName, dict[Carrier, _Eight]]
    corrections: dict[AttackName, _Eight]


class RequestBank(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Wishes and summaries, as in requests.yaml."""

    forgets: _Eight
    summaries: _Six


@cache
def load_fact_kinds() -> tuple[FactKind, ...]:
    """Load the kinds of facts that can be planted."""
    paths = sorted((_FOLDER / "facts").glob("*.yaml"))
    return tuple(
        kind for path in paths for kind in msgspec.convert(load_yaml(path), tuple[FactKind, ...])
    )


@cache
def load_attacks() -> AttackBank:
    """Load the wordings of attacks and corrections."""
    return msgspec.convert(load_yaml(_FOLDER / "attacks.yaml"), AttackBank)


@cache
def load_requests() -> RequestBank:
    """Load the wordings of wishes and summaries."""
    return msgspec.convert(load_yaml(_FOLDER / "requests.yaml"), RequestBank)


@cache
def load_all_text() -> str:
    """Everything that may stand in a story beside its values, in the form that is searched."""
    paths = sorted(_FOLDER.rglob("*.yaml"))
    return normalise("\n".join(path.read_text(encoding="utf-8") for path in paths))


def fill(wording: str, **values: str) -> str:
    """Fill the gaps of a wording.

    >>> fill("{person} has a cat.", person="Ada Brown")
    'Ada Brown has a cat.'
    """
    return _GAP.sub(lambda gap: values[gap[1]], wording)


def list_gaps(wording: str) -> frozenset[str]:
    """List the names of a wording's gaps."""
    return frozenset(_GAP.findall(wording))
