"""LongMemEval as it is read: its counts, its order, its gold, and nothing that gives it away."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.memory import Passage
from recall_bench.core.scenario import Evidence, Expects, Item, Scenario
from recall_bench.features.datasets.longmemeval import load
from recall_bench.stories.catalogue import find_dataset
from recall_bench.systems.builtin.chunks import Chunker
from recall_bench.systems.builtin.options import Chunking
from recall_bench.text.passage_tracer import PassageTracer
from tests.conftest import shared_data

ORACLE = "longmemeval/longmemeval_oracle.json.gz"
SUBSET = "longmemeval/longmemeval_s_cleaned.subset16.json.gz"


@cache
def published(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(gzip.decompress(shared_data(name).read_bytes()))
    return found


@cache
def loaded(name: str) -> list[Scenario]:
    return list(load(shared_data(name), {}))


@pytest.fixture
def oracle() -> list[Scenario]:
    return loaded(ORACLE)


@pytest.fixture
def subset() -> list[Scenario]:
    return loaded(SUBSET)


def items(scenarios: list[Scenario]) -> list[Item]:
    return [item for scenario in scenarios for item in scenario.items]


def officially_scored(scenarios: list[Scenario]) -> int:
    """How many can be answered and are answered by a turn of the user."""
    return sum(
        item.truth.expects is Expects.ANSWER
        and any(cited.speaker == "user" for cited in item.truth.evidence)
        for item in items(scenarios)
    )


def test_there_are_as_many_of_everything_as_counted_elsewhere(oracle: list[Scenario]) -> None:
    assert len(oracle) == len(items(oracle)) == 500
    assert sum(len(scenario.episodes) for scenario in oracle) == 948
    assert sum(len(e.turns) for scenario in oracle for e in scenario.episodes) == 10_960
    assert Counter(item.truth.category for item in items(oracle)) == {
        "multi-session": 133,
        "temporal-reasoning": 133,
        "knowledge-update": 78,
        "single-session-user": 70,
        "single-session-assistant": 56,
        "single-session-preference": 30,
    }


def test_thirty_questions_are_to_be_denied_and_stay_in_their_types(oracle: list[Scenario]) -> None:
    denied = [i.truth for i in items(oracle) if i.truth.expects is Expects.ABSTAIN]

    assert Counter(truth.category for truth in denied) == {
        "multi-session": 12,
        "temporal-reasoning": 6,
        "knowledge-update": 6,
        "single-session-user": 6,
    }
    assert all(truth.source and truth.source.endswith("_abs") for truth in denied)


def test_the_official_retrieval_denominator_is_419(oracle: list[Scenario]) -> None:
    assert officially_scored(oracle) == 419


def test_the_two_grains_of_gold_disagree_as_counted_elsewhere(oracle: list[Scenario]) -> None:
    cited = [each for item in items(oracle) for each in item.truth.evidence]
    without = [i for i in items(oracle) if all(each.turn is None for each in i.truth.evidence)]

    assert Counter(each.speaker for each in cited) == {"user": 842, "assistant": 54, None: 94}
    assert all((each.turn is None) == (each.speaker is None) for each in cited)
    assert len(without) == 21
    assert {item.truth.expects for item in without} == {Expects.ABSTAIN}
    assert sum(len({each.day for each in i.truth.evidence}) for i in items(oracle)) == 948


def test_answers_that_are_numbers_are_taken_as_written(oracle: list[Scenario]) -> None:
    answers = [asked["answer"] for asked in published(ORACLE)]

    assert sum(isinstance(answer, int) for answer in answers) == 32
    assert [item.truth.reference for item in items(oracle)] == [str(each) for each in answers]
    assert not {item.truth.reference for item in items(oracle)} & {"", "None", "undefined"}


def test_a_subset_of_s_is_read_by_the_same_rules(subset: list[Scenario]) -> None:
    assert len(subset) == 16
    assert sum(len(e.turns) for scenario in subset for e in scenario.episodes) == 7947
    assert {38 <= len(scenario.episodes) <= 62 for scenario in subset} == {True}
    assert Counter(item.truth.expects for item in items(subset)) == {"answer": 12, "abstain": 4}
    assert len({item.truth.category for item in items(subset)}) == 6
    assert officially_scored(subset) == 10


@pytest.mark.parametrize("name", [ORACLE, SUBSET])
def test_every_gold_turn_is_cited_where_it_was_sorted_to(name: str) -> None:
    """Told apart by their text: the mark is upstream's, the place is ours."""
    for asked, scenario in zip(published(name), loaded(name), strict=True):
        marked = [
            (turn["role"], turn["content"])
            for session in asked["haystack_sessions"]
            for turn in session
            if turn.get("has_answer")
        ]
        turns = {episode.day: episode.turns for episode in scenario.episodes}
        cited = [
            (turns[each.day][each.turn].speaker, turns[each.day][each.turn].text)
            for each in scenario.items[0].truth.evidence
            if each.turn is not None
        ]
        assert sorted(cited) == sorted(marked)


