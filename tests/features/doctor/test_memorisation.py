"""A system that knows the released stories is found out on fresh seeds; an honest one is not."""

import json
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from recall_bench.core.scenario import Item, Scenario
from recall_bench.engine import score_bounds
from recall_bench.features.doctor import doctor
from recall_bench.features.personas import worlds
from recall_bench.stories import persona
from recall_bench.stories.persona_questions import parse_questions
from recall_bench.stories.seeds import WorldSeed
from recall_bench.stories.story_folders import load_story
from tests.commands import Invoke
from tests.thoroughness import choose_number

PERSONA = "executive-assistant"
KNOWS_THE_RELEASE = '''
KNOWN = {known!r}


class KnowsTheRelease:
    """Has the released answers by heart, and keeps nothing that it is fed."""

    version = "1"

    def setup(self):
        pass

    def ingest_day(self, day, content, metadata):
        pass

    def query(self, question, context):
        return KNOWN.get(question, "I do not know.")

    def teardown(self):
        pass
'''
WORDS = (
    "--memorisation",
    "-p",
    "executive-assistant",
    "--fresh-seeds",
    2,
    "--seed",
    20,
    "-o",
    "kept",
)


@pytest.fixture
def few_questions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let each run ask every third of the questions, the same of each story."""
    step = choose_number(3, 1)

    def parse_fewer(*words: Any, **given: Any) -> tuple[Item, ...]:
        return parse_questions(*words, **given)[::step]

    persona._parse_question_file.cache_clear()
    monkeypatch.setattr(persona, "parse_questions", parse_fewer)
    yield
    persona._parse_question_file.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("few_questions")
def test_only_a_system_that_knows_the_released_answers_is_found_out(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both systems are compared with the same runs of the control, which are made once."""
    # No bound of a run is part of the comparison, and three stories take a while to read.
    monkeypatch.setattr(score_bounds, "plan_bounds", lambda *_: None)
    # The one short story of the first edition, drawn at its length.
    monkeypatch.setattr(
        "recall_bench.features.doctor.doctor_command.DEFAULT_ARCS", "arcs-180d.yaml"
    )
    story = load_story(PERSONA, "arcs-180d.yaml", edition=1)
    known = {item.text: item.truth.reference for item in story.items}
    Path("cheat.py").write_text(KNOWS_THE_RELEASE.format(known=known))

    shown = invoke("doctor", "cheat.py", *WORDS)

    assert shown.code == 1
    assert "memorised: it scores higher on the released stories" in " ".join(shown.out.split())

    for folder in Path("kept").glob("system-*"):
        rmtree(folder)
    shown = invoke("doctor", "bm25", *WORDS)
    again = invoke("doctor", "bm25", *WORDS, "--json")

    told = " ".join(shown.out.split())
    assert shown.code == 0
    assert "no sign of memorisation; an advantage of " in told
    assert "would be found with a probability of 80 %" in told
    assert again.code == 0
    found = json.loads(again.out)
    assert f"Seeds {found['seeds'][0]}" in told
    assert len(list(Path("kept").iterdir())) == 6


def test_personas_that_no_seed_can_draw_are_named(invoke: Invoke) -> None:
    shown = invoke("doctor", "bm25", "--memorisation", "-p", "harbour-office")

    assert shown.code == 2
    assert "written by hand" in shown.err

    shown = invoke("doctor", "bm25", "--memorisation", "-p", "financial-advisor")

    assert shown.code == 2
    assert "no simulated story of financial-advisor was released" in shown.err


def test_the_story_of_an_examination_follows_its_seed(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds, draw = list[str](), worlds.draw_short_story

    def draw_the_same(seed: WorldSeed) -> Scenario:
        """The story that other tests examine with: to draw another takes a second."""
        seeds.append(seed.hex)
        return draw(WorldSeed(7))

    monkeypatch.setattr(worlds, "draw_short_story", draw_the_same)
    # What is found with the story is not looked at.
    monkeypatch.setattr(doctor, "QUESTIONS", 2 * doctor.ABSTENTIONS)

    given = json.loads(invoke("doctor", "none", "--seed", "8", "--json").out)
    other = json.loads(invoke("doctor", "none", "--json").out)

    # What knows nothing is asked about another story each time, drawn from the next seed.
    firsts, nexts = seeds[::2], seeds[1::2]
    assert firsts[0] == "0x8" != firsts[1]
    assert nexts == [WorldSeed(int(seed, 16) + 1).hex for seed in firsts]
    told = [each["story"].partition("; and ")[0] for each in (given, other)]
    assert [story.partition(", seed ")[2] for story in told] == firsts
