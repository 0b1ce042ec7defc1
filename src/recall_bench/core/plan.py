"""What a run is going to do, decided before it starts."""

import re
from collections.abc import Iterable
from datetime import date
from enum import StrEnum
from hashlib import sha256
from typing import Self

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import ReaderCard, SystemCard
from recall_bench.core.record import Record
from recall_bench.core.verdict import JudgeCard


class Checkpoint(Record, frozen=True, kw_only=True):
    """A point in the story where we stop feeding and start asking."""

    label: str
    days: int
    """Story days told by then. May lie beyond the end of the history."""


class Trial(Record, frozen=True, kw_only=True):
    """One question put once: the unit we schedule, resume, pair and count."""

    scenario: str
    item: str
    checkpoint: str
    repeat: int = 0

    def __str__(self) -> str:
        return f"{self.scenario}/{self.item}@{self.checkpoint}#{self.repeat}"


class Lifecycle(StrEnum):
    """How a system comes to have lived exactly the days up to a checkpoint."""

    FRESH = "fresh"
    """A new memory for every checkpoint, fed from the first day."""
    FORKED = "forked"
    """One growing memory; at each checkpoint a copy of it is asked."""
    GROWING = "growing"
    """One growing memory, asked in place."""


class Calendar(StrEnum):
    """Where a day's date comes from when metadata and text disagree."""

    METADATA = "metadata"
    TEXT = "text"


class Ingest(StrEnum):
    """The form in which a system is given the days."""

    DAYS = "days"
    """As logged."""
    CONVERSATIONS = "conversations"
    """As dialogues between the user and the assistant."""
    TOOL_CALLS = "tool-calls"
    """As the calls an agent made to remember them."""


class ReviewMode(StrEnum):
    """Which verdicts an appellate judge reviews."""

    BALANCED = "balanced"
    """Every failure, and as many passes drawn at random."""
    FAILURES = "failures"
    """Failures alone: a review that can hardly lower a score."""


UNRECORDED = "unrecorded"
"""In the place of a digest or a version that the files of an imported run do not tell."""


class ScenarioCard(Record, frozen=True, kw_only=True):
    """Which history and which questions, precisely enough to notice a changed byte."""

    id: str
    epoch: date
    episodes: int
    last_day: int
    items: int
    history_digest: str
    questions_digest: str


class FileCard(Record, frozen=True, kw_only=True):
    """A file that was read, by its bytes."""

    name: str
    sha256: str
    bytes: int


class DatasetCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A public dataset, or the tests of a suite, as read, and how its answers are counted."""

    name: str
    files: tuple[FileCard, ...]
    protocol: str
    """The methodology, such as `locomo/strict`."""
    eval_version: str
    """Its version: two runs with one version were measured in the same way."""
    layers: tuple[str, ...] = ()
    """Optional corrections of the gold that were laid over it."""


class ImportRepair(Record, frozen=True, kw_only=True):
    """A fault of the files a run was imported from."""

    name: str
    count: int
    """How many rows, checkpoints or questions have it."""
    is_repaired: bool
    """Whether it was put right; if not, it is still in the numbers and is only marked."""
    said: str
    """What was found and what was done about it."""


class ImportCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Where an imported run came from, and what is known to be wrong with its files."""

    written_by: str
    """The harness that carried the run out, as far as its files tell."""
    files: tuple[FileCard, ...]
    repairs: tuple[ImportRepair, ...] = ()
    reconstructed: bool = False
    """Whether the result was pieced together from logs after the run had been killed."""
    complete: bool = True
    """Whether the run came to all its checkpoints, and every question put there is here."""
    findings: bool = True
    """Whether the files tell what the judges noticed beside the marks."""
    dataset: str | None = None
    """The digest of histories and questions, where the files state it."""
    asked: str | None = None
    """Names what was put at each checkpoint, where the files do not say how it was drawn."""

    def __str__(self) -> str:
        return f"{', '.join(file.name for file in self.files)} of {self.written_by}"


