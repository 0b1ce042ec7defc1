"""A reply is an entry, or every thing that is wrong with it is a sentence for its author."""

from dataclasses import replace
from datetime import date

import pytest

from recall_bench.features.personas.days.day_plan import (
    DayDensity,
    DayKind,
    PlannedDay,
    SessionPlan,
)
from recall_bench.features.personas.days.entry_check import check_entry, extract_entry
from recall_bench.features.personas.days.entry_prompt import (
    EntryLength,
    EntryRequirements,
    collect_requirements,
)
from recall_bench.features.personas.days.knowledge import HiddenValueFinder, HiddenValues
from recall_bench.features.personas.model_reply import RejectedReply
from recall_bench.stories.persona_story import Arc, Directive, Persona, Session
from tests.loops import loop_over_rows

CREW = Session(id="crew", kind="group")
TODAY = date(2026, 2, 10)
PLAIN = "### Hoses\nThe hoses were checked before noon and the two oldest put aside.\n"

NONE = EntryRequirements(
    session="crew",
    day=9,
    at=TODAY,
    length=EntryLength(10, 100),
    due=(),
    stated=(),
    hidden=HiddenValues(()),
    early=(),
    stale=(),
    shown=(),
    material="",
)


def _but(**changes: object) -> EntryRequirements:
    return replace(NONE, **changes)  # type: ignore[arg-type]


def problems(text: str, demands: EntryRequirements = NONE) -> tuple[str, ...]:
    found = check_entry(text, demands)
    return found.problems if isinstance(found, RejectedReply) else ()


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(PLAIN, id="bare"),
        pytest.param(f"```markdown\n{PLAIN}```", id="in a fence"),
        pytest.param(f"Here is the entry:\n\n```\n{PLAIN}```\n", id="announced, in a fence"),
        pytest.param(f"Here is the entry:\n\n{PLAIN}", id="announced"),
        pytest.param(f"---\ntype: daily\n---\n\n{PLAIN}", id="with front matter"),
        pytest.param(f"# session: crew\n\n{PLAIN}", id="under its own heading"),
        pytest.param(f"---\ntype: daily\n---\n# session: crew\n\n{PLAIN}", id="as a whole file"),
        pytest.param(PLAIN.replace("###", "##"), id="with a heading too high"),
        pytest.param(PLAIN.replace("###", "#"), id="with a heading much too high"),
        pytest.param(PLAIN.replace("\n", "\r\n"), id="with other line ends"),
        pytest.param(f"\ufeff{PLAIN}\n\n\n", id="with blank ends"),
        pytest.param(f"# Tuesday\n\n{PLAIN}", id="under a title with nothing below it"),
    ],
)
def test_what_is_only_packing_is_taken_off(reply: str) -> None:
    assert extract_entry(reply, "crew") == PLAIN.strip()


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        pytest.param("", "it has no topic", id="silence"),
        pytest.param("Nothing happened.", "it has no topic", id="prose"),
        pytest.param("### Hoses\n", "it has no topic", id="a heading alone"),
        pytest.param(f"All was well.\n\n{PLAIN}", "text stands before", id="text without a topic"),
        pytest.param(f"# session: office\n\n{PLAIN}", "for the session office", id="elsewhere"),
        pytest.param(f"{PLAIN}\n# session: office\n\n{PLAIN}", "session office", id="two sessions"),
        pytest.param(f"{PLAIN}\n## Session: office\n", "session office", id="by another spelling"),
        pytest.param(f"{PLAIN}```\n# session: office\n```\n", "session office", id="in a fence"),
        pytest.param(f"{PLAIN}\0", "no text", id="a NUL"),
        pytest.param(f"{PLAIN}\udc80", "no text", id="half a surrogate"),
    ],
)
def test_what_is_no_entry_of_the_session_is_rejected(reply: str, problem: str) -> None:
    found = extract_entry(reply, "crew")

    assert isinstance(found, RejectedReply)
    assert problem in found.problems[0]


def test_headings_in_code_are_no_headings() -> None:
    entry = "### Script\nThis ran:\n\n```sh\n# not a heading\nls\n```"

    assert extract_entry(entry, "crew") == entry


