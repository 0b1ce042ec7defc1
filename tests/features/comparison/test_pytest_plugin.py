"""The plugin for pytest: each check of the contract and each rule of a gate is one test."""

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import recall_bench
from recall_bench.core.errors import UsageError
from recall_bench.core.memory import Offer
from recall_bench.features.doctor import contract
from recall_bench.features.doctor.check_context import CheckContext
from recall_bench.testing import CHECKS
from tests.gardener import ADAPTER, write_persona

pytest_plugins = ["pytester"]

INSTALLED = "recall_bench.pytest_plugin"
PLUGIN = tuple(
    word
    for name in (
        f"no:{INSTALLED}",
        "recall_bench.testing.pytest_plugin",
        "no:cacheprovider",
        "no:randomly",
    )
    for word in ("-p", name)
)


@pytest.fixture(autouse=True, scope="module")
def _import_everything(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A session inside this one forgets what it imported, and numpy cannot be imported twice."""
    place = tmp_path_factory.mktemp("imports")
    write_persona(place / "data")
    recall_bench.run(
        adapter="bm25", data=place / "data", ranges="5d", into=place / "run", heatmap_png=False
    )
    recall_bench.gate(place / "run", min_score=1)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with an adapter, a persona of ten days and settings that use it."""
    write_persona(pytester.path / "data")
    pytester.path.joinpath("my_adapter.py").write_text(ADAPTER)
    pytester.path.joinpath("recall-bench.yaml").write_text(
        "run:\n  data: data\n  ranges: [5d, 10d]\n"
    )
    return pytester


def run(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    return project.runpytest_inprocess(*PLUGIN, *words)


def test_each_check_of_the_contract_is_a_test(project: pytest.Pytester) -> None:
    found = run(project, "--recall-bench", "recall_bench.testing:Honest", "-v")

    assert found.ret == 0
    assert found.parseoutcomes() == {"passed": len(CHECKS) - len(Offer), "skipped": len(Offer)}
    found.stdout.fnmatch_lines(
        [f"*collected {len(CHECKS)} items", "recall-bench::contract::round-trip PASSED*"]
    )


def test_a_check_that_does_not_apply_is_skipped_with_its_reason(project: pytest.Pytester) -> None:
    found = run(project, "--recall-bench", "my_adapter.py", "-k", "stored", "-rs")

    assert found.parseoutcomes()["skipped"] == 1
    assert "not offered" in found.stdout.str()


def test_a_broken_check_is_shown_without_a_traceback(project: pytest.Pytester) -> None:
    words = ("--recall-bench", "tests.faulty.faults:RemembersQuestions")
    found = run(project, *words, "-k", "asking or count")
    text = found.stdout.str()

    assert found.ret == 1
    assert found.parseoutcomes() == {
        "failed": 1,
        "passed": 1,
        "deselected": len(CHECKS) - 2,
    }
    assert "FAILED recall-bench::contract::asking - " in text
    assert "Traceback" not in text
    assert "pytest_plugin.py" not in text


def test_checks_that_are_not_chosen_are_not_made(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To choose one took as long as to make them all."""
    made: list[str] = []
    run_check = contract._run_check

    def note_check(check: contract.ContractCheck, context: CheckContext) -> object:
        made.append(check.name)
        return run_check(check, context)

    monkeypatch.setattr(contract, "_run_check", note_check)
    found = run(project, "--recall-bench", "my_adapter.py", "-k", "isolation")

    assert found.parseoutcomes()["passed"] == 1
    assert made == ["round-trip", "isolation"], "the others rest on the first"


def test_each_rule_of_a_gate_is_a_test(project: pytest.Pytester) -> None:
    rules = "minScore: 99\nmaxInvented: 100\nminCategory:\n  factual-recall: 0\n"
    project.path.joinpath("gate.yaml").write_text(rules)

    words = ("--recall-bench", "none", "--recall-bench-gate", "gate.yaml")
    found = run(project, *words, "-v", "-k", "gate")

    found.stdout.fnmatch_lines(
        [
            "recall-bench::gate::run PASSED*",
            "recall-bench::gate::min-score FAILED*",
            "recall-bench::gate::min-category factual-recall PASSED*",
            "recall-bench::gate::max-invented PASSED*",
            "failed: overall: the score is * must be at least 99",
            "see recall-bench report *",
        ]
    )
    assert found.ret == 1
    assert found.parseoutcomes() == {"passed": 3, "failed": 1, "deselected": len(CHECKS)}


def test_a_baseline_is_compared_with(project: pytest.Pytester) -> None:
    settings = recall_bench.read_settings(project.path / "recall-bench.yaml")
    recall_bench.run(settings, adapter="oracle", into=project.path / "base", heatmap_png=False)

    words = ("--recall-bench", "none", "--recall-bench-baseline", "base")
    found = run(project, *words, "-v", "-k", "gate")

    found.stdout.fnmatch_lines(
        [
            "recall-bench::gate::run PASSED*",
            "recall-bench::gate::baseline PASSED*",
            "recall-bench::gate::alike PASSED*",
            "recall-bench::gate::margin FAILED*",
            "recall-bench::gate::category-margin *",
        ]
    )


def test_without_settings_it_asks_what_run_asks(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Group questions had another default here than in `run`."""
    project.path.joinpath("recall-bench.yaml").unlink()
    project.path.joinpath("gate.yaml").write_text("minScore: 1\n")
    asked: list[recall_bench.Settings] = []

    def note_settings(settings: recall_bench.Settings, **_: object) -> None:
        asked.append(settings)
        raise UsageError("noted")

    monkeypatch.setattr("recall_bench.library.run", note_settings)
    run(project, "--recall-bench", "bm25", "--recall-bench-gate", "gate.yaml", "-k", "gate")

    assert asked == [
        recall_bench.read_settings(None, {"adapter": "bm25", "personas": "harbour-office"})
    ]


def test_it_stands_beside_other_tests(project: pytest.Pytester) -> None:
    project.makepyfile(test_own="def test_own(): pass")

    found = run(project, "--recall-bench", "my_adapter.py", "-k", "own or round-trip", "-v")

    found.stdout.fnmatch_lines(["test_own.py::test_own PASSED*", "*round-trip PASSED*"])
    assert found.parseoutcomes()["passed"] == 2


def test_collecting_measures_nothing(project: pytest.Pytester) -> None:
    project.path.joinpath("my_adapter.py").write_text("raise RuntimeError('imported')")

    found = run(project, "--recall-bench", "my_adapter.py", "--collect-only", "-q")

    assert found.ret == 0
    found.stdout.fnmatch_lines(["recall-bench::contract::round-trip"])


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--recall-bench-gate", "gate.yaml"), "needs --recall-bench ADAPTER"),
        (("--recall-bench", "bm25", "--recall-bench-gate", "no.yaml"), "there is no file no.yaml"),
        (("--recall-bench", "bm25", "--recall-bench-gate", "bad.yaml"), "unknown key 'minSkore'"),
    ],
)
def test_bad_options_are_named(
    project: pytest.Pytester, words: tuple[str, ...], problem: str
) -> None:
    project.path.joinpath("bad.yaml").write_text("minSkore: 3\n")

    found = run(project, *words)

    assert found.ret == pytest.ExitCode.USAGE_ERROR
    assert problem in found.stderr.str()


def test_an_adapter_that_cannot_be_loaded_fails_with_its_reason(project: pytest.Pytester) -> None:
    found = run(project, "--recall-bench", "nowhere.py", "-k", "round-trip")

    assert found.ret == 1
    assert "nowhere.py" in found.stdout.str()
    assert "Traceback" not in found.stdout.str()


def test_the_installed_name_leads_to_the_plugin() -> None:
    project = tomllib.loads(Path(__file__).parents[3].joinpath("pyproject.toml").read_text())
    points = project["project"]["entry-points"]["pytest11"]
    module = EntryPoint(INSTALLED, points[INSTALLED], "pytest11").load()

    assert hasattr(module, "pytest_addoption")


def test_it_imports_nothing_unless_it_is_used(tmp_path: Path) -> None:
    """Other people's sessions pay for two small modules."""
    tmp_path.joinpath("test_own.py").write_text(
        "import sys\n"
        "def test_own():\n"
        "    ours = {name for name in sys.modules if name.startswith('recall_bench')}\n"
        "    assert ours == {'recall_bench', 'recall_bench.testing', 'recall_bench.core',"
        " 'recall_bench.testing.pytest_plugin', 'recall_bench.core.runtime'}\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", *PLUGIN, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)

    assert done.returncode == 0, done.stdout