class Plan(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A run, fully resolved. Two runs with one digest asked the same things the same way."""

    scenarios: tuple[ScenarioCard, ...]
    checkpoints: tuple[Checkpoint, ...]
    """By days, ascending, no label twice."""
    system: SystemCard
    judge: JudgeCard
    reader: ReaderCard | None = None
    """Who answers from what the system finds; None leaves answering to the system."""
    top_k: int = 10
    """So many of the passages a system returns are looked at, for every system alike."""
    max_context_tokens: int | None = None
    """And no more than about so many tokens of them; None is no limit."""
    appellate: JudgeCard | None = None
    review: ReviewMode = ReviewMode.BALANCED
    """What the appellate judge sees, if there is one."""
    lifecycle: Lifecycle = Lifecycle.FRESH
    repeats: int = 1
    seed: int = 42
    sample: int | None = None
    """At most so many older questions at each checkpoint; None asks them all."""
    groups_enabled: bool = False
    dry_run: bool = False
    """Only the first checkpoint of each scenario."""
    answer_timeout_s: float = 30.0
    feed_timeout_s: float = 1800.0
    judge_timeout_s: float = 120.0
    judge_memory_window: int = 0
    """The judge sees so many days either side of each evidence day; 0 shows it none."""
    calendar: Calendar = Calendar.METADATA
    ingest: Ingest = Ingest.DAYS
    """What the system is fed; judges go by the days whatever it is."""
    error_budget: float = 0.05
    """The share of owed trials that may fail before the scores are called invalid."""
    dataset: DatasetCard | None = None
    """The public dataset or the suite that is measured; None for personas."""
    unjudged: bool = False
    """Whether answers are recorded and no judge is asked about them."""
    answers_from: str | None = None
    """The digest of the plan whose recorded answers are judged here again."""
    imported: ImportCard | None = None
    """Where the run came from, if another harness or another machine carried it out."""

    @property
    def dataset_digest(self) -> str:
        """Names the histories and questions together."""
        return sha256("".join(card.digest for card in self.scenarios).encode()).hexdigest()

    @property
    def questions_digest(self) -> str:
        """Names the questions alone."""
        names = "".join(f"{card.id}:{card.questions_digest}" for card in self.scenarios)
        return sha256(names.encode()).hexdigest()


class Shard(Record, frozen=True, kw_only=True):
    """The share with this number, counted from one, of so many."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, word: str) -> Self:
        """The share that `2/8` names."""
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", word.strip())
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise UsageError(
                f"--shard: {word!r} is no share of a run; say for example 2/8, from 1/8 to 8/8"
            )
        return cls(number=int(match[1]), of=int(match[2]))


FULL = 2**53 - 1
"""`full` as the public files spell it: more days than any history has."""

NAMED_RANGES = {"30d": 30, "90d": 90, "6mo": 180, "1y": 365, "full": FULL}

_UNIT_DAYS = {"": 1, "d": 1, "m": 30, "mo": 30, "y": 365}
_LABEL_UNIT = {"": "d", "d": "d", "m": "mo", "mo": "mo", "y": "y"}


def parse_range(word: str | int) -> Checkpoint:
    """One checkpoint from one word, as the public harness labels it."""
    text = str(word).strip().lower()
    if text in NAMED_RANGES:
        return Checkpoint(label=text, days=NAMED_RANGES[text])
    match = re.fullmatch(r"([0-9]+)(d|mo|m|y)?", text)
    if match is None or int(match[1]) == 0:
        raise UsageError(
            f"--ranges: {str(word)!r} is not a range; "
            f"say a day count such as 45 or 45d, 6mo, 2y, every:7, or one of {', '.join(NAMED_RANGES)}"
        )
    count, unit = int(match[1]), match[2] or ""
    return Checkpoint(label=f"{count}{_LABEL_UNIT[unit]}", days=count * _UNIT_DAYS[unit])


def parse_ranges(words: Iterable[str | int], last_day: int) -> tuple[Checkpoint, ...]:
    """The checkpoints meant, by days, each label once.

    Words may themselves be lists, separated by commas or blanks. `every:N` means every Nth
    day of a history of `last_day` days, and its last day.
    """
    found: dict[str, Checkpoint] = {}
    for word in words:
        for part in re.split(r"[\s,]+", str(word).strip(" \t,") or str(word)):
            for checkpoint in _expand_range(part, last_day):
                found.setdefault(checkpoint.label, checkpoint)
    if not found:
        raise UsageError("--ranges: nothing given; say for example 30d,90d,full")
    return tuple(sorted(found.values(), key=lambda checkpoint: checkpoint.days))


def _expand_range(part: str, last_day: int) -> list[Checkpoint]:
    step = re.fullmatch(r"every:([0-9]+)d?", part.lower())
    if step is None:
        return [parse_range(part)]
    if int(step[1]) == 0:
        raise UsageError(f"--ranges: {part!r} has no step; say for example every:7")
    days = [*range(int(step[1]), last_day, int(step[1])), last_day]
    return [Checkpoint(label=f"{day}d", days=day) for day in days]