@pytest.mark.parametrize(("name", "unsorted"), [(ORACLE, 34), (SUBSET, 6)])
def test_sessions_are_in_the_order_of_time_though_the_file_is_not(name: str, unsorted: int) -> None:
    raw = published(name)
    scenarios = loaded(name)

    assert sum(q["haystack_dates"] != sorted(q["haystack_dates"]) for q in raw) == unsorted
    for scenario in scenarios:
        times = [episode.at for episode in scenario.episodes]
        assert times == sorted(times)
        assert [episode.day for episode in scenario.episodes] == [*range(1, len(times) + 1)]


@pytest.mark.parametrize(("name", "questions"), [(ORACLE, 43), (SUBSET, 1)])
def test_sessions_after_the_question_stay(name: str, questions: int) -> None:
    """Who cuts at the date of the question loses gold."""
    scenarios = loaded(name)

    late = [s for s in scenarios if (asked := s.items[0].asked_at) and s.episodes[-1].at > asked]

    assert len(late) == questions
    assert [len(s.episodes) for s in scenarios] == [
        len(asked["haystack_sessions"]) for asked in published(name)
    ]


@pytest.mark.parametrize("name", [ORACLE, SUBSET])
def test_times_are_as_written_down_to_the_weekday(name: str) -> None:
    for asked, scenario in zip(published(name), loaded(name), strict=True):
        written = sorted(f"{e.at:%Y/%m/%d (%a) %H:%M}" for e in scenario.episodes)
        assert written == sorted(asked["haystack_dates"])
        at = scenario.items[0].asked_at
        assert at is not None
        assert f"{at:%Y/%m/%d (%a) %H:%M}" == asked["question_date"]


def test_nothing_a_system_sees_tells_what_is_gold(oracle: list[Scenario]) -> None:
    """Upstream, gold sessions are called `answer_…` and unanswerable questions `…_abs`."""
    seen = []
    for scenario in oracle:
        question = scenario.items[0].ask(scenario.id, scenario.episodes[-1].at)
        seen += [scenario.id, question.id, question.scenario, question.session]
        seen += [episode.id for episode in scenario.episodes]

    assert not [name for name in seen if "abs" in name or "answer" in name]
    assert {scenario.id[:4] for scenario in oracle} == {"lme-"}
    assert len({scenario.id for scenario in oracle}) == 500
    assert {e.id for s in oracle for e in s.episodes} == {f"session-00{n}" for n in range(1, 7)}


