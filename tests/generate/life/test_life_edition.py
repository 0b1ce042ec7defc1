"""A life edition is played the same way every time, and every answer follows from its text."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.yaml12 import load_yaml
from recall_bench.generate.life.build import build_life_folder, write_life
from recall_bench.generate.life.sources import read_life
from recall_bench.generate.shipped_personas import digest_folder
from recall_bench.generate.verification.verifier import verify_world
from recall_bench.generate.written.sources import KINDS
from tests.generate.life.played_library import build_library, play_library
from tests.generate.world.built_bakery import LIBRARY
from tests.hash_seeds import list_other_hash_seeds
from tests.thoroughness import choose_cases

ARCS = "arcs-200d.yaml"
# Other tests play the first and the last of them too.
SEEDS = choose_cases([0, 2, 3, 4, 5, 6, 7, 1], 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_answer_follows_from_the_text(tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "tool-library"
    write_life(play_library(seed), folder)

    report = verify_world(folder, ARCS)

    assert [str(found) for found in report.findings] == []
    assert report.rederived == report.questions > 200


def test_the_same_seed_gives_the_same_bytes(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    again = build_life_folder(read_life(LIBRARY), tmp_path)

    assert digest_folder(again) == digest_folder(build_library(tmp_path_factory))


BUILD = """
import sys
from pathlib import Path
from recall_bench.generate.life.build import build_life_folder
from recall_bench.generate.life.sources import read_life
from recall_bench.generate.shipped_personas import digest_folder
print(digest_folder(build_life_folder(read_life(Path(sys.argv[1])), Path(sys.argv[2]))))
"""


def test_every_process_gives_the_same_bytes(tmp_path: Path) -> None:
    """Python orders sets of texts differently in every process."""
    copied = shutil.copytree(LIBRARY.parent, tmp_path / "sources") / LIBRARY.name
    entities = copied / "entities.yaml"
    text = entities.read_text(encoding="utf-8")
    # A second attribute of a kind that can be compared: two orders are possible.
    text = text.replace("session: board\n        secret: true", "session: desk")
    text = re.sub(r" secret: \[.*", ' compare: ["Which costs more now, {a} or {b}?"]', text)
    entities.write_text(text, encoding="utf-8")

    digests = {
        subprocess.run(
            [sys.executable, "-c", BUILD, str(copied), str(tmp_path / number)],
            env={**os.environ, "PYTHONHASHSEED": number},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for number in list_other_hash_seeds()
    }
    digests.add(f"{digest_folder(build_life_folder(read_life(copied), tmp_path / 'here'))}\n")

    assert len(digests) == 1


def test_another_seed_draws_other_names_figures_and_dates() -> None:
    one, other = play_library(0), play_library(1)

    assert one.written.people != other.written.people
    assert one.written.story.epoch != other.written.story.epoch
    first, second = (
        {key: fact.states[0].value for key, fact in edition.written.story.facts.items()}
        for edition in (one, other)
    )
    assert sum(first.get(key) == value for key, value in second.items()) < len(second) / 3


def test_questions_have_known_kinds_and_no_wording_prevails() -> None:
    questions = [question for _, question in play_library().written.questions]

    assert {question.kind for question in questions} <= set(KINDS)
    assert len({question.category for question in questions}) == 10
    assert len({question.ask for question in questions}) == len(questions)


@pytest.mark.parametrize("number", range(0, 30, 6))
def test_a_changed_value_in_the_text_is_found(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, number: int
) -> None:
    built = build_library(tmp_path_factory)
    folder = Path(shutil.copytree(built, tmp_path / built.name))
    entries: Any = load_yaml(folder / "qa-200d" / "questions.yaml")
    asked = [each["derive"]["states"][0] for each in entries if each["derive"]["form"] == "latest"]
    lines = (folder / "qa-200d" / "statements.jsonl").read_text(encoding="utf-8").splitlines()
    told = next(
        each
        for each in map(json.loads, lines)
        if f"{each['fact']}.{each['state']}" == asked[number]
    )
    path = folder / "memories-200d" / f"day-{told['day']:04}.md"
    text = path.read_text(encoding="utf-8")
    value = text[told["start"] : told["end"]]
    other = "".join("7" if letter.isdigit() else letter for letter in value)
    other = other if other != value else value.swapcase()[::-1]
    path.write_text(text[: told["start"]] + other + text[told["end"] :], encoding="utf-8")

    assert verify_world(folder, ARCS).findings


@pytest.mark.parametrize("seed", SEEDS)
def test_no_constant_answer_wins(seed: int) -> None:
    questions = [each for _, each in play_library(seed).written.questions]
    negative = [each for each in questions if each.category == "negative-recall"]
    boundary = [each for each in questions if each.category == "information-boundary"]
    yes = sum(each.answer.startswith("Yes") for each in negative)
    refused = sum(each.expects == "refuse" for each in boundary)

    assert abs(len(negative) - 2 * yes) <= 4
    assert abs(len(boundary) - 2 * refused) <= 4
