"""A persona of one's own: what its aliases mean, and a place for everything wrong with it."""

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Evidence, Expects, Scenario, Truth
from recall_bench.stories.catalogue import find_dataset


def said(*texts: str) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


MARTA: dict[str, Any] = {
    "persona_id": "marta",
    "description": "Marta keeps bees on a roof and learns the cello.",
    "sessions": [
        {
            "session_id": "bees",
            "date": "2023-04-02",
            "messages": said("I set up two hives on the roof.", "Which bees?", "Buckfast."),
        },
        {
            "session_id": "cello",
            "date": "2023-06-18",
            "messages": said("My cello teacher is called Oskar.", "How often do you meet?"),
        },
        {
            "session_id": "harvest",
            "date": "2023-05-30",
            "messages": said("First honey: nine jars, sold at the Lindenhof market.", "Well done."),
        },
    ],
    "questions": [
        {
            "id": "breed",
            "category": "single-hop",
            "question": "Which bees does Marta keep?",
            "answer": "Buckfast",
            "answer_aliases": ["Buckfast", "Buckfast bees"],
            "source_session": "bees",
        },
        {
            "id": "sale",
            "category": "multi-hop",
            "question": "Who teaches Marta, and where does she sell honey?",
            "answer": "Oskar teaches her; she sells it at the Lindenhof market",
            "answer_aliases": ["Oskar", "Lindenhof market", "Lindenhof"],
            "source_session": "cello, harvest",
        },
        {
            "id": "first",
            "category": "temporal",
            "question": "When was the first honey?",
            "answer": "May 30",
        },
        {
            "id": "goat",
            "category": "adversarial",
            "question": "What is Marta's goat called?",
            "answer": "Marta does not keep a goat",
            "answer_aliases": ["Oskar", "no goat", "keep a goat", "doesn't have one"],
            "source_session": "none",
            "note": "Oskar is the teacher.",
        },
    ],
}


def load(path: Path) -> Sequence[Scenario]:
    return find_dataset("persona-json").load(path, {})


def write(path: Path, persona: object = MARTA) -> Path:
    path.write_text(json.dumps(persona), encoding="utf-8")
    return path


@pytest.fixture
def marta(tmp_path: Path) -> Scenario:
    (scenario,) = load(write(tmp_path / "marta.json"))
    return scenario


def truth_of(folder: Path, **changes: object) -> Truth:
    """The truth of the multi-hop question with something changed."""
    persona = deepcopy(MARTA)
    persona["questions"][1].update(changes)
    (scenario,) = load(write(folder / "changed.json", persona))
    return scenario.items[1].truth


def test_sessions_are_in_the_order_of_their_dates(marta: Scenario) -> None:
    assert [e.at.isoformat()[:10] for e in marta.episodes] == [
        "2023-04-02",
        "2023-05-30",
        "2023-06-18",
    ]
    assert [e.day for e in marta.episodes] == [1, 2, 3]
    assert marta.episodes[0].text.startswith("user: I set up two hives on the roof.\n\nassistant: ")


def test_names_of_sessions_and_questions_are_not_passed_on(marta: Scenario) -> None:
    assert [e.id for e in marta.episodes] == ["session-001", "session-002", "session-003"]
    assert [i.id for i in marta.items] == ["q000", "q001", "q002", "q003"]
    assert [i.truth.source for i in marta.items] == ["breed", "sale", "first", "goat"]


def test_evidence_is_whole_sessions(marta: Scenario) -> None:
    assert [item.truth.evidence for item in marta.items] == [
        (Evidence(day=1),),
        (Evidence(day=3), Evidence(day=2)),
        (),
        (),
    ]


def test_the_aliases_of_an_answer_are_wordings_of_one_fact(marta: Scenario) -> None:
    truth = marta.items[0].truth

    assert truth.facts == (("Buckfast", "Buckfast bees"),)
    assert truth.aliases == ("Buckfast bees",)
    assert truth.expects is Expects.ANSWER


def test_without_aliases_the_answer_is_the_only_wording(marta: Scenario) -> None:
    assert marta.items[2].truth.facts == (("May 30",),)
    assert marta.items[2].truth.aliases == ()


def test_the_bait_of_an_adversarial_question_is_a_trap_and_nothing_to_find(
    marta: Scenario,
) -> None:
    truth = marta.items[3].truth

    assert truth.expects is Expects.ABSTAIN
    assert (truth.facts, truth.aliases) == ((), ())
    assert "Oskar" in truth.distractors


def test_a_right_denial_is_no_trap(marta: Scenario) -> None:
    """The format lists denials among the aliases: as traps they would punish the right answer."""
    assert marta.items[3].truth.distractors == ("Oskar",)


def test_multi_hop_aliases_that_stand_in_the_answer_are_each_a_fact(marta: Scenario) -> None:
    truth = marta.items[1].truth

    assert truth.facts == (("Lindenhof market", "Lindenhof"), ("Oskar",))
    assert truth.aliases == ()


