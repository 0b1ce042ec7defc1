"""A grid says which variants there are: each value alone, or every combination."""

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.comparison.ablation import (
    build_default_grid,
    list_combinations,
    list_single_changes,
    read_grid,
)
from recall_bench.systems.builtin import retrieval_systems
from tests.loops import loop_over_rows


def test_values_are_read_as_those_of_config_are() -> None:
    said = read_grid(["rerank=true", "weight=0.3", "k=5", "chunking=turn", 'name="5"', "on=True"])

    assert said == {
        "rerank": (True,),
        "weight": (0.3,),
        "k": (5,),
        "chunking": ("turn",),
        "name": ("5",),
        "on": (True,),
    }


def test_a_grid_lists_the_values_of_each_setting() -> None:
    grid = read_grid(["weight=0.3,0.5", "chunking=turn,window"])

    assert grid == {"weight": (0.3, 0.5), "chunking": ("turn", "window")}


@loop_over_rows("word", ["weight", "weight=", "=0.3", "weight=0.3,,0.5", ""])
def test_anything_else_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="KEY=VALUE,VALUE"):
        read_grid([word])


def test_a_setting_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="weight is given twice"):
        read_grid(["weight=0.3", "weight=0.5"])


def test_one_at_a_time_changes_one_setting() -> None:
    found = list(list_single_changes({"weight": (0.3, 0.5), "rerank": (True,)}))

    assert [variant.name for variant in found] == ["weight=0.3", "weight=0.5", "rerank=true"]
    assert found[0].changes == {"weight": 0.3}


def test_every_combination_changes_all() -> None:
    found = list(list_combinations({"weight": (0.3, 0.5), "rerank": (True, False)}))

    assert [variant.name for variant in found] == [
        "weight=0.3, rerank=true",
        "weight=0.3, rerank=false",
        "weight=0.5, rerank=true",
        "weight=0.5, rerank=false",
    ]


def test_the_usual_grid_turns_every_part_the_other_way_round() -> None:
    grid = build_default_grid(
        "hybrid", retrieval_systems.build_hybrid({"rerank": True}).card.config
    )

    assert grid == {
        "keyword": (False,),
        "vector": (False,),
        "temporal_boost": (False,),
        "lexical_boost": (True,),
        "rerank": (False,),
        "neighbours": (1,),
        "fusion": ("rank",),
        "chunking": ("turn", "paragraph", "session", "window"),
        "consolidate": ("beside", "only"),
    }


def test_every_part_that_the_card_names_is_varied_or_a_number() -> None:
    """A setting added to the hybrid has to be put into the usual grid, or here."""
    numbers = {"k", "quotes", "k1", "b", "weight", "window_chars", "window_overlap", "threshold"}
    # Of effect in dialogues alone; personas are texts.
    numbers |= {"turn_boost", "session_boost", "spread"}
    card = retrieval_systems.build_hybrid({}).card

    parts = set(card.config) - numbers - {"parts", "respect_sessions"}

    assert set(build_default_grid("hybrid", card.config)) == parts


def test_other_systems_have_no_usual_grid() -> None:
    with pytest.raises(UsageError, match="the settings of bm25 are not known"):
        build_default_grid("bm25", {})
