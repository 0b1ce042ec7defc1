"""From a passage back to the episode it came from.

What a system says of a passage, an episode's id or a day, is a claim. It holds if the text stands
in that episode, word for word or for the greater part. If it does not, and the text is found in
another episode, the text decides; if it is found nowhere, as the text of a summary, the claim is
all there is and is believed. Without a claim the text alone decides. Only episodes up to the day
of asking count: what was not fed cannot have been found.

A text that stands in several episodes belongs to the first of them: that is where the system was
told, and it stays the same at every later checkpoint.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from recall_bench.core.memory import Passage
from recall_bench.core.scenario import Episode

SHINGLE = 8
"""So many words in a row are too many to coincide by chance,"""
SHORT_SHINGLE = 4
"""and of a passage under three times as long, so many: a date put before it must not hide it."""
PROBES = 64
"""Of a long passage so many rows of words are looked for, evenly spread."""
REMEMBERED = 100_000
"""So many passages are traced once; tens of megabytes."""

_WORD = re.compile(r"\w+")

_Place = int | None
"""An episode's place in the scenario; None if there is none."""


class PassageTracer:
    """Traces the passages of one scenario. What it learns of the episodes it learns once."""

    def __init__(self, episodes: Sequence[Episode]) -> None:
        self._episodes = episodes
        self._days = [episode.day for episode in episodes]
        self._by_id = {episode.id: place for place, episode in enumerate(episodes)}
        self._by_day = {day: place for place, day in enumerate(self._days)}
        self._pages: dict[int, _EpisodeText] = {}
        self._index = _EpisodeIndex()
        self._sure: dict[tuple[str, _Place], int] = {}
        self._likely: dict[tuple[str, _Place], _Place] = {}
        self._likely_fed = 0

    def trace(self, passage: Passage, until: int) -> Passage:
        """The passage with the day and the turn it came from, and with none if nobody can tell.

        `until` is the last day the system was fed.
        """
        fed = bisect_right(self._days, until)
        place = self._locate(passage.text, self._find_claim(passage, fed), fed)
        day = turn = None
        turns: tuple[int, ...] = ()
        if place is not None:
            episode = self._episodes[place]
            day = episode.day
            turn = self._get_episode_text(place).find_turn(passage.text) if episode.turns else None
            if turn is None and episode.turns:
                turns = self._get_episode_text(place).find_turns(passage.text)
        if (day, turn, turns) == (passage.day, passage.turn, passage.turns):
            return passage
        return passage.replace(day=day, turn=turn, turns=turns)

    def _find_claim(self, passage: Passage, fed: int) -> _Place:
        """The episode the system names, if that was fed: by its id, else by its day."""
        for place in (
            None if passage.id is None else self._by_id.get(passage.id),
            None if passage.day is None else self._by_day.get(passage.day),
        ):
            if place is not None and place < fed:
                return place
        return None

    def _locate(self, text: str, claim: _Place, fed: int) -> _Place:
        """Where the text belongs, which is asked again and again.

        A claim that holds and the first episode with the very text stay right whatever else is
        fed; which episode is most alike is decided anew at every checkpoint.
        """
        key = (text, claim)
        sure = self._sure.get(key)
        if sure is not None and sure < fed:
            return sure
        if fed != self._likely_fed:
            self._likely, self._likely_fed = {}, fed
        if key not in self._likely:
            self._likely[key] = self._decide_place(key, fed)
        return self._likely[key]

    def _decide_place(self, key: tuple[str, _Place], fed: int) -> _Place:
        text, claim = _PassageText(key[0]), key[1]
        if claim is not None and self._get_episode_text(claim).contains_most(text):
            sure: _Place = claim
        else:
            sure = self._find_quote(text, fed)
        if sure is None:
            alike = self._find_similar(text, fed)
            return claim if alike is None else alike
        if len(self._sure) >= REMEMBERED:
            self._sure.clear()
        self._sure[key] = sure
        return sure

    def _find_quote(self, text: "_PassageText", fed: int) -> _Place:
        """The first episode with the very text."""
        for place in range(self._index.size, fed):
            self._index.add(self._get_episode_text(place).words)
        for place in self._index.find_episodes(text.whole_words, fed) if text.words else ():
            if self._get_episode_text(place).contains_quote(text):
                return place
        return None

    def _find_similar(self, text: "_PassageText", fed: int) -> _Place:
        """The episode with most of its rows of words; None if that is less than half of them."""
        hits: dict[int, int] = {}
        for row in text.shingles:
            for place in self._index.find_episodes(row.split(), fed):
                if row in self._get_episode_text(place).words:
                    hits[place] = hits.get(place, 0) + 1
        best = max(hits, key=lambda place: (hits[place], -place), default=None)
        return best if best is not None and 2 * hits[best] >= len(text.shingles) else None

    def _get_episode_text(self, place: int) -> "_EpisodeText":
        page = self._pages.get(place)
        if page is None:
            page = self._pages[place] = _EpisodeText(self._episodes[place])
        return page


