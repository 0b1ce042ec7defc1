"""A language model judges a whole run, over real HTTP.

The server is ours and replies by script. Five questions are put: the first day of the persona
that comes with the package. Where the terminal matters, the command has a process of its own.
"""

import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from recall_bench.core import retry
from recall_bench.core.event import Judged
from recall_bench.engine.runs.journal import encode_events, read_events
from recall_bench.features.models import circuit_breaker
from recall_bench.features.models.circuit_breaker import CircuitBreaker
from tests.commands import Invoke, Shown
from tests.openai_server import (
    OpenAIServer,
    Response,
    busy,
    cut_off,
    echo,
    error,
    hang,
    malformed,
    no_choices,
    ok,
    truncated,
)
from tests.warm_commands import start_command

QUESTIONS = 5
KEY = "sk-planted-0123456789abcdef"
PASSES = {"correctness": 3, "completeness": 2, "grounded": 1}
FAILS = {"correctness": 0, "completeness": 0, "grounded": 1}

Reply = Callable[[dict[str, Any]], Response]


def verdict(marks: dict[str, int] = PASSES) -> Response:
    """A thousand tokens in and a hundred out."""
    spelled = json.dumps({**marks, "reason": "Because the script says so."})
    return ok(spelled, input_tokens=1000, output_tokens=100)


class Bench:
    """The command, a server for it to ask, and a cache of its own."""

    def __init__(self, folder: Path, server: OpenAIServer, command: Invoke) -> None:
        self.folder = folder
        self.server = server
        self.command = command
        self.reply: Reply = lambda _: verdict()

    @property
    def spec(self) -> str:
        """The value of `--judge`."""
        return f"openai:test;{self.server.base_url}"

    @property
    def asked(self) -> int:
        """How often the model was asked."""
        return len(self.server.requests)

    def __call__(self, *words: object, into: str = "r") -> Shown:
        sample = ("--personas", "harbour-office", "--adapter", "bm25", "--ranges", "1d")
        usual = (*sample, "--no-heatmap-png")
        judge = () if "--judge" in words else ("--judge", self.spec)
        return self.command("run", *usual, *judge, "--into", into, *words)

    def events(self, kind: str, folder: str = "r") -> list[dict[str, Any]]:
        lines = (self.folder / folder / "journal.jsonl").read_text().splitlines()
        return [event for line in lines if (event := json.loads(line))["type"] == kind]

    def metadata(self, folder: str = "r") -> dict[str, Any]:
        found = json.loads((self.folder / folder / "result.json").read_text())["metadata"]
        assert isinstance(found, dict)
        return found


@pytest.fixture
def run(tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """The command in this process: a second instead of several."""
    for name in [name for name in os.environ if name.startswith("OPENAI")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))

    def reply(request: dict[str, Any]) -> Response:
        return bench.reply(request)

    with OpenAIServer(reply) as server:
        bench = Bench(tmp_path, server, invoke)
        yield bench


@pytest.fixture
def run_apart(run: Bench) -> Bench:
    """The command in a process of its own, with everything that process says."""

    def command(*words: object) -> Shown:
        started = start_command(words, cwd=run.folder)
        out, err = (text.decode() for text in started.communicate(timeout=120))
        assert "Traceback" not in err, err
        assert started.returncode is not None
        return Shown(started.returncode, out, err)

    run.command = command
    return run


def once(first: Response, then: Response) -> Reply:
    """One response, and from then on another."""
    responses = iter([first])
    return lambda _: next(responses, then)


@pytest.mark.slow
def test_a_model_judges_every_answer(run: Bench) -> None:
    shown = run()

    assert shown.code == 0, shown.err
    assert run.asked == QUESTIONS
    judged = run.events("judged")
    assert [event["verdict"]["marks"] for event in judged] == [PASSES] * QUESTIONS
    assert judged[0]["usage"]["input_tokens"] == 1000
    [started] = run.events("run_started")
    card = started["plan"]["judge"]
    assert card["model"] == run.spec
    assert len(card["rubrics"]) == 3
    assert all(
        request.headers["authorization"] == f"Bearer {KEY}" for request in run.server.requests
    )


