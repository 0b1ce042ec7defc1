"""What is found is picked as far as it fits, so that a prompt may recall several or nothing."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.selection.memory_file import read_memory
from recall_bench.features.selection.selectors.retrieval_selector import (
    CUT_OFF,
    CutOff,
    RetrievalSelector,
    build_bm25,
    build_hybrid,
    build_vector,
    pick_best,
)
from tests.features.selection.memories import MEMORIES, TRAVEL, memory, names
from tests.loops import loop_over_rows

pytestmark = pytest.mark.anyio

Made = Callable[[Mapping[str, object]], RetrievalSelector]

ALL = pytest.mark.parametrize(
    "made", [build_bm25, build_vector, build_hybrid], ids=lambda made: made.__name__
)


def fits(*rows: list[float]) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
    return np.array(rows, np.float32)


def test_what_is_near_the_best_and_good_enough_is_picked_best_first() -> None:
    assert pick_best(fits([0.5, 0.1, 0.6, 0.4]), CutOff(0.3, 0.8), 10) == [2, 0]


def test_a_best_that_is_not_good_enough_is_not_picked() -> None:
    assert pick_best(fits([0.2, 0.1]), CutOff(0.3, 0.0), 10) == []


def test_every_sentence_has_a_best_of_its_own() -> None:
    assert pick_best(fits([0.9, 0.1, 0.0], [0.1, 0.4, 0.3]), CutOff(0.3, 0.8), 10) == [0, 1]


def test_at_most_k_are_picked_and_ties_go_by_name() -> None:
    assert pick_best(fits([0.5, 0.7, 0.5, 0.5]), CutOff(0.3, 0.5), 3) == [1, 0, 2]


def test_nothing_in_common_is_never_picked() -> None:
    assert pick_best(fits([0.0, 0.0, -0.1]), CutOff(0.0, 0.0), 10) == []


@ALL
async def test_the_matching_memory_is_picked_alone(made: Made) -> None:
    prompt = "Do we take the night train to Lisbon, or a plane?"

    assert await names(made({}), prompt) == ("memory/travel.md",)


@ALL
@pytest.mark.parametrize("prompt", ["Thanks, that works.", "What is 17 times 23?", "?!", ""])
async def test_small_talk_recalls_nothing(made: Made, prompt: str) -> None:
    assert await names(made({}), prompt) == ()


async def test_one_word_in_common_is_not_enough_for_a_prompt_of_few() -> None:
    assert await names(build_bm25({}), "A joke about a wall?") == ()


async def test_a_prompt_about_two_things_recalls_both() -> None:
    prompt = (
        "Which cabin did we want on the night train to Lisbon? "
        "And do the tomatoes by the south wall want water every evening?"
    )

    assert set(await names(build_hybrid({}), prompt)) == {"memory/garden.md", "memory/travel.md"}


async def test_hint_keywords_and_name_are_searched_beside_the_text() -> None:
    told = memory("zanzibar-plan", "See above.", "catamaran", hint="when sailing comes up")
    folder = (*MEMORIES, told)

    for word in ("catamaran", "sailing", "zanzibar"):
        assert await names(build_bm25({"threshold": 0.05}), word, folder) == (told.name,)


async def test_what_only_frames_a_memory_is_not_searched() -> None:
    folder = [read_memory(each.name, each.text) for each in MEMORIES]

    assert await names(build_bm25({"threshold": 0.0}), "fuzzy conditional", folder) == ()


@ALL
async def test_an_impossible_threshold_picks_nothing(made: Made) -> None:
    assert await names(made({"threshold": 1.0}), TRAVEL.body) == ()


async def test_without_a_cut_off_everything_in_common_is_picked_up_to_k() -> None:
    config = {"threshold": 0.0, "ratio": 0.0}

    everything = await names(build_bm25(config), "the rent, the night train, the tomatoes")
    two = await names(build_bm25({**config, "k": 2}), "the rent, the night train, the tomatoes")

    assert set(everything) == {"memory/garden.md", "memory/landlord.md", "memory/travel.md"}
    assert two == everything[:2]


@ALL
async def test_no_memories_are_no_trouble(made: Made) -> None:
    assert await names(made({}), "Lisbon?", ()) == ()


@ALL
async def test_a_memory_without_a_word_is_no_trouble(made: Made) -> None:
    folder = (memory("___", ""), TRAVEL)

    assert await names(made({}), "The night train to Lisbon?", folder) == ("memory/travel.md",)


@ALL
def test_the_card_says_everything_that_decides(made: Made) -> None:
    card = made({"k": 3}).card

    cut_off = CUT_OFF[card.name]
    assert card.config["k"] == 3
    assert card.config["threshold"] == cut_off.threshold
    assert card.config["ratio"] == cut_off.ratio
    assert "parts" in card.config
    assert card.computes


@loop_over_rows(
    ("config", "said"),
    [
        ({"treshold": 0.1}, "has no setting 'treshold'; did you mean 'threshold'"),
        ({"ratio": 2}, "Expected `float` <= 1.0"),
        ({"k": 0}, "Expected `int` >= 1"),
        ({"weight": 0.5}, "has no setting 'weight'"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(config: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        build_bm25(config)
