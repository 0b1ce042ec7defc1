"""Canaries: questions that reliably make a system hallucinate.

A question is one if most of its answers did so, at two corpus sizes or in two runs: repeats at one
size are not independent. A canary on file is healed if one would hardly ever be as quiet as it was.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from math import comb
from pathlib import Path
from typing import Final

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.plain_text import LABEL, clean_text, format_fact, wrap_text
from recall_bench.core.record import Record
from recall_bench.core.scenario import Item
from recall_bench.core.untrusted_file import read_regular_file
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.engine.runs.trials import TrialTable
from recall_bench.reporting.formats import format_card


class CanaryChange(StrEnum):
    """What happened to a canary since the last update."""

    NEW = "new"
    """It hallucinates reliably now, and is not on file."""
    STILL = "still"
    """It is on file, and hallucinated in half of the answers or more."""
    HEALED = "healed"
    """It is on file, was asked at two places, and no longer hallucinates."""
    UNCLEAR = "unclear"
    """It is on file, and was asked too seldom, at one place only, or with mixed results."""
    UNASKED = "unasked"
    """It is on file, and this run did not ask it."""
    CHANGED = "changed"
    """Its text or reference changed: it is another question now."""


class CanaryQuestion(Record, frozen=True, kw_only=True):
    """One question that hallucinates reliably."""

    persona: str
    question: str
    """Its id."""
    text: str
    category: str
    digest: str
    """Of its text and reference."""
    asked: int
    """Answers that were judged."""
    hallucinated: int
    runs: int
    """How many runs this is over."""
    sizes: int
    """How many corpus sizes."""
    repeats: int
    """How many repeats."""


class WatchedCanary(Record, frozen=True, kw_only=True):
    """A canary and what happened to it in this run."""

    canary: CanaryQuestion
    """As on file, or as in this run if it is new."""
    change: CanaryChange
    asked: int
    """In this run alone."""
    hallucinated: int


class CanaryWatch(Record, frozen=True, kw_only=True):
    """All canaries, of the file and of this run."""

    file: str | None
    """None if there is no file."""
    rule: str
    """The definition of a canary, in one sentence with its figures."""
    watched: tuple[WatchedCanary, ...]
    """Changes first, then by persona and question."""


MIN_JUDGED: Final = 3
"""Judged answers that a canary needs."""
MIN_PLACES: Final = 2
"""Corpus sizes or runs that a canary needs: repeats at one size are not independent."""
RELIABLE_SHARE: Final = 0.8
"""The share of hallucinated answers that a canary needs."""

CANARY_RULE: Final = (
    f"a canary was judged {MIN_JUDGED} times or more, at {MIN_PLACES} corpus sizes or in "
    f"{MIN_PLACES} runs, and at least {RELIABLE_SHARE:.0%} of its answers made something up"
).replace("%", " %")

QuestionKey = tuple[str, str]
"""Persona and question."""


@dataclass(slots=True)
class QuestionHistory:
    """The judged answers to one question, over all runs."""

    item: Item
    asked: int = 0
    hallucinated: int = 0
    places: set[tuple[int, int]] = field(default_factory=set)
    """Run and corpus size."""
    repeats: set[int] = field(default_factory=set)


def find_canaries(tables: Sequence[TrialTable]) -> tuple[CanaryQuestion, ...]:
    """The canaries of all runs together, by persona and question.

    UsageError if two runs use one id for different questions.
    """
    return select_reliable(collect_histories(tables))


def collect_histories(tables: Sequence[TrialTable]) -> dict[QuestionKey, QuestionHistory]:
    """Every question with a judged answer, with its counts."""
    _check_same_questions(tables)
    histories: dict[QuestionKey, QuestionHistory] = {}
    for number, table in enumerate(tables):
        for row in table.rows:
            if row.is_invention is None:
                continue
            key = row.trial.scenario, row.trial.item
            asked = histories.get(key)
            if asked is None:
                asked = histories[key] = QuestionHistory(row.item)
            asked.asked += 1
            asked.hallucinated += row.is_invention
            asked.places.add((number, row.cutoff))
            asked.repeats.add(row.trial.repeat)
    return histories


def select_reliable(answers: Mapping[QuestionKey, QuestionHistory]) -> tuple[CanaryQuestion, ...]:
    """The questions that meet the rule, by persona and question."""
    return tuple(
        _build_canary(key, answers[key]) for key in sorted(answers) if _is_frequent(answers[key])
    )


def digest_item(item: Item) -> str:
    """A digest of the text, the choices and the reference of a question."""
    content = msgspec.json.encode((item.text, item.choices, item.truth.reference))
    return sha256(content).hexdigest()[:16]


def digest_items(table: TrialTable) -> dict[QuestionKey, str]:
    """The digest of every question, asked or not."""
    return {
        (persona, item.id): digest_item(item)
        for persona, items in table.items.items()
        for item in items
    }


def _is_frequent(asked: QuestionHistory) -> bool:
    return (
        asked.asked >= MIN_JUDGED
        and len(asked.places) >= MIN_PLACES
        and asked.hallucinated >= RELIABLE_SHARE * asked.asked
    )


def _build_canary(key: QuestionKey, asked: QuestionHistory) -> CanaryQuestion:
    persona, question = key
    return CanaryQuestion(
        persona=persona,
        question=question,
        text=asked.item.text,
        category=asked.item.truth.category,
        digest=digest_item(asked.item),
        asked=asked.asked,
        hallucinated=asked.hallucinated,
        runs=len({run for run, _ in asked.places}),
        sizes=len({size for _, size in asked.places}),
        repeats=len(asked.repeats),
    )


def _check_same_questions(tables: Sequence[TrialTable]) -> None:
    seen: dict[QuestionKey, str] = {}
    for table in tables if len(tables) > 1 else ():
        for key, digest in digest_items(table).items():
            if seen.setdefault(key, digest) != digest:
                raise UsageError(
                    f"{clean_text('/'.join(key))}: the runs ask different things by this name; "
                    "take runs over the same questions together"
                )


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


def read_canaries(path: Path) -> tuple[CanaryQuestion, ...]:
    """The canaries of a file; DataError if it is not a file of canaries."""
    try:
        file = decode_untrusted_json(read_regular_file(path), CanaryFile)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); `recall-bench canaries update` makes a "
            "file of canaries from runs"
        ) from error
    except msgspec.DecodeError as error:
        raise DataError(f"{path}: is not a file of canaries: {error}") from error
    if file.version != FILE_VERSION:
        raise DataError(
            f"{path}: is a file of canaries of version {file.version}, and only version "
            f"{FILE_VERSION} can be read here; update it from its runs again"
        )
    _check_canaries(path, file.canaries)
    return file.canaries


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
