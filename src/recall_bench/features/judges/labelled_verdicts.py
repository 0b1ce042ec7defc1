"""Labelled verdicts, one JSON object a line, and the history they are about.

A line has `question`, `reference`, `answer`, `category`, `correctness`, `completeness` and
`grounded`, and may have `relevant_days`, `checkpoint_days` and `question_id`; other keys are
ignored. Of the labels that people give in `recall-bench view`, the last of each person and trial
counts, and those without marks are left out. Files of the original harness call the third mark
`hallucination`, 1 meaning grounded.

The history is a folder of day files, with or without a persona around them.
"""

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from hashlib import sha256
from pathlib import Path
from statistics import median_low
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from recall_bench.core.errors import BenchError, Malformed, Problems, UsageError
from recall_bench.core.record import Record, group_by
from recall_bench.core.scenario import Episode, Evidence, Item, Scenario, Truth, compute_story_date
from recall_bench.core.untrusted_json import decode_untrusted_json, read_regular_file
from recall_bench.core.verdict import SCALES
from recall_bench.judging.answer_rows import Text
from recall_bench.judging.human_labels import HumanLabel, LabelKeys
from recall_bench.stories.persona_files import Layout, choose_story, list_days, list_stories
from recall_bench.stories.persona_questions import infer_expectation
from recall_bench.stories.persona_story import EPOCH, read_story
from recall_bench.stories.text_dates import audit_calendar, find_text_date

_WITHOUT_MARKS = (HumanLabel.BAD_QUESTION, HumanLabel.WITHDRAWN)
"""Labels of people that say nothing about the answer."""
_LAST_DAY = 1_000_000
"""No story is longer; later days are beyond the calendar."""
_Day = Annotated[int, Meta(ge=1, le=_LAST_DAY)]
LineT = TypeVar("LineT")


class LabelledVerdict(Record, frozen=True, kw_only=True):
    """One answer and the marks it should get."""

    question: str
    reference: str
    answer: str
    category: str
    labels: dict[str, int]
    relevant_days: tuple[int, ...] = ()
    checkpoint_days: int | None = None
    """The last story day the system knew; None means all of them."""
    question_id: str | None = None
    trial: str | None = None
    """The trial that a person labelled; of merged ones the first."""

    @property
    def triple(self) -> tuple[str, str, str]:
        """What the label is about."""
        return self.question, self.reference, self.answer

    @property
    def cluster(self) -> str:
        """The question, for statistics: answers to one question are alike."""
        return self.question_id or self.question

    @property
    def item(self) -> Item:
        """The question with its truth, as a judge gets it."""
        return Item(
            id=sha256(f"{self.question}\0{self.reference}".encode()).hexdigest()[:12],
            text=self.question,
            truth=Truth(
                reference=self.reference,
                category=self.category,
                expects=infer_expectation(self.reference, self.category, None),
                evidence=tuple(Evidence(day=day) for day in dict.fromkeys(self.relevant_days)),
            ),
            known_from=max(self.relevant_days, default=1),
        )


class _LabelledLine(msgspec.Struct, kw_only=True):
    """A line as it is written; other keys are ignored."""

    question: Text
    reference: Text
    answer: str
    category: Text
    correctness: Annotated[int, Meta(ge=0, le=SCALES["correctness"])]
    completeness: Annotated[int, Meta(ge=0, le=SCALES["completeness"])]
    grounded: Annotated[int, Meta(ge=0, le=SCALES["grounded"])] | None = None
    hallucination: Annotated[int, Meta(ge=0, le=SCALES["grounded"])] | None = None
    """The other name of the mark `grounded`."""
    relevant_days: tuple[_Day, ...] | None = None
    checkpoint_days: _Day | None = None
    question_id: Text | None = None
    trial: str | None = None
    by: str | None = None
    label: str | None = None

    def convert(self) -> LabelledVerdict:
        """What the line says; ValueError if its names of one mark contradict each other."""
        marks = {self.grounded, self.hallucination} - {None}
        if len(marks) != 1:
            problem = "two different values" if marks else "no value"
            raise ValueError(f"grounded, also called hallucination, has {problem}; give it one")
        labels = (self.correctness, self.completeness, *marks)
        return LabelledVerdict(
            question=self.question,
            reference=self.reference,
            answer=self.answer,
            category=self.category,
            labels={m: int(label or 0) for m, label in zip(SCALES, labels, strict=True)},
            relevant_days=self.relevant_days or (),
            checkpoint_days=self.checkpoint_days,
            question_id=self.question_id,
            trial=None if self.by is None or self.label is None else self.trial,
        )


def load_labels(path: Path) -> tuple[LabelledVerdict, ...]:
    """Every record of the file in order; Malformed names the first bad line."""
    try:
        raw = read_regular_file(path).removeprefix(BOM_UTF8)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); name a file of labelled verdicts"
        ) from error
    lines: dict[object, tuple[int, bytes, str | None]] = {}
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.strip():
            keys = _decode_line(line, LabelKeys, f"{path}, line {number}")
            is_given = None not in (keys.trial, keys.by, keys.label)
            key = (keys.trial, keys.by) if is_given else number
            # Of one person's labels for a trial the last one holds.
            lines.pop(key, None)
            lines[key] = number, line, keys.label if is_given else None
    records = []
    for number, line, label in lines.values():
        if label not in _WITHOUT_MARKS:
            where = f"{path}, line {number}"
            try:
                records.append(_decode_line(line, _LabelledLine, where).convert())
            except ValueError as error:
                raise Malformed(where, str(error)) from error
    if not records:
        raise Malformed(str(path), "holds no labelled verdict; write one JSON object a line")
    return tuple(records)


