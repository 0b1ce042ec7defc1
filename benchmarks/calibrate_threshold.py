"""The support below which the built-in systems should say that there is no record.

    python benchmarks/calibrate_threshold.py MEMORIES_DIR QUESTIONS.yaml locomo10.json

Two kinds of histories, a working log and a set of chats, are asked questions that they answer and
questions that belong elsewhere: the log those of the chats, each chat those of the chat three places
on. The threshold is the one with the least balanced error, the mean of "no record" said wrongly and
wrongly not said, with equal weight for both kinds, on every other question of the log and the first
half of the chats. The other halves confirm it. Two kinds of questions are left out, because their
labels are not reliable: those asked before their first relevant day (most of their values stand in
earlier days as well), and those that expect a "no".
"""

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from recall_bench.core.scenario import Episode, Question, Turn, compute_story_date
from recall_bench.systems.builtin.options import NO_RECORD_BELOW, HybridOptions
from recall_bench.systems.builtin.passage_index import Indexer, PassageIndex
from recall_bench.systems.builtin.retrieval import PassageSearch
from recall_bench.systems.builtin.retrieval_systems import FullContextAnswerer
from recall_bench.systems.builtin.word_index import Bm25, Vocabulary
from recall_bench.systems.models.static_embedding import embed

EPOCH = date(2026, 1, 1)
CHECKPOINTS = (30, 90, 180)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSupport:
    """A question asked of a history, and how well each system's best passage fits."""

    group: str
    is_answerable: bool
    is_held_out: bool
    support: dict[str, float]


class SearchableHistory:
    """One history, indexed for all systems."""

    def __init__(self, episodes: Sequence[Episode]) -> None:
        vocabulary = Vocabulary()
        indexer = Indexer(vocabulary=vocabulary, formula=Bm25(), embed=embed)
        self._index = indexer.extend(PassageIndex(), [indexer.prepare(each) for each in episodes])
        self._now = episodes[-1].at
        default = HybridOptions()
        self._searches = {
            "bm25": PassageSearch(vocabulary=vocabulary, weight=1.0),
            "vector": PassageSearch(vocabulary=None, weight=0.0),
            "hybrid": PassageSearch(
                vocabulary=vocabulary,
                weight=default.weight,
                temporal_boost=float(default.temporal_boost),
            ),
        }
        self._rereading = FullContextAnswerer(
            vocabulary=vocabulary, budget=1, quotes=1, threshold=0.0
        )

    def measure(self, text: str) -> dict[str, float]:
        """How well the best passage fits, by system."""
        question = Question(id="q", text=text, asked_at=self._now, scenario="calibration")
        found = {
            name: search.find(self._index, question).support
            for name, search in self._searches.items()
        }
        return found | {
            "full-context": float(self._rereading.compute_shares(self._index, question).max())
        }


def measure_log(
    days: Sequence[Episode], asked: list[dict[str, Any]], foreign: list[str]
) -> Iterator[QuestionSupport]:
    """Ask the log its own questions, at each checkpoint after all their days, and foreign ones."""
    for checkpoint in CHECKPOINTS:
        history = SearchableHistory([day for day in days if day.day <= checkpoint])
        last_days = [*(max(item["relevant_days"]) for item in asked), *(0 for _ in foreign)]
        texts = [*(item["question"] for item in asked), *foreign]
        for number, (text, last_day) in enumerate(zip(texts, last_days, strict=True)):
            if last_day <= checkpoint:
                yield QuestionSupport(
                    group="log",
                    is_answerable=number < len(asked),
                    is_held_out=number % 2 == 1,
                    support=history.measure(text),
                )


def measure_chats(chats: list[list[Episode]], asked: list[list[str]]) -> Iterator[QuestionSupport]:
    """Ask each chat its own questions and those of the chat three places on."""
    for number, chat in enumerate(chats):
        history = SearchableHistory(chat)
        foreign = asked[(number + 3) % len(chats)]
        for is_answerable, texts in ((True, asked[number]), (False, foreign)):
            for text in texts:
                yield QuestionSupport(
                    group="chats",
                    is_answerable=is_answerable,
                    is_held_out=number >= len(chats) // 2,
                    support=history.measure(text),
                )


