"""MemBench as it is read: its sessions and times, its letters, and where its gold is told.

The published files are not at hand. These are made in their shape.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Evidence, Scenario
from recall_bench.features.datasets.membench import load_first, load_third
from recall_bench.stories.catalogue import list_datasets

Write = Callable[..., Path]

MONDAY = "'2024-10-07 08:05' Monday"
LATER = "'2024-10-07 08:20' Monday"
FRIDAY = "'2024-10-11 19:30' Friday"


def pair(user: str, reply: str = "Noted.", time: str = MONDAY, **more: Any) -> dict[str, Any]:
    return {"user_message": user, "assistant_message": reply, "time": time, **more}


def note(text: str, time: str | None = MONDAY, **more: Any) -> dict[str, Any]:
    return {"mid": 0, "message": text, "time": time, **more}


def asked(*targets: Any, **more: Any) -> dict[str, Any]:
    return {
        "qid": 0,
        "question": "Which ferry does my aunt steer?",
        "answer": "the Heron",
        "target_step_id": list(targets),
        "choices": {"B": "the Heron", "A": "the Otter", "D": "the Swift", "C": "the Wren"},
        "ground_truth": "B",
        "time": "'2024-10-12 09:00' Saturday",
        **more,
    }


def trajectory(*messages: Any, qa: dict[str, Any] | None = None, tid: int = 7) -> dict[str, Any]:
    return {"tid": tid, "message_list": list(messages), "QA": qa or asked(0)}


def sessions(*targets: Any) -> dict[str, Any]:
    """Three steps in two sessions, told in two weeks."""
    return trajectory(
        [pair("My aunt lives by the harbour."), pair("She steers the Heron.", time=LATER)],
        [pair("Her cat is called Anchor.", time=FRIDAY)],
        qa=asked(*targets),
    )


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to(*told: Any, name: str = "simple.json", topic: str = "roles") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({topic: told}), encoding="utf-8")
        return path

    return to


def first(path: Path) -> Scenario:
    (scenario,) = load_first(path, {})
    return scenario


def third(path: Path) -> Scenario:
    (scenario,) = load_third(path, {})
    return scenario


def places(scenario: Scenario) -> list[tuple[int, int | None, str | None]]:
    return [(one.day, one.turn, one.speaker) for one in scenario.items[0].truth.evidence]


def test_a_pair_is_two_turns_and_a_list_of_pairs_a_session(write: Write) -> None:
    scenario = first(write(sessions([1, 0])))

    assert [len(episode.turns) for episode in scenario.episodes] == [4, 2]
    assert [turn.speaker for turn in scenario.episodes[0].turns] == ["user", "assistant"] * 2
    assert scenario.items[0].known_from == 2


def test_pairs_in_no_list_of_their_own_are_one_session(write: Write) -> None:
    told = trajectory(
        {"mid": 0, "user": "Recommend a play.", "assistant": "See The Quay.", "time": MONDAY},
        {"mid": 1, "user": "Another?", "assistant": "See Low Tide.", "time": FRIDAY},
    )

    scenario = first(write(told))

    assert [len(episode.turns) for episode in scenario.episodes] == [4]


def test_a_statement_is_a_turn_of_the_users(write: Write) -> None:
    scenario = third(write(trajectory(note("My aunt steers the Heron."), note("It rains."))))

    assert [turn.speaker for turn in scenario.episodes[0].turns] == ["user", "user"]
    assert places(scenario) == [(1, 0, "user")]


def test_a_turn_says_its_place_and_time_as_upstreams_agents_hear_them(write: Write) -> None:
    spoken = pair("She steers it.", "Good.", place="Leith", rel="aunt", value="the Heron")
    (user, reply) = first(write(trajectory([spoken]))).episodes[0].turns

    assert user.text == f"She steers it. (place: Leith; time: {MONDAY})"
    assert reply.text == f"Good. (place: Leith; time: {MONDAY})"


def test_times_are_real_and_a_session_has_that_of_its_first_step(write: Write) -> None:
    scenario = first(write(sessions(1)))

    assert [episode.at.isoformat() for episode in scenario.episodes] == [
        "2024-10-07T08:05:00",
        "2024-10-11T19:30:00",
    ]
    assert scenario.epoch.isoformat() == "2024-10-07"
    asked_at = scenario.items[0].asked_at
    assert asked_at is not None
    assert asked_at.isoformat() == "2024-10-12T09:00:00"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        pytest.param("2024-10-07 08:05", "2024-10-07T08:05:00", id="bare"),
        pytest.param("2024-10-07", "2024-10-07T00:00:00", id="a day"),
        pytest.param("2024年04月01日 周一 08:39", "2024-04-01T08:39:00", id="Chinese"),
    ],
)
def test_times_come_in_several_forms(write: Write, written: str, meant: str) -> None:
    scenario = third(write(trajectory(note("My aunt steers the Heron.", written))))

    assert scenario.episodes[0].at.isoformat() == meant


@pytest.mark.parametrize("spelling", ["time: ", "time"])
def test_a_time_in_the_text_is_one_too_and_is_not_said_twice(write: Write, spelling: str) -> None:
    text = f"She steers it. (place: Leith; {spelling}{MONDAY})"
    scenario = third(write(trajectory("A word from a stranger.", text, qa=asked(1))))

    assert scenario.episodes[0].at.isoformat() == "2024-10-07T08:05:00"
    assert scenario.episodes[0].turns[1].text == text
    assert places(scenario) == [(1, 1, "user")]


def test_sessions_follow_their_times_and_gold_follows_its_step(write: Write) -> None:
    told = trajectory([pair("Late.", time=FRIDAY)], [pair("Early.")], qa=asked([0, 0]))
    scenario = first(write(told))

    assert [episode.turns[0].text[:5] for episode in scenario.episodes] == ["Early", "Late."]
    assert places(scenario) == [(2, 0, "user")]


def test_where_no_time_is_said_sessions_are_a_day_apart(write: Write) -> None:
    untimed = {"user": "Hello.", "assistant": "Hello."}
    scenario = first(write(trajectory([untimed], [untimed])))

    assert [episode.at.isoformat()[:10] for episode in scenario.episodes] == [
        "2024-01-01",
        "2024-01-02",
    ]


@pytest.mark.parametrize(
    ("targets", "found"),
    [
        pytest.param([[2, 1]], [(2, 0, "user")], id="counted through all sessions"),
        pytest.param([1, 0], [(1, 2, "user"), (1, 0, "user")], id="bare numbers"),
        pytest.param([[1, 0], [1, 0]], [(1, 2, "user")], id="named twice"),
        pytest.param([[1, 0], [3, 1]], [(1, 2, "user")], id="one past the end"),
        pytest.param([], [], id="none"),
    ],
)
def test_gold_is_what_the_user_said_in_its_step(
    write: Write, targets: list[Any], found: list[tuple[int, int, str]]
) -> None:
    assert places(first(write(sessions(*targets)))) == found


@pytest.mark.parametrize(
    ("category", "turns"),
    [("lowlevel_rec", [3]), ("RecMultiSession", [3]), ("highlevel_rec", [2, 3]), ("noisy", [2])],
)
def test_what_the_assistant_recommended_the_assistant_stated(
    write: Write, category: str, turns: list[int]
) -> None:
    scenario = first(write(sessions([1, 0]), name=f"{category}.json"))

    assert [one.turn for one in scenario.items[0].truth.evidence] == turns


def test_half_a_pair_is_evidence_where_the_other_half_is_missing(write: Write) -> None:
    told = trajectory([{"user": None, "assistant": "She steers the Heron.", "time": MONDAY}])

    assert places(first(write(told))) == [(1, 0, "assistant")]


def test_options_are_in_the_order_of_their_letters_and_the_letter_is_right(write: Write) -> None:
    (item,) = first(write(sessions(1))).items

    assert item.choices == ("(A) the Otter", "(B) the Heron", "(C) the Wren", "(D) the Swift")
    assert (item.truth.choice, item.truth.reference) == ("B", "the Heron")


def test_an_option_may_be_a_list_or_a_number(write: Write) -> None:
    choices = {"A": ["The Quay", "Low Tide"], "B": 3}
    told = trajectory([pair("Hm.")], qa=asked(0, choices=choices, answer=3))
    (item,) = first(write(told)).items

    assert item.choices == ("(A) The Quay; Low Tide", "(B) 3")
    assert item.truth.reference == "3"


def test_the_letter_decides_where_the_answer_says_otherwise(write: Write) -> None:
    told = trajectory([pair("Hm.")], qa=asked(0, answer="the Otter"))

    assert first(write(told)).items[0].truth.reference == "the Heron"


def test_the_file_is_the_category_and_the_topic_is_in_the_source(write: Write) -> None:
    truth = first(write(sessions(1), name="post_processing.json", topic="events")).items[0].truth

    assert truth.category == "post_processing"
    assert truth.source == "FirstAgent/post_processing/events/7"


def test_nothing_a_system_sees_tells_a_category_from_another(write: Write) -> None:
    scenario = first(write(sessions(1), name="noisy.json"))

    assert [episode.id for episode in scenario.episodes] == ["session-1", "session-2"]
    assert not any(word in scenario.id for word in ("noisy", "roles", "First", "mem", "/"))
    assert len(scenario.id) == 16


def test_a_folder_is_read_in_order_and_each_trajectory_is_found_in_its_file(
    write: Write, tmp_path: Path
) -> None:
    write(sessions(1), name="MemData/FirstAgent/simple.json")
    write(name="MemData/FirstAgent/empty.json")
    write(sessions(1), sessions(2), name="MemData/FirstAgent/comparative.json", topic="events")
    write(trajectory(note("Seen.")), name="MemData/ThirdAgent/simple.json")

    scenarios = load_first(tmp_path, {})

    assert [one.items[0].truth.category for one in scenarios] == ["comparative"] * 2 + ["simple"]
    assert [one.items[0].truth.evidence[0].day for one in scenarios] == [1, 2, 1]
    assert len({one.id for one in scenarios}) == 3
    assert len(load_third(tmp_path, {})) == 1


def test_a_file_may_hold_all_categories(tmp_path: Path) -> None:
    path = tmp_path / "FirstAgentDataLowLevel_multiple_0.json"
    spoken = {"user": f"I row. (place: Leith; time{MONDAY})", "agent": "Good."}
    path.write_text(json.dumps({"conditional": {"roles": [trajectory(spoken)]}}), encoding="utf-8")
    scenario = first(path)

    assert scenario.items[0].truth.category == "conditional"
    assert scenario.items[0].truth.source == "FirstAgent/conditional/roles/7"
    assert scenario.episodes[0].at.isoformat() == "2024-10-07T08:05:00"


def test_memdaily_is_read_and_loses_the_questions_without_options(tmp_path: Path) -> None:
    path = tmp_path / "04_post_processing_hybrid.json"
    whole = {"tid": 3, "message_list": [note("我姑姑开船。", "2024年04月01日 周一 08:39")]}
    rows = [
        {**whole, "question_list": [asked(0, choices="[ERRORC]")]},
        {**whole, "question_list": [asked(0, time=None)]},
        {**whole, "question_list": [asked(0, choices="[ERRORC]"), asked(0, question="?")]},
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")
    told, partly = load_third(path, {})

    assert told.items[0].truth.source == "ThirdAgent/post_processing/hybrid/3"
    assert told.items[0].truth.category == "post_processing"
    assert told.items[0].asked_at is None
    assert [item.text for item in partly.items] == ["?"]


def test_both_views_have_dates_and_one_family() -> None:
    assert [
        (one.name, one.family, one.has_dates) for one in list_datasets() if one.family == "membench"
    ] == [
        ("membench-first", "membench", True),
        ("membench-third", "membench", True),
    ]


def test_trajectories_are_not_read_before_they_are_asked_for(write: Write) -> None:
    scenarios = load_first(write(sessions(1), {"tid": None}), {})

    assert scenarios[0].items[0].truth.evidence == (Evidence(day=1, turn=2, speaker="user"),)
    with pytest.raises(Malformed):
        scenarios[1]


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        pytest.param(sessions(4), "target_step_id 4 names no message; there are 3", id="too far"),
        pytest.param(sessions(-1), "target_step_id -1 names no message", id="before the first"),
        pytest.param(sessions([1, 1]), r"\[1, 1\] names a message of another session", id="astray"),
        pytest.param(sessions([]), r"\$.QA.target_step_id\[0\]", id="a target of nothing"),
        pytest.param(trajectory(), "session 1 holds no message", id="no history"),
        pytest.param(trajectory([pair("Hm.")], []), "session 2 holds no message", id="silence"),
        pytest.param(trajectory([pair("Hm.")], pair("Hm.")), "sessions and single", id="a mixture"),
        pytest.param(trajectory([{"time": MONDAY}]), "empty message", id="nothing said"),
        pytest.param(trajectory([pair("Hm.", time="noon")]), "'noon' is not a time", id="no time"),
        pytest.param(
            trajectory([pair("Hm.")], [{"user": "Hm.", "assistant": "Hm."}]),
            "session 2 has no time, though others have",
            id="a time missing",
        ),
        pytest.param(
            trajectory([pair("Hm.")], qa=asked(0, time="2024-13-01 08:00")),
            "month must be in 1..12",
            id="no such month",
        ),
        pytest.param(
            trajectory([pair("Hm.")], qa=asked(0, ground_truth="E")),
            "ground_truth 'E' is not one of the options A, B, C, D",
            id="no such letter",
        ),
        pytest.param(
            trajectory([pair("Hm.")], qa=asked(0, choices="none")),
            "choices are 'none', not options by letter",
            id="no options",
        ),
        pytest.param({"tid": 1, "message_list": [[pair("Hm.")]]}, "has no question", id="unasked"),
        pytest.param(trajectory(note("Seen.")), "try --dataset membench-third", id="third view"),
    ],
)
def test_a_malformed_trajectory_is_an_error_with_its_place(
    write: Write, told: Any, problem: str
) -> None:
    path = write(sessions(0), told)

    with pytest.raises(Malformed, match=problem) as caught:
        list(load_first(path, {}))
    assert "simple.json, simple/roles, trajectory 2: " in str(caught.value)


def test_the_other_view_is_named_to_who_looks_for_it(write: Write) -> None:
    with pytest.raises(Malformed, match="try --dataset membench-first"):
        third(write(sessions(0)))


def test_another_file_is_malformed(tmp_path: Path) -> None:
    path = tmp_path / "graphs.json"
    path.write_text('{"roles": 3}', encoding="utf-8")

    with pytest.raises(Malformed, match=r"graphs.json: is not as MemBench has it"):
        load_first(path, {})


def test_a_trajectory_without_a_question_is_not_taken_for_one_without_options(
    write: Write,
) -> None:
    path = write(
        trajectory(note("Seen."), qa=asked(0, choices="[ERRORC]")),
        {"tid": 1, "message_list": [note("Seen.")]},
    )

    with pytest.raises(Malformed, match="trajectory 2: has no question"):
        list(load_third(path, {}))


def test_what_is_not_there_cannot_be_read(tmp_path: Path, write: Write) -> None:
    with pytest.raises(UsageError, match="there is no"):
        load_first(tmp_path / "nowhere", {})
    with pytest.raises(UsageError, match="ThirdAgent folder"):
        load_third(tmp_path, {})
    with pytest.raises(UsageError, match="leave out 'audit'"):
        load_first(write(sessions(0)), {"audit": tmp_path})