@pytest.mark.parametrize("chunking", ["passage", "turn"])
def test_a_passage_of_a_turn_is_traced_to_it(oracle: list[Scenario], chunking: Chunking) -> None:
    """As our own systems cut it. The few that are not repeat what was said in another turn."""
    right = total = 0
    for scenario in oracle[::4]:
        tracer = PassageTracer(scenario.episodes)
        for cited in scenario.items[0].truth.evidence:
            if cited.turn is None:
                continue
            episode = scenario.episodes[cited.day - 1]
            alone = episode.replace(turns=episode.turns[cited.turn : cited.turn + 1])
            for excerpt in Chunker(chunking=chunking)(alone):
                found = tracer.trace(Passage(text=excerpt.text), scenario.last_day)
                right += (found.day, found.turn) == (cited.day, cited.turn)
                total += 1

    assert total > 200
    assert right / total > 0.98


def asked(**changes: object) -> dict[str, Any]:
    """Two sessions, the later one first; the first turn of it answers."""
    return {
        "question_id": "77_abs",
        "question_type": "knowledge-update",
        "question": "Which pear?",
        "answer": 7,
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/21 (Sun) 08:05", "2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["answer_1", "aa"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I planted a Conference.", "has_answer": True},
                {"role": "assistant", "content": "A fine pear.", "has_answer": False},
            ],
            [{"role": "assistant", "content": "Hello."}],
        ],
        "answer_session_ids": ["answer_1"],
    } | changes


Written = Callable[..., Path]


@pytest.fixture
def file(tmp_path: Path) -> Written:
    def write(*questions: object) -> Path:
        path = tmp_path / "longmemeval_oracle.json"
        path.write_text(json.dumps(questions))
        return path

    return write


def test_a_question_is_a_scenario_with_its_sessions_sorted(file: Written) -> None:
    (scenario,) = load(file(asked()), {})

    assert [episode.text for episode in scenario.episodes] == [
        "assistant: Hello.",
        "user: I planted a Conference.\n\nassistant: A fine pear.",
    ]
    assert scenario.episodes[1].at == datetime(2023, 5, 21, 8, 5)
    (item,) = scenario.items
    assert item.asked_at == datetime(2023, 5, 30, 23, 40)
    assert item.known_from == 2
    assert item.truth.reference == "7"
    assert item.truth.evidence == (Evidence(day=2, turn=0, speaker="user"),)
    assert item.truth.source == "77_abs"
    assert item.truth.expects is Expects.ABSTAIN


def test_a_gold_session_without_a_gold_turn_is_cited_whole(file: Written) -> None:
    unmarked = [[{"role": "user", "content": "Hm."}], [{"role": "user", "content": "Ho."}]]

    (scenario,) = load(file(asked(haystack_sessions=unmarked)), {})

    assert scenario.items[0].truth.evidence == (Evidence(day=2),)


def test_a_session_that_occurs_twice_is_two_episodes(file: Written) -> None:
    """Known by its place: by its id, one of the two would be lost."""
    twice = asked()
    for key in ("haystack_session_ids", "haystack_sessions"):
        twice[key].append(twice[key][1])
    twice["haystack_dates"].append("2023/05/22 (Mon) 09:00")

    (scenario,) = load(file(twice), {})

    assert [episode.text[:9] for episode in scenario.episodes] == [
        "assistant",
        "user: I p",
        "assistant",
    ]
    assert scenario.items[0].truth.evidence == (Evidence(day=2, turn=0, speaker="user"),)


def test_sessions_of_one_minute_keep_their_order(file: Written) -> None:
    same = ["2023/05/21 (Sun) 08:05"] * 2

    (scenario,) = load(file(asked(haystack_dates=same)), {})

    assert [episode.turns[0].speaker for episode in scenario.episodes] == ["user", "assistant"]


