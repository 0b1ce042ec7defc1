"""Trace passages back to the episodes they came from.

A system may claim the origin of a passage, by the id of an episode or by a day. The claim holds if
that episode contains the text, literally or for the greater part; of one to three words, if they
are a whole turn or line of it, or are in no other episode. If it does not and another
episode does, the text decides, as it does without a claim. If no episode does, as for a summary,
the claim is recorded as such and counts for nothing: naming a day proves nothing. Only episodes up
to the day of asking count: what was not fed cannot have been found.

A text that several episodes contain belongs to the first of them, which stays the same at every
later checkpoint.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

from recall_bench.core.memory import DatedPassage, Passage
from recall_bench.core.scenario import Episode

SHINGLE = 8
"""This many equal words in a row are no coincidence."""
SHORT_SHINGLE = 4
"""The same for passages shorter than three shingles, so that a date in front does not hide them."""
PROBES = 64
"""How many shingles of a long passage are looked up, evenly spread."""
CACHE_SIZE = 100_000
"""How many traced passages are cached; tens of megabytes."""

_WORD = re.compile(r"\w+")

_Place = int | None
"""An episode's index in the scenario; None if there is none."""


class PassageTracer:
    """Traces the passages of one scenario, with a cache for its episodes."""

    def __init__(self, episodes: Sequence[Episode], *, is_verbatim: bool = True) -> None:
        """`is_verbatim` says that the episodes are the days that evidence refers to."""
        self._episodes = episodes
        self._is_verbatim = is_verbatim
        self._days = [episode.day for episode in episodes]
        self._by_id = {episode.id: place for place, episode in enumerate(episodes)}
        self._by_day = {day: place for place, day in enumerate(self._days)}
        self._pages: dict[int, _EpisodeText] = {}
        self._index = _EpisodeIndex()
        self._sure: dict[tuple[str, _Place], int] = {}
        self._likely: dict[tuple[str, _Place], _Place] = {}
        self._likely_fed = 0
        self._sessions: dict[int, frozenset[str | None]] = {}

    def trace(self, passage: Passage, until: int) -> Passage:
        """Set the day and turn of a passage, or None where they are unknown.

        `until` is the last day the system was fed.
        """
        fed = bisect_right(self._days, until)
        claim = self._find_claim(passage, fed)
        place = self._locate(passage.text, claim, fed)
        claimed = self._days[claim] if place is None and claim is not None else None
        day = turn = None
        turns: tuple[int, ...] = ()
        if place is not None:
            episode = self._episodes[place]
            day = episode.day
            turn = self._get_episode_text(place).find_turn(passage.text) if episode.turns else None
            if turn is None and episode.turns:
                turns = self._get_episode_text(place).find_turns(passage.text)
        current = passage.day, passage.turn, passage.turns, passage.claimed
        if (day, turn, turns, claimed) == current:
            return passage
        return passage.replace(day=day, turn=turn, turns=turns, claimed=claimed)

    def date_passage(self, passage: Passage, until: int) -> Passage:
        """Add date and session of the episode that the system itself names, if it names one.

        A reader may know them: the system was given both with the episode. What `trace` finds out
        it may not, so this takes a passage as the system returned it.
        """
        claim = self._find_claim(passage, bisect_right(self._days, until))
        if claim is None:
            return passage
        episode = self._episodes[claim]
        own = passage.source if passage.source in self._list_sessions(claim) else None
        return DatedPassage(
            **{name: getattr(passage, name) for name in passage.__struct_fields__},
            at=episode.at,
            session=episode.session or own,
        )

    def _list_sessions(self, place: int) -> frozenset[str | None]:
        """The sessions that the text of an episode names."""
        if place not in self._sessions:
            from recall_bench.text.sentences import read_sentences

            named = {sentence.session for sentence in read_sentences(self._episodes[place])}
            self._sessions[place] = frozenset(named)
        return self._sessions[place]

    def find_spans(self, passages: Sequence[Passage]) -> "tuple[TextRange | None, ...]":
        """Find the range of each traced passage in the text of its day; empty if none has one."""
        if not self._is_verbatim:
            return ()
        spans = tuple(self._find_span(passage) for passage in passages)
        return spans if any(spans) else ()

    def _find_span(self, passage: Passage) -> "TextRange | None":
        place = None if passage.day is None else self._by_day.get(passage.day)
        if place is None or self._episodes[place].turns:
            return None
        return find_range(passage.text, self._episodes[place])

    def _find_claim(self, passage: Passage, fed: int) -> _Place:
        """Find the episode the system names, by id or else by day, if it was fed."""
        place = None if passage.id is None else self._by_id.get(passage.id)
        if place is None or place >= fed:
            place = None if passage.day is None else self._by_day.get(passage.day)
        return None if place is None or place >= fed else place

    def _locate(self, text: str, claim: _Place, fed: int) -> _Place:
        """Locate the text, from the cache if possible.

        A claim that holds and the first literal quote stay right whatever else is fed; the most
        similar episode is found anew at every checkpoint.
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
            if (
                len(text.words) < SHORT_SHINGLE
                and text.plain not in self._get_episode_text(claim).lines
            ):
                # A word that is in other episodes too says nothing about the one that is named.
                return claim if self._is_only_in(text, claim, fed) else self._find_quote(text, fed)
            sure: _Place = claim
        else:
            sure = self._find_quote(text, fed)
        if sure is None:
            return self._find_similar(text, fed)
        if len(self._sure) >= CACHE_SIZE:
            self._sure.clear()
        self._sure[key] = sure
        return sure

    def _is_only_in(self, text: "_PassageText", place: int, fed: int) -> bool:
        """Whether no other episode that was fed contains these words."""
        self._extend_index(fed)
        words = _join_words(text.words)
        return not any(
            other != place and words in self._get_episode_text(other).words
            for other in self._index.find_episodes(text.words, fed)
        )

    def _extend_index(self, fed: int) -> None:
        for place in range(self._index.size, fed):
            self._index.add(self._get_episode_text(place).words)

    def _find_quote(self, text: "_PassageText", fed: int) -> _Place:
        """Find the first episode that quotes the text."""
        self._extend_index(fed)
        for place in self._index.find_episodes(text.whole_words, fed) if text.words else ():
            if self._get_episode_text(place).contains_quote(text):
                return place
        return None

    def _find_similar(self, text: "_PassageText", fed: int) -> _Place:
        """Find the episode with most of its shingles; None if that is less than half of them."""
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


TextRange = tuple[int, int]
"""From the first character to the one after the last."""


@lru_cache(maxsize=8192)
def find_range(text: str, episode: Episode) -> TextRange | None:
    """Find the range of a passage in the text of its episode; None if it is no quotation.

    Markup, punctuation and white space may differ, and a few words of the system's own, such as a
    date, may stand in front.
    """
    start = episode.text.find(text) if text else -1
    if start >= 0:
        return start, start + len(text)
    starts, ends, inside = _index_words(episode.text)
    words = _WORD.findall(text.lower())
    # With fewer words left, the rest of a passage may stand there by chance.
    spare = min(SHINGLE, len(words) - SHINGLE)
    for dropped in range(max(0, spare) + 1 if words else 0):
        place = inside.find(_join_words(words[dropped:]))
        if place >= 0:
            first = inside.count(" ", 0, place)
            last = first + len(words) - dropped - 1
            return _extend_range(starts[first], ends[last], episode.text)
    return None


@lru_cache(maxsize=2048)
def _index_words(text: str) -> "tuple[array[int], array[int], str]":
    """Where each word starts and ends, and the words joined; the texts are those of episodes."""
    places = [place.span() for place in _WORD.finditer(text)]
    return (
        array("i", [start for start, _ in places]),
        array("i", [end for _, end in places]),
        _join_words([text[start:end].lower() for start, end in places]),
    )


def _extend_range(start: int, end: int, text: str) -> TextRange:
    """Extend a range of words by the punctuation around them."""
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return start, end


class _PassageText:
    """A passage's text, split lazily."""

    def __init__(self, text: str) -> None:
        self.plain = " ".join(text.split())

    @cached_property
    def words(self) -> list[str]:
        return _WORD.findall(self.plain.lower())

    @cached_property
    def shingles(self) -> tuple[str, ...]:
        # Build the shingles of a text; a short text is one shingle.
        words = self.words
        if len(words) < SHINGLE:
            return (_join_words(words),) if words else ()
        size = SHINGLE if len(words) >= 3 * SHINGLE else SHORT_SHINGLE
        count = len(words) - size + 1
        starts = range(count) if count <= PROBES else (n * count // PROBES for n in range(PROBES))
        return tuple(_join_words(words[start : start + size]) for start in starts)

    @property
    def is_short(self) -> bool:
        """Whether it is short enough to occur inside other words by chance."""
        return self.plain.count(" ") + 1 < SHINGLE

    @property
    def whole_words(self) -> list[str]:
        """Its words; of a long text without the outer ones, which may be cut."""
        return self.words if self.is_short else self.words[1:-1]


def _join_words(words: list[str]) -> str:
    return f" {' '.join(words)} "


class _EpisodeText:
    """An episode's text, indexed lazily."""

    def __init__(self, episode: Episode) -> None:
        self._turns = episode.turns
        self._text = episode.text
        self._plain = " ".join(episode.text.split())

    @cached_property
    def words(self) -> str:
        return _join_words(_WORD.findall(self._plain.lower()))

    @cached_property
    def lines(self) -> frozenset[str]:
        # The whole turns and lines of the episode.
        lines = (*self._text.splitlines(), *(turn.text for turn in self._turns))
        return frozenset(" ".join(line.split()) for line in lines)

    def contains_quote(self, text: _PassageText) -> bool:
        """Whether the episode contains the text literally; a short one as whole words."""
        if not text.plain or text.plain not in self._plain:
            return False
        return not text.is_short or bool(text.words and _join_words(text.words) in self.words)

    def contains_most(self, text: _PassageText) -> bool:
        """Whether it contains the text literally, or at least half of its shingles."""
        if self.contains_quote(text):
            return True
        hits = sum(row in self.words for row in text.shingles)
        return hits > 0 and 2 * hits >= len(text.shingles)

    def find_turn(self, text: str) -> int | None:
        """Find the one turn the text is from; None if it is from several or none.

        A date or name that a system put in front is tolerated.
        """
        plain = " ".join(text.split())
        for number, line in enumerate(self._turn_lines):
            if plain and plain in line:
                return number
        inside = [
            number
            for number, turn_text in enumerate(self._turn_texts)
            if turn_text and turn_text in plain
        ]
        if inside:
            return inside[0] if len(inside) == 1 else None
        rows = _PassageText(text).shingles
        hits = [sum(row in spoken for row in rows) for spoken in self._turn_words]
        most = max(hits)
        is_clear = 0 < len(rows) <= 2 * most and hits.count(most) == 1
        return hits.index(most) if is_clear else None

    def find_turns(self, text: str) -> tuple[int, ...]:
        """Find the longest run of turns that the text contains whole; none if it is one turn.

        Short turns may occur in a text by chance, so only the longest run counts.
        """
        plain = " ".join(text.split())
        rows: list[list[int]] = []
        for number, spoken in enumerate(self._turn_texts):
            if not spoken or spoken not in plain:
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
    """The episodes that contain each word, as bit sets; a few megabytes for a thousand days."""

    def __init__(self) -> None:
        self.size = 0
        self._holding: dict[str, int] = {}

    def add(self, words: str) -> None:
        """Add the words of the next episode."""
        bit, holding = 1 << self.size, self._holding
        for word in set(words.split()):
            holding[word] = holding.get(word, 0) | bit
        self.size += 1

    def find_episodes(self, words: Sequence[str], fed: int) -> Iterator[int]:
        """Yield the episodes among the first `fed` that contain all the words, in story order."""
        candidates = (1 << fed) - 1
        for word in words:
            candidates &= self._holding.get(word, 0)
            if not candidates:
                return
        while candidates:
            lowest = candidates & -candidates
            yield lowest.bit_length() - 1
            candidates ^= lowest
