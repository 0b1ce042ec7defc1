"""The scorecard of several systems: figures, what is not offered, and what was not measured."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from recall_bench.cli.main import cli
from recall_bench.core.errors import UsageError
from recall_bench.core.settings import Settings
from recall_bench.engine.experiment import execute
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.suites.behaviour_assembly import BehaviourRequest, assemble_behaviour
from recall_bench.reporting.suites.scorecard import build_scorecard, render_scorecard
from recall_bench.systems.python.system import build_python_system
from recall_bench.testing import Honest
from tests.faulty.behaviour_reference import ReferenceMemory


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Runs of two suites by two systems, one of them without what it takes to erase."""
    place = tmp_path_factory.mktemp("suites")
    found = []
    for suite, kind, only in (
        ("erasure", ReferenceMemory, ("request", "forget")),
        ("erasure", Honest, ("request",)),
        ("tenants", ReferenceMemory, ("case",)),
    ):
        into = place / f"{suite}-{kind.__name__}"
        state = place / f"state-{suite}-{kind.__name__}"
        state.mkdir()
        request = BehaviourRequest(
            suite=suite, settings=Settings(into=into), stories=1, patience_s=0.3, only=only
        )
        execute(assemble_behaviour(request, build_python_system(kind, state_dir=state)))
        found.append(into)
    return found


def test_card_has_every_suite_and_says_what_is_missing(runs: list[Path]) -> None:
    card = build_scorecard([RunFolder.open(path) for path in runs])
    assert card.systems == ("ReferenceMemory 1", "Honest 1")
    assert list(card.reports) == ["erasure", "tenants"]
    lines = render_scorecard(card, is_verbose=True).splitlines()
    forget = next(line for line in lines if "forget(subject)" in line)
    assert "not offered" in forget
    tenants = next(line for line in lines if line.startswith("tenants: another's value in an"))
    assert tenants.rstrip().endswith("–")


def test_commands_write_page_and_figures(runs: list[Path], tmp_path: Path) -> None:
    runner = CliRunner()
    into = tmp_path / "card"
    done = runner.invoke(cli, ["scorecard", *map(str, runs), "--into", str(into)])
    assert done.exit_code == 0, done.output
    page = (into / "scorecard.html").read_text(encoding="utf-8")
    assert "not offered" in page
    assert "<script>" not in page.replace('<script>(() => {\n"use strict";\n\n})();\n</script>', "")
    figures = msgspec.json.decode((into / "scorecard.json").read_bytes())
    assert set(figures["reports"]) == {"erasure", "tenants"}
    one = runner.invoke(cli, ["report", str(runs[0]), "--into", str(tmp_path / "one")])
    assert one.exit_code == 0, one.output
    assert "still there, erased by forget(subject)" in one.output
    assert (tmp_path / "one" / "scorecard.html").is_file()


def test_run_that_is_named_twice_is_refused(runs: list[Path]) -> None:
    folder = RunFolder.open(runs[0])
    with pytest.raises(UsageError, match="named twice"):
        build_scorecard([folder, folder])


def test_library_runs_a_suite_by_name_and_with_a_class(tmp_path: Path) -> None:
    from recall_bench import run_suite

    report = run_suite("tenants", adapter="bm25", only=("case",), stories=1, into=tmp_path / "one")
    assert report.is_finished
    assert (tmp_path / "one" / "suite.json").is_file()
    own = run_suite("tenants", adapter=Honest, only=("case",), stories=1, into=tmp_path / "two")
    assert own.system.name == "Honest"


def test_gate_holds_figures_to_limits(runs: list[Path]) -> None:
    runner = CliRunner()

    def gate(run: Path, *words: str) -> tuple[int, str]:
        done = runner.invoke(cli, ["gate", str(run), *words], standalone_mode=False)
        return (2 if done.exception else done.return_value), f"{done.output}{done.exception}"

    assert gate(runs[0], "--max-figure", "residue=5")[0] == 0
    assert gate(runs[1], "--max-figure", "residue=5")[0] == 11
    # With so few facts the interval reaches further than the limit.
    assert gate(runs[0], "--max-figure", "residue=5", "--confident")[0] == 11
    code, said = gate(runs[1], "--max-figure", "residue/by-forget=5")
    assert code == 12
    assert "not offered" in said
    assert gate(runs[0], "--min-figure", "known-before=101")[0] == 11
    for words, hint in (
        (("--max-figure", "residu=5"), "residue"),
        (("--min-score", "3"), "--max-figure"),
        ((), "--max-figure"),
        (("--max-figure", "residue=x"), "NAME=NUMBER"),
    ):
        code, said = gate(runs[0], *words)
        assert code == 2
        assert hint in said
