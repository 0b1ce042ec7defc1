"""What a report writes stays in its folder, and what draws it is ours."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from recall_bench.core.plan import Checkpoint
from recall_bench.core.scenario import Item
from recall_bench.core.verdict import Verdict
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.reporting.publication import PublishedReport, publish_report
from tests.processes import wait_until_gone
from tests.written_runs import Story, plan_of, question, trial

ONCE = (Checkpoint(label="2d", days=2),)
"""Fewer charts are drawn of one checkpoint than of two."""
GOOD = Verdict.of(3, 2, 1)
PERSONAS = ("x/../../../escaped\0\x1b[31m", "long" * 100)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of hostile personas and a module that must not be imported."""
    folder = tmp_path_factory.mktemp("publication")
    scenarios: dict[str, Sequence[Item]] = {name: (question("cat"),) for name in PERSONAS}
    story = Story(folder / "run", scenarios, plan_of(scenarios, checkpoints=ONCE))
    for name in PERSONAS:
        story.both(trial("cat", scenario=name), GOOD)
    story.end()
    story.save()
    (folder / "msgspec.py").write_text("open('executed', 'w')\nraise SystemExit(3)\n")
    return folder


@pytest.fixture(scope="module")
def published(folder: Path) -> Iterator[PublishedReport]:
    """Its report, written from within that folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield publish_report(RunFolder.open(folder / "run"), into=folder / "out", pictures=True)


def test_a_persona_may_be_called_anything(folder: Path, published: PublishedReport) -> None:
    pictures = folder / "out" / "pictures"

    written = {path for path in folder.rglob("*") if path.is_file()}

    kept = {path for path in written if not path.is_relative_to(folder / "run")}
    assert kept == {*published.files, folder / "msgspec.py"}
    assert {path.parent for path in published.files} == {folder / "out", pictures}
    assert list(pictures.glob("*.svg"))
    for number in (1, 2):
        assert len(list(pictures.glob(f"heatmap-{number}-*.png"))) == 1


@pytest.mark.usefixtures("published")
def test_a_module_in_the_current_folder_is_not_imported(folder: Path) -> None:
    assert not (folder / "executed").exists()


def test_a_report_that_is_killed_takes_its_drawing_process_with_it(tmp_path: Path) -> None:
    """It takes seconds to draw: nothing is left that goes on without us."""
    os.mkfifo(tmp_path / "figures.json")
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from recall_bench.reporting import publication\n"
        "figures, target = map(Path, sys.argv[1:])\n"
        "with publication._draw_charts(figures, target):\n"
        "    print('drawing', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = [sys.executable, "-Pc", script, str(tmp_path / "figures.json"), str(tmp_path / "out")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as report:
        assert report.stdout is not None
        assert report.stdout.readline() == b"drawing\n"
        children = Path(f"/proc/{report.pid}/task/{report.pid}/children").read_text().split()
        assert len(children) == 2, "the drawing process, and what ends it"
        report.kill()

    wait_until_gone([int(pid) for pid in children])