def test_an_entry_without_fault_is_kept_as_it_is() -> None:
    assert check_entry(PLAIN, NONE) == PLAIN.strip()


def test_an_entry_is_neither_a_line_nor_a_book() -> None:
    assert problems("### Hoses\nNo.", _but(length=EntryLength(50, 100))) == (
        "it has 3 words; write 50 to 100",
    )
    assert problems(f"### Hoses\n{'word ' * 600}", _but(length=EntryLength(50, 100)))
    assert not problems(f"### Hoses\n{'word ' * 200}", _but(length=EntryLength(50, 100)))


@pytest.mark.parametrize(
    "words", ["On day 12 we met.", "The checkpoint is near.", "As an AI language model I note it."]
)
def test_day_numbers_and_words_of_the_benchmark_are_rejected(words: str) -> None:
    assert "nobody in the story would" in problems(f"{PLAIN}{words}")[0]


def test_what_the_story_says_itself_may_be_said() -> None:
    told = _but(material="the checkpoint at the north gate is manned")

    assert not problems(f"{PLAIN}The checkpoint was manned again.", told)


@loop_over_rows(
    ("words", "is_right"),
    [
        ("On Tuesday, 10 February 2026 all was well.", True),
        ("On Monday, 9 February 2026 all was well.", False),
        ("Today, 10 February, the hoses came.", True),
        ("Today is February 11 and the hoses came.", False),
        ("The visit is on Friday, February 13.", True),
        ("The visit is on Thursday, February 13.", False),
        ("The visit is on Friday, 13 February 2026.", False),
        ("A letter came.\n\nThe visit is on Friday, 13 February 2026.", True),
        ("The visit is on February 30.", True),
    ],
)
def test_today_is_today_and_a_weekday_is_its_dates(words: str, is_right: bool) -> None:
    assert (not problems(f"### Hoses\n{words}\n{PLAIN}")) is is_right


def test_a_copy_of_earlier_entries_is_no_news() -> None:
    earlier = (
        "Monday, 9 February 2026\n\n### Hoses\nThe hoses were checked before noon and put aside.\n"
        "Bram counted the trays twice and found all of them.\n"
    )
    copied = "### Again\nThe hoses were checked before noon and put aside.\nBram counted the trays "
    copied += "twice and found all of them.\nThen it rained on the whole yard.\n"
    half = "### Again\nThe hoses were checked before noon and put aside.\nIt rained on the whole "
    half += "yard until three.\nNobody came by to ask about seeds.\n"

    assert "2 of its 3 longer sentences" in problems(copied, _but(shown=(earlier,)))[0]
    assert not problems(half, _but(shown=(earlier,)))


PUMP = Arc(
    id="pump",
    type="project",
    title="The pump",
    description="A pump.",
    start_day=1,
    end_day=40,
    primary_session="crew",
    directives=(
        Directive(day=9, event='The bid of 3 firms at $4,200 is in: "no later than April 2"'),
        Directive(day=30, event="Order HX-2291 for $777 goes out"),
    ),
)
FROST = Arc(
    id="frost",
    type="correction",
    title="Frost",
    description="Frost.",
    start_day=1,
    end_day=40,
    primary_session="crew",
    wrong_day=9,
    corrected_day=20,
    wrong_belief="The last frost of the valley is on March 28",
    corrected_belief="The last frost of the valley is on April 19",
)


def on_day(
    day: int, *arcs: Arc, session: Session = CREW, isolated: tuple[str, ...] = ()
) -> EntryRequirements:
    """What is asked of an entry that tells these arcs."""
    own = tuple(arc for arc in arcs if arc.primary_session == session.id)
    telling = SessionPlan(session=session, density=DayDensity.NORMAL, arcs=own)
    planned = PlannedDay(
        place=0,
        day=day,
        at=date(2026, 2, 1 + day) if day < 28 else date(2026, 3, day - 27),
        kind=DayKind.ARC,
        density=DayDensity.NORMAL,
        session_plans=(telling,),
    )
    persona = _persona()
    hidden = HiddenValueFinder(persona, arcs, frozenset(isolated)).find_hidden(session, day)
    return collect_requirements(
        planned, telling, arcs, frozenset(isolated), hidden=hidden, blocks={}, shown=()
    )


