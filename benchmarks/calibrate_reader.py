"""Below which support the extractive reader should choose none of the options of a question.

    python benchmarks/calibrate_reader.py MEMORIES_DIR QUESTIONS.yaml locomo10.json

The histories, the questions and the halves are those of calibrate_threshold.py: every other
question of the log and the first half of the chats choose, the rest confirm. Each question is put
to four finders, because a reader is there for all systems: the built-in bm25, vector and hybrid,
whose passages are a few sentences each, and bm25 made to return the whole episodes that these
stand in. Weight and threshold are chosen together, by the least balanced error over both kinds of
history and all finders alike.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import numpy as np
from calibrate_threshold import CHECKPOINTS, read_chats, read_log

from recall_bench.core import user_code
from recall_bench.core.memory import Memory, Passage
from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.readers import NO_RECORD_BELOW, WORD_WEIGHT, TextSupport, select_quotes

BUILT_IN = ("bm25", "vector", "hybrid")
WEIGHTS = tuple(step / 10 for step in range(11))
THRESHOLDS = tuple(step / 100 for step in range(1, 100))


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A question put to a history, and how far what a finder found supports an answer."""

    group: str
    finder: str
    is_answerable: bool
    is_held_out: bool
    words: float
    meaning: float


class Findable:
    """One history in which four finders look for passages."""

    def __init__(self, episodes: Sequence[Episode], support: TextSupport) -> None:
        self._texts = {each.day: _text(each) for each in episodes}
        self._now = episodes[-1].at
        self._support = support
        self._memories = {name: anyio.run(_lived, name, episodes) for name in BUILT_IN}

    def supports(self, text: str) -> Iterator[tuple[str, float, float]]:
        """By finder, how many of the words it found and how near it came."""
        question = Question(id="q", text=text, asked_at=self._now, scenario="calibration")
        for name, memory in self._memories.items():
            found = anyio.run(memory.answer, question).passages
            yield name, *self._support.measure(text, select_quotes(found))
            if name == "bm25":
                whole = [Passage(text=self._texts[each.day]) for each in found if each.day]
                yield "episodes", *self._support.measure(text, select_quotes(whole))


async def _lived(name: str, episodes: Sequence[Episode]) -> Memory:
    system = user_code.load_plugin("systems", name)({})
    memory: Memory = await system.open("calibration")
    for episode in episodes:
        await memory.ingest(episode)
    await memory.settle()
    return memory


def _text(episode: Episode) -> str:
    return episode.text or "\n".join(f"{turn.speaker}: {turn.text}" for turn in episode.turns)


def read_of_log(
    days: Sequence[Episode], asked: list[dict[str, Any]], foreign: list[str], support: TextSupport
) -> Iterator[Read]:
    """Its own questions at each checkpoint where all their days have passed, and foreign ones."""
    for checkpoint in CHECKPOINTS:
        history = Findable([day for day in days if day.day <= checkpoint], support)
        last_days = [*(max(item["relevant_days"]) for item in asked), *(0 for _ in foreign)]
        texts = [*(item["question"] for item in asked), *foreign]
        for number, (text, last_day) in enumerate(zip(texts, last_days, strict=True)):
            if last_day > checkpoint:
                continue
            for finder, words, meaning in history.supports(text):
                yield Read(
                    group="log",
                    finder=finder,
                    is_answerable=number < len(asked),
                    is_held_out=number % 2 == 1,
                    words=words,
                    meaning=meaning,
                )


def read_of_chats(
    chats: list[list[Episode]], asked: list[list[str]], support: TextSupport
) -> Iterator[Read]:
    """Each chat's own questions and those of the next but two."""
    for number, chat in enumerate(chats):
        history = Findable(chat, support)
        foreign = asked[(number + 3) % len(chats)]
        for is_answerable, texts in ((True, asked[number]), (False, foreign)):
            for text in texts:
                for finder, words, meaning in history.supports(text):
                    yield Read(
                        group="chats",
                        finder=finder,
                        is_answerable=is_answerable,
                        is_held_out=number >= len(chats) // 2,
                        words=words,
                        meaning=meaning,
                    )


def rates(read: Sequence[Read], weight: float, threshold: float) -> dict[str, tuple[float, float]]:
    """For each history and finder, how often "no record" is said wrongly, and wrongly not said."""
    found: dict[str, tuple[float, float]] = {}
    for group, finder in sorted({(each.group, each.finder) for each in read}):
        fits = {
            is_answerable: np.array(
                [
                    weight * each.words + (1 - weight) * each.meaning
                    for each in read
                    if (each.group, each.finder, each.is_answerable)
                    == (group, finder, is_answerable)
                ]
            )
            for is_answerable in (True, False)
        }
        found[f"{group}, {finder}"] = (
            float(np.mean(fits[True] < threshold)),
            float(np.mean(fits[False] >= threshold)),
        )
    return found


def error(found: dict[str, tuple[float, float]]) -> float:
    """The balanced error, each history and each finder counting the same."""
    return float(np.mean([rate for pair in found.values() for rate in pair]))


def chosen(read: Sequence[Read]) -> tuple[float, float]:
    """The weight and the threshold with the least error; of equals the lower ones."""
    groups: dict[tuple[str, str, bool], list[Read]] = {}
    for each in read:
        groups.setdefault((each.group, each.finder, each.is_answerable), []).append(each)
    best = (2.0, 0.0, 0.0)
    for weight in WEIGHTS:
        fits = {
            key: np.array([weight * one.words + (1 - weight) * one.meaning for one in each])
            for key, each in groups.items()
        }
        for threshold in THRESHOLDS:
            wrong = [
                np.mean(fit < threshold) if key[2] else np.mean(fit >= threshold)
                for key, fit in fits.items()
            ]
            best = min(best, (float(np.mean(wrong)), weight, threshold))
    return best[1:]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("memories", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("chats", type=Path)
    given = parser.parse_args()

    days, asked_of_log = read_log(given.memories, given.questions)
    chats, asked_of_chats = read_chats(given.chats)
    foreign = [text for texts in asked_of_chats for text in texts[::4]]
    support = TextSupport()
    read = [
        *read_of_log(days, asked_of_log, foreign, support),
        *read_of_chats(chats, asked_of_chats, support),
    ]
    seen = [each for each in read if not each.is_held_out]
    held_out = [each for each in read if each.is_held_out]
    print(f"{len(seen)} readings choose, {len(held_out)} confirm")
    for name, (weight, threshold) in (
        ("chosen", chosen(seen)),
        ("in use", (WORD_WEIGHT, NO_RECORD_BELOW)),
    ):
        print(
            f"{name}: weight {weight:.1f}, threshold {threshold:.2f};"
            f" error {error(rates(seen, weight, threshold)):.3f},"
            f" held out {error(rates(held_out, weight, threshold)):.3f}"
        )
        for half, part in (("choose", seen), ("held out", held_out)):
            for which, (wrongly, missed) in rates(part, weight, threshold).items():
                print(
                    f"    {half}: {which}: said wrongly {wrongly:.3f},"
                    f" wrongly not said {missed:.3f}"
                )


if __name__ == "__main__":
    main()
