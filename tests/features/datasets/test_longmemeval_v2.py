"""LongMemEval-V2: a haystack is fed once, and nothing of a question's gold is in it."""

from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Expects, Scenario
from recall_bench.stories.catalogue import find_dataset
from tests.features.datasets.longmemeval_v2_files import (
    HAYSTACKS,
    QUESTIONS,
    TRAJECTORIES,
    write_release,
)


def load_all(folder: Path) -> tuple[Scenario, ...]:
    return tuple(find_dataset("longmemeval-v2-small").load(folder, {}))


def test_questions_with_one_haystack_are_one_scenario_and_pictures_are_left_out(
    tmp_path: Path,
) -> None:
    (scenario,) = load_all(write_release(tmp_path))

    assert [item.truth.source for item in scenario.items] == ["0a1", "0a2"]
    assert [item.truth.expects for item in scenario.items] == [Expects.ANSWER, Expects.ABSTAIN]
    assert scenario.items[0].truth.grading == "norm_phrase_set_match|lower=true|separators=,;"
    assert "t1" not in scenario.id


def test_a_trajectory_is_an_episode_in_the_order_of_the_haystack(tmp_path: Path) -> None:
    (scenario,) = load_all(write_release(tmp_path))

    assert [episode.id for episode in scenario.episodes] == ["trajectory-001", "trajectory-002"]
    assert scenario.episodes[0].text == (
        "goal: Close the order of Ada.\n\nstarts at: http://shop.example/orders\n\n"
        "state 0: http://shop.example/orders\naction: click [12]\nthought: The order is listed.\n"
        "page: [12] button 'Seal order'\n\noutcome: success"
    )
    assert scenario.episodes[1].text == (
        "goal: Look up a glaze.\n\n"
        "state 0: http://shop.example/help\nthought: No glazes.\npage: help"
    )


def test_other_haystacks_are_other_scenarios(tmp_path: Path) -> None:
    haystacks = {**HAYSTACKS, "0a2": ["t2", "t1"]}

    first, second = load_all(write_release(tmp_path, haystacks=haystacks))

    assert first.id != second.id
    assert first.episodes[0].text == second.episodes[1].text


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"haystacks": {"0a1": ["t1"]}}, "question 0a2 has no haystack"),
        ({"haystacks": {**HAYSTACKS, "0a2": ["t1", "t1"]}}, "of 0a2 is empty, or repeats"),
        ({"haystacks": {**HAYSTACKS, "0a2": ["t9"]}}, "lacks the trajectory 't9'"),
        ({"questions": [QUESTIONS[0], QUESTIONS[0]]}, "two questions with one id"),
        ({"questions": [{"id": "0a1"}]}, r"questions\.jsonl, question 1: .*question_type"),
        ({"trajectories": [TRAJECTORIES[0]] * 2}, "a second trajectory 't1'"),
        ({"trajectories": [{**TRAJECTORIES[0], "states": []}, TRAJECTORIES[1]]}, "states"),
    ],
)
def test_another_shape_is_named(tmp_path: Path, files: dict[str, object], told: str) -> None:
    with pytest.raises(Malformed, match=told):
        load_all(write_release(tmp_path, **files))  # type: ignore[arg-type]


def test_a_file_is_no_release(tmp_path: Path) -> None:
    write_release(tmp_path)

    with pytest.raises(UsageError, match="is not a folder"):
        load_all(tmp_path / "questions.jsonl")
    with pytest.raises(UsageError, match=r"there is no lme_v2_medium\.json"):
        find_dataset("longmemeval-v2-medium").load(tmp_path, {})
