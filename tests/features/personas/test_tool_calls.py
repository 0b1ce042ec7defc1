"""Pass 3: what was saved of every day, by a model or without one."""

import shutil
from pathlib import Path

import pytest

from recall_bench.features.personas.pass_request import PassRequest
from recall_bench.features.personas.tool_calls import generate_tool_calls
from recall_bench.stories.shipped import unpack_story
from recall_bench.systems.models.model import Prompt
from tests.features.personas.scripted_model import ScriptedModel
from tests.features.personas.told_persona import write_calls
from tests.stories.transcript_files import load_tool_calls

ARCS = "arcs-30d.yaml"


@pytest.fixture
def persona(tmp_path: Path) -> Path:
    return Path(shutil.copytree(unpack_story("harbour-office"), tmp_path / "harbour-office"))


def test_offline_every_day_has_its_calls_in_the_session_they_belong_to(persona: Path) -> None:
    done = generate_tool_calls(PassRequest(persona=persona))
    found = list(load_tool_calls(persona, ARCS))
    third = found[2]

    assert (done.exit_code, done.written) == (0, 30)
    assert third.dated is not None
    assert third.dated.isoformat() == "2025-03-05"
    assert third.day_of_week == "Wednesday"
    assert {call.session for call in third.calls} == {"principal", "berths", "works", "personnel"}
    assert all("cataract" not in c.content for c in third.calls if c.session != "personnel")
    assert any("cataract" in c.content for c in third.calls)


def test_existing_days_are_skipped_before_the_call(persona: Path) -> None:
    model = ScriptedModel(write_calls)
    request = PassRequest(persona=persona, model="m", days=3)
    assert generate_tool_calls(request, model=model).written == 3
    before = {p.name: p.read_bytes() for p in (persona / "tools-30d").iterdir()}
    assert generate_tool_calls(request, model=model).kept == 3

    assert len(model.asked) == 3
    assert {p.name: p.read_bytes() for p in (persona / "tools-30d").iterdir()} == before


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("Nothing was saved.", "is not one JSON object"),
        ('{"calls": []}', "no list `calls`"),
        ('{"calls": [{"session": "works"}]}', "call 1 has no session with a content"),
        ('{"calls": [{"session": "pub", "content": "x"}]}', "there is no session pub"),
        ('{"calls": [{"session": "works", "content": "x"}]}', "nothing is saved of session berths"),
        (
            '{"calls": [{"session": "works", "content": "Ice is £62 a tonne."}]}',
            "£62 is not from session works",
        ),
        (
            '{"calls": [{"session": "berths", "content": "Ice is £99 a tonne."}]}',
            "£99 is not in the log",
        ),
        (
            '{"calls": [{"session": "berths", "content": "Ice comes on 28 March 2025."}]}',
            "28 March 2025 is not in the log",
        ),
    ],
)
def test_what_is_wrong_with_a_reply_is_said(persona: Path, reply: str, problem: str) -> None:
    request = PassRequest(persona=persona, model="m", start=3, end=3)
    done = generate_tool_calls(request, model=ScriptedModel(lambda _: reply))

    assert problem in done.missing[0].reason
    assert not list((persona / "tools-30d").glob("*"))


def test_a_date_of_the_same_week_may_be_worked_out(persona: Path) -> None:
    def add_date(asked: Prompt) -> str:
        return write_calls(asked).replace('"content": "', '"content": "By 2025-03-07. ', 1)

    request = PassRequest(persona=persona, model="m", start=3, end=3)
    done = generate_tool_calls(request, model=ScriptedModel(add_date))

    assert (done.exit_code, done.written) == (0, 1), done.missing


@pytest.mark.parametrize("wrap", ["{}", "```json\n{}\n```", "Here it is:\n\n{}\n\nAnything else?"])
def test_what_models_put_around_json_is_forgiven(persona: Path, wrap: str) -> None:
    model = ScriptedModel(lambda asked: wrap.replace("{}", write_calls(asked)))
    done = generate_tool_calls(PassRequest(persona=persona, model="m", days=2), model=model)

    assert (done.exit_code, done.written) == (0, 2)


def test_the_files_do_not_depend_on_how_many_are_written_at_once(persona: Path) -> None:
    def written(parallelism: int) -> dict[str, bytes]:
        shutil.rmtree(persona / "tools-30d", ignore_errors=True)
        request = PassRequest(persona=persona, parallelism=parallelism)
        generate_tool_calls(request)
        return {path.name: path.read_bytes() for path in (persona / "tools-30d").iterdir()}

    assert written(1) == written(8)
