"""Who a persona is and what happens to it: known fields are typed, unknown ones are ignored."""

from datetime import date
from pathlib import Path

import pytest

from recall_bench.core.errors import DataError, Malformed, Problems, UsageError
from recall_bench.stories.persona_story import read_persona, read_story
from tests.conftest import shared_data
from tests.stories.persona_folder import edit, plant

STORY = "arcs-6d.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return plant(tmp_path)


def test_a_persona_is_read_whole(folder: Path) -> None:
    persona = read_persona(folder)

    assert (persona.id, persona.name, persona.team_size) == ("nursery", "Fern", 6)
    assert persona.epoch == date(2026, 2, 1)
    assert persona.principal is not None
    assert persona.principal.name == "Odile Marsh"
    assert persona.shared_knowledge == ("Closed on Mondays",)
    assert [session.id for session in persona.sessions] == ["principal", "crew", "lender"]
    assert persona.sessions[2].isolated


def test_who_starts_with_an_at_sign_is_an_agent(folder: Path) -> None:
    assert [member.kind for member in read_persona(folder).cast] == ["human", "agent"]


def test_an_institution_comes_before_a_company(folder: Path) -> None:
    edit(folder / "persona.yaml", "company:", "institution: Kew\ncompany:")

    assert read_persona(folder).affiliation == "Kew"


def test_a_story_opens_its_sessions_when_it_says_and_no_others(folder: Path) -> None:
    """What it lists loses the persona's bounds; what it does not list keeps them."""
    story = read_story(folder, STORY)

    spans = {session.id: (session.first_day, session.last_day) for session in story.sessions}
    assert spans == {"principal": (1, 9), "crew": (2, None), "lender": (2, None)}


def test_a_session_the_persona_does_not_have_is_not_added(folder: Path) -> None:
    edit(folder / STORY, "{id: lender,", "{id: stranger,")

    story = read_story(folder, STORY)

    assert "stranger" not in {session.id for session in story.sessions}


def test_the_story_sets_the_epoch_before_the_persona_does(folder: Path) -> None:
    assert read_story(folder, STORY).epoch == date(2026, 2, 1)

    edit(folder / STORY, "maxConcurrent: 4", "epoch: 2027-05-06")

    assert read_story(folder, STORY).epoch == date(2027, 5, 6)


def test_without_any_epoch_the_story_starts_in_2024(folder: Path) -> None:
    edit(folder / "persona.yaml", "epoch: 2026-02-01\n", "")

    assert read_story(folder, STORY).epoch == date(2024, 1, 1)


def test_an_arc_is_active_on_both_its_ends(folder: Path) -> None:
    story = read_story(folder, STORY)

    assert [story.list_active_arcs(day) for day in range(8)] == [
        (),
        ("pump",),
        ("pump",),
        ("pump",),
        (),
        ("frost",),
        ("frost",),
        (),
    ]
    assert story.arcs[0].directives[0].event == "Bid B accepted"
    assert story.arcs[1].corrected_belief == "April 19"


