"""Fusing keeps what each part knows, equals are settled by recency, and support is absolute."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from recall_bench.core.memory import Answer
from recall_bench.core.scenario import Episode
from recall_bench.systems.builtin.no_memory import NO_RECORD
from recall_bench.systems.builtin.passage_index import (
    Indexer,
    PassageIndex,
    TextEmbedder,
)
from recall_bench.systems.builtin.retrieval import (
    PassageSearch,
    fuse_by_rank,
    fuse_by_weight,
    select_best,
)
from recall_bench.systems.builtin.word_index import Bm25, Vocabulary
from recall_bench.systems.models.static_embedding import compute_similarity, embed
from tests.systems.diary import EPISODES, question


def build_index_and_search(
    episodes: Sequence[Episode] = EPISODES, embed: TextEmbedder = embed, **settings: Any
) -> tuple[PassageIndex, PassageSearch]:
    vocabulary = Vocabulary()
    indexer = Indexer(vocabulary=vocabulary, formula=Bm25(), embed=embed, keeps_lowercase=True)
    index = indexer.extend(PassageIndex(), [indexer.prepare(episode) for episode in episodes])
    settings.setdefault("weight", 0.7)
    return index, PassageSearch(vocabulary=vocabulary, **settings)


def answer(text: str, *, session: str = "principal", **settings: Any) -> Answer:
    index, search = build_index_and_search(**settings)
    return search(index, question(text, session=session))


def array(*numbers: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.array(numbers, np.float32)


def test_the_best_come_first_and_of_equals_the_later() -> None:
    assert select_best(array(0.2, 0.9, 0.2, 0.9, 0.5), 4).tolist() == [3, 1, 4, 2]


def test_what_scores_nothing_is_not_found() -> None:
    assert select_best(array(0.0, -0.1, 0.3), 5).tolist() == [2]
    assert select_best(array(0.0, 0.0), 5).tolist() == []


@pytest.mark.parametrize("high", [1.0, 0.01, 0.0])
def test_the_best_of_many_are_those_of_all_of_them(high: float) -> None:
    """Stretches are looked at first; two digits make equals on both sides of their edges."""
    scores = np.round(np.random.default_rng(3).random(5000) - 1 + high, 2).astype(np.float32)
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], -place))

    for k in (1, 10, 200):
        positive = [place for place in order[:k] if scores[place] > 0]
        assert select_best(scores, k).tolist() == positive


def test_weights_are_of_scores_stretched_to_this_question() -> None:
    fused = fuse_by_weight(array(0.0, 0.1, 0.2), array(-0.5, 0.5, 0.0), 0.7)

    assert fused.tolist() == pytest.approx([0.0, 0.7 * 0.5 + 0.3, 0.7 + 0.15])


def test_a_part_that_knows_nothing_adds_nothing() -> None:
    assert fuse_by_weight(array(0.0, 0.0), array(0.1, 0.3), 0.7).tolist() == pytest.approx(
        [0.0, 0.3]
    )
    assert fuse_by_weight(array(0.1, 0.2), array(0.3, 0.3), 0.7).tolist() == pytest.approx(
        [0.35, 0.7]
    )


def test_rank_fusion_counts_places_and_not_scores() -> None:
    fused = fuse_by_rank(array(9.0, 1.0, 0.0), array(0.1, 0.2, 0.3))

    assert select_best(fused, 3).tolist() == [0, 1, 2]
    assert fused.tolist() == pytest.approx([0.5 + 30.5 / 63, 30.5 / 62 * 2, 0.5])


def test_first_by_both_is_one() -> None:
    assert fuse_by_rank(array(1.0, 0.0), array(1.0, 0.5)).tolist()[0] == pytest.approx(1.0)


def test_an_answer_quotes_the_best_passages_with_their_dates_and_sessions() -> None:
    found = answer("What did Inspector Hale praise?", quotes=1)

    assert found.text == (
        "On 2025-03-02 (principal): Inspector Hale visited and praised the drainage."
    )


def test_passages_are_the_k_best_with_their_days_and_falling_scores() -> None:
    found = answer("To how many degrees was the boiler set?", k=3)

    scores = [passage.score or 0.0 for passage in found.passages]
    assert {passage.day for passage in found.passages} == {1, 4, 12}
    assert found.passages[0].source == "principal"
    assert scores == sorted(scores, reverse=True)


def test_no_passage_is_quoted_twice() -> None:
    found = answer("quiet rain", weight=1.0)

    assert [passage.day for passage in found.passages] == [11, 6]
    assert found.text == "On 2025-03-06 (principal): Quiet day; rain."


def test_a_date_the_question_names_lifts_the_passages_of_that_date() -> None:
    asked = "Was it a quiet day with rain on 2025-03-01?"

    assert answer(asked).passages[0].day == 11
    assert answer(asked, temporal_boost=0.2).passages[0].day == 6


def test_sessions_are_ignored_unless_enabled() -> None:
    asked = "When is the swimming lesson of Tess?"

    open_to_all = answer(asked, session="market")
    respectful = answer(asked, session="market", respects_sessions=True)

    assert "family" in {passage.source for passage in open_to_all.passages}
    assert {passage.source for passage in respectful.passages} == {"market"}


def test_the_principal_and_the_session_itself_see_a_sessions_passages() -> None:
    asked = "When is the swimming lesson of Tess?"

    for session in ("principal", "family"):
        assert answer(asked, session=session, respects_sessions=True).passages[0].day == 9


def test_a_question_about_unknown_names_finds_no_record_and_lists_its_passages() -> None:
    found = answer("Which satellite did the astronauts repair?", threshold=0.23)

    assert found.text == NO_RECORD
    assert found.passages


def test_support_is_higher_for_what_was_recorded() -> None:
    index, search = build_index_and_search()

    known = search.find(index, question("What did Inspector Hale praise?")).support
    stranger = search.find(index, question("Which satellite did the astronauts repair?")).support

    assert known > 0.5 > 0.23 > stranger


@pytest.mark.parametrize("text", ["", "?", "Who was it?"])
def test_an_empty_question_is_no_crash(text: str) -> None:
    assert answer(text, threshold=0.23).text == NO_RECORD


def test_an_empty_index_has_no_record() -> None:
    search = PassageSearch(vocabulary=Vocabulary(), weight=0.7)

    assert search(PassageIndex(), question("Anything?")) == Answer(text=NO_RECORD)


def test_vectors_are_of_unit_length_and_alike_for_like_words() -> None:
    vectors = embed(["the boiler is cold", "the heater is cold", "Tess swims", ""])

    assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([1, 1, 1, 0], abs=1e-6)
    near, far = compute_similarity(vectors[1:3], vectors[0]).tolist()
    assert near > far


def test_a_vector_depends_on_its_text_alone() -> None:
    alone = embed(["a boiler"])
    in_company = embed(["a much longer text about pumps, pipes and valves", "a boiler", "x"])

    np.testing.assert_array_equal(alone[0], in_company[1])
