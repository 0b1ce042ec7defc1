"""The support below which the extractive reader should choose none of a question's options.

    python benchmarks/calibrate_reader.py MEMORIES_DIR QUESTIONS.yaml locomo10.json

The histories, the questions and the halves are those of calibrate_threshold.py: every other
question of the log and the first half of the chats are for fitting, the rest confirm. Four
retrievers answer each question, because the reader serves all systems: the built-in bm25, vector
and hybrid, whose passages are a few sentences each, and bm25 with the whole episodes of these
passages. Weight and threshold are chosen together: the least balanced error, with equal weight for
both kinds of history and for all retrievers.
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
class PassageSupport:
    """A question asked of a history, and how far a retriever's passages support an answer."""

    group: str
    retriever: str
    is_answerable: bool
    is_held_out: bool
    words: float
    meaning: float


class RetrieverPanel:
    """Four retrievers on one history."""

    def __init__(self, episodes: Sequence[Episode], support: TextSupport) -> None:
        self._texts = {each.day: _get_text(each) for each in episodes}
        self._now = episodes[-1].at
        self._support = support
        self._memories = {name: anyio.run(_feed, name, episodes) for name in BUILT_IN}

    def measure(self, text: str) -> Iterator[tuple[str, float, float]]:
        """By retriever: the share of the words that it found, and the similarity."""
        question = Question(id="q", text=text, asked_at=self._now, scenario="calibration")
        for name, memory in self._memories.items():
            found = anyio.run(memory.answer, question).passages
            yield name, *self._support.measure(text, select_quotes(found))
            if name == "bm25":
                whole = [Passage(text=self._texts[each.day]) for each in found if each.day]
                yield "episodes", *self._support.measure(text, select_quotes(whole))


async def _feed(name: str, episodes: Sequence[Episode]) -> Memory:
    """A memory of this system that has ingested the episodes."""
    system = user_code.load_plugin("systems", name)({})
    memory: Memory = await system.open("calibration")
    for episode in episodes:
        await memory.ingest(episode)
    await memory.settle()
    return memory


def _get_text(episode: Episode) -> str:
    return episode.text or "\n".join(f"{turn.speaker}: {turn.text}" for turn in episode.turns)


def measure_log(
    days: Sequence[Episode], asked: list[dict[str, Any]], foreign: list[str], support: TextSupport
) -> Iterator[PassageSupport]:
    """Ask the log its own questions, at each checkpoint after all their days, and foreign ones."""
    for checkpoint in CHECKPOINTS:
        history = RetrieverPanel([day for day in days if day.day <= checkpoint], support)
        last_days = [*(max(item["relevant_days"]) for item in asked), *(0 for _ in foreign)]
        texts = [*(item["question"] for item in asked), *foreign]
        for number, (text, last_day) in enumerate(zip(texts, last_days, strict=True)):
            if last_day > checkpoint:
                continue
            for retriever, words, meaning in history.measure(text):
                yield PassageSupport(
                    group="log",
                    retriever=retriever,
                    is_answerable=number < len(asked),
                    is_held_out=number % 2 == 1,
                    words=words,
                    meaning=meaning,
                )


def measure_chats(
    chats: list[list[Episode]], asked: list[list[str]], support: TextSupport
) -> Iterator[PassageSupport]:
    """Ask each chat its own questions and those of the chat three places on."""
    for number, chat in enumerate(chats):
        history = RetrieverPanel(chat, support)
        foreign = asked[(number + 3) % len(chats)]
        for is_answerable, texts in ((True, asked[number]), (False, foreign)):
            for text in texts:
                for retriever, words, meaning in history.measure(text):
                    yield PassageSupport(
                        group="chats",
                        retriever=retriever,
                        is_answerable=is_answerable,
                        is_held_out=number >= len(chats) // 2,
                        words=words,
                        meaning=meaning,
                    )


def compute_rates(
    measured: Sequence[PassageSupport], weight: float, threshold: float
) -> dict[str, tuple[float, float]]:
    """For each history and retriever, how often "no record" is said wrongly, and wrongly not said."""
    found: dict[str, tuple[float, float]] = {}
    for group, retriever in sorted({(each.group, each.retriever) for each in measured}):
        fits = {
            is_answerable: np.array(
                [
                    weight * each.words + (1 - weight) * each.meaning
                    for each in measured
                    if (each.group, each.retriever, each.is_answerable)
                    == (group, retriever, is_answerable)
                ]
            )
            for is_answerable in (True, False)
        }
        found[f"{group}, {retriever}"] = (
            float(np.mean(fits[True] < threshold)),
            float(np.mean(fits[False] >= threshold)),
        )
    return found


def compute_error(found: dict[str, tuple[float, float]]) -> float:
    """The balanced error, with equal weight for each history and each retriever."""
    return float(np.mean([rate for pair in found.values() for rate in pair]))


def choose_settings(measured: Sequence[PassageSupport]) -> tuple[float, float]:
    """The weight and the threshold with the least error; the lower ones of equals."""
    groups: dict[tuple[str, str, bool], list[PassageSupport]] = {}
    for each in measured:
        groups.setdefault((each.group, each.retriever, each.is_answerable), []).append(each)
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

    days, log_questions = read_log(given.memories, given.questions)
    chats, chat_questions = read_chats(given.chats)
    foreign = [text for texts in chat_questions for text in texts[::4]]
    support = TextSupport()
    measured = [
        *measure_log(days, log_questions, foreign, support),
        *measure_chats(chats, chat_questions, support),
    ]
    fitted = [each for each in measured if not each.is_held_out]
    held_out = [each for each in measured if each.is_held_out]
    print(f"{len(fitted)} measurements to fit, {len(held_out)} held out")
    for name, (weight, threshold) in (
        ("chosen", choose_settings(fitted)),
        ("in use", (WORD_WEIGHT, NO_RECORD_BELOW)),
    ):
        print(
            f"{name}: weight {weight:.1f}, threshold {threshold:.2f};"
            f" error {compute_error(compute_rates(fitted, weight, threshold)):.3f},"
            f" held out {compute_error(compute_rates(held_out, weight, threshold)):.3f}"
        )
        for half, part in (("fitted", fitted), ("held out", held_out)):
            for which, (wrongly, missed) in compute_rates(part, weight, threshold).items():
                print(
                    f"    {half}: {which}: said wrongly {wrongly:.3f},"
                    f" wrongly not said {missed:.3f}"
                )


if __name__ == "__main__":
    main()