@pytest.mark.parametrize(
    ("old", "new", "where", "words"),
    [
        pytest.param("name: Fern\n", "", "persona.yaml, line 1", "has no name", id="no name"),
        pytest.param(
            "team_size: 6", "team_size: six", "persona.yaml, line 6", "whole number", id="size"
        ),
        pytest.param(
            "team_size: 6", "team_size: true", "persona.yaml, line 6", "truth value", id="bool"
        ),
        pytest.param("name: Fern", "name: 7", "persona.yaml, line 2", "in quotes", id="number"),
        pytest.param("role: AI aide", "role: ' '  #", "persona.yaml, line 3", "blank", id="blank"),
        pytest.param(
            "2026-02-01", "2026-02-31", "persona.yaml, line 10", "not a date", id="no such date"
        ),
        pytest.param(
            "kind: group", "kind: groop", "persona.yaml, line 17", "did you mean group?", id="kind"
        ),
        pytest.param(
            "id: crew", "id: principal", "persona.yaml, line 17", "two sessions", id="same session"
        ),
        pytest.param(
            "[Closed on Mondays]", "Mondays", "persona.yaml, line 19", "write a list", id="no list"
        ),
        pytest.param(
            "{name: Odile Marsh, role: Owner}",
            "Odile",
            "persona.yaml, line 11",
            "write a mapping",
            id="no mapping",
        ),
    ],
)
def test_a_wrong_persona_is_said_with_its_line(
    folder: Path, old: str, new: str, where: str, words: str
) -> None:
    edit(folder / "persona.yaml", old, new)

    with pytest.raises(Malformed) as caught:
        read_persona(folder)

    assert str(caught.value).startswith(f"nursery/{where}: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        pytest.param("type: project", "type: projet", 6, "did you mean project?", id="type"),
        pytest.param("    startDay: 1\n", "", 5, "has no startDay", id="no start"),
        pytest.param("startDay: 1", "startDay: 4", 10, "before it starts", id="ends first"),
        pytest.param("startDay: 1", "startDay: 0", 9, "first story day is 1", id="day zero"),
        pytest.param("endDay: 3", "endDay: '3'", 10, "without quotes", id="text for a day"),
        pytest.param("    wrongDay: 5\n", "", 13, "has no wrongDay", id="no wrong day"),
        pytest.param("    correctedDay: 6\n", "", 13, "has no correctedDay", id="no right day"),
        pytest.param("{day: 2, event: Bid B accepted}", "2", 12, "a mapping", id="directive"),
        pytest.param("maxConcurrent: 4", "epoch: soon", 1, "not a date", id="epoch"),
        pytest.param("maxConcurrent: 4", "epoch: 2026", 1, "the number 2026", id="a year"),
        pytest.param("maxConcurrent: 4", "gaps: sure", 1, "true or false", id="gaps"),
        pytest.param("{id: lender, firstDay: 2}", "lender", 3, "a mapping", id="session"),
    ],
)
def test_a_wrong_story_is_said_with_its_line(
    folder: Path, old: str, new: str, line: int, words: str
) -> None:
    edit(folder / STORY, old, new)

    with pytest.raises(Malformed) as caught:
        read_story(folder, STORY)

    assert str(caught.value).startswith(f"nursery/{STORY}, line {line}: ")
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["", "- a\n", "arcs: pump\n", "arcs: []\n", "story: x\n"])
def test_a_story_without_a_list_of_arcs_is_none(folder: Path, text: str) -> None:
    (folder / STORY).write_text(text, encoding="utf-8")

    with pytest.raises(DataError, match="arcs"):
        read_story(folder, STORY)


def test_everything_wrong_is_said_at_once(folder: Path) -> None:
    edit(folder / "persona.yaml", "name: Fern\n", "")
    edit(folder / "persona.yaml", "team_size: 6", "team_size: six")

    with pytest.raises(Problems) as caught:
        read_persona(folder)

    assert len(caught.value.problems) == 2


def test_what_is_not_there_is_a_request_that_cannot_be_met(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"arcs-9d\.yaml does not exist"):
        read_story(folder, "arcs-9d.yaml")
    with pytest.raises(UsageError, match=r"orchard/persona\.yaml does not exist"):
        read_persona(folder.parent / "orchard")


def test_the_public_persona_is_read_whole() -> None:
    folder = shared_data("recall-ea/executive-assistant")

    persona = read_persona(folder)
    story = read_story(folder, "arcs-180d.yaml")

    assert (len(persona.sessions), len(persona.cast), len(persona.projects)) == (9, 31, 5)
    assert sum(session.isolated for session in persona.sessions) == 4
    assert (story.epoch, len(story.arcs), story.last_day) == (date(2026, 1, 1), 17, 180)
    assert sum(arc.type == "correction" for arc in story.arcs) == 2
    assert all(story.is_active(day) for day in range(1, 181))
    spans = {session.id: (session.first_day, session.last_day) for session in story.sessions}
    assert spans["legal-confidential"] == (90, 130)
    assert spans["principal"] == (None, None)