def test_a_blank_turn_is_left_out_and_gold_moves_up_with_its_turn(file: Written) -> None:
    gapped = asked()
    gapped["haystack_sessions"][0].insert(0, {"role": "assistant", "content": " \n"})
    gapped["haystack_sessions"][1] = [{"role": "user", "content": ""}]

    (scenario,) = load(file(gapped), {})

    (episode,) = scenario.episodes
    (cited,) = scenario.items[0].truth.evidence
    assert (cited.day, cited.turn) == (1, 0)
    assert episode.turns[0].text == "I planted a Conference."
    assert episode.text.startswith("user: I planted")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"question_type": "small-talk"}, "small-talk", id="type"),
        pytest.param({"answer_session_ids": ["answer_2"]}, "answer_2 .* not in its", id="gold"),
        pytest.param({"question_date": "30 May 2023"}, "'30 May 2023' is not a date", id="date"),
        pytest.param(
            {"haystack_dates": ["2023/05/21 (Sun) 08:05", "2023/13/20 (Sat) 02:21"]},
            r"'2023/13/20 \(Sat\) 02:21' is not a date",
            id="month",
        ),
        pytest.param(
            {"haystack_dates": ["2023/05/21 (Sun) 08:05"]},
            "2 sessions, 2 ids .* 1 dates",
            id="dates",
        ),
        pytest.param({"haystack_session_ids": ["answer_1"]}, "2 sessions, 1 ids", id="ids"),
        pytest.param({"answer": None}, "answer", id="no answer"),
        pytest.param({"answer": 7.5}, "answer", id="half an answer"),
        pytest.param({"answer": " "}, "answer", id="blank answer"),
        pytest.param({"answer": True}, "answer", id="yes for an answer"),
        pytest.param(
            {"haystack_session_ids": ["aa", "answer_1"]}, "not gold as answering", id="stray mark"
        ),
        pytest.param(
            {"haystack_sessions": [[{"role": "user", "content": ""}], []]},
            "is blank",
            id="blank gold",
        ),
        pytest.param(
            {
                "haystack_sessions": [
                    [
                        {"role": "user", "content": "", "has_answer": True},
                        {"role": "user", "content": "Hm."},
                    ],
                    [],
                ]
            },
            "a blank turn as answering",
            id="blank gold turn",
        ),
        pytest.param(
            {
                "haystack_dates": [],
                "haystack_session_ids": [],
                "haystack_sessions": [],
                "answer_session_ids": [],
            },
            "empty",
            id="nothing",
        ),
        pytest.param(
            {"haystack_sessions": [[{"role": "tool", "content": "x"}], []]}, "tool", id="role"
        ),
    ],
)
def test_what_is_not_as_upstream_has_it_is_named_by_file_and_question(
    file: Written, changes: dict[str, object], said: str
) -> None:
    scenarios = load(file(asked(), asked(question_id="78", **changes)), {})

    assert scenarios[0].items
    with pytest.raises(Malformed, match=rf"longmemeval_oracle\.json, question 2: .*{said}"):
        scenarios[1]


def test_two_questions_of_one_id_are_refused(file: Written) -> None:
    """Their memories would be one."""
    with pytest.raises(Malformed, match="77_abs is the id of 2 questions"):
        load(file(asked(), asked()), {})


def test_each_size_is_found_in_a_folder_by_its_own_name(file: Written) -> None:
    folder = file(asked()).parent
    (folder / "longmemeval_s_cleaned.json.gz").write_bytes(
        gzip.compress(json.dumps([asked(answer=8)]).encode())
    )

    answers = [
        find_dataset(f"longmemeval-{size}").load(folder, {})[0].items[0].truth.reference
        for size in ("oracle", "s")
    ]

    assert answers == ["7", "8"]
    with pytest.raises(UsageError, match=r"no longmemeval_m_cleaned\.json in"):
        find_dataset("longmemeval-m").load(folder, {})
    with pytest.raises(UsageError, match="name the one that is meant"):
        load(folder, {})


def test_a_correction_there_is_not_is_refused(file: Written) -> None:
    path = file(asked())

    with pytest.raises(UsageError, match="no corrections; leave out audit"):
        load(path, {"audit": path})
