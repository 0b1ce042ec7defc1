"""`--adapter loop:MEMORY`: resumed after kill -9, over MCP, with a provider's tools, by files."""

import json
import shutil
import signal
import textwrap
from pathlib import Path
from typing import Any

import pytest

import recall_bench
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import read_trials
from recall_bench.reporting.analyses.tool_loop import ToolLoopReport, analyse_tool_loop
from tests.commands import Invoke
from tests.engine.result_views import done_twice, views
from tests.features.agents.loop import garden_model
from tests.features.agents.loop.scripted import keep_garden
from tests.features.datasets.evaluation.eval_datasets import write_locomo
from tests.features.mcp import mcp_sdk_server
from tests.features.mcp.mcp_maps import child_map
from tests.features.mcp.test_mcp_sdk import sdk_map
from tests.gardener import write_persona
from tests.openai_server import OpenAIServer, Response, ok
from tests.served_folder import serve_folder
from tests.thoroughness import choose_cases
from tests.warm_commands import run_command

MODEL = str(Path(garden_model.__file__))
WAITING = 13


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("garden")
    write_persona(folder)
    return folder


def analyse(folder: Path) -> ToolLoopReport:
    opened = RunFolder.open(folder)
    found = analyse_tool_loop(opened, read_trials(opened))
    assert found is not None
    return found


def count_found(folder: Path) -> int:
    return next(each.right for each in analyse(folder).stages if each.stage == "found")


