"""What a retelling may say in other words, and what its writer is shown."""

import json
from datetime import date
from pathlib import Path

import pytest

from recall_bench.features.personas import prompts
from recall_bench.features.personas.conversations import (
    build_conversation_prompt,
    count_most_turns,
    parse_dialogue,
)
from recall_bench.features.personas.day_log import StoryDay, count_coverage, list_known_values
from recall_bench.features.personas.days.day_plan import (
    DayDensity,
    DayKind,
    PlannedDay,
    SessionPlan,
)
from recall_bench.features.personas.days.entry_prompt import build_entry_prompt, choose_length
from recall_bench.features.personas.days.ledger_days import (
    DueFact,
    SessionNotes,
    check_ledger_entry,
)
from recall_bench.features.personas.model_reply import RejectedReply
from recall_bench.features.personas.simulator.ledger import LogSentence, Note
from recall_bench.features.personas.tool_calls import (
    build_tool_calls_prompt,
    count_calls,
    parse_calls,
)
from recall_bench.stories.persona_story import Arc, Directive, Session, read_persona
from recall_bench.stories.shipped import unpack_story
from tests.features.personas.told_persona import a_day
from tests.loops import loop_over_rows

NOTED = (
    "Yaw pulls the exhibits, 76 of them. Reminders at 06:55: 6, all read. There are twelve rooms."
)
RETOLD = "At 06:55 I sent 6 reminders. Yaw pulls 76 exhibits for the 12 rooms."
TOO_MUCH = "Yaw pulls 77 exhibits for 13 rooms."
MATTERS = {"Kiln": 40, "Clay": 90}
AT = "Monday, 12 January 2026"


def make_day(**sessions: str) -> StoryDay:
    parts = (f"# session: {name}\n\n### Topic\n{text}\n" for name, text in sessions.items())
    return StoryDay(1, date(2026, 1, 12), "---\ntype: daily\n---\n\n" + "\n".join(parts))


def make_turns(*texts: str) -> str:
    roles = ("user", "assistant") * len(texts)
    turns = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    return json.dumps(turns)


def test_numbers_without_their_noun_and_in_words_are_known() -> None:
    assert {"76", "6", "6:55", "12"} <= list_known_values(NOTED)
    assert "22" in list_known_values("Twenty-two hours went by.")
    assert "2" not in list_known_values("Twenty-two hours went by.")


def make_note(heading: str, text: str) -> Note:
    return Note("crew", heading, (LogSentence(text, 1, "crew"),))


def test_an_entry_may_word_the_numbers_of_the_notes_anew_and_may_not_change_them() -> None:
    notes = SessionNotes(1, "crew", (make_note("Exhibits", NOTED),), ())

    assert isinstance(check_ledger_entry(f"### Exhibits\n{RETOLD}", notes, AT, {}), str)
    found = check_ledger_entry(f"### Exhibits\n{TOO_MUCH}", notes, AT, {})
    assert found == RejectedReply(
        ("77 exhibits is not in the notes", "13 rooms is not in the notes")
    )


def test_a_fact_is_stated_under_the_topic_of_its_matter() -> None:
    blocks = tuple(make_note(name, f"{name}: £{sum_}.") for name, sum_ in MATTERS.items())
    facts = tuple(DueFact(name, f"£{sum_}", ()) for name, sum_ in MATTERS.items())
    notes = SessionNotes(1, "crew", blocks, facts)
    sound = "### Kiln\nThe kiln costs £40.\n### Clay\nFor the clay we pay £90."
    swapped = "### Kiln\nThe kiln costs £90.\n### Clay\nFor the clay we pay £40."

    assert isinstance(check_ledger_entry(sound, notes, AT, {}), str)
    assert check_ledger_entry(swapped, notes, AT, {}) == RejectedReply(
        (
            "£40 belongs to Kiln and is told under another topic",
            "£90 belongs to Clay and is told under another topic",
        )
    )


def test_so_may_a_dialogue() -> None:
    day = make_day(crew=NOTED)
    begun = ("[session: crew]\nWell?", RETOLD, "And?")

    assert isinstance(parse_dialogue(make_turns(*begun, "That is all."), day), tuple)
    found = parse_dialogue(make_turns(*begun, TOO_MUCH), day)
    assert found == RejectedReply(("77 exhibits is not in the log", "13 rooms is not in the log"))


def test_a_number_of_a_closed_session_is_no_leak_where_it_is_known_in_other_words() -> None:
    day = make_day(crew="We have six boats.", closed="The price is 6 barrels. The fine is £900.")
    said = make_turns(
        "[session: crew]\nBoats?", "We have 6 boats.", "[session: closed]\nAnd?", "6."
    )
    assert isinstance(parse_dialogue(said, day, ("closed",)), tuple)

    told = make_turns("[session: crew]\nBoats?", "£900.", "[session: closed]\nAnd?", "6 barrels.")
    assert parse_dialogue(told, day, ("closed",)) == RejectedReply(
        ("£900 is not from session crew",)
    )


def test_a_mark_holds_until_the_next_one() -> None:
    day = make_day(crew="We have six boats.", closed="The fine is £900.")
    sound = make_turns("[session: crew]\nBoats?", "Six.", "[session: closed]\nAnd?", "£900.")
    assert isinstance(parse_dialogue(sound, day, ("closed",)), tuple)

    early = make_turns("The fine?", "£900.", "[session: crew]\nBoats?", "[session: closed]\nSix.")
    assert parse_dialogue(early, day, ("closed",)) == RejectedReply(
        ("£900 is said before any session is marked",)
    )


