"""The plan of a run: everything it will do, decided before it starts, and what identifies it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from enum import StrEnum
from hashlib import sha256
from typing import Self

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import ReaderCard, SystemCard
from recall_bench.core.record import Record, digest_content
from recall_bench.core.scenario import Item, Scenario
from recall_bench.core.verdict import JudgeCard, name_judges


class Checkpoint(Record, frozen=True, kw_only=True):
    """A day in the story where feeding stops and questions start."""

    label: str
    days: int
    """Story days fed by then; may lie beyond the end of the history."""


class Trial(Record, frozen=True, kw_only=True):
    """One question asked once: the unit that is scheduled, resumed, paired and counted."""

    scenario: str
    item: str
    checkpoint: str
    repeat: int = 0

    def __str__(self) -> str:
        return f"{self.scenario}/{self.item}@{self.checkpoint}#{self.repeat}"


class Lifecycle(StrEnum):
    """How a memory is fed exactly the days up to a checkpoint."""

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
    """The form in which a system is fed the days."""

    DAYS = "days"
    """As logged."""
    CONVERSATIONS = "conversations"
    """As dialogues between the user and the assistant."""
    TOOL_CALLS = "tool-calls"
    """As the calls an agent made to remember them."""


class ReviewMode(StrEnum):
    """Which verdicts an appellate judge reviews."""

    BALANCED = "balanced"
    """Every failure, and as many random passes."""
    FAILURES = "failures"
    """Failures only: such a review can hardly lower a score."""


class SampleMode(StrEnum):
    """How a sample of older questions is chosen."""

    CORE = "core"
    """Half of it is a core that stays the same from checkpoint to checkpoint; the rest is drawn."""
    DRAWN = "drawn"
    """All of it is drawn anew at each checkpoint, as the public harness does."""


UNRECORDED = "unrecorded"
"""The placeholder for a digest or version that the files of an imported run do not contain."""


class ScenarioCard(Record, frozen=True, kw_only=True):
    """A history and its questions, by digest."""

    id: str
    epoch: date
    episodes: int
    last_day: int
    items: int
    history_digest: str
    questions_digest: str


class DrawnStory(Record, frozen=True, kw_only=True):
    """A shipped story that was drawn from a seed."""

    persona: str
    arcs: str
    edition: int


class WorldCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The seed that the shipped stories of a run were drawn from."""

    commitment: str
    """The digest of the seed: it proves later which seed it was."""
    seed: str | None = None
    """In hexadecimal; None while the seed of a challenge is secret."""
    stories: tuple[DrawnStory, ...] = ()

    @property
    def is_fresh(self) -> bool:
        """Whether the seed could not be prepared for: small ones can all be drawn in advance."""
        return self.seed is None or int(self.seed, 16).bit_length() >= FRESH_BITS


FRESH_BITS = 100
"""The least number of bits of a seed that cannot be found by trying."""


class FileCard(Record, frozen=True, kw_only=True):
    """A file that was read, by digest."""

    name: str
    sha256: str
    bytes: int


class DatasetCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A public dataset or selection suite as read, and how its answers are scored."""

    name: str
    files: tuple[FileCard, ...]
    protocol: str
    """The methodology, such as `locomo/strict`."""
    eval_version: str
    """Its version: runs with equal versions are measured in the same way."""
    layers: tuple[str, ...] = ()
    """Optional corrections of the gold answers that were applied."""


class BehaviourCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A behaviour suite as planned for one system."""

    suite: str
    version: str
    """The version of its stories and figures."""
    steps_digest: str
    """The digest of everything that is done in its stories."""
    offers: tuple[str, ...] = ()
    """The optional parts of the contract that the system offers."""
    not_offered: tuple[str, ...] = ()
    """The parts of the suite that the system does not offer, so that they are not measured."""


class ImportRepair(Record, frozen=True, kw_only=True):
    """A fault in the files of an imported run."""

    name: str
    count: int
    """How many rows, checkpoints or questions have it."""
    is_repaired: bool
    """Whether it was repaired; otherwise it is only marked and still affects the numbers."""
    said: str
    """What was found and what was done about it."""


class ImportCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The origin of an imported run, and the known faults of its files."""

    written_by: str
    """The harness that ran it, according to its files."""
    files: tuple[FileCard, ...]
    repairs: tuple[ImportRepair, ...] = ()
    reconstructed: bool = False
    """Whether the result was reconstructed from logs after the run was killed."""
    complete: bool = True
    """Whether the run reached all its checkpoints and all their questions are here."""
    findings: bool = True
    """Whether the files contain the judges' findings."""
    dataset: str | None = None
    """The digest of histories and questions, where the files state it."""
    asked: str | None = None
    """A digest of the questions asked at each checkpoint, where no dataset digest is stated."""

    def __str__(self) -> str:
        return f"{', '.join(file.name for file in self.files)} of {self.written_by}"


class LabelsCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The labels of people that take the place of verdicts."""

    sha256: str
    """The digest of trials, labels and people."""
    people: tuple[str, ...]
    answers: int
    """The number of answers with a label."""
    left_out: tuple[str, ...] = ()
    """The questions that people call bad, as `scenario/item`; they are not owed."""


class Plan(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A run, fully resolved. Equal digests mean the same questions asked in the same way."""

    scenarios: tuple[ScenarioCard, ...]
    checkpoints: tuple[Checkpoint, ...]
    """By days, ascending, no label twice."""
    system: SystemCard
    judge: JudgeCard
    reader: ReaderCard | None = None
    """The reader that answers from the system's passages; None if the system answers."""
    top_k: int = 10
    """How many of the passages a system returns are used."""
    max_context_tokens: int | None = None
    """About how many tokens of them are used; None for no limit."""
    other_judges: tuple[JudgeCard, ...] = ()
    """Judges that grade the same answers beside the first one; no score is made of their marks."""
    appellate: JudgeCard | None = None
    review: ReviewMode = ReviewMode.BALANCED
    """Which verdicts the appellate judge reviews, if there is one."""
    lifecycle: Lifecycle = Lifecycle.FRESH
    copies: int = 1
    """How many copies of a forked memory share the questions of a checkpoint and repeat."""
    repeats: int = 1
    seed: int = 42
    sample: int | None = None
    """The maximum of older questions at each checkpoint; None for all."""
    sampling: SampleMode = SampleMode.DRAWN
    """How they are chosen. The default is the rule of plans that do not say."""
    groups_enabled: bool = False
    dry_run: bool = False
    """Only the first checkpoint of each scenario."""
    answer_timeout_s: float = 30.0
    feed_timeout_s: float = 1800.0
    judge_timeout_s: float = 120.0
    judge_memory_window: int = 0
    """How many days on either side of each evidence day the judge sees; 0 for none at all."""
    calendar: Calendar = Calendar.METADATA
    ingest: Ingest = Ingest.DAYS
    """What the system is fed; judges always use the days."""
    error_budget: float = 0.05
    """The share of owed trials that may fail before the scores are invalid."""
    dataset: DatasetCard | None = None
    """The public dataset or suite; None for personas."""
    unjudged: bool = False
    """Whether answers are only recorded, not judged."""
    answers_from: str | None = None
    """The digest of the plan whose recorded answers are judged again."""
    labels: LabelsCard | None = None
    """Labels of people that win over the judge."""
    imported: ImportCard | None = None
    """The origin of an imported run."""
    world: WorldCard | None = None
    """The seed of shipped stories that were drawn afresh; None for stories as released."""
    behaviour: BehaviourCard | None = None
    """The behaviour suite; None for a run that only feeds and asks."""

    @property
    def dataset_digest(self) -> str:
        """The digest of all histories and questions."""
        return sha256("".join(card.digest for card in self.scenarios).encode()).hexdigest()

    @property
    def judge_names(self) -> tuple[str, ...]:
        """Short names of the judge and of the other judges, in their order."""
        return name_judges((self.judge, *self.other_judges))

    def list_left_out(self, scenario: str) -> frozenset[str]:
        """The ids of the questions of a scenario that are left out as bad."""
        named = () if self.labels is None else self.labels.left_out
        start = f"{scenario}/"
        return frozenset(
            question.removeprefix(start) for question in named if question.startswith(start)
        )

    @property
    def questions_digest(self) -> str:
        """The digest of all questions."""
        names = "".join(f"{card.id}:{card.questions_digest}" for card in self.scenarios)
        return sha256(names.encode()).hexdigest()