@pytest.mark.parametrize(
    ("answer", "aliases", "facts"),
    [
        pytest.param(
            "Oskar", ["Oskar", "her teacher"], (("Oskar", "her teacher"),), id="wordings of one"
        ),
        pytest.param("Oskar in Bern", ["Oskar"], (("Oskar",),), id="a single alias"),
        pytest.param(
            "Oskar in Bern",
            ["Oskar in Bern", "Oskar", "Bern"],
            (("Oskar",), ("Bern",)),
            id="the whole answer among its parts",
        ),
        pytest.param(
            "Oskar in Bern",
            ["Oskar in Bern", "Oskar"],
            (("Oskar in Bern", "Oskar"),),
            id="the whole answer and one part",
        ),
        pytest.param(
            "Bernadette and Oskar", ["Bern", "Oskar"], (("Bern", "Oskar"),), id="half a word"
        ),
        pytest.param(
            "Oskar / Bern", ["oskar", "Oskar", "Bern"], (("oskar", "Oskar"), ("Bern",)), id="case"
        ),
        pytest.param(
            "He is in Bern",
            [["Oskar", "he"], ["Bern"]],
            (("Oskar", "he"), ("Bern",)),
            id="lists say it outright",
        ),
        pytest.param(
            "Oskar in Bern", [["Oskar", "Bern"]], (("Oskar", "Bern"),), id="one list is one fact"
        ),
    ],
)
def test_what_the_facts_of_a_multi_hop_question_are(
    tmp_path: Path, answer: str, aliases: list[Any], facts: tuple[tuple[str, ...], ...]
) -> None:
    assert truth_of(tmp_path, answer=answer, answer_aliases=aliases).facts == facts


def test_parts_of_the_answer_to_another_kind_of_question_are_wordings(tmp_path: Path) -> None:
    truth = truth_of(tmp_path, category="open-domain")

    assert truth.facts == (("Oskar", "Lindenhof market", "Lindenhof"),)


def test_a_folder_is_a_scenario_a_file(tmp_path: Path) -> None:
    write(tmp_path / "b.json")
    write(tmp_path / "a.json", {**MARTA, "persona_id": "ada"})
    (tmp_path / "notes.txt").write_text("not ours")

    assert [scenario.id for scenario in load(tmp_path)] == ["ada", "marta"]


def test_two_files_about_one_persona_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.json")
    write(tmp_path / "b.json")

    with pytest.raises(Malformed, match=r"b\.json, persona_id: 'marta' is used in .*a\.json"):
        load(tmp_path)


def change(*path: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    def made(persona: dict[str, Any]) -> None:
        held: Any = persona
        for step in path[:-1]:
            held = held[step]
        held[path[-1]] = to

    return made


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (change("persona_id", to=" "), "persona_id: is empty"),
        (change("sessions", to=[]), "sessions: there are none"),
        (
            change("sessions", 1, "session_id", to="bees"),
            "sessions: two have the session_id 'bees'",
        ),
        (
            change("sessions", 1, "date", to="2023-6-18"),
            "sessions[1].date: '2023-6-18' is not a day",
        ),
        (change("sessions", 1, "date", to="2023-02-30"), "sessions[1].date: '2023-02-30' is not a"),
        (change("sessions", 1, "date", to="20230618"), "sessions[1].date: '20230618' is not a day"),
        (change("sessions", 2, "messages", to=[]), "sessions[2].messages: there are none"),
        (change("sessions", 0, "messages", 1, "content", to=""), "messages[1].content: is empty"),
        (
            change("sessions", 0, "messages", 1, "role", to="system"),
            "$.sessions[0].messages[1].role",
        ),
        (
            change("sessions", 0, "messages", 1, "content", to=3),
            "$.sessions[0].messages[1].content",
        ),
        (change("questions", 2, "id", to="breed"), "questions: two have the id 'breed'"),
        (change("questions", 2, "question", to=" "), "questions[2].question: is empty"),
        (change("questions", 2, "answer", to=""), "questions[2].answer: is empty"),
        (change("questions", 2, "answer", to="?!"), "'?!' needs a wording in words"),
        (change("questions", 2, "answer", to=30), "Expected `str`, got `int` - at `$.questions[2]"),
        (change("questions", 2, "category", to="multi_hop"), "$.questions[2].category"),
        (change("questions", 2, "answer_alias", to=[]), "unknown field `answer_alias`"),
        (change("questions", 2, "answer_aliases", to="x"), "$.questions[2].answer_aliases"),
        (change("questions", 2, "answer_aliases", to=[]), "questions[2].answer_aliases: is empty"),
        (
            change("questions", 2, "answer_aliases", to=[[]]),
            "questions[2].answer_aliases: is empty",
        ),
        (change("questions", 2, "answer_aliases", to=["a", ["b"]]), "mixes wordings and lists"),
        (change("questions", 2, "answer_aliases", to=["?"]), "'?' holds no word to look for"),
        (
            change("questions", 0, "source_session", to="bees,moon"),
            "questions[0].source_session: no session is named 'moon'",
        ),
        (change("questions", 0, "source_session", to=""), "no session is named ''"),
    ],
)
def test_a_problem_is_reported_with_its_file_and_place(
    tmp_path: Path, broken: Callable[[dict[str, Any]], None], told: str
) -> None:
    persona = deepcopy(MARTA)
    broken(persona)
    path = write(tmp_path / "marta.json", persona)

    with pytest.raises(Malformed) as raised:
        load(path)

    assert str(raised.value).startswith(str(path))
    assert told in str(raised.value)


def test_a_missing_field_is_reported_with_its_place(tmp_path: Path) -> None:
    persona = deepcopy(MARTA)
    del persona["sessions"][1]["date"]

    with pytest.raises(Malformed, match=r"missing required field `date` - at `\$\.sessions\[1\]`"):
        load(write(tmp_path / "marta.json", persona))


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[]"])
def test_what_is_no_persona_at_all_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "marta.json"
    path.write_bytes(content)

    with pytest.raises(Malformed, match=r"marta\.json"):
        load(path)


def test_nothing_to_read_is_a_wrong_request(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no \.json file"):
        load(tmp_path)
    with pytest.raises(UsageError, match="there is no"):
        load(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no corrections"):
        find_dataset("persona-json").load(tmp_path, {"audit": tmp_path})
