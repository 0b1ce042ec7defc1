"""What became of the canaries on file, in one run or in several taken together."""

from collections.abc import Iterator, Mapping, Sequence
from math import comb
from pathlib import Path
from typing import Final

from recall_bench.analysis.canaries.finding import (
    CANARY_RULE,
    MIN_PLACES,
    RELIABLE_SHARE,
    QuestionHistory,
    QuestionKey,
    collect_histories,
    digest_items,
    select_reliable,
)
from recall_bench.analysis.canaries.keeping import read_canaries
from recall_bench.analysis.canaries.views import (
    CanaryChange,
    CanaryQuestion,
    CanaryWatch,
    WatchedCanary,
)
from recall_bench.analysis.trials import TrialTable

HEALED_CHANCE: Final = 0.05
"""A canary that hallucinates as rarely as one may is taken for healed no more often than this."""
HEALED_RULE: Final = (
    f"one on file is healed where it was judged at {MIN_PLACES} corpus sizes or in {MIN_PLACES} runs, and "
    f"a question that makes something up {RELIABLE_SHARE:.0%} of the time does so as seldom as this "
    f"run's with a chance of {HEALED_CHANCE:.0%} or less"
).replace("%", " %")

_CHANGE_ORDER = (
    CanaryChange.NEW,
    CanaryChange.HEALED,
    CanaryChange.CHANGED,
    CanaryChange.UNCLEAR,
    CanaryChange.STILL,
    CanaryChange.UNASKED,
)


def watch_file(table: TrialTable, file: Path | None) -> CanaryWatch:
    """The canaries of the file and of the run; without a file all that the run has are new.

    UsageError where the file cannot be read, DataError where it is no file of canaries.
    """
    kept = () if file is None else read_canaries(file)
    return compare_canaries([table], kept, file=None if file is None else str(file))


def compare_canaries(
    tables: Sequence[TrialTable], kept: Sequence[CanaryQuestion], *, file: str | None = None
) -> CanaryWatch:
    """The canaries that were kept and those of the runs taken together."""
    answers = collect_histories(tables)
    digests = {key: digest for table in tables for key, digest in digest_items(table).items()}
    found = [*_check_known(kept, answers, digests), *_find_new(kept, answers)]
    return CanaryWatch(
        file=file,
        rule=f"{CANARY_RULE}; {HEALED_RULE}",
        watched=tuple(
            sorted(
                found,
                key=lambda each: (_CHANGE_ORDER.index(each.change), *_get_key(each.canary)),
            )
        ),
    )


def update_canaries(
    kept: Sequence[CanaryQuestion], tables: Sequence[TrialTable]
) -> tuple[CanaryQuestion, ...]:
    """What a file is to hold after these runs, by persona and question.

    Those that the runs have, as they have them; and of the others those that are neither healed
    nor another question now, as they were.
    """
    now = {_get_key(canary): canary for canary in select_reliable(collect_histories(tables))}
    gone = (CanaryChange.HEALED, CanaryChange.CHANGED)
    for each in compare_canaries(tables, kept).watched:
        if each.change not in gone:
            now.setdefault(_get_key(each.canary), each.canary)
    return tuple(now[key] for key in sorted(now))


def is_recovery(asked: int, hallucinated: int) -> bool:
    """Whether a canary would hardly ever hallucinate so little, if each answer is its own."""
    chance = sum(
        comb(asked, count) * RELIABLE_SHARE**count * (1 - RELIABLE_SHARE) ** (asked - count)
        for count in range(hallucinated + 1)
    )
    return chance <= HEALED_CHANCE


def _check_known(
    kept: Sequence[CanaryQuestion],
    answers: Mapping[QuestionKey, QuestionHistory],
    digests: Mapping[QuestionKey, str],
) -> Iterator[WatchedCanary]:
    for canary in kept:
        answered = answers.get(_get_key(canary))
        change = (
            CanaryChange.CHANGED
            if digests.get(_get_key(canary), canary.digest) != canary.digest
            else _detect_change(answered)
        )
        yield WatchedCanary(
            canary=canary,
            change=change,
            asked=0 if answered is None else answered.asked,
            hallucinated=0 if answered is None else answered.hallucinated,
        )


def _find_new(
    kept: Sequence[CanaryQuestion], answers: Mapping[QuestionKey, QuestionHistory]
) -> Iterator[WatchedCanary]:
    known = {(_get_key(canary), canary.digest) for canary in kept}
    for canary in select_reliable(answers):
        if (_get_key(canary), canary.digest) not in known:
            yield WatchedCanary(
                canary=canary,
                change=CanaryChange.NEW,
                asked=canary.asked,
                hallucinated=canary.hallucinated,
            )


def _detect_change(answered: QuestionHistory | None) -> CanaryChange:
    if answered is None:
        return CanaryChange.UNASKED
    # What a system repeats at one size is said once, whether it is made up or not.
    is_seen = len(answered.places) >= MIN_PLACES
    if is_seen and is_recovery(answered.asked, answered.hallucinated):
        return CanaryChange.HEALED
    return (
        CanaryChange.STILL if 2 * answered.hallucinated >= answered.asked else CanaryChange.UNCLEAR
    )


def _get_key(canary: CanaryQuestion) -> QuestionKey:
    return canary.persona, canary.question
