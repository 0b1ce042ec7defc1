"""Labelled verdicts, one JSON object a line, and the history they are about.

A line has `question`, `reference`, `answer`, `category`, `correctness`, `completeness` and
`grounded`, and may have `relevant_days`, `checkpoint_days` and `question_id`; other keys are
ignored. Of the labels that people give in `recall-bench view`, the last of each person and trial
counts, and those without marks are left out. Files of the original harness call the third mark
`hallucination`, 1 meaning grounded.

The history is a folder of day files, with or without a persona around them.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from hashlib import sha256
from pathlib import Path
from statistics import median_low
from typing import cast

from recall_bench.core.errors import BenchError, Malformed, Problems, UsageError
from recall_bench.core.grouping import group_by
from recall_bench.core.record import Record
from recall_bench.core.scenario import Episode, Evidence, Item, Scenario, Truth, compute_story_date
from recall_bench.core.untrusted_file import read_regular_file
from recall_bench.core.verdict import SCALES
from recall_bench.datasets.persona_files import Layout, choose_story, list_days, list_stories
from recall_bench.datasets.persona_questions import infer_expectation
from recall_bench.datasets.persona_story import EPOCH, read_story
from recall_bench.datasets.text_dates import audit_calendar, find_text_date
from recall_bench.judging.lab.human_labels import HumanLabel

_OTHER_NAMES = {"grounded": "hallucination"}
_WITHOUT_MARKS = (HumanLabel.BAD_QUESTION, HumanLabel.WITHDRAWN)
"""Labels of people that say nothing about the answer."""
_LAST_DAY = 1_000_000
"""No story is longer; later days are beyond the calendar."""


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


def load_labels(path: Path) -> tuple[LabelledVerdict, ...]:
    """Every record of the file in order; Malformed names the first bad line."""
    try:
        raw = read_regular_file(path)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); name a file of labelled verdicts"
        ) from error
    lines = [
        _parse_line(line, f"{path}, line {number}")
        for number, line in enumerate(raw.split(b"\n"), start=1)
        if line.strip()
    ]
    found = tuple(line.parse() for line in _select_lines(lines))
    if not found:
        raise Malformed(str(path), "holds no labelled verdict; write one JSON object a line")
    return found


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


def _select_lines(lines: "Iterable[_LabelledLine]") -> "Iterator[_LabelledLine]":
    """The lines that hold: of one person's labels for a trial the last, unless it has no marks."""
    held: dict[object, _LabelledLine] = {}
    for number, line in enumerate(lines):
        key = line.person_key
        held.pop(key, None)
        held[number if key is None else key] = line
    return (line for line in held.values() if not line.is_without_marks)


def _parse_line(line: bytes, where: str) -> "_LabelledLine":
    try:
        content = json.loads(line)
    except UnicodeDecodeError as error:
        raise Malformed(where, f"is not UTF-8 text ({error.reason}); save it as UTF-8") from error
    except ValueError as error:
        raise Malformed(where, f"is not JSON ({error}); write one object a line") from error
    except RecursionError as error:
        raise Malformed(where, "is nested too deeply; write one plain object a line") from error
    if not isinstance(content, dict):
        raise Malformed(where, "is not a JSON object; write one object a line")
    return _LabelledLine(content, where)


