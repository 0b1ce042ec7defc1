"""Which questions hallucinate reliably, over the sizes and repeats of a run, and over runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import msgspec

from recall_bench.analysis.canaries.reliability import reliability
from recall_bench.analysis.canaries.views import Canary
from recall_bench.analysis.trials import Table
from recall_bench.core.question import Item
from recall_bench.errors import UsageError
from recall_bench.reporting.lines import plain

FEWEST: Final = 3
"""Judged less often, a question has not been seen to hallucinate again and again."""
PLACES: Final = 2
"""A system that repeats itself at one size says one thing several times."""
RELIABLE: Final = 0.8
"""What reliably means: one answer in five may be a slip, of the system or of the judge."""
SURE: Final = 0.95

RULE: Final = (
    f"a canary was judged {FEWEST} times or more, at {PLACES} corpus sizes or in {PLACES} runs; at "
    f"least {RELIABLE:.0%} of its answers made something up; and by how all questions went, the "
    f"chance that it does so every other time or more is {SURE:.0%} or better"
).replace("%", " %")

Key = tuple[str, str]
"""Persona and question."""


@dataclass(slots=True)
class Asked:
    """What all runs together say of one question."""

    item: Item
    asked: int = 0
    hallucinated: int = 0
    places: set[tuple[int, int]] = field(default_factory=set)
    """Run and corpus size."""
    repeats: set[int] = field(default_factory=set)


def find_canaries(tables: Sequence[Table]) -> tuple[Canary, ...]:
    """The canaries of all runs taken together, by persona and question.

    UsageError where two runs ask different things by one name.
    """
    return reliable_of(answers_to(tables))


def answers_to(tables: Sequence[Table]) -> dict[Key, Asked]:
    """Every question with a judged answer, and how its answers went."""
    _refuse_mixed(tables)
    found: dict[Key, Asked] = {}
    for number, table in enumerate(tables):
        for row in table.rows:
            if row.invented is None:
                continue
            key = row.trial.scenario, row.trial.item
            asked = found.get(key)
            if asked is None:
                asked = found[key] = Asked(row.item)
            asked.asked += 1
            asked.hallucinated += row.invented
            asked.places.add((number, row.cutoff))
            asked.repeats.add(row.trial.repeat)
    return found


def reliable_of(answers: Mapping[Key, Asked]) -> tuple[Canary, ...]:
    """Those that meet the rule, by persona and question."""
    keys = sorted(answers)
    chances = reliability([(answers[key].asked, answers[key].hallucinated) for key in keys])
    return tuple(
        _canary(key, asked)
        for key, chance in zip(keys, chances, strict=True)
        if chance >= SURE and _is_seen_often(asked := answers[key])
    )


def digest_of(item: Item) -> str:
    """Names what is asked and what is right: another text or reference has another digest."""
    content = msgspec.json.encode((item.text, item.choices, item.truth.reference))
    return sha256(content).hexdigest()[:16]


def digests_of(table: Table) -> dict[Key, str]:
    """The digest of every question there is, asked or not."""
    return {
        (persona, item.id): digest_of(item)
        for persona, items in table.items.items()
        for item in items
    }


def _is_seen_often(asked: Asked) -> bool:
    return (
        asked.asked >= FEWEST
        and len(asked.places) >= PLACES
        and asked.hallucinated >= RELIABLE * asked.asked
    )


def _canary(key: Key, asked: Asked) -> Canary:
    persona, question = key
    return Canary(
        persona=persona,
        question=question,
        text=asked.item.text,
        category=asked.item.truth.category,
        digest=digest_of(asked.item),
        asked=asked.asked,
        hallucinated=asked.hallucinated,
        runs=len({run for run, _ in asked.places}),
        sizes=len({size for _, size in asked.places}),
        repeats=len(asked.repeats),
    )


def _refuse_mixed(tables: Sequence[Table]) -> None:
    seen: dict[Key, str] = {}
    for table in tables if len(tables) > 1 else ():
        for key, digest in digests_of(table).items():
            if seen.setdefault(key, digest) != digest:
                raise UsageError(
                    f"{plain('/'.join(key))}: the runs ask different things by this name; take "
                    "runs over the same questions together"
                )