def test_what_judging_took_is_in_the_report(run: Bench) -> None:
    shown = run("--judge", f"{run.spec};price=2/10")

    assert shown.code == 0, shown.err
    assert "5,000" in shown.out
    assert "$0.015" in shown.out


def test_a_busy_model_is_asked_again(run: Bench) -> None:
    run.reply = once(busy(retry_after_s=0), verdict())

    shown = run()

    assert shown.code == 0, shown.err
    assert len(run.events("judged")) == QUESTIONS
    assert run.asked == QUESTIONS + 1


@pytest.mark.slow
def test_a_broken_model_leaves_answers_unjudged_and_the_same_command_judges_them(
    run: Bench,
) -> None:
    run.reply = lambda _: error(500)

    broken = run("--parallelism", QUESTIONS)
    assert broken.code == 6, broken.err
    assert run.events("judged") == []
    assert len(run.events("answered")) == QUESTIONS
    assert "run the same command again to retry" in broken.err

    run.reply = lambda _: verdict()
    mended = run()
    assert mended.code == 0, mended.err
    assert len(run.events("judged")) == len(run.events("answered")) == QUESTIONS


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(ok("Sure! I would give it full marks."), id="prose"),
        pytest.param(
            ok(json.dumps({**PASSES, "correctness": 4, "reason": ""})), id="off the scale"
        ),
        pytest.param(cut_off('{"reason": "Because'), id="cut off"),
    ],
)
def test_a_reply_that_cannot_be_read_is_asked_for_again_and_never_guessed(
    run: Bench, response: Response
) -> None:
    run.reply = lambda _: response

    shown = run()

    assert shown.code == 6, shown.err
    assert run.events("judged") == []
    assert run.asked > QUESTIONS
    assert len(run.events("not_judged")) == QUESTIONS


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(malformed(), id="half an object"),
        pytest.param(no_choices(), id="no choices"),
        pytest.param(truncated(), id="hangs up", marks=pytest.mark.slow),
    ],
)
def test_a_server_that_talks_nonsense_gives_no_verdict(run: Bench, response: Response) -> None:
    run.reply = lambda _: response

    shown = run("--parallelism", QUESTIONS)

    assert shown.code == 6, shown.err
    assert run.events("judged") == []
    assert len(run.events("not_judged")) == QUESTIONS


def test_a_model_that_hangs_is_cut_off(run: Bench) -> None:
    run.reply = lambda _: hang()

    shown = run("--judge-timeout", "300", "--parallelism", QUESTIONS)

    assert shown.code == 6, shown.err
    assert {event["fault"] for event in run.events("not_judged")} == {"JudgeTimeout"}


def test_one_unreadable_reply_costs_one_call_more(run: Bench) -> None:
    run.reply = once(ok("I think it is fine."), verdict())

    shown = run()

    assert shown.code == 0, shown.err
    assert run.asked == QUESTIONS + 1


def test_a_repeated_run_pays_for_nothing_twice(run: Bench) -> None:
    run()

    repeated = run()
    elsewhere = run(into="other")

    assert (repeated.code, elsewhere.code) == (0, 0), repeated.err + elsewhere.err
    assert run.asked == QUESTIONS
    marks = [event["verdict"]["marks"] for event in run.events("judged", "other")]
    assert marks == [PASSES] * QUESTIONS


def test_rejudging_by_the_same_model_pays_nothing_and_changes_nothing(run: Bench) -> None:
    run()

    shown = run.command(
        "rejudge", "r", "--judge", run.spec, "--into", "again", "--json", "--no-heatmap-png"
    )

    assert shown.code == 0, shown.err
    found = json.loads(shown.out)
    changes = found["overall"]
    assert f"({run.spec})" in found["judge_after"]
    assert (changes["answers"], changes["gained"], changes["lost"]) == (QUESTIONS, 0, 0)
    assert run.asked == QUESTIONS


