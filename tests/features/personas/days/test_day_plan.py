"""Which days are told, where and how fully follows from the story, and from nothing else."""

from datetime import date
from pathlib import Path

import pytest

from recall_bench.core.errors import Problems
from recall_bench.features.personas.days.day_plan import (
    DayDensity,
    DayKind,
    StoryPlan,
    choose_arc_days,
    compute_phase,
    is_echo_day,
    measure_density,
    plan_story,
)
from recall_bench.stories.persona_story import Arc, Directive, Persona, Session, Story
from tests.features.personas.scripted_days import planned_nursery
from tests.loops import loop_over_rows

MONDAY = date(2026, 2, 2)

PERSONA = Persona(
    id="p",
    name="P",
    role="aide",
    domain="trade",
    team_size=2,
    profile="Keeps the log.",
    communication_style="Plain.",
    sessions=(Session(id="crew", kind="group"), Session(id="principal", kind="1to1")),
)


def arc(start: int, end: int, kind: str = "project", *, name: str = "a", **more: object) -> Arc:
    given = {"primary_session": "crew", **more}
    return Arc(
        id=name,
        type=kind,
        title="Something",
        description="Something goes on.",
        start_day=start,
        end_day=end,
        **given,  # type: ignore[arg-type]
    )


def on(*days: int) -> tuple[Directive, ...]:
    return tuple(Directive(day=day, event="It happens") for day in days)


def story(*arcs: Arc, has_gaps: bool = True, sessions: tuple[Session, ...] | None = None) -> Story:
    found = PERSONA.sessions if sessions is None else sessions
    return Story(epoch=MONDAY, sessions=found, arcs=arcs, has_gaps=has_gaps)


def days(plan: StoryPlan) -> list[int]:
    return [planned.day for planned in plan.days]


@loop_over_rows(
    ("day", "length", "expected"),
    [
        (1, 100, "early"),
        (14, 100, "early"),
        (15, 100, "mid"),
        (75, 100, "mid"),
        (76, 100, "late"),
        (90, 100, "late"),
        (91, 100, "concluding"),
        (100, 100, "concluding"),
        (1, 0, "mid"),
    ],
)
def test_the_phase_of_an_arc_is_its_share_of_days(day: int, length: int, expected: str) -> None:
    assert compute_phase(day, length) == expected


QUIET_DAY = 50
"""In the midst of an arc of a hundred days."""


@pytest.mark.parametrize(
    ("arcs", "is_weekend", "expected"),
    [
        pytest.param((arc(1, 100, directives=on(50, 50)),), True, "quiet", id="a weekend"),
        pytest.param((arc(1, 100, "incident"),), True, "busy", id="an incident at a weekend"),
        pytest.param((arc(1, 100, corrected_day=50),), False, "dense", id="a correction"),
        pytest.param((arc(1, 100),), False, "normal", id="one arc amid"),
        pytest.param((), False, "quiet", id="no arc"),
        pytest.param((arc(1, 100), arc(2, 100)), False, "normal", id="two arcs amid"),
        pytest.param((arc(1, 100), arc(2, 100), arc(3, 100)), False, "busy", id="three arcs"),
        pytest.param((arc(1, 100, directives=on(50)),), False, "busy", id="an event"),
        pytest.param((arc(1, 100, directives=on(50, 50)),), False, "busy", id="two events"),
        pytest.param(
            (arc(1, 100, directives=on(50, 50)), arc(2, 100), arc(3, 100)),
            False,
            "dense",
            id="two events among three arcs",
        ),
        pytest.param((arc(50, 100),), False, "busy", id="a first day"),
        pytest.param((arc(1, 54),), False, "busy", id="a concluding one"),
        pytest.param((arc(1, 100, "incident"),), False, "busy", id="an incident"),
    ],
)
def test_how_full_a_day_is(arcs: tuple[Arc, ...], is_weekend: bool, expected: str) -> None:
    assert measure_density(arcs, QUIET_DAY, is_weekend=is_weekend) == expected


def test_other_sessions_hear_of_an_arc_at_its_turns_and_every_fortnight() -> None:
    told = arc(10, 60, referenced_sessions=("principal",), directives=on(20), wrong_day=12)
    told = told.replace(corrected_day=33)

    assert [day for day in range(1, 70) if is_echo_day(told, day) and told.is_active(day)] == [
        *(10, 12, 20, 24, 33, 38, 52, 60)
    ]
    assert not any(is_echo_day(arc(10, 60), day) for day in range(10, 61))


@loop_over_rows(("length", "every"), [(29, 2), (30, 3), (99, 3), (100, 5), (300, 5)])
def test_the_longer_an_arc_the_sparser_its_days(length: int, every: int) -> None:
    weekdays = [day for day in range(1, length + 1) if (day - 1) % 7 < 5]

    assert choose_arc_days(arc(1, length), MONDAY) == {*weekdays[::every], 1, length}


def test_events_beliefs_and_both_ends_are_stated_even_at_weekends() -> None:
    told = choose_arc_days(
        arc(6, 62, directives=on(13, 14), wrong_day=20, corrected_day=27), MONDAY
    )

    assert {13, 14, 20, 27, 62} <= told


def test_a_correction_has_nothing_to_tell_before_its_wrong_belief_or_first_event() -> None:
    told = choose_arc_days(arc(1, 28, "correction", wrong_day=9, corrected_day=20), MONDAY)

    assert min(told) == 9


def test_a_week_is_filled_with_its_weekdays_and_a_quiet_period_stays_quiet() -> None:
    plan = plan_story(PERSONA, story(arc(1, 40), arc(61, 70, name="b")))

    weekdays = [day for day in range(1, 71) if (day - 1) % 7 < 5 and not 40 < day < 61]
    assert days(plan) == sorted({*weekdays, 1, 40, 61, 70})
    kinds = {planned.day: planned.kind for planned in plan.days}
    assert kinds[1] is DayKind.ARC
    assert kinds[2] is DayKind.GAP