def _decode_line(line: bytes, kind: type[LineT], where: str) -> LineT:
    try:
        return decode_untrusted_json(line, kind)
    except msgspec.DecodeError as error:
        raise Malformed(where, str(error)) from error


def merge_repeats(records: Iterable[LabelledVerdict]) -> tuple[LabelledVerdict, ...]:
    """One record for each (question, reference, answer), in order of appearance.

    A mark's label is the most frequent one; of ties the middle one, and of two the lower: a
    doubtful pass is none. The checkpoint is the earliest of them.
    """
    groups = group_by(records, lambda record: record.triple)
    return tuple(_merge_group(group) for group in groups.values())


def _merge_group(group: list[LabelledVerdict]) -> LabelledVerdict:
    days = [record.checkpoint_days for record in group if record.checkpoint_days is not None]
    return group[0].replace(
        labels={mark: _find_majority(record.labels[mark] for record in group) for mark in SCALES},
        checkpoint_days=min(days, default=None),
    )


def _find_majority(labels: Iterable[int]) -> int:
    counts = Counter(labels)
    most = max(counts.values())
    return median_low([label for label, count in counts.items() if count == most])


NO_CORPUS = Scenario(id="no-corpus", epoch=EPOCH, episodes=(), items=())
"""An empty history: a judge has only the reference."""

_MEMORIES = re.compile(r"memories(-.+)?")


def read_corpus(folder: Path) -> Scenario:
    """The days in a folder, or those of the persona whose folder it is; no questions.

    The calendar is the persona's. Day files on their own are dated by their text.
    """
    if not folder.is_dir():
        raise UsageError(f"--corpus: {folder} is not a folder; name one with day files in it")
    layout = _find_layout(folder)
    problems: list[BenchError] = []
    files = list_days(layout, problems, [])
    if problems:
        raise Problems(problems)
    texts = [file.read() for file in files]
    days = [file.day for file in files]
    if EPOCH.toordinal() + days[-1] > date.max.toordinal():
        raise Malformed(files[-1].name, "lies beyond the year 9999; correct its number")
    epoch, dates = _make_calendar(layout, days, texts)
    return Scenario(
        id=layout.id,
        epoch=epoch,
        episodes=tuple(
            Episode(id=file.path.stem, day=file.day, at=datetime.combine(at, time()), text=text)
            for file, at, text in zip(files, dates, texts, strict=True)
        ),
        items=(),
    )


@dataclass(frozen=True, slots=True)
class _BareDaysLayout(Layout):
    """Day files outside a persona."""

    @property
    def memories(self) -> Path:
        return self.folder

    def name(self, path: Path) -> str:
        return f"{self.id}/{path.name}" if path != self.folder else self.id


def _find_layout(folder: Path) -> Layout:
    stories = list_stories(folder)
    if not (stories or (folder / "persona.yaml").is_file()):
        return _find_persona_layout(folder) or _BareDaysLayout(folder, "")
    arcs = choose_story(stories)
    if arcs is None:
        raise UsageError(
            f"--corpus: {folder} has several stories ({', '.join(stories)}); "
            "name the folder of the days, such as its memories-180d"
        )
    layout = Layout(folder, arcs)
    if not layout.memories.is_dir():
        raise UsageError(f"--corpus: {layout.memories} does not exist; {arcs} has no days to read")
    return layout


def _find_persona_layout(folder: Path) -> Layout | None:
    """The layout of the persona that the days belong to, if their folder lies in one."""
    place = folder.resolve()
    match = _MEMORIES.fullmatch(place.name)
    if match is None or not (place.parent / "persona.yaml").is_file():
        return None
    names = (f"arcs{match[1] or ''}{ending}" for ending in (".yaml", ".yml"))
    arcs = next((name for name in names if (place.parent / name).is_file()), None)
    return None if arcs is None else Layout(place.parent, arcs)


def _make_calendar(
    layout: Layout, days: list[int], texts: list[str]
) -> tuple[date, Sequence[date]]:
    """The first day of the story, and the date of each of its days."""
    if not isinstance(layout, _BareDaysLayout):
        epoch = read_story(layout.folder, layout.arcs).epoch
        return epoch, [compute_story_date(epoch, day).date() for day in days]
    own = [find_text_date(text) for text in texts]
    starts = Counter(
        date.fromordinal(at.toordinal() - day + 1)
        for day, at in zip(days, own, strict=True)
        if at is not None and at.toordinal() >= day
    )
    # The earliest of equals, so that the result does not depend on the order of files.
    epoch = min(starts, key=lambda start: (-starts[start], start), default=EPOCH)
    return epoch, audit_calendar(days, epoch, own).dates