def test_rejudging_stops_at_its_own_limit_and_continues(run: Bench) -> None:
    run("--judge", "offline")
    words = ("--judge", f"{run.spec};price=1000/0", "--into", "again", "--no-heatmap-png")

    stopped = run.command("rejudge", "r", *words, "--max-cost", "3")
    richer = run.command("rejudge", "r", *words, "--max-cost", "5")

    assert (stopped.code, richer.code) == (8, 0), stopped.err + richer.err
    assert "2 answers have a verdict in only one of the runs" in stopped.out
    assert run.asked == QUESTIONS
    assert [event["verdict"]["marks"] for event in run.events("judged", "again")] == (
        [PASSES] * QUESTIONS
    )


def test_rejudging_stops_at_its_tokens_and_continues(run: Bench) -> None:
    run("--judge", "offline")
    words = ("--judge", run.spec, "--into", "again", "--no-heatmap-png")

    stopped = run.command("rejudge", "r", *words, "--max-tokens", "1")
    richer = run.command("rejudge", "r", *words, "--max-tokens", "1000000")

    assert (stopped.code, richer.code) == (8, 0), stopped.err + richer.err
    assert "--max-tokens allows 1;" in stopped.err
    assert run.asked == QUESTIONS


def test_without_the_cache_every_run_pays(run: Bench) -> None:
    run("--no-judge-cache")
    run("--no-judge-cache", into="other")

    assert run.asked == 2 * QUESTIONS
    assert not (run.folder / "cache" / "verdicts").exists()


def test_the_money_allowed_is_not_exceeded_and_more_of_it_continues(run: Bench) -> None:
    """A verdict costs a dollar: a thousand tokens at a thousand dollars a million."""
    spec = f"{run.spec};price=1000/0"

    stopped = run("--judge", spec, "--max-cost", "2")
    assert stopped.code == 8, stopped.err
    assert run.asked == 2
    assert "--max-cost" in stopped.err
    assert run.metadata()["unfinished"]

    again = run("--judge", spec, "--max-cost", "2")
    assert again.code == 8
    assert run.asked == 2

    richer = run("--judge", spec, "--max-cost", "10")
    assert richer.code == 0, richer.err
    assert run.asked == QUESTIONS


def test_a_limit_needs_a_price(run: Bench) -> None:
    shown = run("--max-cost", "1")

    assert shown.code == 2
    assert f"'{run.spec};price=0.15/0.60'" in shown.err
    assert len(shown.err.splitlines()) == 1
    assert run.asked == 0
    assert not (run.folder / "r").exists()


def test_a_second_model_reviews_the_first(run: Bench) -> None:
    run.reply = lambda request: verdict(FAILS if request["model"] == "test" else PASSES)

    shown = run("--appellate-judge", f"openai:second;{run.server.base_url}")

    assert shown.code == 0, shown.err
    final = {json.dumps(event["trial"]): event for event in run.events("judged")}
    assert [event["verdict"]["marks"] for event in final.values()] == [PASSES] * QUESTIONS
    assert [event["primary"]["marks"] for event in final.values()] == [FAILS] * QUESTIONS


def test_a_base_url_moves_a_model(run: Bench) -> None:
    address = run.server.base_url

    shown = run("--judge", "openai:test", "--judge-base-url", address)
    moved = run(
        *("--judge", "openai:test;http://127.0.0.1:9/v1", "--judge-base-url", address),
        *("--appellate-judge", "openai:test", "--appellate-base-url", address),
        into="moved",
    )

    assert (shown.code, moved.code) == (0, 0), shown.err + moved.err
    for folder, who in (("r", "judge"), ("moved", "judge"), ("moved", "appellate")):
        [started] = run.events("run_started", folder)
        assert started["plan"][who]["model"] == run.spec


def test_the_window_is_shown_as_given(run: Bench) -> None:
    """Ten tokens hold no day of this story; the whole day holds more than two hundred."""
    run("--judge-memory-window", "1", "--judge-shows", "full", into="full")
    full = sizes(run)
    run("--judge-memory-window", "1", "--judge-budget", "10", into="little")
    little = sizes(run)[QUESTIONS:]
    run(into="none")
    none = sizes(run)[2 * QUESTIONS :]

    assert len(full) == len(little) == len(none) == QUESTIONS
    assert min(full) > max(little) + 800
    assert max(none) < min(full)