class _LabelledLine:
    """Parses the object of one line, key by key."""

    def __init__(self, content: Mapping[str, object], where: str) -> None:
        self._content = content
        self._where = where

    @property
    def person_key(self) -> tuple[str, str] | None:
        """The trial and the person of a label that a person gave."""
        trial, person = self._content.get("trial"), self._content.get("by")
        is_given = isinstance(trial, str) and isinstance(person, str) and "label" in self._content
        return (str(trial), str(person)) if is_given else None

    @property
    def is_without_marks(self) -> bool:
        """Whether a person gave a label that says nothing about the answer."""
        return self.person_key is not None and self._content.get("label") in _WITHOUT_MARKS

    def parse(self) -> LabelledVerdict:
        return LabelledVerdict(
            question=self._get_text("question"),
            reference=self._get_text("reference"),
            answer=self._get_text("answer", may_be_blank=True),
            category=self._get_text("category"),
            labels={mark: self._get_label(mark, top) for mark, top in SCALES.items()},
            relevant_days=tuple(self._get_days()),
            checkpoint_days=self._get_checkpoint(),
            question_id=self._get_question_id(),
            trial=None if self.person_key is None else self.person_key[0],
        )

    def _get_text(self, key: str, *, may_be_blank: bool = False) -> str:
        value = self._require(key)
        if not isinstance(value, str):
            raise self._make_error(f"{key} is {_quote_json(value)}, not text; put it in quotes")
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise self._make_error(f"{key} holds half of a surrogate pair; complete or remove it")
        if not (may_be_blank or value.strip()):
            raise self._make_error(f"{key} is blank; fill it in or remove the line")
        return value

    def _get_label(self, mark: str, top: int) -> int:
        other = _OTHER_NAMES.get(mark, mark)
        if mark in self._content and other in self._content:
            here, there = self._content[mark], self._content[other]
            if here != there:
                raise self._make_error(
                    f"{mark} is {_quote_json(here)} and {other}, its other name, "
                    f"{_quote_json(there)}; remove one of the two"
                )
        key = mark if mark in self._content else other
        value = self._require(key)
        if type(value) is not int or not 0 <= value <= top:
            raise self._make_error(
                f"{key} is {_quote_json(value)}; write a whole number from 0 to {top}"
            )
        return value

    def _get_days(self) -> Iterator[int]:
        value = self._content.get("relevant_days")
        if value is None:
            return
        if not isinstance(value, list):
            raise self._make_error(
                f"relevant_days is {_quote_json(value)}; write a list of story days"
            )
        for day in cast("list[object]", value):
            if type(day) is not int or not 1 <= day <= _LAST_DAY:
                raise self._make_error(
                    f"relevant_days holds {_quote_json(day)}; "
                    f"write whole numbers from 1 to {_LAST_DAY}"
                )
            yield day

    def _get_checkpoint(self) -> int | None:
        value = self._content.get("checkpoint_days")
        if value is None or (type(value) is int and 1 <= value <= _LAST_DAY):
            return value
        raise self._make_error(
            f"checkpoint_days is {_quote_json(value)}; write the last story day the system knew"
        )

    def _get_question_id(self) -> str | None:
        value = self._content.get("question_id")
        if value is None:
            return None
        if isinstance(value, str) and value.strip():
            return self._get_text("question_id")
        raise self._make_error(
            f"question_id is {_quote_json(value)}; write a name in quotes or remove it"
        )

    def _require(self, key: str) -> object:
        if self._content.get(key) is None:
            raise self._make_error(f"has no {key}; every labelled verdict needs one")
        return self._content[key]

    def _make_error(self, problem: str) -> Malformed:
        return Malformed(self._where, problem)


def _quote_json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"


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
    calendar = _make_calendar(layout, days, texts)
    return Scenario(
        id=layout.id,
        epoch=calendar.epoch,
        episodes=tuple(
            Episode(id=file.path.stem, day=file.day, at=datetime.combine(at, time()), text=text)
            for file, at, text in zip(files, calendar.dates, texts, strict=True)
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


@dataclass(frozen=True, slots=True)
class _CorpusCalendar:
    epoch: date
    dates: tuple[date, ...]


def _make_calendar(layout: Layout, days: list[int], texts: list[str]) -> _CorpusCalendar:
    if not isinstance(layout, _BareDaysLayout):
        epoch = read_story(layout.folder, layout.arcs).epoch
        return _CorpusCalendar(epoch, tuple(compute_story_date(epoch, day).date() for day in days))
    own = [find_text_date(text) for text in texts]
    starts = Counter(
        date.fromordinal(at.toordinal() - day + 1)
        for day, at in zip(days, own, strict=True)
        if at is not None and at.toordinal() >= day
    )
    # The earliest of equals, so that the result does not depend on the order of files.
    epoch = min(starts, key=lambda start: (-starts[start], start), default=EPOCH)
    return _CorpusCalendar(epoch, audit_calendar(days, epoch, own).dates)
