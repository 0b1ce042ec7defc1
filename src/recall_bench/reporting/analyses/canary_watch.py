"""The file of canaries, and what happened to them in later runs."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import comb
from pathlib import Path
from typing import Final

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.plain_text import LABEL, format_fact, wrap_text
from recall_bench.core.record import Record
from recall_bench.reporting.analyses.canaries import (
    CANARY_RULE,
    MIN_PLACES,
    RELIABLE_SHARE,
    CanaryChange,
    CanaryQuestion,
    CanaryWatch,
    QuestionHistory,
    QuestionKey,
    WatchedCanary,
    collect_histories,
    digest_items,
    select_reliable,
)
from recall_bench.reporting.formats import format_card
from recall_bench.runs.trials import TrialTable

FILE_VERSION: Final = 1


class CanarySource(Record, frozen=True, kw_only=True):
    """A run of the last update."""

    plan: str
    """The beginning of its plan's digest."""
    system: str
    judge: str
    judged: int
    """Answers with a verdict."""
    hallucinated: int


class CanaryFile(Record, frozen=True, kw_only=True):
    """The content of a file of canaries."""

    version: int
    rule: str
    runs: tuple[CanarySource, ...]
    """The runs of the last update; canaries they did not ask are from earlier ones."""
    canaries: tuple[CanaryQuestion, ...]
    """By persona and question."""


class _CanaryFileHead(msgspec.Struct):
    version: int


