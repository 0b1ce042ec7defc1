"""The author of an entry is shown nothing that is not known there on that day."""

import re
from datetime import date, datetime, timedelta
from functools import lru_cache
from pathlib import Path

import pytest

from recall_bench.features.personas.days.day_plan import plan_story
from recall_bench.features.personas.days.day_writer import EntryWriter, generate_days
from recall_bench.features.personas.days.diary import Diary, PastReader
from recall_bench.features.personas.days.knowledge import HiddenValueFinder, describe_thread
from recall_bench.features.personas.pass_request import DaysRequest
from recall_bench.features.personas.simulator.trades import load_trades
from recall_bench.features.personas.worlds import build_world
from recall_bench.stories.persona_files import Layout
from recall_bench.stories.persona_story import (
    Arc,
    Directive,
    Persona,
    Session,
    Story,
    read_persona,
    read_story,
)
from recall_bench.stories.shipped import unpack_story
from recall_bench.systems.models.model import Prompt
from recall_bench.text.text_values import DATE, TextValue, find_claims
from tests.conftest import shared_data
from tests.features.personas.scripted_days import ARCS, Scripted, nursery
from tests.thoroughness import choose_cases

SESSION = re.compile(r"<<conversation \w+>>\n(\S+?):")
DATED = re.compile(r"for \w+day, (\d+ \w+ \d+)\.")


DAYS = 45
"""The first days of a long story are enough."""


found_in = lru_cache(maxsize=None)(find_claims)


class Truth:
    """What is known when and where, worked out from the story by brute force."""

    def __init__(self, persona: Persona, story: Story) -> None:
        self.story = story
        self.isolated = {room.id for room in story.sessions if room.isolated}
        fields = [persona.profile, persona.communication_style, persona.role]
        fields += [each.role for each in persona.cast]
        self.background = [*fields, *persona.shared_knowledge]

    def is_secret(self, arc: Arc, session: str) -> bool:
        primary = arc.primary_session or "principal"
        if primary == session:
            return False
        return primary in self.isolated or session in arc.forbidden_sessions

    def unknown(self, session: str, day: int) -> list[TextValue]:
        """The exact values that only the future or another room holds."""
        known = {(a.kind, a.core) for text in self.background for a in found_in(text)}
        today = self.story.epoch + timedelta(days=day - 1)
        later: list[TextValue] = []
        for arc in self.story.arcs:
            texts = [(each.day, each.event) for each in arc.directives]
            texts += [(arc.wrong_day or 0, arc.wrong_belief or "")]
            texts += [(arc.corrected_day or 0, arc.corrected_belief or "")]
            for when, text in texts:
                found = [atom for atom in found_in(text) if atom.is_exact]
                if when <= day and not self.is_secret(arc, session):
                    known.update((atom.kind, atom.core) for atom in found)
                else:
                    later += found
        return [
            atom
            for atom in later
            if (atom.kind, atom.core) not in known
            and not (atom.kind == DATE and atom.core in self.past_dates(today))
        ]

    def past_dates(self, today: date) -> set[str]:
        days = (today - self.story.epoch).days
        return {f"{today - timedelta(days=back):%m-%d}" for back in range(days + 1)}


def leaks(prompt: Prompt, unknown: list[TextValue]) -> list[str]:
    """Those of the values that the prompt holds, letter by letter."""
    text = f"{prompt.system}\n{prompt.user}"
    return [
        atom.shown
        for atom in unknown
        if re.search(rf"(?<![\w.-]){re.escape(atom.shown)}(?!\w)", text, re.IGNORECASE)
    ]


def check_all(folder: Path, arcs: str) -> int:
    """Look at the request for every session of every day; how many values were kept back."""
    persona, story = read_persona(folder), read_story(folder, arcs)
    truth = Truth(persona, story)
    plan = plan_story(persona, story)
    hindsight = PastReader(_bare(folder), plan.days, story.epoch, lag=8, window=3)
    author = EntryWriter(persona, story, plan, hindsight)
    withheld = 0
    for planned in plan.days:
        for telling in planned.session_plans if planned.day <= DAYS else ():
            unknown = truth.unknown(telling.session.id, planned.day)
            withheld += len(unknown)
            asked = author.build_request(planned, telling)
            assert not leaks(asked.prompt, unknown), (planned.unit, telling.session.id)
    return withheld


def _bare(folder: Path) -> Diary:
    """A diary of nothing, whatever there is."""
    return Diary(Layout(folder, "arcs-of-nothing.yaml"))


