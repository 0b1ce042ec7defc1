"""Commands whose models are asked in batches leave what single calls leave, even if interrupted."""

import io
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

import pytest

import recall_bench
from recall_bench.cli.main import main
from recall_bench.core.event import Answered, Judged, encode_event
from recall_bench.engine.runs.journal import read_events
from recall_bench.features.models import batch_delivery
from recall_bench.features.models.batch_senders import SENDERS
from tests.commands import Invoke
from tests.engine.result_views import done_twice, views
from tests.features.models.batch_server import BatchServer
from tests.features.models.killed_sending import die_at
from tests.features.personas.scripted_author import author
from tests.features.personas.test_kill import AUTHOR, COMMANDS

pytest.importorskip("pydantic_ai")

VERDICT = json.dumps({"reason": "as it says", "correctness": 3, "completeness": 2, "grounded": 1})


def write(system: str, user: str) -> str:
    """A verdict for a judge, an answer for a reader."""
    return VERDICT if "correctness" in system + user else f"Bed {len(user)}."


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(batch_delivery, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(batch_delivery, "LONGEST_PAUSE_S", 0.02)
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    yield
    SENDERS.begin(lambda: None)


RUN = ("run", "--adapter", "bm25", "--ranges", "7d", "--no-heatmap-png", "--max-cost", "9")


def name_models(server: BatchServer, options: str = "") -> tuple[str, ...]:
    """A reader of one provider and a judge of another."""
    reader = f"anthropic:claude-opus-4-8;{server.anthropic};price=1/2{options}"
    judge = f"openai:gpt-4o;{server.openai};price=1/2{options}"
    return ("--reader", reader, "--judge", judge)


def list_outcomes(folder: Path) -> list[bytes]:
    """The answers and verdicts of a journal, without times, checksums and references."""
    events = read_events(folder / "journal.jsonl")
    lines = [encode_event(event) for event in events if isinstance(event, Answered | Judged)]
    assert lines
    return sorted(
        re.sub(rb'"(at|link|seconds|reading_s)":("[^"]*"|[-.e0-9]+)', b"", line) for line in lines
    )


def list_cached(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.json")}


def test_a_run_in_batches_leaves_what_single_calls_leave(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, caches = {}, {}
    with BatchServer(write, faults=["expire double", "fail strange"]) as server:
        for way, options in (("calls", ""), ("batches", ";batch=b;send=yes")):
            monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / f"cache-{way}"))
            shown[way] = invoke(*RUN, *name_models(server, options), "--json", "--into", way)
            caches[way] = list_cached(tmp_path / f"cache-{way}")
            assert shown[way].code == 0, shown[way].err
    here = tmp_path

    assert len(server.batches) >= 4
    assert set(server.paid.values()) == {1}
    json.loads(shown["batches"].out)
    assert views(here / "batches") == views(here / "calls")
    assert list_outcomes(here / "batches") == list_outcomes(here / "calls")
    assert done_twice(here / "batches") == []
    assert caches["calls"]
    assert caches["batches"] == caches["calls"]


def test_generation_in_batches_writes_what_single_calls_write(
    invoke: Invoke, tmp_path: Path
) -> None:
    logs = {}
    with BatchServer(author, faults=["lose", "", "expire"]) as server:
        for way, options in (("calls", ""), ("batches", f";batch={tmp_path}/b;send=yes")):
            persona = tmp_path / way / "yard"
            made = [*COMMANDS["create"], "--persona", str(persona), "--model", AUTHOR]
            assert invoke(*made).code == 0
            model = f"openai:gpt-4o;{server.openai};price=1/1{options}"
            for words in (["generate", "--days", "4"], ["generate-conversations", "--days", "4"]):
                done = invoke(*words, "--persona", persona, "--model", model, "--json")
                assert done.code == 0, done.err
                assert json.loads(done.out)["wanted"] == 4
            logs[way] = {
                path.relative_to(persona).as_posix(): sorted(mask_times(path.read_bytes()))
                for path in persona.rglob("*")
                if path.is_file()
            }

    assert logs["batches"] == logs["calls"]
    assert set(server.paid.values()) == {1}


def mask_times(content: bytes) -> list[bytes]:
    return re.sub(rb'"at":"[^"]*"', b"", content).splitlines()


def run_apart(words: tuple[str, ...], before: Callable[[], object] = lambda: None) -> int:
    """Start the command in a fork, its messages in `err`; the process."""
    child = os.fork()
    if child:
        return child
    before()
    sys.argv = ["recall-bench", *words]
    code = 99
    try:
        with Path("err").open("w") as err, redirect_stdout(io.StringIO()), redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 98
    finally:
        os._exit(code)


def test_killed_again_and_again_a_run_is_finished_and_paid_for_once(tmp_path: Path) -> None:
    with BatchServer(write, faults=["expire"]) as server:
        words = (*RUN, *name_models(server, ";batch=b;send=yes"), "--into", "r")
        killed = 0
        for moment in range(4, 100, 9):
            child = run_apart(words, partial(die_at, moment))
            status = os.waitpid(child, 0)[1]
            if not os.WIFSIGNALED(status):
                assert os.waitstatus_to_exitcode(status) == 0, Path("err").read_text()
                break
            killed += 1

    assert killed > 2
    assert set(server.paid.values()) == {1}
    assert done_twice(tmp_path / "r") == []
    assert json.loads((tmp_path / "r" / "result.json").read_bytes())


def test_python_waits_for_batches_and_calls_again(tmp_path: Path) -> None:
    with BatchServer(write) as server:
        judge = name_models(server, f";batch={tmp_path}/b;send=yes")[3]
        said: list[str] = []
        codes = []
        while True:
            done = recall_bench.run(adapter="bm25", ranges="7d", judge=judge, into=tmp_path / "r")
            codes.append(done.exit_code)
            if done.exit_code != 13 or not recall_bench.wait_for_batches(said.append):
                break

    assert codes == [13, 0]
    assert "are sent to" in said[0]


def test_ctrl_c_leaves_the_batch_and_says_how_to_go_on(invoke: Invoke) -> None:
    with BatchServer(write, looks=10**9) as server:
        words = (*RUN, *name_models(server, ";batch=b;send=yes"), "--into", "r")
        child = run_apart(words)
        while not any(call.startswith("GET") for call in server.calls):
            assert os.waitpid(child, os.WNOHANG)[0] == 0, Path("err").read_text()
            time.sleep(0.02)
        os.kill(child, signal.SIGINT)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130
        said = Path("err").read_text().splitlines()
        assert "batch_1 has not ended; run the same command again to continue; nothing" in said[-2]
        assert said[-1] == "error: interrupted; run the same command again to continue"

        server.looks = 0
        assert invoke(*words).code == 0
    assert set(server.paid.values()) == {1}