def test_so_may_a_tool_call() -> None:
    day = make_day(crew=NOTED)

    def save(content: str) -> str:
        return json.dumps({"calls": [{"session": "crew", "content": content}]})

    assert isinstance(parse_calls(save(RETOLD), day), tuple)
    assert isinstance(parse_calls(save(TOO_MUCH), day), RejectedReply)


def test_words_that_the_log_quotes_may_be_spoken() -> None:
    day = make_day(crew='Ines paid £40. "My members eat off these," said Greta.')

    assert count_coverage("User: My members eat off these!\nAssistant: £40.", day) == (2, 2)
    assert count_coverage("User: They eat off these!\nAssistant: £40.", day) == (1, 2)


def test_the_writer_of_a_dialogue_learns_who_takes_part() -> None:
    persona = read_persona(unpack_story("harbour-office"))
    session = next(each for each in persona.sessions if len(each.participants) > 1)
    prompt = build_conversation_prompt(persona, make_day(**{session.id: NOTED}))

    assert f"{session.id}: {', '.join(session.participants)}" in prompt.user


def make_arc(name: str, *days: int) -> Arc:
    return Arc(
        id=name,
        type="project",
        title=name,
        description=name,
        start_day=1,
        end_day=9,
        directives=tuple(Directive(day=day, event=f"{name} costs £{day}.") for day in days),
    )


@loop_over_rows(("threads", "heard", "fewest"), [(1, 0, 80), (1, 1, 105), (2, 0, 160), (5, 0, 220)])
def test_a_full_day_of_one_thread_need_not_be_padded(threads: int, heard: int, fewest: int) -> None:
    plan = SessionPlan(
        session=Session(id="crew", kind="group"),
        density=DayDensity.BUSY,
        arcs=tuple(make_arc(f"a{number}", 3) for number in range(threads)),
        echoes=tuple(make_arc(f"e{number}") for number in range(heard)),
    )

    assert choose_length(plan, 3).fewest == fewest
    assert choose_length(plan, 3).most == 450
    # Nothing is given for the threads on another day, so nothing has to be told in depth.
    assert choose_length(plan, 4).fewest == 25 * (threads + heard)


CREW = Session(id="crew", kind="group")


@pytest.mark.parametrize(
    ("day", "depth", "empty"),
    [(3, True, "thread 2"), (4, False, "thread 1 and thread 2"), (5, True, None)],
)
def test_a_writer_is_told_which_threads_have_nothing_today(
    day: int, depth: bool, empty: str | None
) -> None:
    arcs = (make_arc("Kiln", 3, 5), make_arc("Clay", 5))
    plan = SessionPlan(session=CREW, density=DayDensity.NORMAL, arcs=arcs)
    planned = PlannedDay(
        place=0,
        day=day,
        at=date(2026, 1, 12),
        kind=DayKind.ARC,
        density=DayDensity.NORMAL,
        session_plans=(plan,),
    )
    blocks = {f"thread {number}": arc.title for number, arc in enumerate(arcs, start=1)}
    task = build_entry_prompt(planned, plan, blocks).user.partition("\n\n")[0]

    assert ("told in as much depth" in task) is depth
    assert (f"For {empty} nothing is given for today" in task) is (empty is not None)
    assert ("nothing is given" in task) is (empty is not None)


@loop_over_rows(("sessions", "most"), [(1, 12), (3, 12), (4, 16), (6, 24)])
def test_a_day_of_many_sessions_has_room_for_them(sessions: int, most: int) -> None:
    day = a_day(sessions=sessions, topics=1)
    persona = read_persona(unpack_story("harbour-office"))
    begun = [f"[session: s{number}]\nAnd?" for number in range(sessions)]
    said = [*begun, *["Well."] * (most - sessions)]

    assert count_most_turns(day) == most
    assert f"Write 4 to {most} turns" in build_conversation_prompt(persona, day).user
    assert isinstance(parse_dialogue(make_turns(*said), day), tuple)
    assert parse_dialogue(make_turns(*said, "More.", "More."), day) == RejectedReply(
        (f"it has {most + 2} turns; write 4 to {most}",)
    )


def test_who_speaks_in_a_group_is_marked() -> None:
    persona = read_persona(unpack_story("harbour-office"))
    group = next(each for each in persona.sessions if len(each.participants) > 1)
    alone = next(each for each in persona.sessions if len(each.participants) == 1)

    asked = build_conversation_prompt(persona, make_day(**{alone.id: "x", group.id: NOTED})).user
    assert f"as in `{group.participants[0]}: …`" in asked
    asked = build_conversation_prompt(persona, make_day(**{alone.id: NOTED})).user
    assert "as in `Name: …`" in asked


@loop_over_rows(
    ("sessions", "sentences", "asked"),
    [(1, 0, (1, 1)), (1, 1, (1, 1)), (1, 7, (3, 7)), (3, 2, (3, 6)), (1, 21, (7, 18))],
)
def test_as_many_calls_are_asked_for_as_the_log_has_matter(
    sessions: int, sentences: int, asked: tuple[int, int]
) -> None:
    day = make_day(**{f"s{number}": "It rained. " * sentences for number in range(sessions)})
    prompt = build_tool_calls_prompt(read_persona(unpack_story("harbour-office")), day)

    assert count_calls(day) == asked
    assert f"{asked[0]} to {asked[1]} for a log of this length" in prompt.user


def test_a_full_day_is_asked_for_no_more_calls_than_before() -> None:
    assert count_calls(make_day(crew="It rained. " * 100)) == (8, 18)


def test_no_line_of_a_prompt_is_longer_than_what_its_file_says() -> None:
    """A backslash at the end of a line joins two, and a blank before it is needed."""
    for path in sorted(Path(prompts.__file__).parent.glob("*.md")):
        for line in Path(path).read_text().splitlines():
            assert not line.endswith("\\") or line.endswith(" \\"), path.name
