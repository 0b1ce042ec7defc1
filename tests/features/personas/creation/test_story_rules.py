"""A persona and a story are sound, or every fault is named to their author."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from recall_bench.core.yaml12 import Document
from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.features.personas.creation.story_rules import (
    check_persona,
    check_story,
    compute_arc_bounds,
    count_fewest_arcs,
    count_fewest_with_directives,
)
from recall_bench.stories.persona_story import Arc, Persona, Story, parse_persona, parse_story
from tests.features.personas import made_personas
from tests.loops import loop_over_rows

LENGTHS = (1, 2, 10, 30, 119, 120, 180, 1000, 3000)


def read_persona(raw: dict[str, Any]) -> Persona:
    problems: list[Any] = []
    persona = parse_persona(Document("persona.yaml", dump_yaml({"id": "boats", **raw})), problems)
    assert persona is not None, problems
    return persona


PERSONA = read_persona(made_personas.PERSONA)


def read_story(raw: dict[str, Any]) -> Story:
    problems: list[Any] = []
    story = parse_story(Document("arcs.yaml", dump_yaml(raw)), PERSONA, problems, [])
    assert story is not None, problems
    return story


def of_story(days: int, spoil: Callable[[dict[str, Any]], object]) -> tuple[str, ...]:
    raw = made_personas.story(days)
    spoil(raw)
    return check_story(PERSONA, read_story(raw), days)


def of_arc(days: int, kind: str, **changes: object) -> tuple[str, ...]:
    """What is said when the first arc of this kind is otherwise."""
    raw = made_personas.story(days)
    next(arc for arc in raw["arcs"] if arc["type"] == kind).update(changes)
    return check_story(PERSONA, read_story(raw), days)


def of_persona(spoil: Callable[[dict[str, Any]], object]) -> tuple[str, ...]:
    raw = made_personas.persona()
    spoil(raw)
    return check_persona(read_persona(raw))


def test_a_sound_persona_is_left_alone() -> None:
    assert check_persona(PERSONA) == ()


@loop_over_rows("days", LENGTHS)
def test_a_sound_story_of_any_length_is_left_alone(days: int) -> None:
    assert check_story(PERSONA, read_story(made_personas.story(days)), days) == ()


def test_a_thousand_days_are_the_measure() -> None:
    assert count_fewest_arcs(1000) == {
        "project": 5,
        "incident": 2,
        "decision": 3,
        "learning": 2,
        "relationship": 2,
        "correction": 4,
    }
    assert compute_arc_bounds(1000) == (18, 22)


def test_counts_follow_the_length_of_the_story() -> None:
    assert [compute_arc_bounds(days) for days in (1, 10, 30, 180, 3000)] == [
        (1, 5),
        (3, 7),
        (7, 11),
        (10, 14),
        (26, 32),
    ]
    assert all(count_fewest_arcs(days)["correction"] >= 1 for days in range(30, 10_000))
    assert [count_fewest_with_directives(arcs) for arcs in (1, 3, 4, 18)] == [1, 1, 2, 6]


@given(st.integers(1, 9998))
def test_a_longer_story_never_needs_less(days: int) -> None:
    assert all(
        count_fewest_arcs(days)[kind] <= count
        for kind, count in count_fewest_arcs(days + 1).items()
    )
    assert (
        sum(count_fewest_arcs(days).values())
        <= compute_arc_bounds(days)[0]
        <= compute_arc_bounds(days)[1]
    )


SPOILED: dict[str, tuple[dict[str, object], str]] = {
    "beyond": ({"endDay": 1010}, "endDay 1010 lies beyond day 1000"),
    "spelling": ({"id": "Not A Slug"}, "arc id 'Not A Slug': use lower-case letters"),
    "no room": ({"primarySession": None}, "has no primarySession; name one of principal, yard"),
    "strange room": ({"primarySession": "attic"}, "there is no session attic; there is principal"),
    "strange echo": ({"referencedSessions": ["attic"]}, "there is no session attic"),
    "own echo": ({"referencedSessions": ["yard"]}, "yard is its primarySession; do not reference"),
    "stranger": ({"participants": ["Nobody Known"]}, "Nobody Known is neither the principal nor"),
    "the agent": ({"participants": ["Tallow"]}, "Tallow is neither the principal nor in the cast"),
    "forbidden": ({"forbiddenSessions": ["yard"]}, "told in yard, which is one of its forbidden"),
    "too late": (
        {"directives": [{"day": 990, "event": "x"}]},
        "directive on day 990 lies outside days",
    ),
    "echoed secret": (
        {"primarySession": "bank-room"},
        "happens in bank-room, which is isolated, and is echoed in principal; leave referenced",
    ),
    "outsider": (
        {"primarySession": "bank-room", "referencedSessions": []},
        "Joost Amundsen takes part, and does not sit in the isolated session bank-room",
    ),
}


@loop_over_rows("fault", SPOILED)
def test_a_fault_of_an_arc_is_named_with_its_arc(fault: str) -> None:
    changes, said = SPOILED[fault]

    found = [problem for problem in of_arc(1000, "decision", **changes) if said in problem]

    assert len(found) == 1
    assert found[0].startswith("arc ")


def test_two_arcs_of_one_name_are_one_too_many() -> None:
    def spoil(raw: dict[str, Any]) -> None:
        raw["arcs"][3]["id"] = raw["arcs"][4]["id"]

    assert any("2 arcs are called" in problem for problem in of_story(1000, spoil))


def test_an_unknown_type_is_named() -> None:
    arcs = read_story(made_personas.story(30)).arcs
    story = Story(epoch=made_epoch(), sessions=PERSONA.sessions, arcs=(*arcs, arc(type="saga")))

    assert "arc added: its type 'saga' is none of" in "\n".join(check_story(PERSONA, story, 30))


def made_epoch() -> Any:
    return read_story(made_personas.story(30)).epoch


def arc(**changes: Any) -> Arc:
    usual: dict[str, Any] = {
        "id": "added",
        "type": "project",
        "title": "More",
        "description": "And more",
        "start_day": 2,
        "end_day": 3,
        "primary_session": "yard",
    }
    return Arc(**usual | changes)


CORRECTIONS: dict[str, tuple[dict[str, object], str]] = {
    "title": ({"title": "It really is 7:25 AM"}, "its title gives away 7:25 AM"),
    "description": ({"description": "Later it is 7:25"}, "its description gives away 7:25"),
    "no wrong belief": ({"wrongBelief": None}, "is a correction and has no wrongBelief; add it"),
    "no right belief": ({"correctedBelief": None}, "is a correction and has no correctedBelief"),
    "the same": (
        {"wrongBelief": "The lift is out.", "correctedBelief": "the lift is out"},
        "wrongBelief and correctedBelief say the same",
    ),
    "word for word": (
        {
            "wrongBelief": "The lift is out",
            "correctedBelief": "The lift works",
            "description": "They say it is out; the lift works.",
        },
        "its description gives away the corrected belief",
    ),
    "backwards": ({"wrongDay": 9, "correctedDay": 8}, "≤ wrongDay 9 < correctedDay 8 ≤ endDay"),
    "after its end": ({"correctedDay": 1000}, "does not hold; correct the days"),
}


@loop_over_rows("fault", CORRECTIONS)
def test_a_correction_keeps_its_order_and_its_secret(fault: str) -> None:
    changes, said = CORRECTIONS[fault]

    assert [problem for problem in of_arc(1000, "correction", **changes) if said in problem]


def test_a_belief_is_held_for_a_day_at_least() -> None:
    correction = next(arc for arc in made_personas.story(1000)["arcs"] if arc["wrongDay"])
    day = correction["endDay"]

    (found,) = of_arc(1000, "correction", wrongDay=day)

    assert f"≤ wrongDay {day} < correctedDay {day} ≤" in found
    assert of_arc(1000, "correction", wrongDay=day - 1) == ()


def test_a_number_keeps_its_unit() -> None:
    beliefs = {"wrongBelief": "It takes 9 hours", "correctedBelief": "It takes 12 hours"}

    assert of_arc(1000, "correction", title="A job for 12 people", **beliefs) == ()
    assert "12 hours" in of_arc(1000, "correction", title="A job of 12 hours", **beliefs)[0]


def test_a_correction_must_not_come_out_through_its_own_directives() -> None:
    raw = made_personas.story(1000)
    late = next(arc for arc in raw["arcs"] if arc["type"] == "correction")
    early = {"day": late["startDay"], "event": "Somebody says 7:25 by mistake"}
    on_the_day = {"day": late["correctedDay"], "event": "It is 7:25 after all"}

    late["directives"] = [on_the_day]
    fine = check_story(PERSONA, read_story(raw), 1000)
    late["directives"] = [early, on_the_day]
    leaking = check_story(PERSONA, read_story(raw), 1000)

    assert fine == ()
    assert len(leaking) == 1
    assert f"its directive on day {early['day']} gives away 7:25" in leaking[0]


def test_a_correction_must_not_come_out_through_another_arc() -> None:
    def told_by(text: str) -> tuple[str, ...]:
        return of_arc(1000, "decision", description=text)

    assert told_by("The budget is 7:25 hours") == ()
    assert any(
        "tells 7:25, which correction-" in problem for problem in told_by("The crane comes at 7:25")
    )


def test_a_value_that_both_beliefs_share_gives_nothing_away() -> None:
    beliefs = {
        "wrongBelief": "It is $400 for 12 weeks",
        "correctedBelief": "It is $450 for 12 weeks",
    }

    assert of_arc(1000, "correction", title="What 12 weeks cost", **beliefs) == ()


def test_too_many_concurrent_arcs_are_reported_with_their_days() -> None:
    def crowd(raw: dict[str, Any]) -> None:
        raw["arcs"].append(made_personas.arc("incident", "one-more", (100, 120)))

    found = [problem for problem in of_story(1000, crowd) if "at once" in problem]

    assert len(found) == 1
    assert "arcs are active at once on days 100–120: " in found[0]
    assert "one-more" in found[0]


def spans(*several: tuple[int, int]) -> Story:
    arcs = tuple(
        arc(id=f"arc-{number}", start_day=first, end_day=last)
        for number, (first, last) in enumerate(several)
    )
    return Story(epoch=made_epoch(), sessions=PERSONA.sessions, arcs=arcs)


def of_pace(days: int, *several: tuple[int, int]) -> list[str]:
    """What is said about the pace alone."""
    words = ("quiet", "nothing happens", "no arc is active", "at once")
    problems = check_story(PERSONA, spans(*several), days)
    return [problem for problem in problems if any(word in problem for word in words)]


def test_a_long_story_needs_a_quiet_period() -> None:
    (found,) = of_pace(200, (1, 200))

    assert found.startswith("there is no quiet period: leave 10–15 days in a row without any arc")
    assert found.endswith("would do, if arc-0 kept clear of them")
    assert of_pace(119, (1, 119)) == []
    assert of_pace(200, (1, 90), (101, 200)) == []
    assert of_pace(200, (1, 90), (106, 200)) == []


def test_nine_days_are_no_quiet_period_and_sixteen_are_too_many() -> None:
    assert "no quiet period" in of_pace(200, (1, 90), (100, 200))[0]
    (found,) = of_pace(200, (1, 90), (107, 200))
    assert found.startswith("no arc is active on days 91–106; leave 10–15 days in a row without")


def test_quiet_periods_are_few() -> None:
    (found,) = of_pace(200, (1, 40), (51, 90), (101, 140), (151, 200))

    assert "there are 3 quiet periods, on days 41–50, 91–100, 141–150; 2 at most" in found


def test_a_short_story_has_no_long_pauses() -> None:
    assert of_pace(30, (1, 10), (14, 30)) == []
    assert "no arc is active on days 11–14" in of_pace(30, (1, 10), (15, 30))[0]


def test_a_story_fills_the_days_that_were_asked_for() -> None:
    assert of_pace(200, (1, 90), (101, 150)) == [
        "nothing happens after day 150; let an arc end on day 200"
    ]
    assert of_pace(200, (31, 90), (101, 200)) == [
        "nothing happens before day 31; let an arc start on day 1"
    ]
    assert of_pace(200, (10, 90), (101, 191)) == []
    assert len(of_pace(200, (11, 90), (101, 190))) == 2


SOME_SPANS = st.lists(
    st.tuples(st.integers(1, 200), st.integers(0, 80)).map(
        lambda pair: (pair[0], min(200, sum(pair)))
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(SOME_SPANS)
def test_the_pace_is_judged_as_counting_day_by_day_would(several: list[tuple[int, int]]) -> None:
    story = spans(*several)
    at_work = [len(story.list_active_arcs(day)) for day in range(1, 201)]
    lulls = [len(run) for run in "".join("." if n else "-" for n in at_work).split(".") if run]
    found = "\n".join(of_pace(200, *several))

    assert ("at once" in found) == (max(at_work) > 4)
    if max(lulls, default=0) > 15:
        assert "no arc is active" in found or "nothing happens" in found
    if not any(lull >= 10 for lull in lulls):
        assert "there is no quiet period" in found


def test_missing_types_are_counted() -> None:
    def without_corrections(raw: dict[str, Any]) -> None:
        raw["arcs"] = [arc for arc in raw["arcs"] if arc["type"] != "correction"]

    found = of_story(1000, without_corrections)

    assert "arcs of type correction: there are 0; write at least 4" in found
    assert "there are 14 arcs; a story of 1000 days has 18 to 22" in found
    assert "arcs of type incident: there are 1; write at least 2" in of_arc(
        1000, "incident", type="learning"
    )


def test_too_few_directives_are_counted() -> None:
    def without_directives(raw: dict[str, Any]) -> None:
        for arc in raw["arcs"][1:]:
            arc["directives"] = []

    assert of_story(1000, without_directives) == (
        "1 arcs have directives; give some to at least 6, each with what happens on a certain day",
    )


def test_a_story_without_a_secret_is_reported_with_its_isolated_sessions() -> None:
    def without_secrets(raw: dict[str, Any]) -> None:
        for arc in raw["arcs"]:
            arc["primarySession"] = "yard"

    assert "let at least one happen in bank-room" in of_story(30, without_secrets)[0]
    assert of_story(10, without_secrets) == ()


def test_a_session_is_open_while_it_is_talked_in() -> None:
    def open_late(raw: dict[str, Any]) -> None:
        raw["sessions"] = [{"id": "bank-room", "firstDay": 5, "lastDay": 20}]

    (found,) = of_story(30, open_late)

    assert "its session bank-room is open from day 5 to day 20; fit one to the other" in found


def test_hours_of_sessions_make_sense() -> None:
    def strange_hours(raw: dict[str, Any]) -> None:
        raw["sessions"] = [
            {"id": "yard", "firstDay": 9, "lastDay": 4},
            {"id": "bank-room", "firstDay": 31},
            {"id": "principal", "lastDay": 20},
        ]

    found = "\n".join(of_story(30, strange_hours))

    assert "session yard: lastDay 4 comes before its first day" in found
    assert "session bank-room: firstDay 31 is none of the days 1–30" in found
    assert "session principal is always open" in found


def no_principal(raw: dict[str, Any]) -> None:
    raw["principal"] = None


def drop(key: str, index: int) -> Callable[[dict[str, Any]], object]:
    return lambda raw: raw[key].pop(index)


def change(key: str, index: int, **changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda raw: raw[key][index].update(changes)


PEOPLE: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "nobody to serve": (no_principal, "there is no principal; say whom the agent serves"),
    "no principal session": (drop("sessions", 0), "there is no session principal; add it"),
    "crowded": (
        change("sessions", 0, participants=["Hanne Brix", "Pia Delacroix"]),
        "session principal: its only participant is Hanne Brix",
    ),
    "strangers": (
        change("sessions", 1, participants=["Nobody Known"]),
        "session yard: Nobody Known is neither the principal nor in the cast",
    ),
    "an empty room": (change("sessions", 1, participants=[]), "session yard has no participants"),
    "no secrets": (
        change("sessions", 2, sensitive_topics=[" "]),
        "no isolated session has sensitive_topics",
    ),
    "no isolated room": (change("sessions", 2, isolated=False), "no isolated session has"),
    "nowhere to talk": (drop("sessions", 1), "there is no group session that is not isolated"),
    "isolated and shared": (change("sessions", 2, shared=True), "is both isolated and shared"),
    "isolated from the principal": (
        change("sessions", 0, isolated=True),
        "session principal must not be isolated",
    ),
    "nobody outside": (
        change(
            "sessions",
            2,
            participants=["Hanne Brix", "Joost Amundsen", "Pia Delacroix", "Milan Tesar"],
        ),
        "session bank-room: everybody who talks to the agent elsewhere sits in it",
    ),
    "a bad id": (change("sessions", 1, id="The Yard"), "session id 'The Yard': use lower-case"),
    "namesakes": (change("cast", 1, name="Joost Amundsen"), "2 cast members are called Joost"),
    "no cast": (lambda raw: raw.update(cast=[]), "the cast has 0 members beside the principal"),
    "no team": (lambda raw: raw.update(team_size=0), "team_size is 0"),
    "a bad project": (change("projects", 0, id="Two Words"), "project id 'Two Words': use"),
    "backwards": (change("sessions", 1, firstDay=9, lastDay=3), "are no span of days"),
}


@loop_over_rows("fault", PEOPLE)
def test_a_fault_of_a_persona_is_named(fault: str) -> None:
    spoil, said = PEOPLE[fault]

    assert [problem for problem in of_persona(spoil) if said in problem]