def compute_error(questions: Sequence[QuestionSupport], system: str, threshold: float) -> float:
    """The balanced error, with equal weight for each kind of history."""
    return float(
        np.mean(
            [rate for pair in compute_rates(questions, system, threshold).values() for rate in pair]
        )
    )


def compute_rates(
    questions: Sequence[QuestionSupport], system: str, threshold: float
) -> dict[str, tuple[float, float]]:
    """For each kind of history, how often "no record" is said wrongly, and wrongly not said."""
    found: dict[str, tuple[float, float]] = {}
    for group in sorted({each.group for each in questions}):
        fits = {
            is_answerable: np.array(
                [
                    each.support[system]
                    for each in questions
                    if each.group == group and each.is_answerable == is_answerable
                ]
            )
            for is_answerable in (True, False)
        }
        found[group] = (
            float(np.mean(fits[True] < threshold)),
            float(np.mean(fits[False] >= threshold)),
        )
    return found


def read_log(folder: Path, questions: Path) -> tuple[list[Episode], list[dict[str, Any]]]:
    """The days of a log, and its questions whose labels are reliable."""
    days = [
        Episode(
            id=path.stem, day=day, at=compute_story_date(EPOCH, day), text=path.read_text("utf-8")
        )
        for path in sorted(folder.glob("day-*.md"))
        for day in (int(path.stem.removeprefix("day-")),)
    ]
    items = yaml.safe_load(questions.read_text("utf-8"))
    unreliable = ("negative-recall", "information-boundary")
    return days, [item for item in items if item["category"] not in unreliable]


def read_chats(path: Path) -> tuple[list[list[Episode]], list[list[str]]]:
    """The sessions and the answerable questions of each LoCoMo chat."""
    raw = json.loads(path.read_text("utf-8"))
    chats = [list(_read_sessions(each["conversation"])) for each in raw]
    return chats, [[qa["question"] for qa in each["qa"] if qa["category"] != 5] for each in raw]


def _read_sessions(chat: dict[str, Any]) -> Iterator[Episode]:
    for number in sorted(int(key[8:]) for key in chat if re.fullmatch(r"session_\d+", key)):
        stamp = chat[f"session_{number}_date_time"]
        yield Episode(
            id=f"D{number}",
            day=number,
            at=datetime.strptime(stamp, "%I:%M %p on %d %B, %Y"),  # noqa: DTZ007
            text="",
            turns=tuple(
                Turn(speaker=turn["speaker"], text=f"{turn['text']} {turn.get('blip_caption', '')}")
                for turn in chat[f"session_{number}"]
            ),
        )


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
    questions = [*measure_log(days, log_questions, foreign), *measure_chats(chats, chat_questions)]
    fitted = [each for each in questions if not each.is_held_out]
    held_out = [each for each in questions if each.is_held_out]
    print(f"{len(fitted)} questions to fit, {len(held_out)} held out")
    for system, in_use in NO_RECORD_BELOW.items():
        chosen = min(
            (round(step / 100, 2) for step in range(1, 100)),
            key=lambda threshold: (compute_error(fitted, system, threshold), threshold),
        )
        print(
            f"{system}: chosen {chosen:.2f}, error {compute_error(fitted, system, chosen):.3f};"
            f" held out {compute_error(held_out, system, chosen):.3f};"
            f" in use {in_use:.2f}, held out {compute_error(held_out, system, in_use):.3f}"
        )
        for group, (wrongly, missed) in compute_rates(held_out, system, chosen).items():
            print(f"    {group}: said wrongly {wrongly:.3f}, wrongly not said {missed:.3f}")


if __name__ == "__main__":
    main()
