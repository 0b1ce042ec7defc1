"""ConvoMem as it is read: whose history it is, what kind of question, and where its gold is said.

The published items are not at hand. These are made in their shape, but for two files that hold
LoCoMo's questions in it.
"""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Evidence, Expects, Scenario
from recall_bench.features.datasets.convomem import CATEGORIES, load
from recall_bench.stories.catalogue import find_dataset
from tests.conftest import shared_data

BEE = "I keep bees behind the garage, and the queen is called Mabel."
OAR = "We row on Thursdays, whatever the weather."
BOAT = "Your boat needs a new coat of varnish before May."

Write = Callable[..., Path]


def conversation(*said: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {"messages": [{"speaker": who, "text": text} for who, text in said], **more}


BEES = conversation(("User", "Morning!"), ("User", BEE), ("Assistant", "Noted."), id="bees-gold")
ROWING = conversation(("user", OAR), ("assistant", BOAT), id="rowing", containsEvidence=True)
FILLER = conversation(("User", "How do I boil an egg?"), ("Assistant", "Eight minutes."))


def item(*conversations: dict[str, Any], cites: tuple[str, ...] = (BEE,), **more: Any) -> Any:
    return {
        "question": "What is the queen called?",
        "answer": "Mabel",
        "message_evidences": [{"speaker": "User", "text": text} for text in cites],
        "conversations": list(conversations),
        "category": "Home Life",
        **more,
    }


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to(content: object, name: str = "user_evidence/1_evidence/one.json") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return to


def plain(*items: Any) -> dict[str, Any]:
    return {"evidence_items": list(items), "checkpoint": "0"}


def only(path: Path) -> Scenario:
    (scenario,) = load(path, {})
    return scenario


def cited(path: Path) -> tuple[Evidence, ...]:
    return only(path).items[0].truth.evidence


def test_an_item_is_a_history_with_one_question(write: Write) -> None:
    scenario = only(write(plain(item(BEES, ROWING))))
    (asked,) = scenario.items

    assert [len(episode.turns) for episode in scenario.episodes] == [3, 2]
    assert [turn.speaker for turn in scenario.episodes[0].turns] == ["user", "user", "assistant"]
    assert scenario.episodes[1].text == f"user: {OAR}\n\nassistant: {BOAT}"
    assert (asked.text, asked.truth.reference) == ("What is the queen called?", "Mabel")
    assert asked.known_from == 2


def test_conversations_are_dated_a_day_apart_in_their_order(write: Write) -> None:
    scenario = only(write(plain(item(ROWING, BEES))))

    assert [episode.at.isoformat() for episode in scenario.episodes] == [
        "2024-01-01T00:00:00",
        "2024-01-02T00:00:00",
    ]
    assert find_dataset("convomem").has_dates is False


@pytest.mark.parametrize(("folder", "category"), CATEGORIES.items())
def test_the_folder_says_what_kind_of_question_it_is(
    write: Write, folder: str, category: str
) -> None:
    truth = only(write(plain(item(BEES)), f"{folder}/2_evidence/a.json")).items[0].truth

    assert truth.category == category
    assert truth.source == f"{folder}/2_evidence/a.json#1"
    assert truth.expects is (Expects.ABSTAIN if category == "abstention" else Expects.ANSWER)


def test_without_a_folder_the_item_says_it(write: Write) -> None:
    truth = only(write(plain(item(BEES)), "one.json")).items[0].truth

    assert truth.category == "Home Life"
    assert truth.source == "Home Life: one.json#1"


def test_what_must_not_be_answered_keeps_upstreams_words_for_it(write: Write) -> None:
    path = write(plain(item(BEES, answer="Nobody said.")), "abstention_evidence/1_evidence/a.json")

    assert only(path).items[0].truth.reference == "Nobody said."


def test_nothing_a_system_sees_tells_a_question_from_another(write: Write) -> None:
    path = write(plain(item(BEES, ROWING)), "abstention_evidence/1_evidence/a.json")
    scenario = only(path)
    seen = [scenario.id, *(episode.id for episode in scenario.episodes)]

    assert seen[1:] == ["session-1", "session-2"]
    assert not any(word in scenario.id for word in ("abst", "evid", "one", "bees", "json", "#"))
    assert len(scenario.id) == 16


def test_gold_is_the_message_of_that_text(write: Write) -> None:
    path = write(plain(item(BEES, ROWING, cites=(OAR, BEE, BEE))))

    assert cited(path) == (
        Evidence(day=2, turn=0, speaker="user"),
        Evidence(day=1, turn=1, speaker="user"),
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"  {BEE.upper()} ", id="other case and spaces"),
        pytest.param(BEE[12:], id="the opening is missing"),
        pytest.param(f"{BEE} Lovely.", id="the message is most of it"),
    ],
)
def test_gold_that_is_nearly_a_message_is_that_message(write: Write, text: str) -> None:
    path = write(plain(item(FILLER, BEES, cites=(text,))))

    assert cited(path) == (Evidence(day=2, turn=1, speaker="user"),)


