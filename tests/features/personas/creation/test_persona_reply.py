"""What a model replies becomes files that the harness reads as they were meant, or goes back."""

import json
from datetime import date
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from recall_bench.core.yaml12 import Document
from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.features.personas.creation.persona_reply import (
    NewPersona,
    NewStory,
    parse_persona_reply,
    parse_story_reply,
    render_persona,
    render_story,
)
from recall_bench.features.personas.model_reply import RejectedReply
from recall_bench.stories.persona_story import (
    Arc,
    CastMember,
    Directive,
    Persona,
    Principal,
    Project,
    Session,
    Story,
    parse_persona,
    parse_story,
)
from tests.features.personas import made_personas
from tests.loops import loop_over_rows
from tests.thoroughness import choose_number

EPOCH = date(2026, 3, 2)


def read(reply: str) -> NewPersona | RejectedReply:
    return parse_persona_reply(reply, "boats", EPOCH)


def accepted(reply: str) -> NewPersona:
    found = read(reply)
    assert isinstance(found, NewPersona), found
    return found


def rejected(reply: str) -> str:
    found = read(reply)
    assert isinstance(found, RejectedReply)
    return "\n".join(found.problems)


SOUND = json.dumps(made_personas.PERSONA)
PERSONA = accepted(SOUND).persona


def told(raw: dict[str, Any], days: int = 30) -> NewStory | RejectedReply:
    return parse_story_reply(json.dumps(raw), PERSONA, days, EPOCH)


def problems(raw: dict[str, Any], days: int = 30) -> tuple[str, ...]:
    found = told(raw, days)
    assert isinstance(found, RejectedReply)
    return found.problems


def test_the_id_is_the_folders_whatever_the_reply_says() -> None:
    made = accepted(json.dumps({**made_personas.PERSONA, "id": "something-else"}))

    assert made.persona.id == "boats"
    assert made.persona.epoch == EPOCH
    assert made.text.startswith('id: "boats"\n')


FORMS = {
    "json": SOUND,
    "indented by tabs": json.dumps(made_personas.PERSONA, indent="\t"),
    "with escapes": SOUND.replace(
        "Slipway & Daughters", r"Slipway \/ \ud83d\ude00 \u0026 Daughters"
    ),
    "fenced": f"```json\n{SOUND}\n```",
    "prose around the fence": f"Gladly! Here it is:\n\n```\n{SOUND}\n```\n\nShall I write more?",
    "a fence left open": f"```json\n{SOUND}\n",
    "yaml": dump_yaml(made_personas.PERSONA),
    "fenced yaml": f"Here:\n```yaml\n{dump_yaml(made_personas.PERSONA)}```",
}


@loop_over_rows("form", FORMS)
def test_the_form_of_a_reply_is_forgiven(form: str) -> None:
    made = accepted(FORMS[form])

    assert made.persona.replace(company=None) == PERSONA.replace(company=None)
    assert "�" not in made.text


REFUSED = {
    "prose": ("I would rather talk about boats.", "write a mapping of the fields"),
    "nothing": ("", "write a mapping of the fields"),
    "broken json": (SOUND.replace('"role":', '"role"', 1), "it is not JSON: Expecting ':'"),
    "broken yaml": ("name: [Tallow\nrole: x", "line 2 is not YAML: "),
    "a key twice": ('{"name": "a", "name": "b"}', "the key 'name' is given twice"),
    "a list": (f"[{SOUND}]", "holds a list; write a mapping of the fields"),
    "two blocks": (f"```\n{SOUND}\n```\n```\n{SOUND}\n```", "it holds 2 fenced blocks"),
    "one level too deep": (f'{{"persona": {SOUND}}}', "stands under the key 'persona'"),
    "prose before bare json": (f"Here you are:\n{SOUND}", "and no words around it"),
    "deep": ("[" * 5000 + "]" * 5000, "nested too deeply"),
    "a wrong type": (SOUND.replace('"team_size": 6', '"team_size": "six"'), "write a whole number"),
    "a slip": (
        SOUND.replace("sharedKnowledge", "shared_knowledge"),
        "it is called sharedKnowledge",
    ),
    "a slip further in": (
        SOUND.replace("sensitive_topics", "sensitiveTopics"),
        "session bank-room has a key 'sensitiveTopics'; it is called sensitive_topics",
    ),
    "a field less": (SOUND.replace('"domain"', '"trade"'), "the persona has no domain; add it"),
}


@loop_over_rows("fault", REFUSED)
def test_nothing_else_is_forgiven(fault: str) -> None:
    reply, said = REFUSED[fault]

    assert said in rejected(reply)


def test_half_a_character_does_no_harm() -> None:
    made = accepted(SOUND.replace("Slipway & Daughters", r"Slipway \ud800 Daughters"))

    assert made.persona.company == "Slipway ? Daughters"


def test_problems_do_not_name_lines_that_the_author_never_saw() -> None:
    assert "line" not in rejected(SOUND.replace('"domain"', '"trade"'))