def _persona() -> Persona:
    return Persona(
        id="p",
        name="P",
        role="aide",
        domain="trade",
        team_size=2,
        profile="Keeps the log.",
        communication_style="Plain.",
    )


LONG = f"{PLAIN}{'Then the next tray was filled and carried over to the long bench. ' * 3}\n"


def test_the_values_of_todays_events_have_to_be_there() -> None:
    whole = f'{LONG}Three firms bid; the best is $4.2k, and "no later than April 2", they say.'

    assert not problems(whole, on_day(9, PUMP))
    assert problems(LONG, on_day(9, PUMP)) == (
        "3 firms is missing, which belongs to what happens today; state it so",
        "$4,200 is missing, which belongs to what happens today; state it so",
        "April 2 is missing, which belongs to what happens today; state it so",
        "no later than April 2 is missing, which belongs to what happens today; state it so",
    )


def test_values_of_other_days_need_not_be_there() -> None:
    assert not problems(LONG, on_day(10, PUMP))


@pytest.mark.parametrize("words", ["Order HX-2291 is near.", "It may come to $777."])
def test_a_value_that_only_a_later_event_brings_is_too_early(words: str) -> None:
    assert "nobody here has heard by this date" in problems(f"{LONG}{words}", on_day(10, PUMP))[0]
    assert not problems(f"{LONG}Order HX-2291 goes out for $777.", on_day(30, PUMP))


def test_a_belief_is_stated_on_its_day() -> None:
    stated = f"{LONG}The last frost of the valley is on March 28."

    assert problems(LONG, on_day(9, FROST)) == (
        "March 28 is missing; state it in one sentence with what it is about",
    )
    assert problems(f"{LONG}The dentist comes on March 28.", on_day(9, FROST))
    assert not problems(stated, on_day(9, FROST))
    assert problems(LONG, on_day(20, FROST))
    assert not problems(f"{LONG}The last frost of the valley is April 19.", on_day(20, FROST))


def test_the_corrected_value_is_not_said_before_its_day() -> None:
    early = f"{LONG}The last frost of the valley may be on April 19."

    assert problems(early, on_day(12, FROST)) == (
        "it says April 19, which nobody here has heard by this date; take it out",
    )
    assert not problems(f"{LONG}The dentist comes on April 19.", on_day(12, FROST))


def test_a_corrected_name_is_not_said_before_its_day_either() -> None:
    who = FROST.replace(
        wrong_belief="The frost alarm goes to Ada Quill",
        corrected_belief="The frost alarm goes to Bo Reyes",
    )

    assert "Bo Reyes" in problems(f"{LONG}The frost alarm goes to Bo Reyes.", on_day(12, who))[0]


def test_the_old_value_is_named_only_as_past_after_its_day() -> None:
    stale = f"{LONG}The last frost of the valley is on March 28."
    past = f"{LONG}The last frost of the valley is no longer March 28."

    assert "as if it still held" in problems(stale, on_day(25, FROST))[0]
    assert not problems(past, on_day(25, FROST))
    assert not problems(stale, on_day(12, FROST))


def test_a_value_that_is_right_again_is_not_past() -> None:
    back = FROST.replace(
        id="back",
        wrong_day=21,
        corrected_day=24,
        wrong_belief=FROST.corrected_belief,
        corrected_belief=FROST.wrong_belief,
    )

    assert not problems(
        f"{LONG}The last frost of the valley is on March 28.", on_day(25, FROST, back)
    )


def test_what_stays_in_another_room_is_not_said_here() -> None:
    office = Session(id="office", kind="group")
    here = on_day(35, PUMP, session=office, isolated=("crew",))

    assert "nobody here has heard" in problems(f"{LONG}It came to $777.", here)[0]


def test_all_problems_are_stated_at_once() -> None:
    found = problems("### Hoses\nOn day 3 we heard of $777.", on_day(9, PUMP))

    assert len(found) > 4