@pytest.mark.parametrize(("text", "turn"), [("I row.", 1), ("I  ROW.", 0)])
def test_a_short_text_is_its_own_message_and_no_other_of_that_wording(
    write: Write, text: str, turn: int
) -> None:
    short = conversation(("User", "i row."), ("User", "I row."), ("User", "And I row."))

    assert cited(write(plain(item(short, cites=(text,)))))[0].turn == turn


def test_half_of_the_gold_is_not_the_gold(write: Write) -> None:
    path = write(plain(item(BEES, cites=(f"{BEE} {OAR}",))))

    assert cited(path) == (Evidence(day=1),)


def test_word_for_word_beats_being_part_of_something_longer(write: Write) -> None:
    longer = conversation(("User", f"As I said: {BEE}"), ("User", BEE))

    assert cited(write(plain(item(longer)))) == (Evidence(day=1, turn=1, speaker="user"),)


def test_the_same_words_are_evidence_wherever_their_speaker_says_them(write: Write) -> None:
    echo = conversation(("Assistant", BEE), ("User", BEE), ("User", BEE))

    assert [evidence.turn for evidence in cited(write(plain(item(echo))))] == [1, 2]


def test_the_same_words_of_another_will_do_where_no_other_says_them(write: Write) -> None:
    echo = conversation(("Assistant", BEE))

    assert cited(write(plain(item(echo)))) == (Evidence(day=1, turn=0, speaker="assistant"),)


def test_reworded_gold_is_the_whole_conversation_of_its_number(write: Write) -> None:
    path = write(plain(item(BEES, ROWING, cites=(BEE, "Thursdays are for the river."))))

    assert cited(path) == (Evidence(day=1, turn=1, speaker="user"), Evidence(day=2))


@pytest.mark.parametrize("text", ["Thursdays are for the river.", "Note", ""])
def test_gold_that_is_nowhere_is_not_guessed_at(write: Write, text: str) -> None:
    path = write(plain(item(BEES, cites=(BEE, text))))

    assert cited(path) == (Evidence(day=1, turn=1, speaker="user"),)


def test_a_test_case_mixes_its_items_into_one_history(write: Write) -> None:
    echo = conversation(("User", BEE))
    case = {
        "evidenceItems": [item(BEES), item(ROWING, cites=(OAR,))],
        "conversations": [FILLER, echo, ROWING, BEES],
        "contextSize": 4,
    }
    first, second = load(write(case), {})

    assert [len(scenario.episodes) for scenario in (first, second)] == [4, 4]
    assert first.id != second.id
    assert first.items[0].truth.evidence == (Evidence(day=4, turn=1, speaker="user"),)
    assert second.items[0].truth.evidence == (Evidence(day=3, turn=0, speaker="user"),)


def test_a_file_may_hold_many_test_cases(write: Write) -> None:
    case = {"evidenceItems": [item(BEES)], "conversations": [BEES, FILLER], "contextSize": 2}

    scenarios = load(write([case, {**case, "conversations": [FILLER, BEES]}]), {})

    assert [one.items[0].truth.evidence[0].day for one in scenarios] == [1, 2]
    assert len({one.id for one in scenarios}) == 2


def test_a_folder_is_read_in_order_and_every_item_is_found_in_its_file(
    write: Write, tmp_path: Path
) -> None:
    write(plain(item(BEES, answer="c")), "user_evidence/2_evidence/a.json")
    write(plain(), "user_evidence/1_evidence/b.json")
    write(
        plain(item(BEES, answer="a"), item(BEES, answer="b")), "changing_evidence/2_evidence/z.json"
    )

    scenarios = load(tmp_path, {})

    assert len(scenarios) == 3
    assert [one.items[0].truth.reference for one in scenarios] == ["a", "b", "c"]
    assert scenarios[-1].items[0].truth.source == "user_evidence/2_evidence/a.json#1"
    assert scenarios[1].items[0].truth.source == "changing_evidence/2_evidence/z.json#2"


