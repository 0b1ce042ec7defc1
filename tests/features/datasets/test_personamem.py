"""PersonaMem as it is read: its counts, its cuts, and what a system never gets to see."""

import csv
import gzip
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Scenario
from recall_bench.core.untrusted_json import decode_plain_json
from recall_bench.stories.catalogue import find_dataset
from tests.conftest import shared_data

SAMPLE = "personamem/128k_official_sample"


def load(path: Path, size: str = "128k") -> Sequence[Scenario]:
    return find_dataset(f"personamem-{size}").load(path, {})


@pytest.fixture(scope="module")
def sample() -> Sequence[Scenario]:
    return list(load(shared_data(SAMPLE)))


def test_there_are_as_many_questions_of_each_type_as_counted_elsewhere(
    sample: Sequence[Scenario],
) -> None:
    types = Counter(item.truth.category for scenario in sample for item in scenario.items)

    assert len(sample) == 2
    assert sum(types.values()) == 270
    assert types == {
        "recalling_facts_mentioned_by_the_user": 70,
        "recalling_the_latest_user_preferences": 70,
        "recommendation_aligned_with_users_latest_preferences": 70,
        "identifying_new_things_not_mentioned_by_the_user": 32,
        "generalizing_past_reasons_in_memory_to_new_scenarios": 20,
        "recalling_the_reasons_behind_previous_updates": 8,
    }


def test_every_message_is_a_turn_or_states_the_persona_or_comes_after_the_cut(
    sample: Sequence[Scenario],
) -> None:
    lines = (shared_data(SAMPLE) / "shared_contexts.jsonl").read_text("utf-8").splitlines()
    contexts = [messages for line in lines for messages in json.loads(line).values()]
    turns = [sum(len(e.turns) for e in scenario.episodes) for scenario in sample]

    assert sum(map(len, contexts)) == 1416
    assert [len(messages) - 20 - 1 for messages in contexts] == turns


def test_the_persona_separates_sessions_and_is_not_ingested(
    sample: Sequence[Scenario],
) -> None:
    assert [len(scenario.episodes) for scenario in sample] == [20, 20]
    assert not any("Current user persona" in e.text for s in sample for e in s.episodes)
    assert {t.speaker for s in sample for e in s.episodes for t in e.turns} == {"user", "assistant"}


def test_eight_questions_have_two_options_of_one_text(sample: Sequence[Scenario]) -> None:
    texts = [[choice[4:] for choice in item.choices] for s in sample for item in s.items]

    assert {len(options) for options in texts} == {4}
    assert sum(len(set(options)) < 4 for options in texts) == 8


def test_the_reference_is_the_text_of_the_right_option(sample: Sequence[Scenario]) -> None:
    for item in (item for scenario in sample for item in scenario.items):
        assert [choice[:3] for choice in item.choices] == ["(A)", "(B)", "(C)", "(D)"]
        assert f"({item.truth.choice}) {item.truth.reference}" in item.choices
    right = Counter(item.truth.choice for scenario in sample for item in scenario.items)
    assert right == {"A": 65, "B": 68, "C": 70, "D": 67}


def test_the_longest_option_is_right_twice_as_often_as_chance(sample: Sequence[Scenario]) -> None:
    """The floor that the card tells: options give themselves away."""
    items = [item for scenario in sample for item in scenario.items]
    shares = []
    for item in items:
        longest = max(map(len, item.choices))
        tied = [choice[1] for choice in item.choices if len(choice) == longest]
        shares.append((item.truth.choice in tied) / len(tied))

    assert round(sum(shares) / len(items), 3) == 0.547
    assert any("0.547" in note for note in find_dataset("personamem-128k").about.notes)


def test_the_sample_asks_the_same_questions_twice(sample: Sequence[Scenario]) -> None:
    first, second = (
        Counter((item.text, item.truth.reference) for item in scenario.items) for scenario in sample
    )

    assert first == second
    assert first.total() == 135


