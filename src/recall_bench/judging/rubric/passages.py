"""A day cut into passages: what is short enough to show and long enough to understand."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby
from sys import intern

from recall_bench.core.history import Episode
from recall_bench.core.sentences import Sentence, read_sentences
from recall_bench.judging.offline.values import find_values
from recall_bench.judging.offline.wording import Stems, normalise, split_words

MOST_CHARACTERS = 600
"""A paragraph, list entry or turn that is longer makes several passages."""

CUT = "…"
"""Stands wherever text was left out."""


@dataclass(frozen=True, slots=True)
class EpisodePassage:
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
class EpisodePage:
    """One episode as it can be shown."""

    episode: Episode
    sentences: tuple[Sentence, ...]
    passages: tuple[EpisodePassage, ...]

    def find_sentences(self, start: int, end: int) -> list[int]:
        """The sentences that the characters from `start` up to `end` of the text lie in."""
        text = self.episode.text
        whole = _remove_blanks(text)
        first, last = len(_remove_blanks(text[:start])), len(_remove_blanks(text[:end]))
        found: list[int] = []
        after = 0
        for index, sentence in enumerate(self.sentences):
            bare = _remove_blanks(sentence.text)
            place = whole.find(bare, after)
            if place < 0:
                continue
            after = place + len(bare)
            if place < last and after > first:
                found.append(index)
        return found

    def render(self, chosen: Collection[int]) -> str:
        """The chosen sentences in order under the day's banner, every cut marked."""
        lines = [format_banner(self.episode)]
        before = -1
        place: tuple[str | None, str] = (None, "")
        lead = ""
        for index in sorted(chosen):
            sentence = self.sentences[index]
            if index == before + 1 and before >= 0 and _is_same_block(self, before, index):
                lines[-1] += f" {sentence.text}"
            else:
                if index != before + 1:
                    lines.append(CUT)
                if place != (sentence.session, sentence.heading):
                    lines.extend(_render_headings(place, sentence))
                    lead = ""
                lines.extend(self._render_sentence(sentence, lead, lines[-1]))
            place, lead, before = (sentence.session, sentence.heading), sentence.lead, index
        if before + 1 < len(self.sentences):
            lines.append(CUT)
        return "\n".join(lines)

    def _render_sentence(self, sentence: Sentence, lead: str, above: str) -> Iterator[str]:
        if not sentence.lead:
            yield sentence.text
        elif self.episode.turns:
            yield sentence.with_lead
        else:
            if sentence.lead not in (lead, above):
                yield sentence.lead
            yield f"- {sentence.text}"


def format_banner(episode: Episode) -> str:
    """The line that opens a day: its number and its date, and the hour where there is one."""
    when = episode.at
    hour = f" {when:%H:%M}" if (when.hour, when.minute) != (0, 0) else ""
    return f"=== Day {episode.day}, {when:%Y-%m-%d}{hour} ==="


@lru_cache(maxsize=256)
def read_page(episode: Episode) -> EpisodePage:
    """The episode, read once for all the verdicts that need it."""
    sentences = tuple(
        part for sentence in read_sentences(episode) for part in _split_long(sentence)
    )
    return EpisodePage(episode, sentences, tuple(_split_passages(sentences)))


def extract_terms(text: str) -> frozenset[str]:
    """What two texts about one thing share: values in whatever spelling, and stems of words."""
    bare = normalise(text)
    found = {f"{atom.kind} {atom.core}" for atom in find_values(bare)}
    return frozenset(
        found.union(_load_stems().stem(word for word in split_words(bare) if not word.isdigit()))
    )


@cache
def _load_stems() -> Stems:
    return Stems()


@lru_cache(maxsize=4096)
def _extract_place_terms(place: str) -> frozenset[str]:
    return extract_terms(place)


def _remove_blanks(text: str) -> str:
    """Without any blanks: a sentence keeps its characters, but not how its lines were broken."""
    return "".join(text.split())


def _is_same_block(page: EpisodePage, one: int, other: int) -> bool:
    return page.sentences[one].block == page.sentences[other].block


def _render_headings(place: tuple[str | None, str], sentence: Sentence) -> Iterator[str]:
    if sentence.session is not None and sentence.session != place[0]:
        yield f"# session: {sentence.session}"
    if sentence.heading:
        yield f"## {sentence.heading}"


def _split_long(sentence: Sentence) -> Iterator[Sentence]:
    """The sentence, or pieces of it where it is too long for one passage."""
    while len(sentence.text) > MOST_CHARACTERS:
        blank = sentence.text.rfind(" ", 1, MOST_CHARACTERS)
        end = blank if blank > 0 else MOST_CHARACTERS
        yield replace(sentence, text=sentence.text[:end])
        sentence = replace(sentence, text=sentence.text[end:].lstrip())
    yield sentence


def _split_passages(sentences: tuple[Sentence, ...]) -> Iterator[EpisodePassage]:
    for _, block in groupby(range(len(sentences)), key=lambda index: sentences[index].block):
        run: list[int] = []
        for index in block:
            if run and _count_characters(sentences, [*run, index]) > MOST_CHARACTERS:
                yield _make_passage(sentences, run)
                run = []
            run.append(index)
        yield _make_passage(sentences, run)


def _count_characters(sentences: tuple[Sentence, ...], run: list[int]) -> int:
    return sum(len(sentences[index].text) + 1 for index in run) - 1


def _make_passage(sentences: tuple[Sentence, ...], run: list[int]) -> EpisodePassage:
    first = sentences[run[0]]
    told = extract_terms(" ".join(sentences[index].text for index in run))
    return EpisodePassage(
        sentences=range(run[0], run[-1] + 1),
        block=first.block,
        session=first.session,
        characters=_count_characters(sentences, run),
        terms=tuple(map(intern, told | _extract_place_terms(f"{first.heading}\n{first.lead}"))),
    )