def test_of_a_whole_download_only_the_items_are_read(write: Write, tmp_path: Path) -> None:
    write(plain(item(BEES)), "core_benchmark/evidence_questions/user_evidence/1_evidence/a.json")
    write([], "core_benchmark/pre_mixed_testcases/user_evidence/1_evidence/batched_000.json")
    write({"roles": []}, "core_benchmark/personas/personas_default.json")

    assert len(load(tmp_path, {})) == 1


def test_items_are_not_read_before_they_are_asked_for(write: Write) -> None:
    scenarios = load(write(plain(item(BEES), {"question": 3})), {})

    assert scenarios[0].items[0].truth.reference == "Mabel"
    with pytest.raises(Malformed):
        scenarios[1]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param({"roles": []}, "one.json: holds neither", id="another file"),
        pytest.param([{"evidenceItems": []}], "one.json: holds neither", id="no history"),
        pytest.param("text", "one.json: is not as ConvoMem has it", id="another type"),
        pytest.param(plain({"question": "?"}), "item 1: Object missing", id="no answer"),
        pytest.param(plain(item(BEES), item()), "item 2: has no conversation", id="no past"),
        pytest.param(plain(item(conversation())), "conversation 1 holds no", id="no message"),
        pytest.param(
            plain(item({"messages": [{"speaker": "User", "text": None}]})),
            r"item 1: Expected `str`, got `null` - at `\$.conversations\[0\].messages\[0\].text`",
            id="no text",
        ),
        pytest.param(
            {"evidenceItems": [item(BEES)], "conversations": [FILLER]},
            "item 1: has a conversation that is not in the history",
            id="a stray conversation",
        ),
    ],
)
def test_a_malformed_file_is_an_error_with_its_place(
    write: Write, content: object, problem: str
) -> None:
    path = write(content)

    with pytest.raises(Malformed, match=problem):
        list(load(path, {}))


def test_an_item_of_no_kind_is_malformed(write: Write) -> None:
    path = write(plain(item(BEES, category=None)), "one.json")

    with pytest.raises(Malformed, match="has no category"):
        only(path)


def test_what_is_not_there_cannot_be_read(tmp_path: Path, write: Write) -> None:
    with pytest.raises(UsageError, match="there is no"):
        load(tmp_path / "nowhere", {})
    with pytest.raises(UsageError, match="holds no JSON"):
        load(tmp_path, {})
    with pytest.raises(UsageError, match="leave out 'audit'"):
        load(write(plain(item(BEES))), {"audit": tmp_path})


@pytest.mark.parametrize(
    ("name", "items", "evidence"),
    [
        pytest.param("category_2_temporal", 37, {1: 37}, id="temporal"),
        pytest.param("category_3_reasoning", 13, {0: 2, 1: 3, 2: 7, 3: 1}, id="reasoning"),
    ],
)
def test_locomo_in_this_shape_is_as_many_of_everything_as_counted(
    name: str, items: int, evidence: dict[int, int]
) -> None:
    path = shared_data(f"convomem/locomo_in_convomem_schema_{name}_dataset_0.json")
    scenarios = list(load(path, {}))

    assert len(scenarios) == items
    assert {len(scenario.episodes) for scenario in scenarios} == {19}
    assert {sum(len(e.turns) for e in one.episodes) for one in scenarios} == {419}
    assert Counter(len(one.items[0].truth.evidence) for one in scenarios) == evidence


def test_locomos_gold_is_found_word_for_word_in_this_shape() -> None:
    name = "convomem/locomo_in_convomem_schema_category_2_temporal_dataset_0.json"
    path = shared_data(name)
    quotes = [e["message_evidences"] for e in json.loads(path.read_bytes())["evidenceItems"]]

    for scenario, cites in zip(load(path, {}), quotes, strict=True):
        turns = {episode.day: episode.turns for episode in scenario.episodes}
        places = [(one.day, one.turn) for one in scenario.items[0].truth.evidence]
        said = [turns[day][turn].text for day, turn in places if turn is not None]
        assert said == [quote["text"] for quote in cites]
