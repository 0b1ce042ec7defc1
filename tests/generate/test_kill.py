"""Every command of generation is killed at thirty random moments, and ends as if it never was."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.generate.call_log import CallLog
from tests.generate.dying import contents, in_child

ROOT = Path(__file__).parents[2]
AUTHOR = f"{ROOT}/tests/generate/author.py:author"
DAYS = 21
# Offline there is no reply that could be lost, and a death costs a whole play of the world.
DEATHS = {"offline": 3, "model": 30}

MADE = ["create-persona", "--prompt", "A programmer in a boatyard", "--days", str(DAYS)]
COMMANDS = {
    "create": MADE,
    "days": ["generate"],
    "conversations": ["generate-conversations"],
    "tool-calls": ["generate-tool-calls", "--parallelism", "2"],
    "questions": ["generate-qa"],
    "boundary": ["generate-qa", "--mode", "boundary"],
    "verify": ["verify-qa"],
}
"""In the order in which they build on each other."""


def command(name: str, persona: Path, model: str) -> list[str]:
    return [*COMMANDS[name], "--persona", str(persona), "--model", model]


@pytest.fixture(scope="module", params=["offline", "model"])
def stages(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[str, Path]]:
    """The persona as it is before each command, and at the end."""
    model = "offline" if request.param == "offline" else AUTHOR
    base = tmp_path_factory.mktemp(request.param)
    found = {}
    persona = base / "work" / "yard"
    persona.parent.mkdir()
    for name in COMMANDS:
        found[name] = base / name / "yard"
        if persona.exists():
            shutil.copytree(persona, found[name])
        assert in_child(command(name, persona, model)) == 0, name
    found["end"] = persona
    return model, found


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_thirty_times_it_ends_as_if_it_never_was(
    name: str, stages: tuple[str, dict[str, Path]], tmp_path: Path
) -> None:
    model, found = stages
    order = [*COMMANDS, "end"]
    wanted = contents(found[order[order.index(name) + 1]])
    chance = random.Random(name + model)
    deaths = round_number = 0
    wanted_deaths = DEATHS["offline" if model == "offline" else "model"]
    while deaths < wanted_deaths:
        round_number += 1
        persona = tmp_path / str(round_number) / "yard"
        persona.parent.mkdir()
        if found[name].exists():
            shutil.copytree(found[name], persona)
        code: int | None = None
        while code is None and deaths < wanted_deaths:
            code = in_child(command(name, persona, model), chance.randint(0, 16))
            deaths += code is None
        if code is None:
            code = in_child(command(name, persona, model))
        assert code == 0
        assert contents(persona) == wanted
        _assert_paid_once(persona, replays(model))


def replays(model: str) -> Callable[[Path], bool]:
    return lambda path: model != "offline" and not path.name.startswith(".")


def _assert_paid_once(persona: Path, is_log: Callable[[Path], bool]) -> None:
    """No question to the model has two replies on record."""
    for path in (persona / ".generation").glob("*-21d.jsonl"):
        if is_log(path):
            with CallLog(path) as log:
                lines = path.read_bytes().count(b'"type":"call"')
                assert len(log) == lines