def test_a_story_without_gaps_tells_every_day_on_which_an_arc_goes_on() -> None:
    plan = plan_story(PERSONA, story(arc(3, 20), arc(31, 33, name="b"), has_gaps=False))

    assert days(plan) == [*range(3, 21), *range(31, 34)]


def test_a_filling_day_tells_the_arc_that_was_stated_longest_ago() -> None:
    plan = plan_story(PERSONA, story(arc(1, 300), arc(2, 300, name="b"), arc(3, 300, name="c")))

    week = [(planned.day, planned.kind, planned.arcs) for planned in plan.days[3:5]]
    assert week == [(4, DayKind.GAP, ("a",)), (5, DayKind.GAP, ("b",))]


def test_the_principal_comes_first_and_the_others_as_declared() -> None:
    rooms = tuple(Session(id=name, kind="group") for name in ("z", "crew", "principal", "a"))
    arcs = [arc(1, 5, name=room.id, primary_session=room.id) for room in rooms]
    plan = plan_story(PERSONA.replace(sessions=rooms), story(*arcs, sessions=rooms))

    assert [told.session.id for told in plan.days[0].session_plans] == [
        "principal",
        "z",
        "crew",
        "a",
    ]


def test_an_arc_has_no_entry_while_its_session_is_closed() -> None:
    rooms = (Session(id="crew", kind="group", first_day=8, last_day=12), PERSONA.sessions[1])
    told = arc(1, 19, referenced_sessions=("principal",), directives=on(2, 9))
    plan = plan_story(PERSONA, story(told, sessions=rooms))

    assert days(plan) == [8, 9, 10, 11, 12]
    assert plan.notes == (
        "a: its events of day 2 fall on days when crew is closed; they are not written",
    )


def test_a_session_that_only_hears_of_things_is_closed_when_it_is_closed() -> None:
    rooms = (PERSONA.sessions[0], Session(id="principal", kind="1to1", first_day=5))
    told = arc(1, 10, referenced_sessions=("principal",), directives=on(2, 9))
    plan = plan_story(PERSONA, story(told, sessions=rooms))

    heard = [each.day for each in plan.days for told in each.session_plans if told.echoes]
    assert heard == [9, 10]


def test_a_day_that_must_be_stated_is_the_principals_when_no_arc_can_be() -> None:
    rooms = (Session(id="crew", kind="group", first_day=3), PERSONA.sessions[1])
    plan = plan_story(PERSONA, story(arc(1, 4), sessions=rooms, has_gaps=False))

    first = plan.days[0]
    assert [(told.session.id, told.arcs) for told in first.session_plans] == [("principal", ())]
    assert first.density is DayDensity.QUIET


def test_days_that_must_be_stated_and_cannot_be_are_said_together() -> None:
    rooms = tuple(room.replace(first_day=3) for room in PERSONA.sessions)

    with pytest.raises(Problems, match=r"days 1–2: an arc is active and no session is open"):
        plan_story(PERSONA, story(arc(1, 4), sessions=rooms, has_gaps=False))


def test_what_belongs_to_an_isolated_session_is_received_of_nowhere_else() -> None:
    rooms = (Session(id="crew", kind="group", isolated=True), PERSONA.sessions[1])
    told = arc(1, 10, referenced_sessions=("principal",), directives=on(2))
    plan = plan_story(PERSONA, story(told, sessions=rooms))

    assert {told.session.id for each in plan.days for told in each.session_plans} == {"crew"}


def test_a_forbidden_session_hears_nothing() -> None:
    told = arc(1, 10, referenced_sessions=("principal",), forbidden_sessions=("principal",))
    plan = plan_story(PERSONA, story(told))

    assert {told.session.id for each in plan.days for told in each.session_plans} == {"crew"}


def test_a_persona_without_sessions_talks_to_its_principal() -> None:
    bare = PERSONA.replace(sessions=())
    plan = plan_story(bare, story(arc(1, 3, primary_session=None), sessions=()))

    assert {told.session.id for each in plan.days for told in each.session_plans} == {"principal"}


def test_an_undeclared_session_is_reported_before_any_call() -> None:
    with pytest.raises(Problems, match=r"b: its primarySession is cellar, which persona\.yaml"):
        plan_story(PERSONA, story(arc(1, 3), arc(1, 3, name="b", primary_session="cellar")))


def test_a_session_whose_name_cannot_be_a_heading_is_said_too() -> None:
    rooms = (*PERSONA.sessions, Session(id="the crew", kind="group"))

    with pytest.raises(Problems, match=r"'the crew' cannot head a day"):
        plan_story(PERSONA, story(arc(1, 3), sessions=rooms))


def test_what_no_day_can_tell_is_noted() -> None:
    told = arc(5, 9, directives=on(2, 6, 30), referenced_sessions=("attic",))

    assert plan_story(PERSONA, story(told)).notes == (
        "a: its events of days 2, 30 lie outside it; they are not written",
        "a: referencedSessions names attic, which persona.yaml does not declare; left out",
    )


def test_the_days_of_a_small_story(tmp_path: Path) -> None:
    plan = planned_nursery(tmp_path)

    assert [
        each.day for each in plan.days if each.kind is DayKind.ARC and each.density == "dense"
    ] == [22]
    assert {told.session.id for each in plan.days for told in each.session_plans} == {
        *("principal", "crew", "lender")
    }
    assert {
        each.day for each in plan.days for told in each.session_plans if told.session.id == "lender"
    } <= set(range(10, 41))
    assert not [each.day for each in plan.days if 45 < each.day < 60]
