"""What separates the memories of an agent, and what a question leaves behind."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import Answer
from recall_bench.core.scenario import Episode, Question, Turn
from recall_bench.core.settings import Settings
from recall_bench.features.agents.agent_system import MAX_TEXT, AgentSystem
from recall_bench.systems.resolver import resolve_system
from tests.faulty.agent_program import NO_RECORD
from tests.faulty.agent_server import AgentServer
from tests.features.agents.targets import PROGRAM, Journal, name_agent, run_garden
from tests.loops import loop_over_rows

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def open_agent(adapter: str, **config: object) -> AgentSystem:
    found = resolve_system(Settings(adapter=adapter, config=config))
    assert isinstance(found, AgentSystem)
    return found


def make_day(day: int, text: str) -> Episode:
    at = datetime(2025, 3, day)
    return Episode(id=f"day-{day:04}", day=day, at=at, text=text)


def make_question(text: str) -> Question:
    return Question(id="q", text=text, asked_at=datetime(2025, 3, 9), scenario="s")


LEAK = make_day(1, "The boiler in the cellar leaks.")
WHAT_LEAKS = make_question("Where is the boiler that leaks?")


async def ask(memory: object, question: Question = WHAT_LEAKS) -> str:
    reply = await memory.answer(question)  # type: ignore[attr-defined]
    assert isinstance(reply, Answer)
    return reply.text


SPY = """
import json, os, sys
from pathlib import Path
home = Path(os.environ["HOME"])
seen = home / "seen.json"
calls = json.loads(seen.read_text()) if seen.exists() else []
calls.append({"cwd": os.getcwd(), "words": sys.argv[1:], "stdin": sys.stdin.read()})
seen.write_text(json.dumps(calls))
print(json.dumps({"answer": {"text": json.dumps(calls)}, "usage": {"input_tokens": 3}}))
"""


@pytest.fixture
def spy(tmp_path: Path) -> str:
    """A program whose reply is a list of its calls so far."""
    (tmp_path / "spy.py").write_text(SPY)
    return PROGRAM.replace(PROGRAM.split()[-1], str(tmp_path / "spy.py"))


SPY_CONFIG = {"output": "json", "answer": "answer.text"}


async def test_a_question_leaves_nothing_and_copies_are_found_at_one_path(spy: str) -> None:
    system = open_agent(f"agent:{spy}", **SPY_CONFIG)
    assert system.snapshots is not None
    memory = await system.open("s")
    await memory.ingest(LEAK)

    assert memory.state_folder is not None
    root = memory.state_folder.parent
    before = sorted(root.iterdir())
    first, second = json.loads(await ask(memory)), json.loads(await ask(memory))
    assert sorted(root.iterdir()) == before
    token = await system.snapshots.save(memory)
    await memory.ingest(make_day(2, "The tap drips."))
    copy = await system.snapshots.open(token)
    third = json.loads(await ask(copy))
    fourth = json.loads(await ask(memory))
    await system.snapshots.drop(token)
    await copy.close()
    other = json.loads(await ask(await system.open("s")))
    await system.close()

    assert [len(each) for each in (first, second, third, fourth)] == [2, 2, 2, 3]
    assert len({call["cwd"] for call in (*first, *third, *fourth)}) == 1
    assert len(other) == 1
    assert other[0]["cwd"] != first[0]["cwd"]
    assert not Path(first[0]["cwd"]).exists()


async def test_questions_in_place_are_remembered_and_the_card_says_so(spy: str) -> None:
    system = open_agent(f"agent:{spy}", **SPY_CONFIG, questions="in-place")
    memory = await system.open("s")

    lengths = [len(json.loads(await ask(memory))) for _ in range(2)]
    await system.close()

    assert lengths == [1, 2]
    assert any("may remember them" in each for each in system.card.caveats)


async def test_a_program_is_given_every_place_that_it_names(spy: str, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "AGENTS.md").write_text("Take notes.")
    words = "{conversation} --in {project} --home {home} --message {prompt} --file {prompt_file}"
    system = open_agent(
        f"agent:{spy} {words}",
        **SPY_CONFIG,
        first="--start {session}",
        next="--resume {session}",
        project=str(tmp_path / "model"),
    )
    memory = await system.open("s")
    await memory.ingest(
        LEAK.replace(
            turns=(Turn(speaker="user", text="The boiler {home}"), Turn(speaker="user", text="Bye"))
        )
    )
    folder = memory.state_folder
    assert folder is not None
    calls = json.loads((folder / "home" / "seen.json").read_text())
    notes = (folder / "project" / "AGENTS.md").read_text()
    await system.close()

    assert [call["words"][0] for call in calls] == ["--start", "--resume"]
    assert calls[0]["words"][1] == calls[1]["words"][1]
    assert calls[0]["words"][3] == calls[0]["cwd"]
    assert calls[0]["words"][7].endswith("\n\nThe boiler {home}")
    assert [call["stdin"] for call in calls] == ["", ""]
    assert notes == "Take notes."
    assert not folder.exists()


async def test_tokens_and_cost_of_a_program_are_counted(agents: AgentServer) -> None:
    system = open_agent(f"agent:{PROGRAM} notes --json", output="json")
    memory = await system.open("s")
    await memory.ingest(LEAK)
    said = await ask(memory)
    await system.close()

    spent = system.drain()
    assert said == LEAK.text
    assert (spent.calls, spent.unpriced) == (2, 0)
    assert spent.cost_usd == pytest.approx(0.002)
    assert spent.input_tokens > 20
    assert system.drain().calls == 0


async def test_a_program_can_write_its_reply_to_a_file(agents: AgentServer) -> None:
    words = "notes --prompt-file {prompt_file} --reply-file {reply_file}"
    system = open_agent(f"agent:{PROGRAM} {words}")
    memory = await system.open("s")
    await memory.ingest(LEAK)
    said = await ask(memory)
    await system.close()

    assert said == LEAK.text


@pytest.mark.parametrize("way", ["openai", "a2a", "agent"])
async def test_one_conversation_is_all_that_some_agents_know(way: str, agents: AgentServer) -> None:
    more = " --session {session}" if way == "agent" else ""
    adapter = name_agent(way, "chat", agents) + more
    said = {}
    for kind in ("one", "new"):
        system = open_agent(adapter, conversation=kind)
        memory = await system.open("s")
        await memory.ingest(LEAK)
        await memory.ingest(make_day(2, "The tap drips."))
        said[kind] = await ask(memory)
        await system.close()

    assert said == {"one": LEAK.text, "new": NO_RECORD}


async def test_a_conversation_that_we_send_is_branched_for_questions_and_copies() -> None:
    with AgentServer() as agents:
        system = open_agent(f"openai:{agents.url}/chat/v1", conversation="one")
        assert system.snapshots is not None
        memory = await system.open("s")
        await memory.ingest(LEAK)
        copy = await system.snapshots.open(await system.snapshots.save(memory))
        await memory.ingest(make_day(2, "The boiler in the attic leaks."))
        said = [await ask(each) for each in (copy, memory, memory)]
        await system.close()
        requests = [body for _, body in agents.requests]

    assert said == [LEAK.text, *["The boiler in the attic leaks."] * 2]
    assert [len(body["messages"]) for body in requests] == [1, 3, 3, 5, 5]
    assert requests[2]["user"] != requests[0]["user"] == requests[3]["user"]
    talks = [each.conversation for each in system.drain_exchanges("s")]
    assert talks[0] == talks[1]
    assert len(set(talks)) == 4


async def test_a_server_receives_who_asks_in_fields_and_headers_of_our_choice() -> None:
    with AgentServer() as agents:
        system = open_agent(
            f"openai:{agents.url}/notes/v1/chat/completions",
            user=None,
            history=False,
            body={"metadata": {"who": "{memory}", "where": ["{session}"]}, "temperature": 0},
        )
        for _ in range(2):
            memory = await system.open("s")
            await memory.ingest(LEAK.replace(turns=(Turn(speaker="user", text="a"),) * 2))
        await system.close()
        bodies = [body for _, body in agents.requests]

    assert all("user" not in body and len(body["messages"]) == 1 for body in bodies)
    assert [body["temperature"] for body in bodies] == [0] * 4
    who = [body["metadata"]["who"] for body in bodies]
    where = [body["metadata"]["where"][0] for body in bodies]
    assert who[0] == who[1] != who[2] == who[3]
    assert where[0] == where[1] != where[2] == where[3]


def test_a_conversation_that_is_too_long_is_recorded_and_costs_the_questions(
    garden: Path, tmp_path: Path
) -> None:
    with AgentServer(context_tokens=100) as agents:
        adapter = f"openai:{agents.url}/chat/v1"
        code = run_garden(garden, tmp_path / "run", adapter, config={"conversation": "one"})

    journal = Journal(tmp_path / "run")
    faults = [each.get("fault") for each in journal.exchanges if "day" in each]
    assert code == 5
    assert journal.days == [1, 2, 3, 4, 5, 6]
    assert faults[:2] == [None, None]
    assert all("maximum context length is 100" in str(each) for each in faults[2:])
    assert journal.failures.keys() == {"ContextExceeded"}


async def test_the_transcript_is_bounded_and_drained_once(agents: AgentServer) -> None:
    system = open_agent(name_agent("openai", "echo", agents))
    memory = await system.open("s")
    await memory.ingest(make_day(1, "x" * 10_000))
    await system.close()

    (exchange,) = system.drain_exchanges("s")
    assert len(exchange.request) == len(exchange.reply or "") == MAX_TEXT
    assert exchange.cut > 16_000
    assert system.drain_exchanges("s") == ()


def test_a_number_is_a_text_where_a_text_is_wanted(agents: AgentServer) -> None:
    system = open_agent(name_agent("openai", "notes", agents), version=2, model=3)

    assert (system.card.version, system.card.config["model"]) == ("2", "3")


@loop_over_rows(
    ("words", "said"),
    [
        ("{promt}", r"--adapter: nothing is filled in for \{promt\}; did you mean 'prompt'"),
        ("--in={folder}", r"there are \{prompt\}, \{prompt_file\}, \{reply_file\}"),
        ("{conversation}", r"there are none; add them, as in --config first="),
        ("--with={conversation}", "put spaces around it"),
    ],
)
def test_a_place_that_nothing_is_filled_in_for_is_refused(words: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        open_agent(f"agent:{PROGRAM} notes {words}")


def test_other_braces_are_the_programs_own(tmp_path: Path) -> None:
    words = """sh -c 'echo ${name} {A} {} {"a": 1} {1..3}'"""

    assert open_agent(f"agent:{words}").card.name == "sh"


@pytest.mark.parametrize(
    ("way", "config", "said"),
    [
        ("openai", {"version": 1.1}, r"quotes, as in --config 'version=\"1.1\"'"),
        ("openai", {"version": True}, "--config version: write a text, not True"),
        ("openai", {"modle": "x"}, "no setting modle; did you mean 'model'"),
        ("openai", {"stream": "yes"}, "--config stream: write true or false, not yes"),
        ("openai", {"headers": {"X": 12}}, r"--config headers: write a mapping .*text\}$"),
        ("openai", {"headers": {"X": "{memry}"}}, r"for \{memry\}; did you mean 'memory'"),
        ("openai", {"user": "{promt}"}, r"there are \{memory\}, \{session\}"),
        ("a2a", {"metadata": {"a": [{"b": "{sesion}"}]}}, "did you mean 'session'"),
        ("a2a", {"conversation": "two"}, "--config conversation: write new or one, not two"),
        ("agent", {"max_steps": 1.5}, "--config max_steps: write a whole number, not 1.5"),
        ("agent", {"settle_s": "20s"}, "--config settle_s: write a number, not 20s"),
        ("agent", {"first": "{conversation}"}, r"first: nothing .* \{conversation\}"),
        ("agent", {"next": "--continue"}, r"--config next: --adapter has no \{conversation\}"),
        ("openai", {"max_steps": 0}, "max_steps is 0"),
        ("agent", {"project": "/nowhere/at/all"}, "no folder /nowhere/at/all"),
        ("agent", {"questions": "maybe"}, "copies or in-place"),
        ("a2a", {"settle_s": -1}, "settle_s"),
        ("a2a", {"key_env": "NO_SUCH_KEY_HERE"}, "NO_SUCH_KEY_HERE is not set"),
    ],
)
def test_a_wrong_setting_is_named(
    way: str, config: dict[str, object], said: str, agents: AgentServer
) -> None:
    with pytest.raises(UsageError, match=said):
        open_agent(name_agent(way, "notes", agents), **config)
