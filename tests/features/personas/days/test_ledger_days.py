"""A model words the world's facts; no day is kept that loses one, adds one or tells a secret."""

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.yaml12 import load_yaml
from recall_bench.features.personas.creation.persona_writer import create_persona
from recall_bench.features.personas.day_log import format_date
from recall_bench.features.personas.days.ledger_days import (
    SessionNotes,
    check_ledger_entry,
    collect_notes,
    write_from_ledger,
)
from recall_bench.features.personas.model_reply import RejectedReply
from recall_bench.features.personas.pass_request import CreateRequest, DaysRequest, QuestionsRequest
from recall_bench.features.personas.questions.question_pass import generate_questions
from recall_bench.features.personas.simulator.sources import WorldOptions, read_sources
from recall_bench.features.personas.simulator.trades import find_trade_folder
from recall_bench.features.personas.simulator.world import World
from recall_bench.features.personas.simulator.world_files import open_world
from recall_bench.stories.persona_files import Layout
from recall_bench.stories.persona_story import read_story
from recall_bench.stories.shipped import unpack_story
from recall_bench.systems.models.model import Prompt
from recall_bench.text.sentences import split_sentences
from tests.features.personas.scripted_model import ScriptedModel

_NOTES = re.compile(r"<<notes (\w+)>>\n(.*)\n<<end of notes \1>>", re.DOTALL)


ARCS = "arcs-60d.yaml"


@pytest.fixture
def persona(tmp_path: Path) -> Path:
    request = CreateRequest(persona=tmp_path / "vigil", trade="er-physician", days=60)
    assert create_persona(request).exit_code == 0
    return request.persona


def reworded(text: str) -> str:
    """Every sentence in other words, its values untouched."""
    lines = [
        line
        if line.startswith("###")
        else " ".join(f"As I have it, {each}" for each in split_sentences(line.removeprefix("- ")))
        for line in text.splitlines()
    ]
    return "\n".join(lines)


def by_the_notes(asked: Prompt) -> str:
    found = _NOTES.search(asked.user)
    assert found is not None
    return reworded(found[2])


@pytest.fixture(scope="module")
def notes() -> SessionNotes:
    """Of a day that states three values and names its subject."""
    sources = read_sources(find_trade_folder("er-physician"))
    world = World(sources, WorldOptions(days=60), ARCS)
    for page in world.build_pages():
        for found in collect_notes(page, world.dates):
            if len(found.facts) >= 3 and found.names:
                return found
    raise AssertionError("no day states three values")


def test_days_are_written_from_the_facts_and_hold_them_all(persona: Path) -> None:
    lines: list[str] = []
    request = DaysRequest(persona=persona, model="m", days=4, from_ledger=True)
    done = write_from_ledger(request, lines.append, ScriptedModel(by_the_notes))

    assert done.exit_code == 0
    assert done.written == done.wanted
    assert f"Generated day 4/60 ({done.written} unique)" in lines
    text = (persona / "memories-60d" / "day-0001.md").read_text()
    assert text.startswith("---\ntype: daily\n---\n\n# session: ")
    assert "As I have it" in text


def test_the_same_request_goes_on_and_pays_for_nothing_twice(persona: Path) -> None:
    model = ScriptedModel(by_the_notes)
    request = DaysRequest(persona=persona, model="m", days=3, from_ledger=True)
    first = write_from_ledger(request, model=model)
    (persona / "memories-60d" / "day-0002.md").unlink()
    again = write_from_ledger(replace(request, days=None, end=3), model=model)

    assert (again.written, again.kept) == (1, first.written - 1)
    assert again.usage.calls == 0
    assert again.usage.cached > 0


def test_a_writer_is_shown_what_happened_before_in_the_same_matters(persona: Path) -> None:
    model = ScriptedModel(by_the_notes)
    request = DaysRequest(persona=persona, model="m", start=9, end=10, from_ledger=True)
    write_from_ledger(request, model=model)
    world = open_world(Layout(persona, ARCS))
    assert world is not None
    told: dict[tuple[str, str], list[str]] = {}
    for page in world.build_pages():
        for note in page.notes if page.day <= 9 else ():
            if note.matter is not None:
                told.setdefault((note.session, note.matter.name), []).append(note.text)

    shown = [each for each in model.asked if "<<before " in each.user]
    assert shown
    assert len(shown) < len(model.asked), "a matter that is new has nothing before it"
    for each in shown:
        place = re.search(r'"session": "([^"]+)"', each.user)
        assert place is not None
        lines = re.findall(r"^- \w+, \d+ \w+ \d{4}: (.*)$", each.user, re.MULTILINE)
        own = {
            line for (session, _), texts in told.items() if session == place[1] for line in texts
        }
        assert lines
        assert all(any(text.startswith(line) for text in own) for line in lines)


