"""A run whose reader and judge reply by files: everything is asked at once, and nothing twice."""

import json
from pathlib import Path

import pytest

from tests.commands import Invoke
from tests.served_folder import serve_folder

VERDICT = json.dumps({"reason": "as it says", "correctness": 3, "completeness": 2, "grounded": 1})
WAITING = 13


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))


def run(invoke: Invoke, *words: str) -> tuple[int, str]:
    usual = ("--adapter", "bm25", "--ranges", "1d,7d", "--no-heatmap-png", "--into", "r")
    shown = invoke("run", *usual, *words)
    return shown.code, shown.err


@pytest.mark.parametrize("workers", [(), ("--workers", "2")])
def test_the_reader_s_requests_of_all_checkpoints_wait_together(
    invoke: Invoke, workers: tuple[str, ...]
) -> None:
    words = ("--reader", "folder:w", *workers)
    code, said = run(invoke, *words)

    assert code == WAITING
    asked = serve_folder(Path("w"), lambda _, __: "I have no record of that.")
    assert "requests wait in w/requests; put the replies into w/replies" in said
    assert "error:" not in said
    if not workers:
        assert f"--reader: {asked} requests wait" in said
    assert run(invoke, *words)[0] == 0
    assert not list(Path("w/requests").iterdir())


def test_the_judge_s_requests_wait_together_and_a_bad_verdict_is_asked_for_again(
    invoke: Invoke,
) -> None:
    words = ("--judge", "folder:w", "--no-judge-cache")
    code, said = run(invoke, *words)

    assert code == WAITING
    assert "requests wait in w/requests" in said
    serve_folder(Path("w"), lambda _, user: "Splendid." if len(user) % 2 else VERDICT)
    assert run(invoke, *words)[0] == WAITING
    rejected = len(list(Path("w/rejected").glob("*.txt")))
    again: list[str] = []

    def write(_: str, user: str) -> str:
        again.append(user)
        return VERDICT

    serve_folder(Path("w"), write)
    assert rejected == len(again) > 0
    assert all("Your last reply to this case could not be used" in user for user in again)
    assert run(invoke, *words)[0] == 0


def test_the_variants_of_an_ablation_ask_together(invoke: Invoke) -> None:
    words = ("ablate", "--adapter", "bm25", "--grid", "k=1,2", "--ranges", "1d")
    judge = ("--judge", "folder:w", "--into", "a")

    assert invoke(*words, *judge).code == WAITING
    assert serve_folder(Path("w"), lambda _, __: VERDICT)
    assert invoke(*words, *judge).code == 0


def test_a_judge_that_never_gives_a_verdict_ends_as_any_other(invoke: Invoke) -> None:
    words = ("--judge", "folder:w", "--no-judge-cache")
    for _ in range(3):
        assert run(invoke, *words)[0] == WAITING
        serve_folder(Path("w"), lambda _, __: "Splendid.")
    code, said = run(invoke, *words)

    assert code == 6
    assert "mend the judge" in said


def test_a_judge_that_waits_is_not_cut_short_by_its_time_limit(invoke: Invoke) -> None:
    code, said = run(invoke, "--judge", "folder:w;wait=1", "--judge-timeout", "1")

    assert code == WAITING
    assert "no verdict within" not in Path("r/journal.jsonl").read_text()
    assert "requests wait" in said
