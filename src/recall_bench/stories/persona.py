"""Loads personas in the public format: a folder becomes a scenario, or a list of problems.

`inspect_persona` checks everything without keeping the text of the days; `load_persona` refuses
what it finds.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from functools import lru_cache, partial
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
    from recall_bench.stories.transcripts import TranscribedDay


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
    inspection = Inspection(problems=survey.problems, warnings=survey.warnings)
    if survey.texts and survey.story is not None and not survey.problems:
        audit = survey.audit_calendar()
        inspection.calendar = audit
        inspection.warnings += _list_calendar_warnings(survey.layout, audit, calendar)
        inspection.card = ScenarioCard(
            id=survey.layout.id,
            epoch=survey.story.epoch,
            episodes=len(survey.texts),
            last_day=max(survey.texts),
            items=len(survey.items),
            history_digest=survey.digest_history(survey.choose_dates(calendar, audit)),
            questions_digest=digest_questions(survey.items),
        )
        inspection.items = survey.items
        inspection.days = tuple(survey.retold or survey.texts)
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
    story = survey.require_story()
    episodes = tuple(
        Episode(
            id=survey.files[day].path.stem,
            day=day,
            at=datetime.combine(at, time()),
            text=text,
            arcs=story.list_active_arcs(day),
        )
        for (day, text), at in zip(survey.texts.items(), survey.choose_dates(calendar), strict=True)
    )
    retold = (
        episode.replace(text=transcript.text, turns=transcript.turns)
        for episode in episodes
        if (transcript := survey.retold.get(episode.day)) is not None
    )
    return Scenario(
        id=survey.layout.id,
        epoch=story.epoch,
        episodes=episodes,
        items=survey.items,
        retold=None if ingest is Ingest.DAYS else tuple(retold),
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
    survey.require_story()
    digest = survey.digest_history(survey.choose_dates(calendar))
    return StoryDays(history_digest=digest, texts=survey.texts)


class _StorySurvey:
    """Reads the files of one story and collects their problems."""

    def __init__(
        self, folder: Path, arcs: str, *, allow_gaps: bool, ingest: Ingest, is_asked: bool = True
    ) -> None:
        self.layout = Layout(folder, arcs)
        self.problems: list[BenchError] = list(self.layout.find_missing())
        self.warnings: list[str] = []
        self.story: Story | None = None
        self.files: dict[int, DayFile] = {}
        self.texts: dict[int, str] = {}
        self.retold: dict[int, TranscribedDay] = {}
        """The transcripts by day, if they replace the logs."""
        self.items: tuple[Item, ...] = ()
        if not folder.is_dir():
            return
        document = self._read_document(self.layout.persona_file)
        persona = parse_persona(document, self.problems) if document else None
        if document and persona and persona.id != self.layout.id:
            self.warnings.append(
                f"{document.describe_place('id')}: the id is {persona.id} and the folder "
                f"{self.layout.id}; results use the folder"
            )
        document = self._read_document(self.layout.arcs_file)
        if document:
            self.story = parse_story(document, persona, self.problems, self.warnings)
        self._list_days(allow_gaps=allow_gaps)
        transcripts = self._list_transcripts(ingest, allow_gaps=allow_gaps)
        if is_asked:
            self._read_questions(persona)
        self._read_days()
        for read in transcripts:
            try:
                transcript = read()
                self.retold[transcript.day] = transcript
            except Problems as several:
                self.problems += several.problems
            except BenchError as problem:
                self.problems.append(problem)

    def require_story(self) -> Story:
        """The story; Problems if there are any."""
        if self.problems:
            raise Problems(self.problems)
        if self.story is None:
            raise AssertionError("a story that is missing is a problem")
        return self.story

    def audit_calendar(self) -> CalendarAudit:
        """How the dates in the text compare with the story's."""
        own = [find_text_date(text) for text in self.texts.values()]
        return audit_calendar(list(self.texts), self.require_story().epoch, own)

    def choose_dates(
        self, calendar: Calendar, audit: CalendarAudit | None = None
    ) -> tuple[date, ...]:
        """The date of each day."""
        if calendar is Calendar.TEXT:
            return (audit or self.audit_calendar()).dates
        epoch = self.require_story().epoch
        return tuple(compute_story_date(epoch, day).date() for day in self.texts)

    def digest_history(self, dates: tuple[date, ...]) -> str:
        """The digest of the days with these dates, and of what replaces them."""
        story = self.require_story()
        days = [
            (day, at, digest_text(text), story.list_active_arcs(day))
            for (day, text), at in zip(self.texts.items(), dates, strict=True)
        ]
        fed = [
            (day, at, digest_text(self.retold[day].text), arcs)
            for day, at, _, arcs in days
            if day in self.retold
        ]
        return digest_history(fed + days)

    def _read_document(self, path: Path) -> Document | None:
        try:
            return read_document(path, name=self.layout.name(path)) if path.is_file() else None
        except Malformed as problem:
            self.problems.append(problem)
            return None

    def _read_days(self) -> None:
        for file in self.files.values():
            try:
                text = self.texts[file.day] = file.read()
            except Malformed as problem:
                self.problems.append(problem)
                continue
            if is_bare(text):
                self.warnings.append(f"{file.name}: holds frontmatter and nothing else")

    def _list_transcripts(
        self, ingest: Ingest, *, allow_gaps: bool
    ) -> "list[Callable[[], TranscribedDay]]":
        """A reader for each transcript, if transcripts replace the logs."""
        if ingest is Ingest.DAYS or not self.files:
            return []
        from recall_bench.stories.transcripts import FORMS

        form = FORMS[ingest]
        files = form.collect_files(
            self.layout,
            list(self.files),
            allow_gaps=allow_gaps,
            problems=self.problems,
            warnings=self.warnings,
        )
        return [partial(form.read, file) for file in files]

    def _list_days(self, *, allow_gaps: bool) -> None:
        if not self.layout.memories.is_dir():
            return
        where = self.layout.name(self.layout.memories)
        files = list_days(self.layout, self.problems, self.warnings)
        self.files = {file.day: file for file in files}
        if self.story is None or not files or files[0].day < 1:
            return
        last = files[-1].day
        if self.story.epoch.toordinal() + last - 1 > date.max.toordinal():
            self.problems.append(
                Malformed(files[-1].name, "is after the year 9999; correct its number")
            )
            return
        is_gap_meant = allow_gaps or self.story.has_gaps
        gaps = () if is_gap_meant else find_gaps(list(self.files), self.story.is_active)
        for first, end in gaps:
            run = format_days(range(first, end + 1))
            missing = f"{name_day_file(first)} is" if first == end else f"the files of {run} are"
            self.problems.append(
                Malformed(
                    where,
                    f"{missing} missing although an arc is active; restore what is missing, or "
                    f"say the gap is meant with `gaps: true` in {self.layout.arcs} or --allow-gaps",
                )
            )
        if last < self.story.last_day:
            self.warnings.append(
                f"{where}: the last day is {last}, but {self.layout.arcs} goes on to day "
                f"{self.story.last_day}"
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
            frozenset(self.files) if self.files else None,
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