def sizes(run: Bench) -> list[int]:
    return [len(json.dumps(request.json)) for request in run.server.requests]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("openai:gpt-5.1", "set OPENAI_API_KEY"),
        ("openai", "write openai:MODEL"),
        ("openai:x;prize=1/2", "'prize'"),
        ("openai:x;http://host/v1;key-env=NOWHERE", "NOWHERE is not set"),
        ("claude", "there is no program claude"),
        ("opnai:gpt", "did you mean openai?"),
    ],
)
def test_a_model_that_cannot_be_asked_is_refused_before_anything_is(
    run: Bench, monkeypatch: pytest.MonkeyPatch, spec: str, said: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("PATH", "")

    shown = run("--judge", spec)

    assert shown.code == 2, shown.err
    assert said in shown.err
    assert len(shown.err.splitlines()) == 1
    assert not (run.folder / "r").exists()


@pytest.mark.slow
def test_a_key_that_is_refused_ends_the_run_with_a_sentence_and_without_the_key(
    run: Bench, capfd: pytest.CaptureFixture[str]
) -> None:
    """The server repeats the key in a header and in the body of its refusal."""
    run.reply = lambda _: echo(401)

    shown = run()

    assert shown.code == 6, shown.err
    assert run.asked == 1
    assert_no_key(run, shown)
    assert KEY not in "".join(capfd.readouterr())


@pytest.mark.slow
def test_a_key_is_written_nowhere_though_the_server_fails_with_it(run_apart: Bench) -> None:
    """In a process of its own, so that what libraries log of a failure is seen as well."""
    run = run_apart
    run.reply = lambda _: echo(500)

    shown = run("--json", "--parallelism", QUESTIONS)

    assert run.asked >= 1
    assert_no_key(run, shown)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(f"The key was {KEY}.", id="in prose"),
        pytest.param(json.dumps({**PASSES, "reason": f"You sent {KEY}."}), id="in a verdict"),
    ],
)
def test_a_key_is_written_nowhere_whatever_the_server_says(
    run: Bench, capfd: pytest.CaptureFixture[str], said: str
) -> None:
    run.reply = lambda _: ok(said)

    shown = run("--json", "--parallelism", QUESTIONS)

    assert run.asked >= 1
    assert_no_key(run, shown)
    assert KEY not in "".join(capfd.readouterr())