def test_no_request_of_a_whole_run_holds_what_is_still_to_come(tmp_path: Path) -> None:
    folder, model = nursery(tmp_path), Scripted()
    generate_days(DaysRequest(persona=folder, model="command:x"), model=model)
    story = read_story(folder, ARCS)
    truth = Truth(read_persona(folder), story)

    assert len(model.asked) > 40
    for prompt in model.asked:
        session, dated = SESSION.search(prompt.user), DATED.search(prompt.user)
        assert session is not None
        assert dated is not None
        at = _date(dated[1])
        unknown = truth.unknown(session[1], (at - story.epoch).days + 1)
        assert not leaks(prompt, unknown)


def _date(text: str) -> date:
    return datetime.strptime(text, "%d %B %Y").date()  # noqa: DTZ007 - a date of the story


@pytest.mark.parametrize("trade", choose_cases(tuple(load_trades()), 3))
def test_nor_does_any_of_a_simulated_persona(trade: str, tmp_path: Path) -> None:
    assert check_all(build_world(trade, tmp_path, days=120, seed=7), "arcs-120d.yaml") > 0


def test_nor_does_any_of_the_harbour() -> None:
    assert check_all(unpack_story("harbour-office"), "arcs-30d.yaml") > 0


def test_nor_does_any_of_the_public_corpus() -> None:
    assert check_all(shared_data("recall-ea/executive-assistant"), "arcs-180d.yaml") > 0


EPOCH = date(2026, 2, 2)
CREW = Session(id="crew", kind="group")
OFFICE = Session(id="office", kind="group")
PERSONA = Persona(
    id="p",
    name="P",
    role="aide",
    domain="trade",
    team_size=2,
    profile="The gate opens at 7:15.",
    communication_style="Plain.",
    sessions=(CREW, OFFICE),
    shared_knowledge=("The wall is 3 metres high", "The last tram leaves at 23:50"),
)


def told(*arcs: Arc, day: int, session: Session = CREW, isolated: tuple[str, ...] = ()) -> str:
    """What the first arc's author is told of it."""
    hidden = HiddenValueFinder(PERSONA, arcs, frozenset(isolated)).find_hidden(session, day)
    return describe_thread(arcs[0], day, EPOCH, hidden) or ""


def arc(kind: str, title: str, description: str, *events: tuple[int, str], **more: object) -> Arc:
    given = {"primary_session": "crew", "start_day": 1, "end_day": 60, **more}
    return Arc(
        id="a",
        type=kind,
        title=title,
        description=description,
        directives=tuple(Directive(day=day, event=event) for day, event in events),
        **given,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("sentence", "event"),
    [
        pytest.param("It costs $4.2k.", "The bid is accepted at $4,200", id="money"),
        pytest.param("It is done on 2026-04-02.", "Done on April 2", id="a date"),
        pytest.param("It starts at 4:30 PM.", "Start at 16:30", id="a time"),
        pytest.param("Order HX-2291 does it.", "Order HX-2291 goes out", id="a code"),
        pytest.param("He says “it hums like a cat”.", 'He says "it hums like a cat"', id="words"),
        pytest.param("The winner is Ines Halvorsen.", "The bid of Ines Halvorsen", id="a name"),
        pytest.param("In the end 12 percent are lost.", "A loss of 12%", id="a share"),
    ],
)
def test_a_sentence_waits_for_the_event_that_brings_its_value(sentence: str, event: str) -> None:
    thread = arc("project", "The pump", f"The pump leaks. {sentence}", (20, event))

    assert told(thread, day=19).startswith("The pump (project)\nThe pump leaks.\n")
    assert sentence in told(thread, day=20)


def test_a_title_waits_as_well_if_it_holds_the_outcome() -> None:
    thread = arc(
        "decision", "Halvorsen or not", "Who digs is open.", (20, "The Halvorsen bid wins")
    )

    assert told(thread, day=19).startswith("Who digs is open.")
    assert told(thread, day=20).startswith("Halvorsen or not (decision)")


def test_a_projects_title_names_it_from_the_first_day() -> None:
    thread = arc(
        "project", "Project Turnstile", "Turnstile is a door.", (20, "The Turnstile opens")
    )

    assert told(thread, day=1).startswith("Project Turnstile (project)\nTurnstile is a door.")