class _PassageText:
    """A passage's text, taken apart as far as it is asked for."""

    def __init__(self, text: str) -> None:
        self.plain = " ".join(text.split())

    @cached_property
    def words(self) -> list[str]:
        return _WORD.findall(self.plain.lower())

    @cached_property
    def shingles(self) -> tuple[str, ...]:
        return _build_shingles(self.words)

    @property
    def is_short(self) -> bool:
        """Whether it is so short that it could stand inside other words by chance."""
        return self.plain.count(" ") + 1 < SHINGLE

    @property
    def whole_words(self) -> list[str]:
        """Its words, but for the outer ones where it may have been cut inside of a word."""
        return self.words if self.is_short else self.words[1:-1]


def _build_shingles(words: list[str]) -> tuple[str, ...]:
    """Some words in a row from every place, spelt as in a page; of a short text, all there are."""
    if len(words) < SHINGLE:
        return (_join_words(words),) if words else ()
    size = SHINGLE if len(words) >= 3 * SHINGLE else SHORT_SHINGLE
    count = len(words) - size + 1
    starts = range(count) if count <= PROBES else (n * count // PROBES for n in range(PROBES))
    return tuple(_join_words(words[start : start + size]) for start in starts)


def _join_words(words: list[str]) -> str:
    return f" {' '.join(words)} "


class _EpisodeText:
    """An episode's text, ready to be looked into."""

    def __init__(self, episode: Episode) -> None:
        self._turns = episode.turns
        self._plain = " ".join(episode.text.split())

    @cached_property
    def words(self) -> str:
        return _join_words(_WORD.findall(self._plain.lower()))

    def contains_quote(self, text: _PassageText) -> bool:
        """Whether the text stands here word for word; a short one, as words of its own."""
        if not text.plain or text.plain not in self._plain:
            return False
        return not text.is_short or bool(text.words and _join_words(text.words) in self.words)

    def contains_most(self, text: _PassageText) -> bool:
        """Whether it does, or at least half of its rows of words do."""
        if self.contains_quote(text):
            return True
        hits = sum(row in self.words for row in text.shingles)
        return hits > 0 and 2 * hits >= len(text.shingles)

    def find_turn(self, text: str) -> int | None:
        """The one utterance the text is of; None if it is of several, or of none.

        A part of an utterance after a date or a name that a system put before it is of it too.
        """
        plain = " ".join(text.split())
        for number, line in enumerate(self._turn_lines):
            if plain and plain in line:
                return number
        inside = [number for number, said in enumerate(self._turn_texts) if said and said in plain]
        if inside:
            return inside[0] if len(inside) == 1 else None
        rows = _PassageText(text).shingles
        hits = [sum(row in spoken for row in rows) for spoken in self._turn_words]
        most = max(hits)
        is_clear = 0 < len(rows) <= 2 * most and hits.count(most) == 1
        return hits.index(most) if is_clear else None

    def find_turns(self, text: str) -> tuple[int, ...]:
        """The utterances that stand whole in the text, as many as follow each other; else none.

        What was said in passing may stand in a text by chance: the longest row is taken.
        """
        plain = " ".join(text.split())
        rows: list[list[int]] = []
        for number, said in enumerate(self._turn_texts):
            if not said or said not in plain:
                continue
            if rows and rows[-1][-1] == number - 1:
                rows[-1].append(number)
            else:
                rows.append([number])
        longest = max(rows, key=len, default=[])
        return tuple(longest) if len(longest) > 1 else ()

    @cached_property
    def _turn_words(self) -> list[str]:
        return [_join_words(_WORD.findall(line.lower())) for line in self._turn_lines]

    @cached_property
    def _turn_texts(self) -> list[str]:
        return [" ".join(turn.text.split()) for turn in self._turns]

    @cached_property
    def _turn_lines(self) -> list[str]:
        return [" ".join(f"{turn.speaker}: {turn.text}".split()) for turn in self._turns]


class _EpisodeIndex:
    """Which episodes hold a word: a bit for each. A thousand days take a few megabytes."""

    def __init__(self) -> None:
        self.size = 0
        self._holding: dict[str, int] = {}

    def add(self, words: str) -> None:
        """Take in the next episode, spelt as a page spells its words."""
        bit, holding = 1 << self.size, self._holding
        for word in set(words.split()):
            holding[word] = holding.get(word, 0) | bit
        self.size += 1

    def find_episodes(self, words: Sequence[str], fed: int) -> Iterator[int]:
        """The episodes among the first `fed` that hold all of the words, in story order."""
        left = (1 << fed) - 1
        for word in words:
            left &= self._holding.get(word, 0)
            if not left:
                return
        while left:
            lowest = left & -left
            yield lowest.bit_length() - 1
            left ^= lowest