def read_canaries(path: Path) -> tuple[CanaryQuestion, ...]:
    """The canaries of a file; DataError if it is not a file of canaries."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); `recall-bench canaries update` makes a "
            "file of canaries from runs"
        ) from error
    try:
        version = msgspec.json.decode(content, type=_CanaryFileHead).version
        if version != FILE_VERSION:
            raise DataError(
                f"{path}: is a file of canaries of version {version}, and only version "
                f"{FILE_VERSION} can be read here; update it from its runs again"
            )
        kept = msgspec.json.decode(content, type=CanaryFile).canaries
    except msgspec.ValidationError as error:
        raise DataError(f"{path}: is no file of canaries: {error}") from error
    except msgspec.DecodeError as error:
        raise DataError(f"{path}{_locate_error(content)}: is no JSON: {error}") from error
    _check_canaries(path, kept)
    return kept


def write_canaries(
    path: Path, canaries: Iterable[CanaryQuestion], tables: Sequence[TrialTable]
) -> None:
    """Write the file atomically; the same canaries and runs give the same bytes."""
    content = CanaryFile(
        version=FILE_VERSION,
        rule=CANARY_RULE,
        runs=tuple(sorted(map(_describe_source, tables), key=msgspec.json.encode)),
        canaries=tuple(sorted(canaries, key=lambda each: (each.persona, each.question))),
    )
    replace_file(path, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")


def _describe_source(table: TrialTable) -> CanarySource:
    plan, marks = table.plan, table.hallucinations
    return CanarySource(
        plan=plan.digest[:16],
        system=format_card(plan.system),
        judge=format_card(plan.judge),
        judged=len(marks),
        hallucinated=int(sum(marks.values())),
    )


def _locate_error(content: bytes) -> str:
    """The line of a syntax error, if known."""
    try:
        json.loads(content.decode())
    except json.JSONDecodeError as error:
        return f", line {error.lineno}"
    except UnicodeDecodeError as error:
        before = content[: error.start]
        return f", line {len(before.splitlines()) or 1}"
    return ""


def _check_canaries(path: Path, kept: Sequence[CanaryQuestion]) -> None:
    seen: dict[tuple[str, str], int] = {}
    for number, canary in enumerate(kept):
        where = f"{path}: `$.canaries[{number}]`"
        if not 0 <= canary.hallucinated <= canary.asked or canary.asked == 0:
            raise DataError(
                f"{where} hallucinated {canary.hallucinated} times of {canary.asked}, which cannot "
                "be; update the file from its runs again"
            )
        key = canary.persona, canary.question
        if (first := seen.setdefault(key, number)) != number:
            raise DataError(
                f"{where} is the same question as `$.canaries[{first}]`; remove one of them"
            )


HEALED_CHANCE: Final = 0.05
"""The largest probability of calling a canary healed that is not."""
HEALED_RULE: Final = (
    f"one on file is healed where it was judged at {MIN_PLACES} corpus sizes or in {MIN_PLACES} "
    f"runs, and a question that makes something up {RELIABLE_SHARE:.0%} of the time does so as "
    f"seldom as this run's with a chance of {HEALED_CHANCE:.0%} or less"
).replace("%", " %")

_CHANGE_MEANINGS = {
    CanaryChange.NEW: "hallucinates reliably, and is not on file",
    CanaryChange.HEALED: "made up far less often than a canary does",
    CanaryChange.CHANGED: "is another question now",
    CanaryChange.UNCLEAR: "asked too seldom or at one size alone, or too mixed a result, to tell",
    CanaryChange.STILL: "still hallucinates",
    CanaryChange.UNASKED: "not asked here",
}
"""In the order in which they are listed."""


def watch_file(table: TrialTable, file: Path | None) -> CanaryWatch:
    """The canaries of the file and of the run; without a file those of the run are all new.

    UsageError if the file cannot be read, DataError if it is not a file of canaries.
    """
    kept = () if file is None else read_canaries(file)
    return compare_canaries([table], kept, file=None if file is None else str(file))


def compare_canaries(
    tables: Sequence[TrialTable], kept: Sequence[CanaryQuestion], *, file: str | None = None
) -> CanaryWatch:
    """Compare the canaries on file with those of all runs together."""
    answers = collect_histories(tables)
    digests = {key: digest for table in tables for key, digest in digest_items(table).items()}
    found = [*_check_known(kept, answers, digests), *_find_new(kept, answers)]
    order = list(_CHANGE_MEANINGS)
    found.sort(key=lambda each: (order.index(each.change), *_get_key(each.canary)))
    return CanaryWatch(file=file, rule=f"{CANARY_RULE}; {HEALED_RULE}", watched=tuple(found))


def update_canaries(
    kept: Sequence[CanaryQuestion], tables: Sequence[TrialTable]
) -> tuple[CanaryQuestion, ...]:
    """The canaries of a file after these runs, by persona and question.

    Those of the runs, and the others on file that are neither healed nor changed.
    """
    now = {_get_key(canary): canary for canary in select_reliable(collect_histories(tables))}
    gone = (CanaryChange.HEALED, CanaryChange.CHANGED)
    for each in compare_canaries(tables, kept).watched:
        if each.change not in gone:
            now.setdefault(_get_key(each.canary), each.canary)
    return tuple(now[key] for key in sorted(now))


def is_recovery(asked: int, hallucinated: int) -> bool:
    """Whether a canary would hardly ever hallucinate so rarely, if answers are independent."""
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
    # Repeats at one size are not independent.
    is_seen = len(answered.places) >= MIN_PLACES
    if is_seen and is_recovery(answered.asked, answered.hallucinated):
        return CanaryChange.HEALED
    return (
        CanaryChange.STILL if 2 * answered.hallucinated >= answered.asked else CanaryChange.UNCLEAR
    )


def _get_key(canary: CanaryQuestion) -> QuestionKey:
    return canary.persona, canary.question


_UNCHANGED = (CanaryChange.STILL, CanaryChange.UNASKED)
_MAX_TEXT = 160


def render_canaries(watch: CanaryWatch, *, most: int | None = None) -> str:
    """The canaries as text: the rule, a count of each kind, and each that changed.

    At most `most` of these are shown.
    """
    return "\n".join(_render_lines(watch, most))


def _render_lines(watch: CanaryWatch, most: int | None) -> Iterator[str]:
    yield from format_fact(
        "File", watch.file or ("none is kept, so all are new" if watch.watched else "none is kept")
    )
    yield from format_fact("Rule", watch.rule)
    counts = Counter(each.change for each in watch.watched)
    if not counts:
        yield from format_fact("Canaries", "none")
    for change in CanaryChange:
        if counts[change]:
            yield from format_fact(change.value, f"{counts[change]:,} · {_CHANGE_MEANINGS[change]}")
    changed = [each for each in watch.watched if each.change not in _UNCHANGED]
    for each in changed[:most]:
        yield ""
        yield from _render_canary(each)
    if most is not None and len(changed) > most:
        yield ""
        yield f"({most} of {len(changed)} shown; --json has all)"


def _render_canary(each: WatchedCanary) -> Iterator[str]:
    canary = each.canary
    words = f"{canary.persona}/{canary.question} · {canary.category}"
    words += f" · {each.hallucinated} of {each.asked} made up here"
    if each.change is not CanaryChange.NEW:
        words += f", {canary.hallucinated} of {canary.asked} on file"
    yield from format_fact(each.change.value, words)
    text, indent = canary.text, " " * LABEL
    cut = text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
    yield from wrap_text(cut, initial=indent, subsequent=indent)