def test_a_value_that_has_been_received_is_known_even_if_it_comes_again() -> None:
    thread = arc("project", "The pump", "It costs $90.", (3, "A pump for $90"), (20, "$90 is paid"))

    assert "It costs $90." not in told(thread, day=2)
    assert "It costs $90." in told(thread, day=3)


CORRECTION = arc(
    "correction",
    "Frost is on April 19",
    "The almanac is wrong: it is April 19.",
    (3, "A calendar is pinned up"),
    wrong_day=5,
    corrected_day=20,
    wrong_belief="The last frost is on March 28",
    corrected_belief="The last frost is on April 19",
)


def test_a_correction_is_not_one_before_it_is_made() -> None:
    assert told(CORRECTION, day=4) == (
        "Earlier:\n- Wednesday, 4 February 2026: A calendar is pinned up\nHow far it is: early."
    )
    assert told(CORRECTION, day=5).startswith(
        "From today everybody takes this for a fact, and nobody doubts it: The last frost is on "
        "March 28\n"
    )
    assert told(CORRECTION, day=19).startswith("Everybody takes this for a fact")
    for day in range(1, 20):
        assert "April" not in told(CORRECTION, day=day)
        assert "correction" not in told(CORRECTION, day=day)
        assert "almanac" not in told(CORRECTION, day=day)


def test_on_its_day_both_beliefs_are_known_and_afterwards_the_old_one_as_past() -> None:
    on_the_day = told(CORRECTION, day=20)
    after = told(CORRECTION, day=21)

    assert "Until today everybody believed: The last frost is on March 28" in on_the_day
    assert "Today it turns out, and holds from now on: The last frost is on April 19" in on_the_day
    assert "Until Saturday, 21 February 2026 everybody believed, wrongly: The last" in after
    assert "Known since Saturday, 21 February 2026: The last frost is on April 19" in after


def test_what_a_correction_brings_is_kept_out_of_other_threads_and_of_the_persona() -> None:
    other = arc("project", "Sowing", "We sow early. After April 19 it is safe.")
    late = CORRECTION.replace(corrected_belief="The last tram leaves at 23:50, not 23:05")

    assert "April 19" not in told(other, CORRECTION, day=19)
    assert "April 19" in told(other, CORRECTION, day=20)
    shown = HiddenValueFinder(PERSONA, (late,), frozenset()).find_hidden(CREW, 19)
    assert shown.find_in(PERSONA.shared_knowledge[1])
    assert not shown.find_in(PERSONA.shared_knowledge[0])


def test_what_the_persona_says_of_itself_is_known() -> None:
    thread = arc("project", "The gate", "The gate opens at 7:15.", (20, "It opens at 7:15 again"))

    assert "The gate opens at 7:15." in told(thread, day=1)


def test_an_isolated_matter_is_never_known_elsewhere() -> None:
    secret = arc("decision", "The loan", "It is about $88,000.", (2, "They ask for $88,000"))
    open_one = arc("project", "The wall", "It is paid. It is $88,000.", primary_session="office")

    assert "$88,000" not in told(open_one, secret, day=50, session=OFFICE, isolated=("crew",))
    assert "$88,000" in told(open_one, secret, day=50, session=OFFICE)


def test_nor_is_a_matter_known_where_it_is_forbidden() -> None:
    secret = arc("decision", "The loan", "A loan.", (2, "They ask for $88,000"))
    open_one = arc("project", "The wall", "It is paid. It is $88,000.", primary_session="office")
    forbidden = secret.replace(forbidden_sessions=("office",))

    assert "$88,000" not in told(open_one, forbidden, day=50, session=OFFICE)


def test_an_arc_that_has_not_begun_is_not_known() -> None:
    later = arc("project", "Order HX-2291", "A big order of $700.", start_day=40)
    now = arc("project", "Seeds", "Seeds are bought. There will be an order HX-2291.")

    assert "HX-2291" not in told(now, later, day=39)


def test_an_authors_notes_to_other_authors_are_left_out() -> None:
    thread = arc("project", "The pump", "It leaks. Cross-references the frost arc.")

    assert "arc" not in told(thread, day=1)


def test_people_who_only_come_later_are_not_named() -> None:
    thread = arc(
        "project",
        "The pump",
        "It leaks.",
        (20, "Ines Halvorsen is hired"),
        participants=("P", "Ines Halvorsen"),
    )

    assert "Concerned: P." in told(thread, day=19)
    assert "Concerned: P, Ines Halvorsen." in told(thread, day=20)