@pytest.mark.parametrize("lifecycle", ["forked", "fresh", "growing"])
def test_a_loop_resumes_from_any_event(tmp_path: Path, data: Path, lifecycle: str) -> None:
    """At some events, one of them amid the calls of a day and one amid those of a question."""
    given: dict[str, Any] = {
        "adapter": "loop:bm25",
        "agent_model": MODEL,
        "data": data,
        "ranges": ("2d", "4d"),
        "heatmap_png": False,
        "lifecycle": lifecycle,
    }
    whole = tmp_path / "whole"
    recall_bench.run(into=whole, **given)
    lines = (whole / JOURNAL).read_bytes().splitlines(keepends=True)
    for cut in choose_cases(range(0, len(lines), 7), 4):
        folder = tmp_path / f"cut-{cut}"
        folder.mkdir()
        torn = lines[cut][: len(lines[cut]) // 2] if cut % 2 else b""
        (folder / JOURNAL).write_bytes(b"".join(lines[:cut]) + torn)

        assert recall_bench.run(into=folder, **given).exit_code == 0, cut
        assert views(folder) == views(whole), cut
        assert done_twice(folder) == [], cut
        assert analyse(folder).stages == analyse(whole).stages, cut
        assert analyse(folder).questions == analyse(whole).questions, cut
        shutil.rmtree(folder)


def test_a_loop_resumes_after_kill_9(tmp_path: Path, data: Path) -> None:
    """Amid the calls of a day, and amid those of a question."""
    words = ["run", "--adapter", "loop:bm25", "--agent-model", MODEL, "--data", data, "--quiet"]
    words += ["--ranges", "2d,4d", "--no-heatmap-png", "--no-page", "--into"]
    whole = tmp_path / "whole"
    assert run_command([*words, whole]) == 0
    for events in choose_cases((4, 14, 20, 30), 2):
        folder = tmp_path / f"killed-{events}"
        assert run_command([*words, folder], events=events) == -signal.SIGKILL, events
        assert run_command([*words, folder]) == 0, events
        assert views(folder) == views(whole), events
        assert analyse(folder).stages == analyse(whole).stages, events


def test_workers_give_the_same_report(invoke: Invoke, data: Path) -> None:
    words = ("run", "--adapter", "loop:bm25", "--agent-model", MODEL, "--data", data)
    more = ("--ranges", "2d,4d", "--no-heatmap-png", "--into")
    assert invoke(*words, *more, "one").code == 0
    assert invoke(*words, "--executor", "processes", "--workers", "2", *more, "two").code == 0

    assert analyse(Path("two")).stages == analyse(Path("one")).stages
    assert analyse(Path("two")).faults == analyse(Path("one")).faults == ()


def test_a_server_over_pipes_is_worked_by_its_own_tools(
    invoke: Invoke, data: Path, tmp_path: Path
) -> None:
    """The child's tools have other names: the model of the test maps those of the script."""
    model = tmp_path / "model.py"
    model.write_text(
        textwrap.dedent("""
        import json
        from tests.features.agents.loop.scripted import keep_garden

        def complete(prompt):
            reply = json.loads(keep_garden(prompt))
            for call in reply.get("calls", ()):
                given = call["arguments"]
                match call["tool"]:
                    case "save":
                        bed = given["text"].split()[-1].rstrip(".")
                        entry = {"id": f"n{int(bed) // 7}", "text": given["text"]}
                        call |= {"tool": "remember_all", "arguments": {"entries": [entry]}}
                    case "update":
                        call |= {"tool": "remember_all", "arguments": {"entries": [given]}}
                    case "delete":
                        call |= {"tool": "erase"}
                    case "search":
                        call |= {"tool": "recall", "arguments": {**given, "k": 3}}
            return json.dumps(reply)
        """)
    )
    erase = {"tool": "erase", "arguments": {"id": "{id}"}}
    path = child_map(tmp_path, delete=erase, roles={"recall_prose": "search", "merge": "hidden"})

    shown = invoke(
        *("run", "--adapter", f"loop:{path}", "--agent-model", model, "--data", data),
        *("--ranges", "5d,10d", "--no-heatmap-png", "--into", "out"),
    )

    assert shown.code == 0, shown.err
    found = analyse(Path("out"))
    # The server appends: an entry of an id that it has does not replace the earlier one.
    assert found.faults == (
        "update does not overwrite: the old text of 1 of 1 updated notes came back",
    )
    assert {each.tool: each.role for each in found.tools} == {
        "recall": "search",
        "remember_all": "save",
        "erase": "delete",
    }
    came_far = next(each for each in found.stages if each.stage == "found")
    assert came_far.right + came_far.wrong == 14


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore:Unclosed <MemoryObject:ResourceWarning")
async def test_memories_on_a_running_server_are_kept_apart_without_the_agent(
    tmp_path: Path,
) -> None:
    from recall_bench.features.mcp.mcp_system import start_mcp_system

    async with mcp_sdk_server.serving() as url:
        system = await start_mcp_system(sdk_map(tmp_path, {"url": url}))
        one, other = await system.open("one"), await system.open("other")
        tools = {tool.name: tool for tool in await one.list_tools()}
        note = {"text": "The cat is Fig.", "note": "n1", "day": 1}
        saved = await one.call_tool(tools["store"], note)
        found = await one.call_tool(tools["find"], {"query": "cat", "limit": 3})
        nothing = await other.call_tool(tools["find"], {"query": "cat", "limit": 3})
        await system.close()

    # wipe would empty the memories of others, and `space` is not the agent's to choose.
    assert set(tools) == {"store", "find"}
    assert "space" not in json.dumps(tools["store"].schema)
    assert saved.writes[0].note == "n1"
    assert [each.text for each in found.found] == ["The cat is Fig."]
    assert nothing.found == ()


def test_a_provider_s_model_is_offered_the_tools_by_its_interface(
    invoke: Invoke, data: Path
) -> None:
    def respond(request: dict[str, Any]) -> Response:
        said = request["messages"]
        text = said[-1]["content"] if said[-1]["role"] == "tool" else ""
        if "keep the memory" in said[0]["content"]:
            if text:
                return ok("done")
            line = next(x for x in said[1]["content"].splitlines() if "I planted" in x)
            return ok(None, finish="tool_calls", tool_calls=[_call("save", {"text": line})])
        if not text:
            asked = said[1]["content"].splitlines()[-2]
            return ok(None, finish="tool_calls", tool_calls=[_call("search", {"query": asked})])
        return ok(text.splitlines()[0].partition("] ")[2])

    with OpenAIServer(respond) as server:
        shown = invoke(
            *("run", "--adapter", "loop:bm25", "--data", data, "--ranges", "5d", "--into", "out"),
            *("--agent-model", f"openai:any;{server.base_url}", "--no-heatmap-png"),
        )

    assert shown.code == 0, shown.err
    offered = [tool["function"]["name"] for tool in server.requests[0].json["tools"]]
    assert offered == ["save", "search", "open", "update", "delete"]
    assert count_found(Path("out")) == 5
    costs = list(map(json.loads, Path("out", JOURNAL).read_text().splitlines()))
    metered = [e["usage"] for e in costs if e["type"] == "metered"]
    # Two requests a day; what questions cost is part of their answers.
    assert [usage["calls"] for usage in metered] == [10]
    assert all(e["answer"]["usage"]["calls"] == 2 for e in costs if e["type"] == "answered")


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": "call_1", "type": "function", "function": function}


def test_an_agent_by_files_waits_for_its_replies(invoke: Invoke, data: Path) -> None:
    from recall_bench.systems.models.model import Prompt

    words = (
        *("run", "--adapter", "loop:bm25", "--agent-model", "folder:w", "--data", str(data)),
        *("--ranges", "2d", "--no-heatmap-png", "--into", "out"),
    )
    codes = []
    for _ in range(12):
        shown = invoke(*words)
        codes.append(shown.code)
        if shown.code != WAITING:
            break
        assert "--agent-model: 1 request wait" in shown.err or "requests wait" in shown.err
        serve_folder(Path("w"), lambda system, user: keep_garden(Prompt(system=system, user=user)))

    # Two requests for each of two days, one after the other; then two rounds for both questions.
    assert codes == [WAITING] * 6 + [0]
    assert count_found(Path("out")) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--adapter", "loop:bm25"), "name one with --agent-model"),
        (("--adapter", "loop:"), "names no memory"),
        (("--adapter", "bm25", "--agent-model", MODEL), "write --adapter loop:bm25"),
        (("--adapter", "loop:oracle", "--agent-model", MODEL), "is a control"),
        (("--adapter", "loop:bm25", "--agent-model", "nothing"), "no model of this name"),
    ],
)
def test_what_is_missing_is_said(
    invoke: Invoke, data: Path, words: tuple[str, ...], said: str
) -> None:
    shown = invoke("run", *words, "--data", data, "--ranges", "2d", "--into", "out")

    assert shown.code == 2
    assert said in shown.err


