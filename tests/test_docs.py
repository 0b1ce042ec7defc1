"""The documents tell the truth: reference is generated, commands run, examples work."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from recall_bench.cli.main import list_names
from recall_bench.core import errors
from recall_bench.features.doctor import recall_checks
from recall_bench.stories.seeds import WorldSeed
from tests.commands import Invoke
from tests.features.datasets.evaluation.eval_datasets import write_locomo
from tests.features.personas.test_end_to_end import is_of_made_persona
from tests.gardener import ADAPTER, write_persona
from tests.thoroughness import IS_EXHAUSTIVE, choose_number

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def shell_lines(path: Path) -> list[str]:
    lines = "".join(blocks(path, "sh")).splitlines()
    return [line.split("#")[0].strip() for line in lines if line.strip()]


def test_the_reference_is_up_to_date() -> None:
    """In a process of its own: a command remembers how its help was first shown."""
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, f"run python docs/generate.py ({done.stdout}{done.stderr})"


def test_every_worked_example_gives_what_the_page_says() -> None:
    """One doctest for each page with a console session."""
    for path in PAGES:
        text = "\n".join(blocks(path, "pycon"))
        if not text:
            continue
        page = doctest.DocTestParser().get_doctest(text, {}, path.name, path.name, 0)
        lines: list[str] = []

        found = doctest.DocTestRunner(verbose=False).run(page, out=lines.append)

        assert found.attempted > 0, path
        assert found.failed == 0, "".join(lines)


def test_every_page_of_formulas_has_worked_examples() -> None:
    formulas = "attribution costs degradation gate hallucination statistics".split()
    formulas += "erasure poisoning tenants freshness load procedures tool-loop".split()

    for name in formulas:
        path = ROOT / f"docs/explanation/{name}.md"
        assert blocks(path, "pycon") or blocks(path, "python"), name


def test_links_lead_somewhere() -> None:
    broken = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in PAGES
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))
        if not (path.parent / target).exists()
    ]

    assert broken == []


def test_every_page_can_be_reached_from_the_first() -> None:
    waiting = [ROOT / "README.md"]
    for path in waiting:
        links = re.findall(r"\]\(([^)#]+\.md)", path.read_text(encoding="utf-8"))
        pages = [(path.parent / link).resolve() for link in links]
        waiting += [page for page in dict.fromkeys(pages) if page not in waiting and page in PAGES]

    assert sorted({*PAGES} - {*waiting}) == []


@pytest.mark.parametrize(
    "path",
    [path for path in PAGES if blocks(path, "python")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_python_examples_run(path: Path) -> None:
    for block in blocks(path, "python"):
        exec(compile(block, str(path), "exec"), {})


def test_every_command_and_error_is_in_the_reference() -> None:
    commands = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
    tree = (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")

    assert all(f"## {name}\n" in commands for name in list_names())
    for name, thing in vars(errors).items():
        if isinstance(thing, type) and issubclass(thing, errors.BenchError):
            assert name in tree


def test_the_readme_fits_on_a_screen() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 60


def test_make_targets_named_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = [line.split()[1] for line in shell_lines(ROOT / "README.md") if line[:4] == "make"]

    assert named == ["demo", "test"]
    assert all(f"\n{target}:" in makefile for target in named)


def list_cuts(words: list[str]) -> list[str]:
    """What is added to a run, so that it takes less time."""
    if words[0] != "run" or IS_EXHAUSTIVE:
        return []
    cuts = [] if {"--ranges", "--profile"} & {*words} else ["--ranges", "5d,10d"]
    return [*cuts, "--workers", "1"] if "processes" in words else cuts


@pytest.mark.slow
def test_every_listed_command_and_the_tutorial_run(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run in order in one empty folder, with the files their words take for granted.

    The demo and other runs are cut to their first days, and the matrix to two cells: longer
    stories run the same code. One worker is as much a process as several. The doctor examines on
    a story that other tests draw too, and its large day is a tenth as large. Where the list makes
    a persona, tests/features/personas/test_end_to_end.py runs its commands.
    """
    monkeypatch.setattr(WorldSeed, "draw", lambda: WorldSeed(7))
    monkeypatch.setattr(recall_checks, "LARGE_BYTES", choose_number(100_000, 1_000_000))
    Path("my_adapter.py").write_text(ADAPTER)
    write_persona(Path("my-personas"))
    write_locomo(Path("locomo10.json"))
    Path("docs/examples").mkdir(parents=True)
    matrix = (ROOT / "docs/examples/matrix.yaml").read_text()
    for whole, part in (("[10d, 20d, 30d]", "[10d]"), ("[42, 43]", "[42]")):
        assert whole in matrix
        matrix = matrix.replace(whole, part)
    Path("docs/examples/matrix.yaml").write_text(matrix)
    Path("p.yaml").write_text("run: {ranges: [5d, 10d]}\n")
    demo = re.search(r"^demo:.*\n\t\$\(BIN\)/(.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert demo is not None
    tutorial = ROOT / "docs/tutorial/first-run.md"

    personas = "executive-assistant er-physician"
    assert f"--personas {personas} " in demo[1]
    short = "executive-assistant --ranges 5d 10d"
    begins = demo[1].replace(personas, short)
    listed = [*shell_lines(ROOT / "README.md"), *shell_lines(ROOT / "docs/README.md")]
    commands = [line for line in listed if not is_of_made_persona(line)]
    assert commands
    for line in [begins, *commands, *shell_lines(tutorial)]:
        program, *words = shlex.split(line)
        if program in ("make", "."):
            continue
        assert program == "recall-bench"
        shown = invoke(*words, *list_cuts(words))
        assert shown.code == 0, f"{line}: {shown.err}"
