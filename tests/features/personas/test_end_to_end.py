"""The README's way from a sentence to a score, offline and with a model behind a server."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Invoke
from tests.features.personas.scripted_author import author
from tests.features.personas.simulator.built_bakery import find_unsupported
from tests.openai_server import OpenAIServer, Response, ok

README = Path(__file__).parents[3] / "docs/README.md"


def is_of_made_persona(line: str) -> bool:
    """Whether the command makes a persona, or runs on it."""
    return "my/er" in line or "--data my " in line


def steps() -> list[list[str]]:
    """The listed commands as words, and the pass that has no room there."""
    lines = [line.partition(" #")[0] for line in README.read_text(encoding="utf-8").splitlines()]
    found = [shlex.split(line)[1:] for line in lines if is_of_made_persona(line)]
    found.insert(3, ["generate-tool-calls", "--persona", "my/er"])
    return found


def left_behind(persona: Path) -> set[str]:
    return {path.name for path in persona.iterdir() if not path.name.startswith(".")}


MADE = {"arcs-30d.yaml", "conversations-30d", "memories-30d", "persona.yaml", "qa-30d", "tools-30d"}


@pytest.mark.slow
def test_offline(invoke: Invoke) -> None:
    for words in steps():
        shown = invoke(*words)
        assert shown.code == 0, f"{words}: {shown.err}"

    assert len(steps()) == 6
    assert left_behind(Path("my/er")) == MADE | {"world.json"}
    assert find_unsupported(Path("my/er")) == []


@pytest.mark.slow
def test_with_a_model_nothing_changes_but_its_name(invoke: Invoke) -> None:
    def respond(request: dict[str, Any]) -> Response:
        system, user = (message["content"] for message in request["messages"])
        return ok(author(system, user))

    with OpenAIServer(respond) as server:
        model = ["--model", f"openai:any;{server.base_url};price=1/2"]
        for words in steps():
            shown = invoke(*words, *([] if words[0] == "run" else model))
            assert shown.code == 0, f"{words}: {shown.err}"
            if words[0] != "run":
                assert " USD" in shown.out

    assert left_behind(Path("my/er")) == MADE