def test_the_page_s_own_example_runs_and_reports(invoke: Invoke, data: Path) -> None:
    """With the script of the how-to page in place of a model: it saves, searches and is silent."""
    page = (Path(recall_bench.__file__).parents[2] / "docs/how-to/tool-loop.md").read_text()
    Path("my_model.py").write_text(page.split("```python\n")[1].split("```")[0])
    shown = invoke(
        *("run", "--adapter", "loop:bm25", "--agent-model", "my_model.py", "--data", data),
        *("--ranges", "5d", "--no-heatmap-png", "--into", "out"),
    )
    assert shown.code == 0, shown.err
    assert "doctor loop:" not in shown.out + shown.err

    told = invoke("report", "out", "--data", data)

    assert "found 5 0 5" in " ".join(told.out.split())
    assert "5 sessions · 10 requests · 5 calls" in told.out
    html = Path("out/report/report.html").read_text(encoding="utf-8")
    assert 'id="tool-loop"' in html
    assert "a wrong answer did not use them" in html


PAID_MODEL = """
from recall_bench.core.usage import Usage
from recall_bench.systems.models.model import Reply
from tests.features.agents.loop.scripted import keep_garden

def complete(prompt):
    usage = Usage(calls=1, input_tokens=90, output_tokens=10)
    return Reply(text=keep_garden(prompt), usage=usage)
"""


def test_the_cost_of_a_run_is_that_of_all_requests_of_the_agent(
    invoke: Invoke, data: Path, tmp_path: Path
) -> None:
    """Of days and of answers, each once; matrices, boards and the explorer show it."""
    (tmp_path / "paid.py").write_text(PAID_MODEL)
    shown = invoke(
        *("run", "--adapter", "loop:bm25", "--agent-model", tmp_path / "paid.py", "--data", data),
        *("--ranges", "5d", "--no-heatmap-png", "--into", "out"),
    )

    assert shown.code == 0, shown.err
    folder = RunFolder.open(Path("out"))
    # Two requests for each of five days and five questions.
    assert (folder.usage.calls, folder.usage.input_tokens) == (20, 20 * 90)
    assert folder.usage == folder.states.usage + folder.states.reading_usage


@pytest.mark.parametrize("workers", [(), ("--executor", "processes", "--workers", "2")])
def test_what_the_agent_takes_counts_towards_max_tokens(
    invoke: Invoke, data: Path, tmp_path: Path, workers: tuple[str, ...]
) -> None:
    model = tmp_path / "paid.py"
    model.write_text(PAID_MODEL)
    words = (
        *("run", "--adapter", "loop:bm25", "--agent-model", model, "--data", data, *workers),
        *("--ranges", "5d", "--no-heatmap-png", "--into", "out", "--max-tokens"),
    )

    stopped = invoke(*words, "500")
    # Five days take ten requests, fed again; five questions ten more.
    finished = invoke(*words, "5000")

    assert stopped.code == 8
    assert (
        "the loop agent and judging have taken 600 tokens and --max-tokens allows 500"
        in stopped.err
    )
    assert finished.code == 0, finished.err
    assert count_found(Path("out")) == 5


def test_a_public_dataset_has_its_controls_without_the_agent(invoke: Invoke) -> None:
    page = (Path(recall_bench.__file__).parents[2] / "docs/how-to/tool-loop.md").read_text()
    Path("my_model.py").write_text(page.split("```python\n")[1].split("```")[0])
    write_locomo(Path("locomo10.json"))

    shown = invoke(
        *("eval", "--dataset", "locomo", "--data", "locomo10.json", "--adapter", "loop:bm25"),
        *("--agent-model", "my_model.py", "--into", "out"),
    )

    assert shown.code == 0, shown.err
    assert b"tool_called" in Path("out", JOURNAL).read_bytes()
