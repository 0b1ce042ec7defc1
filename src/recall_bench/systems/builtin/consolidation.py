"""Summaries in the words of the record: the most central sentences of a day, a week, a month.

A day is summed up when it is taken in, a week from its days and a month from the weeks that ended
in it, as soon as no day of theirs can follow. So what there is depends on the days lived and never
on when anybody asked. No summary mixes sessions: what one may not know, its summaries do not tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Literal

from recall_bench.core.scenario import Episode
from recall_bench.core.sentences import read_sentences
from recall_bench.models.static_embedding import embed
from recall_bench.systems.builtin.chunks import PIECE_CHARS, Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Consolidation = Literal["none", "beside", "only"]
"""Whether summaries are kept: no; beside the days as they were written; or in their place."""

Period = Literal["day", "week", "month"]

LENGTHS: Mapping[Period, int] = {"day": 5, "week": 7, "month": 10}
"""Sentences in a summary at most; not tuned."""


@dataclass(frozen=True, slots=True)
class SentenceVectors:
    """Sentences of one session, each with its meaning."""

    texts: tuple[str, ...]
    vectors: NDArray[np.float32]

    def select_central(self, most: int) -> SentenceVectors:
        """The sentences nearest to what all of them mean together, each once, as they stand."""
        import numpy as np

        middle = np.einsum("ij->j", self.vectors)
        nearness = np.einsum("ij,j->i", self.vectors, middle)
        chosen: list[int] = []
        said: set[str] = set()
        for place in np.argsort(-nearness, kind="stable").tolist():
            if len(chosen) < most and self.texts[place] not in said:
                chosen.append(place)
                said.add(self.texts[place])
        chosen.sort()
        return SentenceVectors(tuple(self.texts[place] for place in chosen), self.vectors[chosen])


SessionVectors = Mapping[str | None, SentenceVectors]
"""By session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodSummary:
    """What a period came to, session by session."""

    period: Period
    episode: str
    """The last one lived in it, with its number and its date."""
    day: int
    on: date
    gists: SessionVectors

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """One passage a session."""
        return tuple(
            Chunk(text=" ".join(gist.texts), context=session or "", session=session)
            for session, gist in self.gists.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPeriods:
    """The week and the month that days may still be added to."""

    week: tuple[PeriodSummary, ...] = ()
    """Its days."""
    month: tuple[PeriodSummary, ...] = ()
    """The weeks that ended in it."""
    last: PeriodSummary | None = None
    """The last day lived."""


def summarise_day(episode: Episode) -> PeriodSummary:
    """The day in its most central sentences."""
    sentences = [
        sentence for sentence in read_sentences(episode) if len(sentence.text) <= PIECE_CHARS
    ]
    texts = [sentence.with_lead for sentence in sentences]
    said: dict[str | None, list[int]] = {}
    for place, sentence in enumerate(sentences):
        said.setdefault(sentence.session, []).append(place)
    vectors = embed(texts)
    gists = {
        session: SentenceVectors(
            tuple(texts[place] for place in places), vectors[places]
        ).select_central(LENGTHS["day"])
        for session, places in said.items()
    }
    return PeriodSummary(
        period="day", episode=episode.id, day=episode.day, on=episode.at.date(), gists=gists
    )


def add_day(
    unfinished: OpenPeriods, day: PeriodSummary
) -> tuple[list[PeriodSummary], list[PeriodSummary], OpenPeriods]:
    """What one more day completes: summaries before it, it and those after, what stays open.

    A week or a month whose last day was never lived is closed by the first day after it.
    """
    before, unfinished = _close_periods(unfinished, day.on)
    unfinished = replace(unfinished, week=(*unfinished.week, day), last=day)
    after, unfinished = _close_periods(unfinished, day.on + timedelta(days=1))
    return before, [day, *after], unfinished


def _close_periods(open_: OpenPeriods, following: date) -> tuple[list[PeriodSummary], OpenPeriods]:
    """What is complete if the next day to come is `following` or later."""
    made: list[PeriodSummary] = []
    last = open_.last
    if last is None:
        return made, open_
    if open_.week and last.on.isocalendar()[:2] != following.isocalendar()[:2]:
        made.append(_merge_summaries("week", open_.week, last))
        open_ = replace(open_, week=(), month=(*open_.month, made[-1]))
    if open_.month and (last.on.year, last.on.month) != (following.year, following.month):
        made.append(_merge_summaries("month", open_.month, last))
        open_ = replace(open_, month=())
    return made, open_


def _merge_summaries(
    period: Period, parts: tuple[PeriodSummary, ...], last: PeriodSummary
) -> PeriodSummary:
    import numpy as np

    sessions = dict.fromkeys(session for part in parts for session in part.gists)
    gists: dict[str | None, SentenceVectors] = {}
    for session in sessions:
        several = list(_select_session(parts, session))
        whole = SentenceVectors(
            tuple(text for gist in several for text in gist.texts),
            np.concatenate([gist.vectors for gist in several]),
        )
        gists[session] = whole.select_central(LENGTHS[period])
    return replace(last, period=period, gists=gists)


def _select_session(
    parts: tuple[PeriodSummary, ...], session: str | None
) -> Iterator[SentenceVectors]:
    for part in parts:
        if session in part.gists:
            yield part.gists[session]
