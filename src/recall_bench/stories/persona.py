"""Loads personas in the public format: a folder becomes a scenario, or a list of problems.

`inspect_persona` checks everything without keeping the text of the days; `load_persona` refuses
what it finds.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from recall_bench.core.errors import BenchError, Malformed, Problems
from recall_bench.core.plan import (
    Calendar,
    Ingest,
    ScenarioCard,
    digest_history,
    digest_questions,
    digest_text,
)
from recall_bench.core.scenario import PRINCIPAL, Episode, Item, Scenario, compute_story_date
from recall_bench.core.yaml12 import Document, read_document, read_source
from recall_bench.stories.persona_files import (
    DEFAULT_ARCS,
    DayFile,
    Layout,
    find_gaps,
    format_days,
    is_bare,
    list_days,
    name_day_file,
)
from recall_bench.stories.persona_questions import parse_questions
from recall_bench.stories.persona_story import (
    Persona,
    Story,
    parse_persona,
    parse_story,
)
from recall_bench.stories.text_dates import CalendarAudit, audit_calendar, find_text_date

if TYPE_CHECKING:
    from recall_bench.stories.transcripts import TranscribedDay, TranscriptFile


@dataclass(slots=True)
class Inspection:
    """What the inspection of a story found."""

    card: ScenarioCard | None = None
    """The story's identity; None if there are problems."""
    problems: list[BenchError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    items: tuple[Item, ...] = ()
    days: tuple[int, ...] = ()
    """The story days to ingest."""
    calendar: CalendarAudit | None = None
    """How the dates in the text compare with the story's; None if it could not be checked."""


def inspect_persona(
    folder: Path,
    *,
    arcs: str = DEFAULT_ARCS,
    allow_gaps: bool = False,
    calendar: Calendar = Calendar.METADATA,
    ingest: Ingest = Ingest.DAYS,
) -> Inspection:
    """Check everything that a run would read, and report all problems at once."""
    survey = _StorySurvey(folder, arcs, allow_gaps=allow_gaps, ingest=ingest)
    leaves = [
        _DayDigest(file.day, digest_text(text), find_text_date(text))
        for file, text in survey.read_days()
    ]
    retold = {
        transcript.day: digest_text(transcript.text) for transcript in survey.read_transcripts()
    }
    inspection = Inspection(problems=survey.problems, warnings=survey.warnings)
    if leaves and survey.story is not None and not survey.problems:
        audit = audit_calendar(
            [leaf.day for leaf in leaves], survey.story.epoch, [leaf.own for leaf in leaves]
        )
        inspection.calendar = audit
        inspection.warnings += _list_calendar_warnings(survey.layout, audit, calendar)
        dates = _choose_dates(survey.story.epoch, audit, [leaf.day for leaf in leaves], calendar)
        inspection.card = _build_card(survey, leaves, dates, retold)
        inspection.items = survey.items
        inspection.days = tuple(retold or (leaf.day for leaf in leaves))
    return inspection


def load_persona(
    folder: Path,
    *,
    arcs: str = DEFAULT_ARCS,
    calendar: Calendar = Calendar.METADATA,
    allow_gaps: bool = False,
    ingest: Ingest = Ingest.DAYS,
) -> Scenario:
    """Load the story with its questions; Problems if `inspect_persona` would find any."""
    survey = _StorySurvey(folder, arcs, allow_gaps=allow_gaps, ingest=ingest)
    texts = dict(survey.read_days())
    retold = {transcript.day: transcript for transcript in survey.read_transcripts()}
    if survey.problems:
        raise Problems(survey.problems)
    story = survey.require_story()
    audit = None
    if calendar is Calendar.TEXT:
        own = [find_text_date(text) for text in texts.values()]
        audit = audit_calendar([file.day for file in texts], story.epoch, own)
    dates = _choose_dates(story.epoch, audit, [file.day for file in texts], calendar)
    episodes = tuple(
        Episode(
            id=file.path.stem,
            day=file.day,
            at=datetime.combine(at, time()),
            text=text,
            arcs=story.list_active_arcs(file.day),
        )
        for (file, text), at in zip(texts.items(), dates, strict=True)
    )
    return Scenario(
        id=survey.layout.id,
        epoch=story.epoch,
        episodes=episodes,
        items=survey.items,
        retold=None if ingest is Ingest.DAYS else tuple(_build_retold_days(episodes, retold)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryDays:
    """The days of a story, without its questions."""

    history_digest: str
    """The same as in the card of a run."""
    texts: Mapping[int, str]
    """The texts of the logs by day; evidence refers to them."""


def read_story_days(
    folder: Path, *, arcs: str, calendar: Calendar, ingest: Ingest = Ingest.DAYS
) -> StoryDays:
    """Read the days alone, allowing gaps; Problems if they cannot be read.

    Without the questions this is ten times as fast as `load_persona`.
    """
    survey = _StorySurvey(folder, arcs, allow_gaps=True, ingest=ingest, is_asked=False)
    texts = {file.day: text for file, text in survey.read_days()}
    retold = {
        transcript.day: digest_text(transcript.text) for transcript in survey.read_transcripts()
    }
    if survey.problems:
        raise Problems(survey.problems)
    by_text = calendar is Calendar.TEXT
    leaves = [
        _DayDigest(day, digest_text(text), find_text_date(text) if by_text else None)
        for day, text in texts.items()
    ]
    epoch, days = survey.require_story().epoch, list(texts)
    audit = audit_calendar(days, epoch, [leaf.own for leaf in leaves]) if by_text else None
    dates = _choose_dates(epoch, audit, days, calendar)
    return StoryDays(history_digest=_digest_history(survey, leaves, dates, retold), texts=texts)


def _build_retold_days(
    days: Iterable[Episode], retold: "Mapping[int, TranscribedDay]"
) -> Iterator[Episode]:
    """Yield the days that have a transcript, with its text."""
    for day in days:
        if (transcript := retold.get(day.day)) is not None:
            yield day.replace(text=transcript.text, turns=transcript.turns)


@dataclass(frozen=True, slots=True)
class _DayDigest:
    """The digest and the date of a day's text."""

    day: int
    digest: str
    own: date | None


class _StorySurvey:
    """Reads the files of one story and collects their problems."""

    def __init__(
        self, folder: Path, arcs: str, *, allow_gaps: bool, ingest: Ingest, is_asked: bool = True
    ) -> None:
        self.layout = Layout(folder, arcs)
        self.problems: list[BenchError] = []
        self.warnings: list[str] = []
        self.story: Story | None = None
        self.days: tuple[DayFile, ...] = ()
        self.form = None
        if ingest is not Ingest.DAYS:
            from recall_bench.stories.transcripts import FORMS

            self.form = FORMS.get(ingest)
        self.retold: tuple[TranscriptFile, ...] = ()
        self.items: tuple[Item, ...] = ()
        self.problems += self.layout.find_missing()
        if not folder.is_dir():
            return
        persona = self._read_persona()
        self.story = self._read_story(persona)
        self._list_days(allow_gaps=allow_gaps)
        if self.form is not None and self.days:
            self.retold = self.form.collect_files(
                self.layout,
                [file.day for file in self.days],
                allow_gaps=allow_gaps,
                problems=self.problems,
                warnings=self.warnings,
            )
        if is_asked:
            self._read_questions(persona)

    def require_story(self) -> Story:
        """Return the story; it exists if there are no problems."""
        if self.story is None:
            raise AssertionError("a story that is missing is a problem")
        return self.story

    def read_days(self) -> Iterator[tuple[DayFile, str]]:
        """Yield each day with its text; unreadable days become problems."""
        for file in self.days:
            try:
                text = file.read()
            except Malformed as problem:
                self.problems.append(problem)
                continue
            if is_bare(text):
                self.warnings.append(f"{file.name}: holds frontmatter and nothing else")
            yield file, text

    def read_transcripts(self) -> "Iterator[TranscribedDay]":
        """Yield each day's transcript, if transcripts replace the logs; faults become problems."""
        if self.form is None:
            return
        for file in self.retold:
            try:
                yield self.form.read(file)
            except Problems as several:
                self.problems += several.problems
            except BenchError as problem:
                self.problems.append(problem)

    def _read_document(self, path: Path) -> Document | None:
        if not path.is_file():
            return None
        try:
            return read_document(path, name=self.layout.name(path))
        except Malformed as problem:
            self.problems.append(problem)
            return None

    def _read_persona(self) -> Persona | None:
        document = self._read_document(self.layout.persona_file)
        persona = parse_persona(document, self.problems) if document else None
        if document and persona and persona.id != self.layout.id:
            self.warnings.append(
                f"{document.describe_place('id')}: the id is {persona.id} and the folder "
                f"{self.layout.id}; results use the folder"
            )
        return persona

    def _read_story(self, persona: Persona | None) -> Story | None:
        document = self._read_document(self.layout.arcs_file)
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
                Malformed(self.days[-1].name, "is after the year 9999; correct its number")
            )
            return
        if not (allow_gaps or self.story.has_gaps):
            self._check_gaps(self.story)
        if last < self.story.last_day:
            self.warnings.append(
                f"{self.layout.name(self.layout.memories)}: the last day is {last}, but "
                f"{self.layout.arcs} goes on to day {self.story.last_day}"
            )

    def _check_gaps(self, story: Story) -> None:
        where = self.layout.name(self.layout.memories)
        for first, last in find_gaps([file.day for file in self.days], story.is_active):
            run = format_days(range(first, last + 1))
            missing = f"{name_day_file(first)} is" if first == last else f"the files of {run} are"
            self.problems.append(
                Malformed(
                    where,
                    f"{missing} missing although an arc is active; restore what is missing, or "
                    f"say the gap is meant with `gaps: true` in {self.layout.arcs} or --allow-gaps",
                )
            )

    def _read_questions(self, persona: Persona | None) -> None:
        path = self.layout.questions_file
        if not path.is_file():
            return
        declared = persona.sessions if persona else ()
        name = self.layout.name(path)
        try:
            source = read_source(path, name)
        except Malformed as problem:
            self.problems.append(problem)
            return
        self.items, problems, warnings = _parse_question_file(
            name,
            source,
            frozenset(file.day for file in self.days) if self.days else None,
            frozenset({PRINCIPAL, *(session.id for session in declared)} if declared else ()),
        )
        self.problems += problems
        self.warnings += warnings


@lru_cache(maxsize=8)
def _parse_question_file(
    name: str, source: str, days: frozenset[int] | None, sessions: frozenset[str]
) -> tuple[tuple[Item, ...], tuple[BenchError, ...], tuple[str, ...]]:
    """Parse questions once for a run, which inspects all its stories before it loads each."""
    problems: list[BenchError] = []
    warnings: list[str] = []
    try:
        document = Document(name, source)
    except Malformed as problem:
        return (), (problem,), ()
    items = parse_questions(
        document, days=days, sessions=sessions, problems=problems, warnings=warnings
    )
    return items, tuple(problems), tuple(warnings)


def _list_calendar_warnings(
    layout: Layout, audit: CalendarAudit, calendar: Calendar
) -> Iterator[str]:
    where = layout.name(layout.memories)
    if calendar is Calendar.METADATA:
        yield from (f"{where}, {shift}" for shift in audit.shifts)
    elif not audit.readable:
        yield f"{where}: no day gives its own date, so --calendar text changes nothing"
    elif audit.disregarded:
        yield (
            f"{where}: the text of {format_days(audit.disregarded)} gives a date that does not fit "
            "its neighbours' and is not followed"
        )


def _choose_dates(
    epoch: date, audit: CalendarAudit | None, days: list[int], calendar: Calendar
) -> tuple[date, ...]:
    if calendar is Calendar.TEXT and audit is not None:
        return audit.dates
    return tuple(compute_story_date(epoch, day).date() for day in days)


def _build_card(
    survey: _StorySurvey,
    leaves: list[_DayDigest],
    dates: tuple[date, ...],
    retold: Mapping[int, str],
) -> ScenarioCard:
    return ScenarioCard(
        id=survey.layout.id,
        epoch=survey.require_story().epoch,
        episodes=len(leaves),
        last_day=leaves[-1].day,
        items=len(survey.items),
        history_digest=_digest_history(survey, leaves, dates, retold),
        questions_digest=digest_questions(survey.items),
    )


def _digest_history(
    survey: _StorySurvey,
    leaves: list[_DayDigest],
    dates: tuple[date, ...],
    retold: Mapping[int, str],
) -> str:
    story = survey.require_story()
    days = [
        (leaf.day, at, leaf.digest, story.list_active_arcs(leaf.day))
        for leaf, at in zip(leaves, dates, strict=True)
    ]
    fed = [(day, at, retold[day], arcs) for day, at, _, arcs in days if day in retold]
    return digest_history(fed + days)
