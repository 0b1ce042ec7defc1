"""`check-adapter` says whether a system keeps the contract, in a table and in its exit code."""

import json
from pathlib import Path

import pytest

from recall_bench.features.doctor import doctor
from tests.commands import Invoke

QUIET = ("--only", "sessions", "--only", "count")


def test_a_system_that_keeps_the_contract_exits_with_0(invoke: Invoke) -> None:
    shown = invoke("check-adapter", "recall_bench.testing:Honest", *QUIET)

    assert shown.code == 0
    assert "✓ sessions  what one session said is returned there" in shown.out
    assert "how it knows the date" in shown.out


def test_a_system_that_breaks_it_exits_with_1_and_says_how(invoke: Invoke) -> None:
    shown = invoke("check-adapter", "tests.faulty.faults:LeaksSessions", *QUIET)

    assert shown.code == 1
    assert "✗ sessions  expected what the session 'boardroom' said" in shown.out
    assert "✓ count" in shown.out
    assert "error: LeaksSessions breaks the contract: sessions;" in shown.err


def test_what_does_not_apply_is_no_failure(invoke: Invoke) -> None:
    shown = invoke("check-adapter", "bm25", "--only", "count")

    assert shown.code == 0
    assert "– count  it does not say" in shown.out


def test_settings_reach_the_system(invoke: Invoke) -> None:
    shown = invoke(
        *("check-adapter", "hybrid", "--config", "respect_sessions=true"),
        *("--config", "fusion=rank", "--only", "sessions", "--json"),
    )

    report = json.loads(shown.out)
    assert shown.code == 0
    assert report["system"]["config"]["fusion"] == "rank"
    assert report["seen"]["asker"] == "honoured"


def test_the_verdict_of_doctor_stands_where_it_cannot_be_saved(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(blocked / "cache"))
    monkeypatch.setattr(doctor, "QUESTIONS", 2 * doctor.ABSTENTIONS)

    shown = invoke("doctor", "bm25", "--seed", 7)

    assert shown.out.splitlines()[0].endswith((": valid", ": suspect"))
    assert shown.code == 0
    assert "not saved for later runs: " in shown.err


@pytest.mark.parametrize("command", ["check-adapter", "doctor"])
@pytest.mark.parametrize("in_process", [False, True])
def test_what_its_code_can_reach_is_chosen_as_for_run(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, command: str, *, in_process: bool
) -> None:
    """The adapter fails where it lacks the variable, or cannot make a socket."""
    monkeypatch.setenv("MY_SERVICE", "here")
    monkeypatch.setattr(doctor, "QUESTIONS", 2 * doctor.ABSTENTIONS)
    Path("mine.py").write_text(
        "import os, socket, sys\nfrom recall_bench.testing import Honest\n"
        "class Adapter(Honest):\n"
        "    def __init__(self, ours):\n"
        "        super().__init__()\n"
        "        assert os.environ['MY_SERVICE'] == 'here'\n"
        "        assert ('pytest' in sys.modules) is ours\n"
        "        socket.socket().close()\n"
    )
    flags = ("--env", "MY_SERVICE", "--allow-network", "--config", f"ours={in_process}".lower())
    shown = invoke(
        *(command, "mine.py", *flags, *(["--in-process"] if in_process else [])),
        *(("--json", *QUIET) if command == "check-adapter" else ("--json", "--seed", 7)),
    )

    assert shown.code == 0, shown.err
    if command == "check-adapter":
        isolation = json.loads(shown.out)["system"]["isolation"]
        assert (isolation["kind"] == "in-process") is in_process


def test_settings_of_an_adapter_keep_their_types(invoke: Invoke) -> None:
    shown = invoke(
        *("check-adapter", "tests.faulty.faults:DropsWrites", "--config", "share=0"),
        *("--only", "round-trip"),
    )

    assert shown.code == 0


def test_json_holds_every_check(invoke: Invoke) -> None:
    shown = invoke("check-adapter", "tests.faulty.faults:LeaksSessions", *QUIET, "--json")

    report = json.loads(shown.out)
    assert shown.code == 1
    assert [(check["name"], check["outcome"]) for check in report["checks"]] == [
        ("count", "passed"),
        ("sessions", "failed"),
    ]


def test_what_an_adapter_prints_is_commentary(invoke: Invoke, tmp_path: Path) -> None:
    Path(tmp_path, "chatty.py").write_text(
        "from recall_bench.testing import Honest\n\n\n"
        "class Adapter(Honest):\n    def setup(self):\n        print('hello')\n"
    )

    shown = invoke("check-adapter", "chatty.py", *QUIET, "--json")

    assert json.loads(shown.out)["checks"]
    assert "hello" in shown.err


def test_an_adapter_in_a_file_is_checked(invoke: Invoke, tmp_path: Path) -> None:
    Path(tmp_path, "mine.py").write_text(
        "from recall_bench.testing import Honest\n\n\n"
        "class Adapter(Honest):\n    name = 'mine'\n    clock = None\n"
    )

    shown = invoke("check-adapter", "mine.py", "--only", "dates")

    assert shown.code == 0
    said = " ".join(shown.out.split())
    assert "so declare clock = 'native' in the class" in said
    assert 'a server or program replies to health with {"clock": "native"}' in said


@pytest.mark.parametrize(
    ("adapter", "advice"),
    [
        ("server.js", "--adapter 'command:node server.js'"),
        ("./server.ts", "--adapter 'command:npx tsx ./server.ts'"),
        ("node server.js --quick", "--adapter 'command:node server.js --quick'"),
        ("bin/memory", "--adapter 'command:bin/memory'"),
        ("127.0.0.1:8080", "write http://127.0.0.1:8080 for an HTTP server"),
        ("localhost:50051", "or grpc://localhost:50051 for gRPC"),
    ],
)
def test_a_system_that_is_not_python_receives_how_it_is_named(
    invoke: Invoke, adapter: str, advice: str
) -> None:
    Path("bin").mkdir()
    Path("bin/memory").touch()

    shown = invoke("check-adapter", adapter)

    assert shown.code == 2
    assert advice in shown.err
    assert "plugin" not in shown.err
    assert len(shown.err.splitlines()) == 1


def test_a_system_that_does_not_exist_is_a_usage_error(invoke: Invoke) -> None:
    shown = invoke("check-adapter", "bm52")

    assert shown.code == 2
    assert "no system named 'bm52'" in shown.err


def test_a_system_that_is_not_there_exits_with_4(invoke: Invoke, tmp_path: Path) -> None:
    Path(tmp_path, "gone.py").write_text(
        "from recall_bench.testing import Honest\n\n\n"
        "class Adapter(Honest):\n    def setup(self):\n"
        "        raise ConnectionRefusedError('nobody listens')\n"
    )

    shown = invoke("check-adapter", "gone.py")

    assert shown.code == 4
    assert "nobody listens" in shown.err


def test_a_check_that_does_not_exist_is_a_usage_error(invoke: Invoke) -> None:
    shown = invoke("check-adapter", "bm25", "--only", "ordre")

    assert shown.code == 2
    assert "there is no check 'ordre'" in shown.err


def test_a_setting_without_a_value_is_a_usage_error(invoke: Invoke) -> None:
    shown = invoke("check-adapter", "bm25", "--config", "k")

    assert shown.code == 2
    assert "--config: 'k' has no '='; write KEY=VALUE" in shown.err
