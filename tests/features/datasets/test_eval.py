"""`eval`: a dataset in, a numbered report out; what cannot be met is one sentence."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from recall_bench.features.datasets.eval_command import show_page
from tests.commands import Invoke
from tests.conftest import shared_data
from tests.features.datasets.evaluation.eval_commands import (
    Adapters,
    Run,
    figures,
    numbers,
    report,
    runner,
)
from tests.features.datasets.evaluation.eval_datasets import (
    WHERE,
    locomo_conversations,
    write_persona,
    write_personamem,
)


@pytest.fixture
def adapter(tmp_path: Path) -> Adapters:
    return Adapters(tmp_path)


@pytest.fixture
def run(invoke: Invoke, tmp_path: Path) -> Run:
    return runner(invoke, tmp_path)


def test_a_report_is_printed_and_numbered(run: Run) -> None:
    shown = run("--adapter", "bm25", "--floors", "-v")

    assert shown.code == 0, shown.err
    assert shown.out.startswith("# LoCoMo, ten long chats between two friends: bm25")
    assert "for comparison: oracle" in shown.err
    assert "report: reports/locomo/strict-2/run-1" in shown.err
    written = Path("reports/locomo/strict-2/run-1/locomo.md").read_text()
    assert written.strip() == shown.out.strip()


def test_a_short_table_is_printed_unless_all_is_asked_for(run: Run) -> None:
    """The whole page is more than a hundred lines of Markdown."""
    shown = run("--adapter", "bm25", "--floors")
    lines = shown.out.splitlines()

    assert lines[0] == "LoCoMo, ten long chats between two friends: bm25 0.1.0"
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 100
    assert not any(mark in shown.out for mark in ("|", "**", "##", "`"))
    assert any(line.startswith("turn recall@10 ") for line in lines)
    assert any(line.startswith("multi-hop (") for line in lines)
    assert "report: reports/locomo/strict-2/run-1" in shown.err


def test_the_report_comes_as_json_too(run: Run) -> None:
    shown = run("--adapter", "bm25", "--skip-qa", "--json")

    assert json.loads(shown.out) == report()


def test_a_system_that_only_finds_needs_no_reader_where_answers_are_skipped(
    run: Run, adapter: Adapters
) -> None:
    shown = run("--adapter", adapter(answers=False), "--skip-qa")

    assert shown.code == 0, shown.err
    assert len(adapter.asked) == 7
    assert "reader" not in report()
    assert figures(report())["turn recall@10"] == 1


def test_a_system_that_only_finds_is_read_by_computation_otherwise(
    run: Run, adapter: Adapters
) -> None:
    shown = run("--adapter", adapter(answers=False))

    assert shown.code == 0, shown.err
    assert report()["reader"]["name"] == "extractive"
    assert "judged right" in figures(report())


def test_an_adapter_that_raises_is_exit_5_and_its_report_says_invalid(
    run: Run, adapter: Adapters
) -> None:
    raising = adapter("if 'Ada' in question: raise KeyError(question)")

    shown = run("--adapter", raising)

    assert shown.code == 5
    assert "error: the system failed on 4 of 7 questions" in shown.err
    assert "These figures are invalid: " in shown.out
    assert report()["counts"]["failed"] == 4
    assert figures(report(), "single-hop")["turn recall@10"] == 0.5


def test_a_timeout_is_a_failure_too(run: Run, adapter: Adapters, tmp_path: Path) -> None:
    slow = adapter().read_text().replace("    def query", "    async def query")
    path = tmp_path / "slow.py"
    path.write_text(
        slow.replace(
            "        wanted =",
            "        import asyncio\n"
            f"        if question == {WHERE!r}: await asyncio.sleep(60)\n"
            "        wanted =",
        )
    )

    shown = run("--adapter", path, "--timeout", "3000", "--skip-qa")

    assert shown.code == 5
    (failed,) = (each for each in report()["questions"] if each["outcome"] != "answered")
    assert (failed["source"], "imeout" in failed["outcome"]) == ("conv-1:q0", True)
    assert report()["counts"] == {"owed": 7, "answered": 6, "failed": 1, "open": 0, "unjudged": 0}


@pytest.mark.parametrize(
    ("flag", "name", "value"),
    [
        ("--no-vector", "vector", False),
        ("--no-keyword", "keyword", False),
        ("--no-temporal-boost", "temporal_boost", 0),
        ("--lexical-boost", "lexical_boost", True),
        ("--rerank", "rerank", True),
        ("--neighbours=1", "neighbours", 1),
    ],
)
def test_ablation_flags_reach_the_hybrid(run: Run, flag: str, name: str, value: object) -> None:
    shown = run("--adapter", "hybrid", flag, "--skip-qa", "--max-scenarios", "1")

    assert shown.code == 0, shown.err
    config = report()["system"]["config"]
    plain: dict[str, object] = {"vector": True, "keyword": True, "rerank": False, "neighbours": 0}
    plain |= {"temporal_boost": 0.2, "lexical_boost": 0.0}
    assert bool(config[name]) is bool(value)
    assert config[name] != plain[name]
    assert all(config[other] == usual for other, usual in plain.items() if other != name)


def test_a_part_switched_off_and_another_are_two_runs(run: Run) -> None:
    for flag in ("--no-vector", "--no-keyword"):
        assert run("--adapter", "hybrid", flag, "--skip-qa", "--max-scenarios", "1").code == 0

    assert len(list(Path("recall-runs").iterdir())) == 2
    assert numbers() == ["run-1", "run-2"]


@pytest.mark.parametrize("system", ["bm25", "hybrid"])
def test_a_system_that_cannot_consolidate_is_not_asked_to(run: Run, system: str) -> None:
    shown = run("--adapter", system, "--mode", "consolidated")

    assert shown.code == 2
    assert f"--mode: it is not known how {system} consolidates; set it with" in shown.err
    assert not Path("recall-runs").exists()


def test_only_what_was_asked_for_is_asked(run: Run, adapter: Adapters) -> None:
    words = ("--categories", "single-hop", "--categories", "adversarial", "--scenario-offset", "1")

    shown = run("--adapter", adapter(), *words, "--skip-qa")

    assert shown.code == 0, shown.err
    assert len(adapter.asked) == 2
    assert all("Cleo" in each for each in adapter.asked)
    assert (report()["scenarios"], report()["counts"]["owed"]) == (1, 2)


def test_the_audit_is_laid_over_when_asked_for_and_said_in_the_report(invoke: Invoke) -> None:
    words = ("eval", "--dataset", "locomo", "--data", shared_data("locomo/locomo10.json"))
    few = ("--max-scenarios", "1", "--categories", "open-domain", "--adapter", "bm25")

    shown = invoke(*words, *few, "--skip-qa", "--no-floors", "--errata", "audit", "-v")

    assert shown.code == 0, shown.err
    assert report()["dataset"]["layers"] == ["audit"]
    assert "Dataset `locomo`, corrected by audit:" in shown.out


def test_multiple_choice_is_answered_by_letter(invoke: Invoke, tmp_path: Path) -> None:
    data = write_personamem(tmp_path / "personamem")

    shown = invoke("eval", "--dataset", "personamem-32k", "--data", data, "--adapter", "bm25")

    assert shown.code == 0, shown.err
    found = report(1, "reports/personamem-32k/strict-1")
    assert found["groups"][0]["figures"]["choice/letter"]["chance"] == 0.5
    assert found["reader"]["name"] == "extractive"
    assert "judge" not in found


def test_layers_are_measured_on_a_persona_of_ones_own(invoke: Invoke, tmp_path: Path) -> None:
    data = write_persona(tmp_path / "ada.json")

    shown = invoke("eval", "--dataset", "persona-json", "--data", data, "--adapter", "hybrid")

    assert shown.code == 0, shown.err
    got = figures(report(1, "reports/persona-json/strict-1"))
    assert got["document_r@5"] >= got["snippet_r@5"] > 0


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["--dataset", "lokomo"], 2, "no dataset named 'lokomo'; did you mean 'locomo'?"),
        (["--protocol", "offical"], 2, "locomo is not measured by 'offical'"),
        (["--categories", "multihop"], 2, "no question is of 'multihop'; did you mean"),
        (["--data", "gone.json"], 2, "--data: there is no file or folder gone.json"),
        (["--data", "torn.json"], 3, "torn.json"),
        (["--data", "empty.json"], 3, "there is no scenario in it"),
        (["--max-scenarios", "0"], 2, "max-scenarios"),
        (["--scenario-offset", "9"], 2, "has 2 scenarios and none after 9"),
        (["--errata", "fixes"], 2, "has no corrections called 'fixes'"),
        (["--adapter", "bm26"], 2, "no system named 'bm26'"),
        (["--skip-qa", "--reader", "extractive"], 2, "with --skip-qa nothing is read"),
        (["--skip-qa", "--appellate-judge", "offline"], 2, "nothing is judged here"),
        (["--neighbours", "-1"], 2, "neighbours"),
    ],
)
def test_what_cannot_be_met_is_one_sentence_and_nothing_is_written(
    run: Run, tmp_path: Path, words: list[str], code: int, complaint: str
) -> None:
    Path("torn.json").write_text(json.dumps(locomo_conversations())[:-100])
    Path("empty.json").write_text("[]")
    before = sorted(tmp_path.iterdir())

    shown = run(*words)

    assert shown.code == code, shown.err
    assert complaint in shown.err
    assert shown.out == ""
    assert len(shown.err.strip().splitlines()) <= 3, shown.err
    assert sorted(tmp_path.iterdir()) == before


def test_a_dataset_that_is_not_here_says_how_to_get_it(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("RECALL_BENCH")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))

    shown = invoke("eval", "--dataset", "longmemeval-m")

    assert shown.code == 2
    assert "`recall-bench datasets download longmemeval-m` gets it" in shown.err


class Screen(io.StringIO):
    """A terminal to write to."""

    def isatty(self) -> bool:
        return True


def test_at_a_terminal_the_page_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)

    show_page("# Title\n\n| a | b |\n| --- | --: |\n| x | 1 |\n")

    assert "x" in screen.getvalue()
    assert "| x |" not in screen.getvalue()
