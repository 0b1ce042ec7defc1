"""A day cut into passages: what is short enough to show and long enough to understand."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby
from sys import intern

from recall_bench.core.history import Episode
from recall_bench.core.sentences import Sentence, read
from recall_bench.judging.offline.values import values
from recall_bench.judging.offline.wording import Stems, plain, words

MOST_CHARACTERS = 600
"""A paragraph, list entry or turn that is longer makes several passages."""

CUT = "…"
"""Stands wherever text was left out."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of sentences of one paragraph, list entry or turn."""

    sentences: range
    """Which of the day's sentences."""
    block: int
    session: str | None
    characters: int
    terms: tuple[str, ...]
    """What it can be found by, its heading and its lead included. Not a set: that takes several
    times the room, and a history has tens of thousands of passages."""


@dataclass(frozen=True, slots=True)
class Page:
    """One episode as it can be shown."""

    episode: Episode
    sentences: tuple[Sentence, ...]
    passages: tuple[Passage, ...]

    def at(self, start: int, end: int) -> list[int]:
        """The sentences that the characters from `start` up to `end` of the text lie in."""
        text = self.episode.text
        whole = _squeezed(text)
        first, last = len(_squeezed(text[:start])), len(_squeezed(text[:end]))
        found: list[int] = []
        after = 0
        for index, sentence in enumerate(self.sentences):
            bare = _squeezed(sentence.text)
            place = whole.find(bare, after)
            if place < 0:
                continue
            after = place + len(bare)
            if place < last and after > first:
                found.append(index)
        return found

    def shown(self, chosen: Collection[int]) -> str:
        """The chosen sentences in order under the day's banner, every cut marked."""
        lines = [banner(self.episode)]
        before = -1
        place: tuple[str | None, str] = (None, "")
        lead = ""
        for index in sorted(chosen):
            sentence = self.sentences[index]
            if index == before + 1 and before >= 0 and _share_a_block(self, before, index):
                lines[-1] += f" {sentence.text}"
            else:
                if index != before + 1:
                    lines.append(CUT)
                if place != (sentence.session, sentence.heading):
                    lines.extend(_signposts(place, sentence))
                    lead = ""
                lines.extend(self._told(sentence, lead, lines[-1]))
            place, lead, before = (sentence.session, sentence.heading), sentence.lead, index
        if before + 1 < len(self.sentences):
            lines.append(CUT)
        return "\n".join(lines)

    def _told(self, sentence: Sentence, lead: str, above: str) -> Iterator[str]:
        if not sentence.lead:
            yield sentence.text
        elif self.episode.turns:
            yield sentence.quoted
        else:
            if sentence.lead not in (lead, above):
                yield sentence.lead
            yield f"- {sentence.text}"


def banner(episode: Episode) -> str:
    """The line that opens a day: its number and its date, and the hour where there is one."""
    when = episode.at
    hour = f" {when:%H:%M}" if (when.hour, when.minute) != (0, 0) else ""
    return f"=== Day {episode.day}, {when:%Y-%m-%d}{hour} ==="


@lru_cache(maxsize=256)
def page_of(episode: Episode) -> Page:
    """The episode, read once for all the verdicts that need it."""
    sentences = tuple(part for sentence in read(episode) for part in _parts(sentence))
    return Page(episode, sentences, tuple(_passages(sentences)))


def terms(text: str) -> frozenset[str]:
    """What two texts about one thing share: values in whatever spelling, and stems of words."""
    bare = plain(text)
    found = {f"{atom.kind} {atom.core}" for atom in values(bare)}
    return frozenset(found.union(_stems().of(word for word in words(bare) if not word.isdigit())))


@cache
def _stems() -> Stems:
    return Stems()


@lru_cache(maxsize=4096)
def _place_terms(place: str) -> frozenset[str]:
    return terms(place)


def _squeezed(text: str) -> str:
    """Without any blanks: a sentence keeps its characters, but not how its lines were broken."""
    return "".join(text.split())


def _share_a_block(page: Page, one: int, other: int) -> bool:
    return page.sentences[one].block == page.sentences[other].block


def _signposts(place: tuple[str | None, str], sentence: Sentence) -> Iterator[str]:
    if sentence.session is not None and sentence.session != place[0]:
        yield f"# session: {sentence.session}"
    if sentence.heading:
        yield f"## {sentence.heading}"


def _parts(sentence: Sentence) -> Iterator[Sentence]:
    """The sentence, or pieces of it where it is too long for one passage."""
    while len(sentence.text) > MOST_CHARACTERS:
        blank = sentence.text.rfind(" ", 1, MOST_CHARACTERS)
        end = blank if blank > 0 else MOST_CHARACTERS
        yield replace(sentence, text=sentence.text[:end])
        sentence = replace(sentence, text=sentence.text[end:].lstrip())
    yield sentence


def _passages(sentences: tuple[Sentence, ...]) -> Iterator[Passage]:
    for _, block in groupby(range(len(sentences)), key=lambda index: sentences[index].block):
        run: list[int] = []
        for index in block:
            if run and _length(sentences, [*run, index]) > MOST_CHARACTERS:
                yield _passage(sentences, run)
                run = []
            run.append(index)
        yield _passage(sentences, run)


def _length(sentences: tuple[Sentence, ...], run: list[int]) -> int:
    return sum(len(sentences[index].text) + 1 for index in run) - 1


def _passage(sentences: tuple[Sentence, ...], run: list[int]) -> Passage:
    first = sentences[run[0]]
    told = terms(" ".join(sentences[index].text for index in run))
    return Passage(
        sentences=range(run[0], run[-1] + 1),
        block=first.block,
        session=first.session,
        characters=_length(sentences, run),
        terms=tuple(map(intern, told | _place_terms(f"{first.heading}\n{first.lead}"))),
    )