def assert_no_key(run: Bench, shown: Shown) -> None:
    """Neither on the terminal nor in any file: run folder, cache and all."""
    assert KEY not in shown.out + shown.err
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    assert any(path.name == "journal.jsonl" for path in files)
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_a_program_on_the_path_judges_too(run: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for a command-line agent: it reads the prompt and prints a verdict."""
    agent = run.folder / "bin" / "codex"
    agent.parent.mkdir()
    reply = json.dumps({**PASSES, "reason": "So says the program."})
    agent.write_text(f"#!/bin/sh\ncat > /dev/null\necho '{reply}'\n")
    agent.chmod(0o755)
    monkeypatch.setenv("PATH", str(agent.parent), prepend=os.pathsep)

    shown = run("--judge", "codex")

    assert shown.code == 0, shown.err
    assert {event["verdict"]["reason"] for event in run.events("judged")} == {
        "So says the program."
    }
    assert "leave --max-cost out" in run("--judge", "codex", "--max-cost", "1").err


@pytest.mark.parametrize(
    "judge",
    [
        pytest.param(KEY, id="a key for a name"),
        pytest.param(f"https://me:{KEY}@host/v1", id="an address alone"),
        pytest.param(f"https://me:{KEY}@host/v1;price=1/1", id="an address with a price"),
        pytest.param(f"grpc://me:{KEY}@host", id="another kind of address"),
    ],
)
def test_a_key_in_the_place_of_a_judge_is_not_repeated(run: Bench, judge: str) -> None:
    shown = run("--judge", judge)

    assert shown.code == 2
    assert "--judge: " in shown.err
    assert KEY not in shown.err


def test_half_a_letter_in_a_reason_or_a_failure_does_not_end_the_run(run: Bench) -> None:
    run.reply = lambda _: ok(json.dumps({**PASSES, "reason": "half a \ud83d face"}))
    Path("mine.py").write_text(
        "from recall_bench.core.verdict import Verdict\n"
        "def judge(exhibit):\n"
        "    return Verdict.of(3, 2, 1, 'half a \\ud83d face')\n"
    )

    assert run().code == 0
    assert run("--judge", "mine.py", into="mine").code == 0
    run.reply = lambda _: error(400, "half a \ud83d face")
    assert run("--no-judge-cache", into="failed").code == 6

    reported = [
        event["verdict"]["reason"] for event in run.events("judged") + run.events("judged", "mine")
    ]
    assert set(reported) == {"half a \\ud83d face"}
    assert all(
        "half a \\ud83d face" in each["message"] for each in run.events("not_judged", "failed")
    )


def test_a_server_that_is_down_ends_the_run_after_one_round_of_attempts(
    run: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the five answers would wait for it in turn."""
    monkeypatch.setattr(retry, "RETRY_PAUSES_S", (0.1, 0.1))
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    down = f"openai:test;http://127.0.0.1:{port}/v1"

    shown = run("--judge", down, "--parallelism", "1")

    assert shown.code == 6
    assert "3 connections in a row failed, so nothing more is sent" in shown.err
    assert "run the same command again to continue" in shown.err
    assert run.events("judged") == run.events("not_judged") == []
    assert len(run.events("postponed")) == 2

    with OpenAIServer(lambda _: verdict(), port=port):
        again = run("--judge", down, "--parallelism", "1")

    assert again.code == 0, again.err
    assert len(run.events("judged")) == len(run.events("answered")) == QUESTIONS


def test_a_server_that_restarts_between_two_attempts_is_not_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many calls at once are refused at once: that is one moment, and no proof."""
    clock = Mock(monotonic=Mock(return_value=0.0))
    monkeypatch.setattr(circuit_breaker, "time", clock)
    breaker = CircuitBreaker()
    for _ in range(50):
        breaker.note_refusal()
    assert not breaker.is_open

    clock.monotonic.return_value = sum(retry.RETRY_PAUSES_S)
    assert breaker.is_open

    breaker.note_connection()
    assert not breaker.is_open


def test_a_board_shows_that_verdicts_of_a_model_are_the_word_of_its_authors(run: Bench) -> None:
    run.reply = lambda request: verdict(PASSES if "Monday" in str(request) else FAILS)
    assert run().code == 0
    assert run("--judge", "offline", into="o").code == 0
    for folder in ("r", "o"):
        assert run.command("bundle", folder, "-o", f"bundles/{folder}.bundle").code == 0
    asked = run.asked

    shown = run.command("leaderboard", "build", "bundles", "--into", "site")

    assert shown.code == 0, shown.err
    assert run.asked == asked
    derived, reported = json.loads((run.folder / "site/board.json").read_text())["suites"]
    assert [suite["is_model_judged"] for suite in (derived, reported)] == [False, True]
    assert derived["entries"][0]["badges"] == ["verified", "self-reported"]
    assert reported["entries"][0]["badges"] == ["self-reported verdicts", "self-reported"]
    assert reported["title"].endswith("judged by openai:test")
    assert "--judge 'openai:test;http" in reported["entries"][0]["command"]


def test_better_verdicts_than_the_replies_of_the_model_are_left_out_of_a_board(run: Bench) -> None:
    run.reply = lambda _: verdict(FAILS)
    assert run().code == 0
    journal = run.folder / "r" / "journal.jsonl"
    events = [
        event.replace(verdict=event.verdict.replace(marks=PASSES))
        if isinstance(event, Judged)
        else event
        for event in read_events(journal)
    ]
    journal.write_bytes(b"".join(encode_events(events)))
    run.command("export", "r")

    shown = run.command("leaderboard", "build", "r", "--into", "site")

    assert shown.code == 3
    assert "verdicts differs" in shown.err
    assert not (run.folder / "site").exists()
