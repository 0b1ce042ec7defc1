"""HaluMem: questions and memory points belong to the day of their session, and to no other."""

from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Evidence, Expects, Scenario
from recall_bench.judging.methodologies import find_methodology
from recall_bench.stories.catalogue import find_dataset
from tests.features.datasets.session_files import USER, write_users


def load_only(path: Path) -> Scenario:
    (scenario,) = find_dataset("halumem-medium").load(path, {})
    return scenario


def test_a_question_is_asked_after_its_session_alone(tmp_path: Path) -> None:
    scenario = load_only(write_users(tmp_path))
    asked = [item for item in scenario.items if item.kind is None]

    assert [(item.known_from, item.known_until) for item in asked] == [(1, 1), (2, 2), (2, 2)]
    assert asked[1].truth.evidence == (Evidence(day=2),)
    assert asked[2].truth.expects is Expects.ABSTAIN
    # The third session is dated before the second, and is fed after it all the same.
    assert [episode.at.day for episode in scenario.episodes] == [4, 9, 9]


def test_memory_points_are_new_changed_or_false(tmp_path: Path) -> None:
    scenario = load_only(write_users(tmp_path))
    points = [item for item in scenario.items if item.kind == "stored"]

    assert [(item.truth.category, item.known_from) for item in points] == [
        ("extraction", 1),
        ("interference", 1),
        ("update", 2),
    ]
    # The question must not tell the point: a judge does not count what was asked as an answer.
    assert {item.text for item in points} == {"What is stored about the user?"}
    assert points[2].truth.reference == "Odile lives in Bruges"


def test_protocols_ask_questions_or_look_for_points(tmp_path: Path) -> None:
    items = load_only(write_users(tmp_path)).items

    counts = {
        name: sum(find_methodology("halumem", name).includes(item) for item in items)
        for name in ("strict", "official", "stored")
    }

    assert counts == {"strict": 3, "official": 3, "stored": 3}


@pytest.mark.parametrize(
    ("session", "told"),
    [
        ({"start_time": "2025-09-04"}, "is not a time like Sep 04"),
        ({"start_time": "Sep 31, 2025, 19:42:11"}, "is not a time"),
        ({"dialogue": []}, "nothing is said in session 1"),
        ({"memory_points": [{"memory_content": "x", "memory_source": "s", "is_update": True}]}, ""),
        ({"dialogue": [{"role": "tool", "content": "x"}]}, "Invalid enum value 'tool'"),
    ],
)
def test_another_shape_is_named_with_its_user(
    tmp_path: Path, session: dict[str, object], told: str
) -> None:
    changed = {**USER, "sessions": [{**USER["sessions"][0], **session}]}

    with pytest.raises(Malformed, match=rf"HaluMem-Medium\.jsonl, user 1: .*{told}"):
        load_only(write_users(tmp_path, changed))


def test_a_folder_holds_the_file_of_the_size(tmp_path: Path) -> None:
    write_users(tmp_path)

    assert load_only(tmp_path).items
    with pytest.raises(UsageError, match=r"there is no HaluMem-Long\.jsonl"):
        find_dataset("halumem-long").load(tmp_path, {})
