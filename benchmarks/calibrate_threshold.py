"""Below which support the built-in systems should say that there is no record.

    python benchmarks/calibrate_threshold.py MEMORIES_DIR QUESTIONS.yaml locomo10.json

Two histories of different kinds, a working log and a set of chats, are each asked questions that
they answer and questions that belong elsewhere: the log those of the chats, each chat those of
the next chat but two. The threshold is the one with the least balanced error, the mean of "no
record" said wrongly and not said, over both kinds alike, on every other question of the log and
the first half of the chats. The other halves confirm it. Not used, because their labels are not
to be trusted: questions asked before their first relevant day (most of their values stand in
earlier days as well), and questions that expect a "no".
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
from recall_bench.models.static_embedding import embed
from recall_bench.systems.builtin.baselines import FullContextAnswerer
from recall_bench.systems.builtin.options import NO_RECORD_BELOW, HybridOptions
from recall_bench.systems.builtin.passage_index import Indexer, PassageIndex
from recall_bench.systems.builtin.retrieval import PassageSearch
from recall_bench.systems.builtin.word_index import Bm25, Vocabulary

EPOCH = date(2026, 1, 1)
CHECKPOINTS = (30, 90, 180)


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A question put to a history, and how well each system's best passage fits."""

    group: str
    is_answerable: bool
    is_held_out: bool
    support: dict[str, float]


class Asked:
    """One history that can be asked."""

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

    def support(self, text: str) -> dict[str, float]:
        """How well the best passage fits, by system."""
        question = Question(id="q", text=text, asked_at=self._now, scenario="calibration")
        found = {
            name: search.find(self._index, question).support
            for name, search in self._searches.items()
        }
        return found | {
            "full-context": float(self._rereading.compute_shares(self._index, question).max())
        }


def put_to_log(
    days: Sequence[Episode], asked: list[dict[str, Any]], foreign: list[str]
) -> Iterator[Put]:
    """Its own questions at each checkpoint where all their days have passed, and foreign ones."""
    for checkpoint in CHECKPOINTS:
        history = Asked([day for day in days if day.day <= checkpoint])
        last_days = [*(max(item["relevant_days"]) for item in asked), *(0 for _ in foreign)]
        texts = [*(item["question"] for item in asked), *foreign]
        for number, (text, last_day) in enumerate(zip(texts, last_days, strict=True)):
            if last_day <= checkpoint:
                yield Put(
                    group="log",
                    is_answerable=number < len(asked),
                    is_held_out=number % 2 == 1,
                    support=history.support(text),
                )


def put_to_chats(chats: list[list[Episode]], asked: list[list[str]]) -> Iterator[Put]:
    """Each chat's own questions and those of the next but two."""
    for number, chat in enumerate(chats):
        history = Asked(chat)
        foreign = asked[(number + 3) % len(chats)]
        for is_answerable, texts in ((True, asked[number]), (False, foreign)):
            for text in texts:
                yield Put(
                    group="chats",
                    is_answerable=is_answerable,
                    is_held_out=number >= len(chats) // 2,
                    support=history.support(text),
                )


def error(put: Sequence[Put], system: str, threshold: float) -> float:
    """The balanced error, each kind of history counting the same."""
    return float(
        np.mean([rate for pair in rates(put, system, threshold).values() for rate in pair])
    )


def rates(put: Sequence[Put], system: str, threshold: float) -> dict[str, tuple[float, float]]:
    """For each kind of history, how often "no record" is said wrongly, and wrongly not said."""
    found: dict[str, tuple[float, float]] = {}
    for group in sorted({each.group for each in put}):
        fits = {
            is_answerable: np.array(
                [
                    each.support[system]
                    for each in put
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
    days = [
        Episode(
            id=path.stem, day=day, at=compute_story_date(EPOCH, day), text=path.read_text("utf-8")
        )
        for path in sorted(folder.glob("day-*.md"))
        for day in (int(path.stem.removeprefix("day-")),)
    ]
    items = yaml.safe_load(questions.read_text("utf-8"))
    unsure = ("negative-recall", "information-boundary")
    return days, [item for item in items if item["category"] not in unsure]


def read_chats(path: Path) -> tuple[list[list[Episode]], list[list[str]]]:
    raw = json.loads(path.read_text("utf-8"))
    chats = [list(_sessions(each["conversation"])) for each in raw]
    return chats, [[qa["question"] for qa in each["qa"] if qa["category"] != 5] for each in raw]


def _sessions(chat: dict[str, Any]) -> Iterator[Episode]:
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

    days, asked_of_log = read_log(given.memories, given.questions)
    chats, asked_of_chats = read_chats(given.chats)
    foreign = [text for texts in asked_of_chats for text in texts[::4]]
    put = [*put_to_log(days, asked_of_log, foreign), *put_to_chats(chats, asked_of_chats)]
    seen = [each for each in put if not each.is_held_out]
    held_out = [each for each in put if each.is_held_out]
    print(f"{len(seen)} questions choose, {len(held_out)} confirm")
    for system, in_use in NO_RECORD_BELOW.items():
        chosen = min(
            (round(step / 100, 2) for step in range(1, 100)),
            key=lambda threshold: (error(seen, system, threshold), threshold),
        )
        print(
            f"{system}: chosen {chosen:.2f}, error {error(seen, system, chosen):.3f};"
            f" held out {error(held_out, system, chosen):.3f};"
            f" in use {in_use:.2f}, held out {error(held_out, system, in_use):.3f}"
        )
        for group, (wrongly, missed) in rates(held_out, system, chosen).items():
            print(f"    {group}: said wrongly {wrongly:.3f}, wrongly not said {missed:.3f}")


if __name__ == "__main__":
    main()