class Shard(Record, frozen=True, kw_only=True):
    """One of several equal parts of a run that independent processes work on: number, from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, word: str) -> Self:
        """Parse a shard such as `2/8`."""
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", word.strip())
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise UsageError(
                f"--shard: {word!r} is not a shard of a run; give 1/8 to 8/8, for example 2/8"
            )
        return cls(number=int(match[1]), of=int(match[2]))


FULL = 2**53 - 1
"""The days of `full` in the public files: more than any history has."""

NAMED_RANGES = {"30d": 30, "90d": 90, "6mo": 180, "1y": 365, "full": FULL}
LATER_RANGES = {"18mo": 540, "2y": 730}
"""Further checkpoints of stories that go on after them: between a year and the end of a story of
1,000 days there would be none, and few facts could be followed past a year."""

_UNIT_DAYS = {"": 1, "d": 1, "w": 7, "m": 30, "mo": 30, "y": 365}
_LABEL_UNIT = {"": "d", "d": "d", "w": "w", "m": "mo", "mo": "mo", "y": "y"}


def parse_range(word: str | int) -> Checkpoint:
    """Parse one checkpoint, with the label of the public harness."""
    text = str(word).strip().lower()
    if text in NAMED_RANGES:
        return Checkpoint(label=text, days=NAMED_RANGES[text])
    match = re.fullmatch(r"([0-9]{1,6})(d|w|mo|m|y)?", text)
    if match is None or int(match[1]) == 0:
        raise UsageError(
            f"--ranges: {str(word)!r} is not a range; "
            f"give a day count such as 45 or 45d, 2w, 6mo, 2y, every:7, every:2w, or "
            f"{', '.join(NAMED_RANGES)}"
        )
    count, unit = int(match[1]), match[2] or ""
    return Checkpoint(label=f"{count}{_LABEL_UNIT[unit]}", days=count * _UNIT_DAYS[unit])


def list_default_ranges(last_day: int) -> tuple[str, ...]:
    """List the checkpoints of a run that names none, for a story of this many days.

    Those at or after its end would ask the same as `full` does.
    """
    every = NAMED_RANGES | LATER_RANGES
    return tuple(label for label, days in every.items() if days < last_day or days == FULL)


def parse_ranges(words: Iterable[str | int], last_day: int) -> tuple[Checkpoint, ...]:
    """Parse checkpoints, ordered by days, each day once, under the name that comes first.

    Each word may be a list separated by commas or blanks. `every:N` is every Nth day of a history
    of `last_day` days, and its last day; the step may have a unit, as in `every:2w`.
    """
    by_days: dict[int, Checkpoint] = {}
    for checkpoint in _list_ranges(words, last_day):
        by_days.setdefault(checkpoint.days, checkpoint)
    if not by_days:
        raise UsageError("--ranges: no range given; give for example 30d,90d,full")
    return tuple(sorted(by_days.values(), key=lambda checkpoint: checkpoint.days))


def find_other_names(words: Iterable[str | int], last_day: int) -> dict[str, str]:
    """The names that are left out because their day has another name, which comes with them."""
    first: dict[int, str] = {}
    names: dict[str, str] = {}
    for checkpoint in _list_ranges(words, last_day):
        name = first.setdefault(checkpoint.days, checkpoint.label)
        if name != checkpoint.label:
            names[checkpoint.label] = name
    return names


def _list_ranges(words: Iterable[str | int], last_day: int) -> Iterator[Checkpoint]:
    for word in words:
        for part in re.split(r"[\s,]+", str(word).strip(" \t,") or str(word)):
            yield from _expand_range(part, last_day)


def _expand_range(part: str, last_day: int) -> list[Checkpoint]:
    step = re.fullmatch(r"every:([0-9]{1,6})(d|w|mo|m|y)?", part.lower())
    if step is None:
        return [parse_range(part)]
    if int(step[1]) == 0:
        raise UsageError(f"--ranges: {part!r} has no step; give for example every:7")
    size = int(step[1]) * _UNIT_DAYS[step[2] or ""]
    days = [*range(size, last_day, size), last_day]
    return [Checkpoint(label=f"{day}d", days=day) for day in days]


DayDigest = tuple[int, date, str, tuple[str, ...]]
"""A day's number, date, digest of its text, and arcs."""


def digest_text(text: str) -> str:
    """Digest one day's text."""
    return sha256(text.encode()).hexdigest()


def digest_history(leaves: Iterable[DayDigest]) -> str:
    """Digest everything a system is fed, in order, and then the days if it is fed another form."""
    digest = sha256()
    for day, at, text, arcs in leaves:
        digest.update(f"{day} {at.isoformat()} {text} {','.join(arcs)}\n".encode())
    return digest.hexdigest()


def digest_questions(items: Sequence[Item]) -> str:
    """Digest the questions with their truth.

    Templates and kinds are left out: they change no question, only intervals and tables.
    """
    questions = tuple(
        item.replace(template=None, kind=None) if item.template or item.kind else item
        for item in items
    )
    return digest_content(questions)


def build_scenario_card(scenario: Scenario) -> ScenarioCard:
    """Build the card of a loaded scenario."""
    fed = scenario.episodes if scenario.retold is None else scenario.retold + scenario.episodes
    leaves = (
        (episode.day, episode.at.date(), digest_text(episode.text), episode.arcs) for episode in fed
    )
    return ScenarioCard(
        id=scenario.id,
        epoch=scenario.epoch,
        episodes=len(scenario.episodes),
        last_day=scenario.last_day,
        items=len(scenario.items),
        history_digest=digest_history(leaves),
        questions_digest=digest_questions(scenario.items),
    )


def list_differences(one: Plan, other: Plan, *, between: str = ", now ") -> list[str]:
    """List the fields in which two plans differ, with both values."""
    if one.digest == other.digest:
        return []
    return [
        f"{name.replace('_', ' ')} ({_describe_change(old, new, between)})"
        for name in Plan.__struct_fields__
        if (old := getattr(one, name)) != (new := getattr(other, name))
    ]


def _describe_change(old: object, new: object, between: str) -> str:
    """Describe both values, with digests where the descriptions are equal."""
    before, after = _describe_value(old), _describe_value(new)
    if before == after:
        before, after = (
            f"{before} {sha256(repr(value).encode()).hexdigest()[:8]}" for value in (old, new)
        )
    return f"{before}{between}{after}"


def _describe_value(value: object) -> str:
    match value:
        case SystemCard() | JudgeCard() | ReaderCard():
            return f"{value.name} {value.version}"
        case BehaviourCard():
            return f"{value.suite} {value.version}"
        case DatasetCard():
            return f"{value.name} ({value.protocol}, {len(value.files)} files)"
        case tuple():
            return " ".join(
                str(getattr(part, "label", getattr(part, "id", part))) for part in value
            )
        case _:
            return str(value)
