"""`init` writes a project whose next commands work as they are."""

from pathlib import Path

import pytest

from recall_bench.core.settings import Settings
from recall_bench.library import read_settings
from tests.commands import Invoke

ROOT = Path(__file__).parents[2]
WRITTEN = [".github/workflows/recall.yml", "gate.yaml", "my_adapter.py", "recall-bench.yaml"]


def list_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.usefixtures("without_bounds")
def test_the_commands_it_names_work(invoke: Invoke) -> None:
    shown = invoke("init")

    assert shown.code == 0
    assert list_files(Path()) == WRITTEN
    named = [line.split("#")[0].split() for line in shown.out.splitlines() if " # " in line]
    for _, *words in named:
        run = [str(next(Path("recall-runs").iterdir()))] if "RUN" in words else []
        done = invoke(*(each for word in words for each in (run if word == "RUN" else [word])))
        assert done.code == 0, (words, done.err, done.out)
    assert [words[1] for words in named] == ["check-adapter", "run", "gate"]


@pytest.mark.slow
@pytest.mark.usefixtures("without_bounds")
@pytest.mark.parametrize(
    "words",
    [
        ("-p", "harbour-office"),
        ("-p", "executive-assistant", "--arcs", "arcs-180d.yaml", "-r", "90d", "full"),
    ],
    ids=["settings", "workflow"],
)
def test_its_gate_fails_a_memory_that_knows_nothing(invoke: Invoke, words: tuple[str, ...]) -> None:
    invoke("init")
    invoke("run", "-a", "none", "-o", "silence", "--no-page", "--no-heatmap-png", *words)

    shown = invoke("gate", "silence", "--rules", "gate.yaml")

    assert shown.code == 11
    assert "FAILED min-score (overall)" in shown.out


def test_it_writes_into_a_new_folder_and_overwrites_nothing(invoke: Invoke) -> None:
    first = invoke("init", "my/project")
    Path("my/project/gate.yaml").write_text("mine")
    Path("my/project/my_adapter.py").unlink()
    second = invoke("init", "my/project")

    assert first.code == 0
    assert "  cd my/project\n" in first.out
    assert second.code == 2
    assert "exists with other content and was not changed" in second.err
    assert Path("my/project/gate.yaml").read_text() == "mine"
    assert not Path("my/project/my_adapter.py").exists()


def test_it_says_where_pytest_has_to_be_and_what_to_replace(invoke: Invoke) -> None:
    shown = invoke("init").out

    assert "pytest in the same environment as recall-bench" in shown
    assert "replace <repository> by the address" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_group_questions_have_one_default(invoke: Invoke) -> None:
    """A first project, its workflow, the action and the plugin ask what `run` asks."""
    invoke("init")
    settings = read_settings(Path("recall-bench.yaml"))

    assert settings.groups_enabled is Settings().groups_enabled
    for text in (Path(".github/workflows/recall.yml"), ROOT / "action.yml"):
        assert "groups-enabled" not in text.read_text()


def test_its_workflow_is_the_one_in_the_documentation(invoke: Invoke) -> None:
    invoke("init")
    documented = (ROOT / "docs/examples/github-workflow.yml").read_text().splitlines()
    written = Path(".github/workflows/recall.yml").read_text().splitlines()

    different = [line for line in documented if line not in written]
    assert len(different) == 2
    assert different[0].startswith("# Copy it to")
    assert different[1].strip().startswith("ADAPTER: hybrid")
    assert len(written) == len(documented) - 1


def test_what_a_killed_command_did_not_write_is_written_when_it_is_repeated(invoke: Invoke) -> None:
    assert invoke("init", "p").code == 0
    Path("p/gate.yaml").unlink()

    assert invoke("init", "p").code == 0
    assert Path("p/gate.yaml").exists()
