"""What became of the canaries on file, in one run or in several taken together."""

from collections.abc import Iterator, Mapping, Sequence
from math import comb
from pathlib import Path
from typing import Final

from recall_bench.analysis.canaries.finding import (
    PLACES,
    RELIABLE,
    RULE,
    Asked,
    Key,
    answers_to,
    digests_of,
    reliable_of,
)
from recall_bench.analysis.canaries.keeping import read_canaries
from recall_bench.analysis.canaries.views import Canary, CanaryWatch, Change, Watched
from recall_bench.analysis.trials import Table

HEALED_CHANCE: Final = 0.05
"""A canary that hallucinates as rarely as one may is taken for healed no more often than this."""
HEALING: Final = (
    f"one on file is healed where it was judged at {PLACES} corpus sizes or in {PLACES} runs, and "
    f"a question that makes something up {RELIABLE:.0%} of the time does so as seldom as this "
    f"run's with a chance of {HEALED_CHANCE:.0%} or less"
).replace("%", " %")

_ORDER = (
    Change.NEW,
    Change.HEALED,
    Change.CHANGED,
    Change.UNCLEAR,
    Change.STILL,
    Change.UNASKED,
)


def watch(table: Table, file: Path | None) -> CanaryWatch:
    """The canaries of the file and of the run; without a file all that the run has are new.

    UsageError where the file cannot be read, DataError where it is no file of canaries.
    """
    kept = () if file is None else read_canaries(file)
    return watched_in([table], kept, file=None if file is None else str(file))


def watched_in(
    tables: Sequence[Table], kept: Sequence[Canary], *, file: str | None = None
) -> CanaryWatch:
    """The canaries that were kept and those of the runs taken together."""
    answers = answers_to(tables)
    digests = {key: digest for table in tables for key, digest in digests_of(table).items()}
    found = [*_kept(kept, answers, digests), *_new(kept, answers)]
    return CanaryWatch(
        file=file,
        rule=f"{RULE}; {HEALING}",
        watched=tuple(
            sorted(
                found,
                key=lambda each: (_ORDER.index(each.change), *_key(each.canary)),
            )
        ),
    )


def still_kept(kept: Sequence[Canary], tables: Sequence[Table]) -> tuple[Canary, ...]:
    """What a file is to hold after these runs, by persona and question.

    Those that the runs have, as they have them; and of the others those that are neither healed
    nor another question now, as they were.
    """
    now = {_key(canary): canary for canary in reliable_of(answers_to(tables))}
    gone = (Change.HEALED, Change.CHANGED)
    for each in watched_in(tables, kept).watched:
        if each.change not in gone:
            now.setdefault(_key(each.canary), each.canary)
    return tuple(now[key] for key in sorted(now))


def is_healed(asked: int, hallucinated: int) -> bool:
    """Whether a canary would hardly ever hallucinate so little, if each answer is its own."""
    chance = sum(
        comb(asked, count) * RELIABLE**count * (1 - RELIABLE) ** (asked - count)
        for count in range(hallucinated + 1)
    )
    return chance <= HEALED_CHANCE


def _kept(
    kept: Sequence[Canary], answers: Mapping[Key, Asked], digests: Mapping[Key, str]
) -> Iterator[Watched]:
    for canary in kept:
        answered = answers.get(_key(canary))
        change = (
            Change.CHANGED
            if digests.get(_key(canary), canary.digest) != canary.digest
            else _change(answered)
        )
        yield Watched(
            canary=canary,
            change=change,
            asked=0 if answered is None else answered.asked,
            hallucinated=0 if answered is None else answered.hallucinated,
        )


def _new(kept: Sequence[Canary], answers: Mapping[Key, Asked]) -> Iterator[Watched]:
    known = {(_key(canary), canary.digest) for canary in kept}
    for canary in reliable_of(answers):
        if (_key(canary), canary.digest) not in known:
            yield Watched(
                canary=canary,
                change=Change.NEW,
                asked=canary.asked,
                hallucinated=canary.hallucinated,
            )


def _change(answered: Asked | None) -> Change:
    if answered is None:
        return Change.UNASKED
    # What a system repeats at one size is said once, whether it is made up or not.
    is_seen = len(answered.places) >= PLACES
    if is_seen and is_healed(answered.asked, answered.hallucinated):
        return Change.HEALED
    return Change.STILL if 2 * answered.hallucinated >= answered.asked else Change.UNCLEAR


def _key(canary: Canary) -> Key:
    return canary.persona, canary.question
