"""The history that labelled answers are about: day files, with or without a persona around them."""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path

from recall_bench.core.history import Episode, compute_story_date
from recall_bench.core.question import Scenario
from recall_bench.datasets.calendar import audit_calendar, find_text_date
from recall_bench.datasets.days import list_days
from recall_bench.datasets.layout import Layout, choose_story, list_stories
from recall_bench.datasets.story import EPOCH, read_story
from recall_bench.errors import BenchError, Malformed, Problems, UsageError

NO_CORPUS = Scenario(id="no-corpus", epoch=EPOCH, episodes=(), items=())
"""A history nobody knows: a judge must do with the reference."""

_MEMORIES = re.compile(r"memories(-.+)?")


def read_corpus(folder: Path) -> Scenario:
    """The days in a folder, or those of the persona whose folder it is; no questions.

    The calendar is the persona's. Day files on their own are dated by what they say themselves.
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
    told = list_stories(folder)
    if not (told or (folder / "persona.yaml").is_file()):
        return _find_persona_layout(folder) or _BareDaysLayout(folder, "")
    arcs = choose_story(told)
    if arcs is None:
        raise UsageError(
            f"--corpus: {folder} has several stories ({', '.join(told)}); "
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
    named = (f"arcs{match[1] or ''}{ending}" for ending in (".yaml", ".yml"))
    arcs = next((name for name in named if (place.parent / name).is_file()), None)
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
    # The earliest of equals, so that the order of the files decides nothing.
    epoch = min(starts, key=lambda start: (-starts[start], start), default=EPOCH)
    return _CorpusCalendar(epoch, audit_calendar(days, epoch, own).dates)
