"""A feature in a package of its own, installed: a command, a system, a dataset and a row."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tests" / "stranger"

Call = Callable[..., str]


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Call:
    """Call `recall-bench` where the package is installed, from an empty folder."""
    place = tmp_path_factory.mktemp("site")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    install += ["--no-build-isolation", "--disable-pip-version-check", "--target", str(place)]
    subprocess.run([*install, str(PACKAGE)], check=True, capture_output=True)
    folder = tmp_path_factory.mktemp("work")

    def call_command(*words: object) -> str:
        code = f"import sys; sys.path.insert(0, {str(place)!r}); "
        code += "from recall_bench.cli.main import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, words)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    (folder / "pairs.txt").write_text(
        "Ada's key is under the blue pot.\nWhere is Ada's key? | under the blue pot\n"
        "The boat leaves at nine.\nWhen does the boat leave? | at nine\n"
    )
    return call_command


def test_its_command_and_its_system_are_listed(call: Call) -> None:
    assert "count-silent" in call("help", "all")
    assert "silent" in call("list", "--systems")


def test_its_row_stands_in_the_run_of_its_system(call: Call) -> None:
    words = ("--personas", "harbour-office", "--ranges", "10d", "--adapter", "silent")
    call("run", *words, "--into", "run")

    figures = json.loads(call("report", "run", "--json"))["heatmaps"][-1]["rows"]
    [row] = [row for row in figures if row["name"] == "silent"]
    counted = call("count-silent", "run").split()
    assert row["cells"][0]["value"] == pytest.approx(int(counted[0]) / int(counted[2]))
    assert 0 < int(counted[0]) < int(counted[2])


def test_its_dataset_is_evaluated(call: Call) -> None:
    words = ("--dataset", "two-lines", "--data", "pairs.txt", "--adapter", "bm25")
    shown = call("eval", *words, "--into", "eval")

    assert "two-lines" in shown
    assert "2 questions" in shown
