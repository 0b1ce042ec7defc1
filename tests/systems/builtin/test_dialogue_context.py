"""A turn is found by the turns around it, and some places go to other sessions."""

from datetime import datetime
from typing import Any

import numpy as np
import pytest

from recall_bench.core.scenario import Episode, Turn
from recall_bench.systems.builtin.dialogue_context import (
    DialogueTurns,
    score_context,
    select_spread,
)
from recall_bench.systems.builtin.passage_index import Indexer, PassageIndex
from recall_bench.systems.builtin.retrieval import PassageSearch
from recall_bench.systems.builtin.word_index import Bm25, Vocabulary
from recall_bench.systems.models.static_embedding import embed
from tests.loops import loop_over_rows
from tests.systems.diary import EPISODES, question


def array(*numbers: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.array(numbers, np.float32)


def speak(day: int, *texts: str) -> Episode:
    turns = tuple(Turn(speaker="AB"[n % 2], text=text) for n, text in enumerate(texts))
    text = "\n\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)
    at = datetime(2025, 1, day)
    return Episode(id=f"d{day}", day=day, at=at, text=text, turns=turns)


def build_index(*episodes: Episode) -> tuple[PassageIndex, Vocabulary]:
    vocabulary = Vocabulary()
    indexer = Indexer(vocabulary=vocabulary, formula=Bm25(), embed=embed)
    index = PassageIndex()
    for episode in episodes:
        index = indexer.extend(index, [indexer.prepare(episode)])
    return index, vocabulary


def make_turns(turns: list[int], sessions: list[int], spoken: bool = True) -> DialogueTurns:
    flags = np.full(len(turns), spoken)
    return DialogueTurns(np.array(turns), np.array(sessions), flags)


LONG = "The choir meets every week in the hall by the river. " * 12
CHATS = (
    speak(1, "Where did you buy the blue kayak?", "At a yard sale.", "Nice.", "It leaks a bit."),
    speak(2, "I saw a kayak on the river.", "So did I."),
    speak(3, "My sister cooks.", LONG),
)


def test_a_turn_gets_a_part_of_its_neighbours_within_the_session() -> None:
    turns = make_turns([0, 1, 2, 3, 4], [0, 0, 0, 1, 1])

    found = score_context(array(1, 0, 0, 0, 0), turns, turn_boost=0.3, session_boost=0.0)
    after = score_context(array(0, 0, 1, 0, 0), turns, turn_boost=0.3, session_boost=0.0)

    assert found.tolist() == pytest.approx([1.0, 0.3, 0.1, 0.0, 0.0])
    assert after.tolist() == pytest.approx([0.05, 0.15, 1.0, 0.0, 0.0])


def test_the_passages_of_a_long_turn_share_what_it_gets() -> None:
    turns = make_turns([0, 1, 1, 1], [0, 0, 0, 0])

    found = score_context(array(0.9, 0, 0.3, 0), turns, turn_boost=0.3, session_boost=0.0)

    assert found.tolist() == pytest.approx([0.9 + 0.15 * 0.3, 0.09, 0.39, 0.09])


def test_every_turn_gets_a_part_of_the_best_of_its_session() -> None:
    turns = make_turns([0, 1, 2], [0, 0, 1])

    found = score_context(array(0.8, 0.2, 0.5), turns, turn_boost=0.0, session_boost=0.5)

    assert found.tolist() == pytest.approx([1.2, 0.6, 0.75])


def test_texts_without_turns_are_scored_as_they_are() -> None:
    turns = make_turns([0, 1], [0, 1], spoken=False)

    scores = score_context(array(0.8, 0.2), turns, turn_boost=0.3, session_boost=0.3)

    assert scores.tolist() == pytest.approx([0.8, 0.2])


@loop_over_rows(
    ("scores", "share", "chosen"),
    [
        (array(0.9, 0.8, 0.7, 0.6, 0.3, 0.2), 0.5, [0, 1, 4, 5]),
        (array(0.9, 0.8, 0.7, 0.6, 0.3, 0.2), 0.0, [0, 1, 2, 3]),
        (array(0.9, 0.8, 0.7, 0.6, 0.3, 0.0), 0.5, [0, 1, 4, 2]),
        (array(0.9, 0.8, 0.7, 0.6, 0.0, 0.0), 0.5, [0, 1, 2, 3]),
    ],
)
def test_places_are_kept_for_sessions_that_have_none(
    scores: np.ndarray[Any, np.dtype[np.float32]], share: float, chosen: list[int]
) -> None:
    turns = make_turns([0, 1, 2, 3, 4, 5], [0, 0, 0, 0, 1, 2])
    best = np.argsort(-scores, kind="stable")[:4]

    assert select_spread(scores, best, turns, share).tolist() == chosen


def test_an_index_knows_its_turns_and_sessions_however_it_grew() -> None:
    index, _ = build_index(*CHATS)
    chunks = [chunk for document in index.documents for chunk in document.chunks]
    assert index.dialogue is not None
    parts = len(index) - 7

    assert parts > 1, "the long turn is cut into several passages"
    assert index.dialogue.sessions.tolist() == [0] * 4 + [1] * 2 + [2] * (1 + parts)
    assert index.dialogue.turns.tolist() == [*range(7), *[7] * parts]
    assert all(chunk.turn is not None for chunk in chunks)
    assert build_index(*EPISODES)[0].dialogue is None, "a log is no dialogue"


def test_texts_before_the_first_dialogue_are_sessions_of_their_own() -> None:
    later = speak(30, "Where is the key?", "In the shed.")
    mixed, _ = build_index(*EPISODES[:2], later)
    assert mixed.dialogue is not None
    count = len(mixed) - 2

    assert mixed.dialogue.is_spoken.tolist() == [False] * count + [True] * 2
    assert mixed.dialogue.sessions.tolist() == [*range(count), count, count]


def test_an_answer_is_found_by_the_question_before_it() -> None:
    index, vocabulary = build_index(*CHATS)
    asked = question("Where was the blue kayak bought?")

    def find(**settings: float) -> tuple[int, ...]:
        search = PassageSearch(vocabulary=vocabulary, weight=0.7, k=2, **settings)  # type: ignore[arg-type]
        return search.find(index, asked).numbers

    assert find() == (0, 4), "the reply has no word of the question"
    assert find(turn_boost=0.9) == (0, 1)
    assert find(turn_boost=0.9, spread=0.5) == (0, 4)
