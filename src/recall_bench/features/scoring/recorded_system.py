"""Systems that answer from a file: `answers:FILE` and `rankings:FILE`.

They are fed and asked as any other system, so a score of theirs has the verdicts, floors, intervals
and report of a run. What was retrieved is read by the run's reader.
"""

from pathlib import Path

from recall_bench.core.errors import SystemFault, UsageError
from recall_bench.core.memory import Answer, Asker, Passage, RetrievalReply, SystemCard
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.settings import Settings
from recall_bench.features.scoring.recorded_rows import RankedPlace, RecordedRow, RecordedRows

TURN = "#"
"""Between the id of an episode and the number of one of its turns."""


def build_recorded_answers(settings: Settings) -> "RecordedSystem":
    """The system that gives the answers of a file."""
    return _build(settings, answers=True)


def build_recorded_rankings(settings: Settings) -> "RecordedSystem":
    """The system that gives the passages of a file."""
    return _build(settings, answers=False)


def _build(settings: Settings, *, answers: bool) -> "RecordedSystem":
    form, _, name = settings.adapter.partition(":")
    if settings.config:
        raise UsageError(f"{form}:{name} takes no settings; leave --config out")
    rows = RecordedRows.read(Path(name))
    card = SystemCard(
        name=Path(name).stem,
        version=rows.digest,
        config={form: Path(name).name},
        computes=True,
        asker=Asker.HONOURED,
        answers=answers,
        caveats=("made elsewhere: nothing here shows what was known when it was made",),
    )
    return RecordedSystem(card, rows)


class RecordedSystem:
    """Opens memories that keep the days to point at, and answer from the file."""

    snapshots = None

    def __init__(self, card: SystemCard, rows: RecordedRows) -> None:
        self.card = card
        self._rows = rows

    async def open(self, scenario: str) -> "RecordedMemory":
        """A memory of this history."""
        return RecordedMemory(self._rows, scenario, answers=self.card.answers)

    async def close(self) -> None:
        """There is nothing to release."""


class RecordedMemory:
    """Knows which days have been, and looks each question up."""

    def __init__(self, rows: RecordedRows, scenario: str, *, answers: bool) -> None:
        self._rows = rows
        self._ids = rows.match_ids(scenario)
        self._answers = answers
        self._episodes: dict[str | int, Episode] = {}
        """By id and by day."""

    async def ingest(self, episode: Episode) -> None:
        """Keep the episode."""
        self._episodes[episode.id] = self._episodes[episode.day] = episode

    async def settle(self) -> None:
        """There is nothing to settle."""

    async def answer(self, question: Question) -> Answer | RetrievalReply:
        """What the file has; SystemFault if it has nothing."""
        day = self._count_days(question)
        row = self._rows.find(self._ids, question, day)
        if row is None or (self._answers and row.answer is None):
            raise SystemFault(f"{self._rows.path} has no row for this question at day {day}")
        passages = tuple(self._find_passage(place, row, day) for place in row.passages)
        if self._answers:
            return Answer(text=row.answer or "", passages=passages)
        return RetrievalReply(passages=passages)

    async def close(self) -> None:
        """There is nothing to release."""

    def _count_days(self, question: Question) -> int:
        """The story day on which it is asked: the log may have none of that day."""
        if not self._episodes:
            return 0
        last = max(self._episodes.values(), key=lambda episode: episode.day)
        return last.day + max((question.asked_at.date() - last.at.date()).days, 0)

    def _find_passage(self, place: RankedPlace | str | int, row: RecordedRow, day: int) -> Passage:
        if not isinstance(place, RankedPlace):
            place = RankedPlace(id=place) if isinstance(place, str) else RankedPlace(day=place)
        if place.text is not None:
            return Passage(text=place.text, id=place.id, day=place.day, score=place.score)
        name = place.day if place.id is None else place.id
        own, _, turn = str(name).partition(TURN)
        episode = self._episodes.get(own) or self._episodes.get(int(own) if own.isdecimal() else -1)
        if episode is None:
            raise SystemFault(
                f"{self._rows.path}: the row of {row.id or row.question!r} names {name!r}, and no "
                f"day up to day {day} is called so; write its id (day-0012) or its number"
            )
        text = episode.text
        if turn:
            if not turn.isdecimal() or not 0 < int(turn) <= len(episode.turns):
                raise SystemFault(
                    f"{self._rows.path}: {name!r}: {own} has {len(episode.turns)} turns"
                )
            text = episode.turns[int(turn) - 1].text
        return Passage(text=text, id=episode.id, day=episode.day, score=place.score)