def test_names_of_scenarios_say_nothing(sample: Sequence[Scenario]) -> None:
    assert all(len(s.id) == 12 and int(s.id, 16) for s in sample)
    assert sample[0].items[0].truth.evidence == ()


CHAT = [
    ("system", "Current user persona: Name: Ines."),
    ("user", "User: I took up rowing."),
    ("assistant", "Assistant: On the river?"),
    ("system", "Current user persona: Name: Ines."),
    ("user", "User: I gave up rowing."),
    ("assistant", "Assistant: Why?"),
    ("user", "User: My back."),
]


def row(**changes: str) -> dict[str, str]:
    return {
        "question_id": "u-1",
        "question_type": "recall_user_shared_facts",
        "user_question_or_message": "Rowing again?",
        "correct_answer": "(b)",
        "all_options": '["(a) You love it.", "(b) You gave it up."]',
        "shared_context_id": "ctx-1",
        "end_index_in_shared_context": "7",
        **changes,
    }


def write(
    folder: Path, *rows: dict[str, str], chats: dict[str, Any] | None = None, tag: str = "_32k"
) -> Path:
    folder.mkdir(exist_ok=True)
    with (folder / f"questions{tag}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    told = {"ctx-1": [{"role": r, "content": c} for r, c in CHAT]} if chats is None else chats
    lines = [json.dumps({name: messages}) + "\n" for name, messages in told.items()]
    (folder / f"shared_contexts{tag}.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def test_nothing_after_the_cut_is_fed(tmp_path: Path) -> None:
    cuts = ("5", "3", "7", "5")
    folder = write(tmp_path / "d", *(row(end_index_in_shared_context=cut) for cut in cuts))

    scenarios = load(folder, "32k")

    fed = [[turn.text for e in s.episodes for turn in e.turns] for s in scenarios]
    assert [len(said) for said in fed] == [3, 2, 5]
    assert fed[0][-1] == "User: I gave up rowing."
    assert [len(s.items) for s in scenarios] == [2, 1, 1]
    assert len({s.id for s in scenarios}) == 3


def test_episodes_are_a_day_apart_and_keep_what_was_said(tmp_path: Path) -> None:
    (scenario,) = load(write(tmp_path / "d", row()), "32k")

    assert [e.at.isoformat() for e in scenario.episodes] == [
        "2024-01-01T00:00:00",
        "2024-01-02T00:00:00",
    ]
    assert scenario.episodes[0].text == (
        "user: User: I took up rowing.\n\nassistant: Assistant: On the river?"
    )
    assert scenario.items[0].known_from == 2


def test_options_are_read_as_json_or_as_python(tmp_path: Path) -> None:
    python = """["(a) It's fun.", '(b) "Never" again.']"""
    escaped = r'["(a) Fun \ud83d\ude00", "(b) No."]'
    folder = write(tmp_path / "d", row(all_options=python), row(all_options=escaped))

    (scenario,) = load(folder, "32k")

    assert scenario.items[0].choices == ("(A) It's fun.", '(B) "Never" again.')
    assert scenario.items[1].choices == ("(A) Fun 😀", "(B) No.")


def test_the_column_of_the_question_may_have_either_name(tmp_path: Path) -> None:
    early = row()
    early["question"] = early.pop("user_question_or_message")

    (scenario,) = load(write(tmp_path / "d", early, tag=""), "1m")

    assert scenario.items[0].text == "Rowing again?"


def test_zipped_files_and_the_path_of_the_questions_do_as_well(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", row())
    plain = list(load(folder, "32k"))
    for path in list(folder.iterdir()):
        with path.open("rb") as file, gzip.open(f"{path}.gz", "wb") as zipped:
            shutil.copyfileobj(file, zipped)
        path.unlink()

    assert list(load(folder, "32k")) == plain
    assert list(load(folder / "questions_32k.csv.gz", "32k")) == plain


def test_a_context_is_decoded_once_for_all_its_cuts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats = {name: [{"role": r, "content": c} for r, c in CHAT] for name in ("ctx-1", "ctx-2")}
    rows = [
        row(shared_context_id=name, end_index_in_shared_context=cut)
        for cut in ("3", "5")
        for name in chats
    ]
    scenarios = load(write(tmp_path / "d", *rows, chats=chats), "32k")
    decoded: list[int] = []
    usual = decode_plain_json

    def counted(text: bytes) -> Any:
        decoded.append(len(text))
        return usual(text)

    monkeypatch.setattr("recall_bench.features.datasets.personamem.decode_plain_json", counted)

    assert [len(s.episodes) for s in scenarios] == [1, 2, 1, 2]
    assert len(decoded) == 2


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"all_options": "a or b"}, "line 2: its options are not a list"),
        ({"all_options": '["yes", "no"]'}, "letters of their own; got 'yes'"),
        ({"all_options": '["(a) yes"]', "correct_answer": "(a)"}, "fewer than two options"),
        ({"correct_answer": "(e)"}, "the right option 'E' is not among A, B"),
        ({"shared_context_id": "ctx-9"}, "its context 'ctx-9' is not in"),
        ({"end_index_in_shared_context": "8"}, "cuts at 8 a context of 7 messages"),
        ({"end_index_in_shared_context": "1"}, "cuts at 1, before anything is said"),
        ({"end_index_in_shared_context": "-1"}, "the cut '-1' is not a count"),
        ({"question_type": ""}, "has no value for question_type"),
    ],
)
def test_a_row_that_is_wrong_is_named(tmp_path: Path, changes: dict[str, str], told: str) -> None:
    folder = write(tmp_path / "d", row(**changes))

    with pytest.raises(Malformed) as raised:
        list(load(folder, "32k"))

    assert told in str(raised.value)
    assert "questions_32k.csv, line 2" in str(raised.value)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"ctx-1": [{"role": "robot", "content": "x"}]}', "message 1 has no known role and text"),
        ('{"ctx-1": [{"role": "user", "content": 3}]}', "message 1 has no known role and text"),
        ('{"ctx-1": {}}', "is not one list of messages"),
        ('{"ctx-1": [', "cannot be read as JSON"),
        ("[1]", "line 1: is not a context under its id"),
        ('{"ctx-1": []}\n{"ctx-1": []}', "line 2: a second context 'ctx-1'"),
    ],
)
def test_a_context_that_is_wrong_is_named(tmp_path: Path, line: str, told: str) -> None:
    folder = write(tmp_path / "d", row(end_index_in_shared_context="1"))
    (folder / "shared_contexts_32k.jsonl").write_text(f"{line}\n")

    with pytest.raises(Malformed, match="shared_contexts_32k") as raised:
        list(load(folder, "32k"))

    assert told in str(raised.value)


