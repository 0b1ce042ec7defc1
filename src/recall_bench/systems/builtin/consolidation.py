"""Extractive summaries: the most central sentences of a day, a week, a month.

A day is summarised when it is ingested, a week from its days and a month from the weeks that ended
in it, as soon as no more of their days can follow. So the summaries depend on the days ingested,
not on when questions were asked. No summary mixes sessions, so that none leaks what another said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Literal

from recall_bench.core.scenario import Episode
from recall_bench.systems.builtin.chunks import PIECE_CHARS, Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Period = Literal["day", "week", "month"]

LENGTHS: Mapping[Period, int] = {"day": 5, "week": 7, "month": 10}
"""The most sentences in a summary; not tuned."""


@dataclass(frozen=True, slots=True)
class SentenceVectors:
    """Sentences of one session and their vectors."""

    texts: tuple[str, ...]
    vectors: NDArray[np.float32]

    def select_central(self, most: int) -> SentenceVectors:
        """The sentences nearest to the sum of all vectors, each once, in their order."""
        import numpy as np

        middle = np.einsum("ij->j", self.vectors)
        nearness = np.einsum("ij,j->i", self.vectors, middle)
        chosen: list[int] = []
        chosen_texts: set[str] = set()
        for place in np.argsort(-nearness, kind="stable").tolist():
            if len(chosen) < most and self.texts[place] not in chosen_texts:
                chosen.append(place)
                chosen_texts.add(self.texts[place])
        chosen.sort()
        return SentenceVectors(tuple(self.texts[place] for place in chosen), self.vectors[chosen])


SessionVectors = Mapping[str | None, SentenceVectors]
"""By session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodSummary:
    """The summary of a period, by session."""

    period: Period
    episode: str
    """The last episode in it, whose day and date follow."""
    day: int
    on: date
    by_session: SessionVectors

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """One chunk per session."""
        return tuple(
            Chunk(text=" ".join(sentences.texts), context=session or "", session=session)
            for session, sentences in self.by_session.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPeriods:
    """The week and the month to which days may still be added."""

    week: tuple[PeriodSummary, ...] = ()
    """Its days."""
    month: tuple[PeriodSummary, ...] = ()
    """The weeks that ended in it."""
    last: PeriodSummary | None = None
    """The last day ingested."""


def summarise_day(episode: Episode) -> PeriodSummary:
    """The most central sentences of the day, by session."""
    from recall_bench.systems.models.static_embedding import embed
    from recall_bench.text.sentences import read_sentences

    sentences = [
        sentence for sentence in read_sentences(episode) if len(sentence.text) <= PIECE_CHARS
    ]
    texts = [sentence.with_lead for sentence in sentences]
    places_by_session: dict[str | None, list[int]] = {}
    for place, sentence in enumerate(sentences):
        places_by_session.setdefault(sentence.session, []).append(place)
    vectors = embed(texts)
    by_session = {
        session: SentenceVectors(
            tuple(texts[place] for place in places), vectors[places]
        ).select_central(LENGTHS["day"])
        for session, places in places_by_session.items()
    }
    return PeriodSummary(
        period="day",
        episode=episode.id,
        day=episode.day,
        on=episode.at.date(),
        by_session=by_session,
    )


def add_day(
    periods: OpenPeriods, day: PeriodSummary
) -> tuple[list[PeriodSummary], list[PeriodSummary], OpenPeriods]:
    """The summaries before the day, the day and the summaries after it, and what stays open.

    A week or month whose last day was never ingested is closed by the first day after it.
    """
    before, periods = _close_periods(periods, day.on)
    periods = replace(periods, week=(*periods.week, day), last=day)
    after, periods = _close_periods(periods, day.on + timedelta(days=1))
    return before, [day, *after], periods


def _close_periods(
    periods: OpenPeriods, following: date
) -> tuple[list[PeriodSummary], OpenPeriods]:
    """The periods that are complete if the next day is `following` or later."""
    summaries: list[PeriodSummary] = []
    last = periods.last
    if last is None:
        return summaries, periods
    if periods.week and last.on.isocalendar()[:2] != following.isocalendar()[:2]:
        summaries.append(_merge_summaries("week", periods.week, last))
        periods = replace(periods, week=(), month=(*periods.month, summaries[-1]))
    if periods.month and (last.on.year, last.on.month) != (following.year, following.month):
        summaries.append(_merge_summaries("month", periods.month, last))
        periods = replace(periods, month=())
    return summaries, periods


def _merge_summaries(
    period: Period, parts: tuple[PeriodSummary, ...], last: PeriodSummary
) -> PeriodSummary:
    import numpy as np

    sessions = dict.fromkeys(session for part in parts for session in part.by_session)
    by_session: dict[str | None, SentenceVectors] = {}
    for session in sessions:
        several = list(_select_session(parts, session))
        whole = SentenceVectors(
            tuple(text for sentences in several for text in sentences.texts),
            np.concatenate([sentences.vectors for sentences in several]),
        )
        by_session[session] = whole.select_central(LENGTHS[period])
    return replace(last, period=period, by_session=by_session)


def _select_session(
    parts: tuple[PeriodSummary, ...], session: str | None
) -> Iterator[SentenceVectors]:
    for part in parts:
        if session in part.by_session:
            yield part.by_session[session]