def test_what_is_written_is_what_was_judged() -> None:
    made = told(made_personas.story(180), 180)
    assert isinstance(made, NewStory)

    again = parse_story(Document("", made.text), PERSONA, [], [])

    assert again == made.story
    assert made.story.has_gaps
    assert made.story.epoch == EPOCH
    assert made.text.startswith('epoch: "2026-03-02"\ngaps: true\n')
    assert parse_persona(Document("", accepted(SOUND).text), []) == PERSONA


def test_a_story_that_names_strange_sessions_goes_back() -> None:
    raw = made_personas.story(30) | {"sessions": [{"id": "attic", "firstDay": 3}]}

    assert problems(raw) == (
        "there is no session attic; the persona has principal, yard, bank-room",
    )


def test_hours_of_sessions_are_kept_where_they_differ() -> None:
    hours = [
        {"id": "bank-room", "firstDay": 1, "lastDay": 15},
        {"id": "yard", "firstDay": None, "lastDay": None},
    ]

    made = told(made_personas.story(30) | {"sessions": hours})

    assert isinstance(made, NewStory)
    assert 'sessions:\n  - id: "bank-room"\n    firstDay: 1\n    lastDay: 15\narcs:\n' in made.text


def test_a_misspelt_key_of_an_arc_goes_back() -> None:
    raw = made_personas.story(30)
    raw["arcs"][0]["referenced_sessions"] = raw["arcs"][0].pop("referencedSessions")

    assert problems(raw) == (
        "arc backbone-0 has a key 'referenced_sessions'; it is called referencedSessions",
    )


def test_arcs_and_directives_come_in_the_order_of_their_days() -> None:
    raw = made_personas.story(60)
    raw["arcs"].reverse()
    for arc in raw["arcs"]:
        arc["directives"] = [
            {"day": arc["endDay"], "event": "last"},
            {"day": arc["startDay"], "event": "first"},
        ]

    made = told(raw, 60)

    assert isinstance(made, NewStory)
    starts = [arc.start_day for arc in made.story.arcs]
    assert starts == sorted(starts)
    assert [each.event for each in made.story.arcs[0].directives] == ["first", "last"]


TEXT = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from(" \n\t:#-'\"|>%@`{}[]&*!?,\x85\u2028")),
    min_size=1,
    max_size=300,
).filter(lambda text: kept(text) != "")
NAME = TEXT.map(lambda text: text[:40]).filter(lambda text: kept(text) != "")


def kept(text: str) -> str:
    """What a file holds of a text: not what YAML cannot, nor the blanks around it."""
    odd = {*map(chr, range(9)), *map(chr, range(11, 32)), *map(chr, range(127, 160))}
    odd |= {"\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff"}
    level = text.replace("\r\n", "\n")
    return "".join(" " if each in odd else each for each in level).strip()


@settings(max_examples=choose_number(25, 80), deadline=None)
@given(TEXT, st.lists(NAME, max_size=4), NAME)
@example("two  blanks " * 20, [], "x")
@example("a line\n  one further in\n\n\nand a third " * 9, [], "x")
@example("a\ttab " * 30, [], "x")
@example("# no comment: " * 20, [], "x")
def test_any_text_survives_being_written(text: str, several: list[str], name: str) -> None:
    persona = Persona(
        id="boats",
        name=name,
        role="No",
        domain="6:30",
        team_size=3,
        profile=text,
        communication_style=text * 3,
        epoch=EPOCH,
        principal=Principal(name="017", role="null", profile=text),
        cast=(CastMember(name=name, role=text, kind="human"),),
        sessions=(Session(id="s", kind="1to1", participants=tuple(several), isolated=True),),
        projects=(Project(id="p", name=name, description=text),),
        shared_knowledge=(text, "2026-01-01"),
    )

    read_back = parse_persona(Document("", render_persona(persona)), [])

    assert read_back is not None
    assert read_back.profile == kept(text)
    assert read_back.communication_style == kept(text * 3)
    assert read_back.name == kept(name)
    assert read_back.shared_knowledge == (kept(text), "2026-01-01")
    assert read_back.sessions[0].participants == tuple(map(kept, several))
    assert (read_back.role, read_back.domain) == ("No", "6:30")
    assert render_persona(read_back) == render_persona(persona)


@settings(max_examples=choose_number(20, 50), deadline=None)
@given(TEXT, st.lists(TEXT, min_size=1, max_size=3))
def test_any_story_survives_being_written(text: str, events: list[str]) -> None:
    arc = Arc(
        id="a",
        type="correction",
        title=text,
        description=text,
        start_day=1,
        end_day=9,
        directives=tuple(Directive(day=2, event=event) for event in events),
        primary_session="yard",
        wrong_day=1,
        corrected_day=4,
        wrong_belief=text,
        corrected_belief=text,
    )
    story = Story(epoch=EPOCH, sessions=PERSONA.sessions, arcs=(arc,), has_gaps=True)

    read_back = parse_story(Document("", render_story(story, PERSONA, EPOCH)), PERSONA, [], [])

    assert read_back is not None
    assert read_back.arcs[0].description == kept(text)
    assert [each.event for each in read_back.arcs[0].directives] == [kept(each) for each in events]
    assert read_back.sessions == PERSONA.sessions