def test_a_file_without_its_columns_is_refused(tmp_path: Path) -> None:
    bare = row()
    del bare["question_type"], bare["user_question_or_message"]

    with pytest.raises(Malformed, match="question_type, user_question_or_message or question"):
        load(write(tmp_path / "d", bare), "32k")


def test_a_torn_archive_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", row())
    whole = gzip.compress((folder / "questions_32k.csv").read_bytes())
    (folder / "questions_32k.csv").unlink()
    (folder / "questions_32k.csv.gz").write_bytes(whole[:-9])

    with pytest.raises(Malformed, match=r"questions_32k\.csv\.gz: cannot be read"):
        load(folder, "32k")


def test_files_that_are_not_there_or_of_another_size_are_a_wrong_request(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", row())

    with pytest.raises(UsageError, match=r"holds no questions_128k\.csv or questions\.csv"):
        load(folder, "128k")
    with pytest.raises(UsageError, match="evaluate personamem-32k with it"):
        load(folder / "questions_32k.csv", "1m")
    with pytest.raises(UsageError, match="there is no"):
        load(tmp_path / "nowhere", "32k")
    (folder / "shared_contexts_32k.jsonl").unlink()
    with pytest.raises(UsageError, match=r"holds no shared_contexts_32k\.jsonl"):
        load(folder, "32k")
    with pytest.raises(UsageError, match="no corrections"):
        find_dataset("personamem-32k").load(folder, {"audit": folder})
