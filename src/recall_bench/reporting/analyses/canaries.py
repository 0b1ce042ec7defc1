"""Canaries: questions that reliably make a system hallucinate.

A question is one if most of its answers did so, at two corpus sizes or in two runs: repeats at one
size are not independent. A canary on file is healed if one would hardly ever be as quiet as it was.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from math import comb
from pathlib import Path
from typing import Final

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.plain_text import clean_text
from recall_bench.core.record import Record
from recall_bench.core.scenario import Item
from recall_bench.core.untrusted_json import decode_untrusted_json, read_regular_file
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

    @property
    def key(self) -> tuple[str, str]:
        """Persona and question."""
        return self.persona, self.question


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

    @property
    def has_places(self) -> bool:
        """Whether it was asked at enough corpus sizes, or in enough runs."""
        return len(self.places) >= MIN_PLACES


def find_canaries(tables: Sequence[TrialTable]) -> tuple[CanaryQuestion, ...]:
    """The canaries of all runs together, by persona and question.

    UsageError if two runs use one id for different questions.
    """
    return tuple(
        CanaryQuestion(
            persona=persona,
            question=question,
            text=history.item.text,
            category=history.item.truth.category,
            digest=digest_item(history.item),
            asked=history.asked,
            hallucinated=history.hallucinated,
            runs=len({run for run, _ in history.places}),
            sizes=len({size for _, size in history.places}),
            repeats=len(history.repeats),
        )
        for (persona, question), history in sorted(
            collect_histories(tables).items(), key=lambda pair: pair[0]
        )
        if history.asked >= MIN_JUDGED
        and history.has_places
        and history.hallucinated >= RELIABLE_SHARE * history.asked
    )


def collect_histories(tables: Sequence[TrialTable]) -> dict[QuestionKey, QuestionHistory]:
    """Every question with a judged answer, with its counts."""
    digests: dict[QuestionKey, str] = {}
    for table in tables if len(tables) > 1 else ():
        for key, digest in digest_items(table).items():
            if digests.setdefault(key, digest) != digest:
                raise UsageError(
                    f"{clean_text('/'.join(key))}: the runs ask different things by this name; "
                    "take runs over the same questions together"
                )
    histories: dict[QuestionKey, QuestionHistory] = {}
    for number, table in enumerate(tables):
        for row in table.rows:
            if row.is_invention is not None:
                key = row.trial.scenario, row.trial.item
                history = histories.setdefault(key, QuestionHistory(row.item))
                history.asked += 1
                history.hallucinated += row.is_invention
                history.places.add((number, row.cutoff))
                history.repeats.add(row.trial.repeat)
    return histories


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
    firsts: dict[QuestionKey, int] = {}
    for number, canary in enumerate(file.canaries):
        where = f"{path}: `$.canaries[{number}]`"
        if not 0 <= canary.hallucinated <= canary.asked or canary.asked == 0:
            raise DataError(
                f"{where} hallucinated {canary.hallucinated} times of {canary.asked}, which cannot "
                "be; update the file from its runs again"
            )
        if (first := firsts.setdefault(canary.key, number)) != number:
            raise DataError(
                f"{where} is the same question as `$.canaries[{first}]`; remove one of them"
            )
    return file.canaries


def write_canaries(
    path: Path, canaries: Iterable[CanaryQuestion], tables: Sequence[TrialTable]
) -> None:
    """Write the file atomically; the same canaries and runs give the same bytes."""
    sources = [
        CanarySource(
            plan=table.plan.digest[:16],
            system=format_card(table.plan.system),
            judge=format_card(table.plan.judge),
            judged=len(table.hallucinations),
            hallucinated=int(sum(table.hallucinations.values())),
        )
        for table in tables
    ]
    content = CanaryFile(
        version=FILE_VERSION,
        rule=CANARY_RULE,
        runs=tuple(sorted(sources, key=msgspec.json.encode)),
        canaries=tuple(sorted(canaries, key=lambda canary: canary.key)),
    )
    replace_file(path, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")


HEALED_CHANCE: Final = 0.05
"""The largest probability of calling a canary healed that is not."""
HEALED_RULE: Final = (
    f"one on file is healed where it was judged at {MIN_PLACES} corpus sizes or in {MIN_PLACES} "
    f"runs, and a question that makes something up {RELIABLE_SHARE:.0%} of the time does so as "
    f"seldom as this run's with a chance of {HEALED_CHANCE:.0%} or less"
).replace("%", " %")

CHANGE_MEANINGS: Final = {
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
    on_file = () if file is None else read_canaries(file)
    return compare_canaries([table], on_file, file=None if file is None else str(file))


def compare_canaries(
    tables: Sequence[TrialTable], on_file: Sequence[CanaryQuestion], *, file: str | None = None
) -> CanaryWatch:
    """Compare the canaries on file with those of all runs together."""
    histories = collect_histories(tables)
    digests = {key: digest for table in tables for key, digest in digest_items(table).items()}
    watched = []
    for canary in on_file:
        history = histories.get(canary.key)
        is_same = digests.get(canary.key, canary.digest) == canary.digest
        watched.append(
            WatchedCanary(
                canary=canary,
                change=_detect_change(history) if is_same else CanaryChange.CHANGED,
                asked=0 if history is None else history.asked,
                hallucinated=0 if history is None else history.hallucinated,
            )
        )
    on_file_now = {(canary.key, canary.digest) for canary in on_file}
    watched += [
        WatchedCanary(
            canary=canary,
            change=CanaryChange.NEW,
            asked=canary.asked,
            hallucinated=canary.hallucinated,
        )
        for canary in find_canaries(tables)
        if (canary.key, canary.digest) not in on_file_now
    ]
    order = list(CHANGE_MEANINGS)
    watched.sort(key=lambda each: (order.index(each.change), each.canary.key))
    return CanaryWatch(file=file, rule=f"{CANARY_RULE}; {HEALED_RULE}", watched=tuple(watched))


def update_canaries(
    on_file: Sequence[CanaryQuestion], tables: Sequence[TrialTable]
) -> tuple[CanaryQuestion, ...]:
    """The canaries of a file after these runs, by persona and question.

    Those of the runs, and the others on file that are neither healed nor changed.
    """
    canaries = {canary.key: canary for canary in find_canaries(tables)}
    for watched in compare_canaries(tables, on_file).watched:
        if watched.change not in (CanaryChange.HEALED, CanaryChange.CHANGED):
            canaries.setdefault(watched.canary.key, watched.canary)
    return tuple(canaries[key] for key in sorted(canaries))


def is_recovery(asked: int, hallucinated: int) -> bool:
    """Whether a canary would hardly ever hallucinate so rarely, if answers are independent."""
    chance = sum(
        comb(asked, count) * RELIABLE_SHARE**count * (1 - RELIABLE_SHARE) ** (asked - count)
        for count in range(hallucinated + 1)
    )
    return chance <= HEALED_CHANCE


def _detect_change(history: QuestionHistory | None) -> CanaryChange:
    if history is None:
        return CanaryChange.UNASKED
    if history.has_places and is_recovery(history.asked, history.hallucinated):
        return CanaryChange.HEALED
    is_mixed = 2 * history.hallucinated < history.asked
    return CanaryChange.UNCLEAR if is_mixed else CanaryChange.STILL
