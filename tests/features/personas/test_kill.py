"""Every command of generation is killed at many moments, and ends as if it never was."""

import shutil
from pathlib import Path

import pytest

from recall_bench.features.personas.call_log import CallLog
from tests.features.personas.killed_commands import contents, in_child
from tests.thoroughness import choose_cases

ROOT = Path(__file__).parents[3]
AUTHOR = f"{ROOT}/tests/features/personas/scripted_author.py:author"
DAYS = 7
# Offline no reply can be lost, and each death costs a whole simulation: one, with a file written.
DEATHS = {"offline": sorted(choose_cases((1, 0, 2), 1)), "model": choose_cases(range(14), 3)}

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
def test_killed_at_any_moment_it_ends_as_if_it_never_was(
    name: str, stages: tuple[str, dict[str, Path]], tmp_path: Path
) -> None:
    """Each death is later than the one before, in the folder that it left behind."""
    model, found = stages
    order = [*COMMANDS, "end"]
    wanted = contents(found[order[order.index(name) + 1]])
    persona = tmp_path / "yard"
    code: int | None = 0
    for moment in DEATHS["offline" if model == "offline" else "model"]:
        if code is not None:
            restore(found[name], persona)
        code = in_child(command(name, persona, model), moment)
        assert code in (None, 0)
        if code == 0:
            assert_complete(persona, wanted, model)
    if code is None:
        assert in_child(command(name, persona, model)) == 0
        assert_complete(persona, wanted, model)


def restore(stage: Path, persona: Path) -> None:
    """The persona as it is before the command."""
    shutil.rmtree(persona, ignore_errors=True)
    if stage.exists():
        shutil.copytree(stage, persona)


def assert_complete(persona: Path, wanted: dict[str, bytes], model: str) -> None:
    """The files are right, and no prompt has two replies in the log."""
    assert contents(persona) == wanted
    for path in (persona / ".generation").glob(f"*-{DAYS}d.jsonl") if model != "offline" else ():
        if not path.name.startswith("."):
            with CallLog(path) as log:
                assert len(log) == path.read_bytes().count(b'"type":"call"')
