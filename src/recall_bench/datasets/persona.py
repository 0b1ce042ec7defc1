"""Personas in the public format: a folder becomes a scenario, or a list of what is wrong.

`inspect` looks at everything and keeps no day's text; `load` looks at the same things and
keeps them. What one finds wrong, the other refuses.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from pathlib import Path

from recall_bench.core.fingerprint import history_digest, questions_digest, text_digest
from recall_bench.core.history import Episode, story_day
from recall_bench.core.plan import Calendar, Ingest, ScenarioCard
from recall_bench.core.question import PRINCIPAL, Item, Scenario
from recall_bench.datasets.calendar import CalendarAudit, audit_calendar, day_in_text
from recall_bench.datasets.days import DayFile, day_name, gaps, is_bare, list_days, spelled
from recall_bench.datasets.identity import Persona, Session, parse_persona, read_persona
from recall_bench.datasets.layout import DEFAULT_ARCS, Layout, persona_ids, sibling, stories
from recall_bench.datasets.questions import parse_questions
from recall_bench.datasets.retelling import FORMS, Retelling
from recall_bench.datasets.story import Arc, Story, parse_story, read_story
from recall_bench.datasets.transcripts import TranscriptFile, conversations, tool_calls
from recall_bench.errors import BenchError, Malformed, Problems
from recall_bench.yaml12 import Document, read_document

__all__ = [
    "Arc",
    "Inspection",
    "Persona",
    "Session",
    "Story",
    "conversations",
    "inspect",
    "load",
    "persona_ids",
    "read_persona",
    "read_story",
    "sibling",
    "stories",
    "tool_calls",
]


@dataclass(slots=True)
class Inspection:
    """What a look at one persona's story found."""

    card: ScenarioCard | None = None
    """The story's identity; None if there are problems."""
    problems: list[BenchError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    items: tuple[Item, ...] = ()
    days: tuple[int, ...] = ()
    """The numbers of the days there are to feed."""
    calendar: CalendarAudit | None = None
    """How the dates in the text compare with the story's; None if that was not to be known."""


def inspect(
    folder: Path,
    *,
    arcs: str = DEFAULT_ARCS,
    allow_gaps: bool = False,
    calendar: Calendar = Calendar.METADATA,
    ingest: Ingest = Ingest.DAYS,
) -> Inspection:
    """Look at everything a run would read, and report every problem at once."""
    survey = _Survey(folder, arcs, allow_gaps=allow_gaps, ingest=ingest)
    leaves = [
        _Leaf(file.day, text_digest(text), day_in_text(text)) for file, text in survey.read_days()
    ]
    retold = {told.day: text_digest(told.text) for told in survey.read_retold()}
    found = Inspection(problems=survey.problems, warnings=survey.warnings)
    if leaves and survey.story is not None and not survey.problems:
        audit = audit_calendar(
            [leaf.day for leaf in leaves], survey.story.epoch, [leaf.own for leaf in leaves]
        )
        found.calendar = audit
        found.warnings += _calendar_warnings(survey.layout, audit, calendar)
        dates = _dates(survey.story.epoch, audit, [leaf.day for leaf in leaves], calendar)
        found.card = _card(survey, leaves, dates, retold)
        found.items = survey.items
        found.days = tuple(retold or (leaf.day for leaf in leaves))
    return found


def load(
    folder: Path,
    *,
    arcs: str = DEFAULT_ARCS,
    calendar: Calendar = Calendar.METADATA,
    allow_gaps: bool = False,
    ingest: Ingest = Ingest.DAYS,
) -> Scenario:
    """The whole story with its questions; Problems, all of them, if `inspect` would find any."""
    survey = _Survey(folder, arcs, allow_gaps=allow_gaps, ingest=ingest)
    texts = dict(survey.read_days())
    retold = {told.day: told for told in survey.read_retold()}
    if survey.problems:
        raise Problems(survey.problems)
    story = survey.story_found()
    audit = None
    if calendar is Calendar.TEXT:
        own = [day_in_text(text) for text in texts.values()]
        audit = audit_calendar([file.day for file in texts], story.epoch, own)
    dates = _dates(story.epoch, audit, [file.day for file in texts], calendar)
    episodes = tuple(
        Episode(
            id=file.path.stem,
            day=file.day,
            at=datetime.combine(at, time()),
            text=text,
            arcs=story.active(file.day),
        )
        for (file, text), at in zip(texts.items(), dates, strict=True)
    )
    return Scenario(
        id=survey.layout.id,
        epoch=story.epoch,
        episodes=episodes,
        items=survey.items,
        retold=None if ingest is Ingest.DAYS else tuple(_retold(episodes, retold)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldDays:
    """The days of a story, without what is asked about them."""

    history_digest: str
    """As the card of a run about this story has it."""
    texts: Mapping[int, str]
    """By day, in the words that evidence points into."""


def told_days(
    folder: Path, *, arcs: str, calendar: Calendar, ingest: Ingest = Ingest.DAYS
) -> ToldDays:
    """The days alone, gaps and all; Problems if they cannot be read.

    Leaving the questions out makes this ten times as fast as `load`.
    """
    survey = _Survey(folder, arcs, allow_gaps=True, ingest=ingest, is_asked=False)
    texts = {file.day: text for file, text in survey.read_days()}
    retold = {told.day: text_digest(told.text) for told in survey.read_retold()}
    if survey.problems:
        raise Problems(survey.problems)
    by_text = calendar is Calendar.TEXT
    leaves = [
        _Leaf(day, text_digest(text), day_in_text(text) if by_text else None)
        for day, text in texts.items()
    ]
    epoch, days = survey.story_found().epoch, list(texts)
    audit = audit_calendar(days, epoch, [leaf.own for leaf in leaves]) if by_text else None
    dates = _dates(epoch, audit, days, calendar)
    return ToldDays(history_digest=_history_digest(survey, leaves, dates, retold), texts=texts)


def _retold(days: Iterable[Episode], retold: Mapping[int, Retelling]) -> Iterator[Episode]:
    """The days that are told again, each with the words it is told in."""
    for day in days:
        if (told := retold.get(day.day)) is not None:
            yield day.but(text=told.text, turns=told.turns)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """What remains of a day once it was read."""

    day: int
    digest: str
    own: date | None


class _Survey:
    """Reads the files of one story and notes what is wrong with any of them."""

    def __init__(
        self, folder: Path, arcs: str, *, allow_gaps: bool, ingest: Ingest, is_asked: bool = True
    ) -> None:
        self.layout = Layout(folder, arcs)
        self.problems: list[BenchError] = []
        self.warnings: list[str] = []
        self.story: Story | None = None
        self.days: tuple[DayFile, ...] = ()
        self.form = FORMS.get(ingest)
        self.retold: tuple[TranscriptFile, ...] = ()
        self.items: tuple[Item, ...] = ()
        self.problems += self.layout.missing()
        if not folder.is_dir():
            return
        persona = self._persona()
        self.story = self._story(persona)
        self._list_days(allow_gaps=allow_gaps)
        self._list_retold(allow_gaps=allow_gaps)
        if is_asked:
            self._questions(persona)

    def story_found(self) -> Story:
        """The story, which there is wherever no problem was noted."""
        if self.story is None:
            raise AssertionError("a story that is missing is a problem")
        return self.story

    def read_days(self) -> Iterator[tuple[DayFile, str]]:
        """Each day with its text; days that cannot be read are noted and left out."""
        for file in self.days:
            try:
                text = file.read()
            except Malformed as problem:
                self.problems.append(problem)
                continue
            if is_bare(text):
                self.warnings.append(f"{file.name}: holds frontmatter and nothing else")
            yield file, text

    def read_retold(self) -> Iterator[Retelling]:
        """Each day in the form that is fed in place of logs, if one is; faults are noted."""
        if self.form is None:
            return
        for file in self.retold:
            try:
                yield self.form.read(file)
            except Problems as several:
                self.problems += several.problems
            except BenchError as problem:
                self.problems.append(problem)

    def _document(self, path: Path) -> Document | None:
        if not path.is_file():
            return None
        try:
            return read_document(path, name=self.layout.name(path))
        except Malformed as problem:
            self.problems.append(problem)
            return None

    def _persona(self) -> Persona | None:
        document = self._document(self.layout.persona_file)
        persona = parse_persona(document, self.problems) if document else None
        if document and persona and persona.id != self.layout.id:
            self.warnings.append(
                f"{document.where('id')}: the id is {persona.id} and the folder {self.layout.id}; "
                "results go by the folder"
            )
        return persona

    def _story(self, persona: Persona | None) -> Story | None:
        document = self._document(self.layout.arcs_file)
        return parse_story(document, persona, self.problems, self.warnings) if document else None

    def _list_days(self, *, allow_gaps: bool) -> None:
        if not self.layout.memories.is_dir():
            return
        self.days = list_days(self.layout, self.problems, self.warnings)
        if self.story is None or not self.days or self.days[0].day < 1:
            return
        last = self.days[-1].day
        if self.story.epoch.toordinal() + last - 1 > date.max.toordinal():
            self.problems.append(
                Malformed(self.days[-1].name, "lies beyond the year 9999; correct its number")
            )
            return
        if not (allow_gaps or self.story.has_gaps):
            self._check_gaps(self.story)
        if last < self.story.last_day:
            self.warnings.append(
                f"{self.layout.name(self.layout.memories)}: the last day is {last}, but "
                f"{self.layout.arcs} goes on to day {self.story.last_day}"
            )

    def _list_retold(self, *, allow_gaps: bool) -> None:
        if self.form is not None and self.days:
            self.retold = self.form.files(
                self.layout,
                [file.day for file in self.days],
                allow_gaps=allow_gaps,
                problems=self.problems,
                warnings=self.warnings,
            )

    def _check_gaps(self, story: Story) -> None:
        where = self.layout.name(self.layout.memories)
        for first, last in gaps([file.day for file in self.days], story.is_active):
            run = spelled(range(first, last + 1))
            missing = f"{day_name(first)} is" if first == last else f"the files of {run} are"
            self.problems.append(
                Malformed(
                    where,
                    f"{missing} missing although an arc is active; restore what is missing, or "
                    f"say the gap is meant with `gaps: true` in {self.layout.arcs} or --allow-gaps",
                )
            )

    def _questions(self, persona: Persona | None) -> None:
        document = self._document(self.layout.questions_file)
        if document is None:
            return
        declared = persona.sessions if persona else ()
        self.items = parse_questions(
            document,
            days={file.day for file in self.days} if self.days else None,
            sessions={PRINCIPAL, *(session.id for session in declared)} if declared else (),
            problems=self.problems,
            warnings=self.warnings,
        )


def _calendar_warnings(layout: Layout, audit: CalendarAudit, calendar: Calendar) -> Iterator[str]:
    where = layout.name(layout.memories)
    if calendar is Calendar.METADATA:
        yield from (f"{where}, {shift}" for shift in audit.shifts)
    elif not audit.readable:
        yield f"{where}: no day gives its own date, so --calendar text changes nothing"
    elif audit.disregarded:
        yield (
            f"{where}: the text of {spelled(audit.disregarded)} gives a date that does not fit "
            "its neighbours' and is not followed"
        )


def _dates(
    epoch: date, audit: CalendarAudit | None, days: list[int], calendar: Calendar
) -> tuple[date, ...]:
    if calendar is Calendar.TEXT and audit is not None:
        return audit.dates
    return tuple(story_day(epoch, day).date() for day in days)


def _card(
    survey: _Survey, leaves: list[_Leaf], dates: tuple[date, ...], retold: Mapping[int, str]
) -> ScenarioCard:
    return ScenarioCard(
        id=survey.layout.id,
        epoch=survey.story_found().epoch,
        episodes=len(leaves),
        last_day=leaves[-1].day,
        items=len(survey.items),
        history_digest=_history_digest(survey, leaves, dates, retold),
        questions_digest=questions_digest(survey.items),
    )


def _history_digest(
    survey: _Survey, leaves: list[_Leaf], dates: tuple[date, ...], retold: Mapping[int, str]
) -> str:
    story = survey.story_found()
    days = [
        (leaf.day, at, leaf.digest, story.active(leaf.day))
        for leaf, at in zip(leaves, dates, strict=True)
    ]
    fed = [(day, at, retold[day], arcs) for day, at, _, arcs in days if day in retold]
    return history_digest(fed + days)