def spoilt(spoil: Callable[[str, SessionNotes], str], notes: SessionNotes) -> str | RejectedReply:
    return check_ledger_entry(
        spoil(reworded(notes.text), notes), notes, "Monday", {"PLANTED": "elsewhere"}
    )


def test_a_sound_entry_is_kept(notes: SessionNotes) -> None:
    assert isinstance(spoilt(lambda text, _: text, notes), str)


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda text, notes: text.replace(notes.facts[0].value, "some"), "is missing"),
        (lambda text, notes: re.sub(f"(?i){notes.names[0]}", "it", text), "is not named"),
        (lambda text, _: f"{text}\nIt cost $98,765.43.", "$98,765.43 is not in the notes"),
        (lambda text, _: f"{text}\nPLANTED", "PLANTED belongs to another session"),
        (lambda text, _: text.replace("### ", ""), "it has no topic"),
        (lambda _, notes: notes.text, "word for word"),
        (lambda text, _: f"# session: pub\n{text}", "a heading for the session pub"),
        (lambda text, _: f"Dear diary.\n\n{text}", "before the first"),
        (lambda *_: "---\ntype: daily\n---\n", "it has no topic"),
    ],
)
def test_an_entry_that_loses_or_adds_anything_is_not(
    notes: SessionNotes, spoil: Callable[[str, SessionNotes], str], problem: str
) -> None:
    found = spoilt(spoil, notes)

    assert isinstance(found, RejectedReply)
    assert problem in " ".join(found.problems)


def test_a_day_that_keeps_failing_is_skipped_reported_and_filled_later(persona: Path) -> None:
    epoch = read_story(persona, ARCS).epoch
    third = format_date(epoch + timedelta(days=2))

    def script(asked: Prompt) -> str:
        return "I forgot." if f"the notes of {third}" in asked.user else by_the_notes(asked)

    lines: list[str] = []
    request = DaysRequest(
        persona=persona, model="m", days=3, from_ledger=True, resume_command="again"
    )
    done = write_from_ledger(request, lines.append, ScriptedModel(script))
    failed = [each.day for each in done.missing]

    assert done.exit_code == 10
    assert failed
    assert any(f"day={failed[0]} skipped: " in line for line in lines)
    assert not (persona / "memories-60d" / f"day-{failed[0]:04}.md").exists()
    again = write_from_ledger(request, model=ScriptedModel(by_the_notes))
    assert again.exit_code == 0


def test_without_a_world_there_are_no_facts(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(unpack_story("harbour-office"), tmp_path / "harbour-office"))
    with pytest.raises(UsageError, match="was not made by the simulator"):
        write_from_ledger(DaysRequest(persona=folder, model="m"), model=ScriptedModel(by_the_notes))


@pytest.mark.slow
def test_the_worlds_questions_are_found_in_the_models_words(tmp_path: Path) -> None:
    """What the world asks is asked, and its evidence is the sentence that holds the answer."""
    folder = tmp_path / "attorney"
    made = CreateRequest(persona=folder, prompt="A litigation attorney", days=14)
    assert create_persona(made).exit_code == 0
    days = DaysRequest(persona=folder, model="m", from_ledger=True)
    assert write_from_ledger(days, model=ScriptedModel(by_the_notes)).exit_code == 0
    assert generate_questions(QuestionsRequest(persona=folder)).exit_code == 0
    asked: Any = load_yaml(folder / "qa-14d" / "questions.yaml")

    assert len(asked) > 5
    for entry in asked:
        for evidence in entry["evidence"]:
            day = (folder / "memories-14d" / f"day-{evidence['day']:04}.md").read_text()
            assert day[evidence["start"] : evidence["end"]].startswith("As I have it, ")
    plain = [entry for entry in asked if entry["category"] == "factual-recall"]
    assert plain
    for entry in plain:
        told = [
            (folder / "memories-14d" / f"day-{each['day']:04}.md").read_text()[
                each["start"] : each["end"]
            ]
            for each in entry["evidence"]
        ]
        assert all(any(atom in each for each in told) for atom in entry["atoms"])
