"""Who may import whom. A failure here is a design question, not a lint."""

import ast
from pathlib import Path

import pytest

import recall_bench

ROOT = Path(recall_bench.__file__).parent

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "core": {"errors"},
    "appending": {"errors"},
    "journal": {"appending", "core", "errors"},
    "plugins": {"errors"},
    "interruption": set(),
    "replacement": {"errors"},
    "yaml12": {"errors"},
    "datasets": {"core", "errors", "yaml12"},
    "lint": {"core", "datasets", "errors", "yaml12"},
    "foreign_code": {"errors"},
    "world": {"core", "errors", "yaml12"},
    "proof": {"core", "datasets", "errors", "yaml12"},
    "shipped": {"core", "datasets", "errors", "world"},
    "downloading": {"core", "datasets", "errors", "shipped"},
    "portrait": {"core", "datasets", "lint", "proof"},
    "worlds": {"datasets", "errors", "lint", "proof", "resolve", "shipped", "world"},
    "systems": {"core", "errors", "foreign_code", "yaml12"},
    "models": {"core", "errors", "foreign_code", "replacement"},
    "endpoint": {"core", "errors", "models", "systems"},
    "serving": {"core", "errors", "systems"},
    "judging": {"core", "errors", "foreign_code", "models", "replacement"},
    "judge_lab": {"core", "datasets", "errors", "judging", "metrics"},
    "metrics": {"core"},
    "statistics": {"core", "errors"},
    "reading": {"core", "errors", "models", "systems"},
    "running": {"core", "errors"},
    "personas": set(),
    "reporting": {"core", "errors", "journal", "metrics", "replacement", "statistics"},
    "analysis": {
        "core",
        "errors",
        "journal",
        "metrics",
        "replacement",
        "reporting",
        "statistics",
    },
    "charts": {"analysis", "core", "replacement", "reporting", "statistics"},
    "pages": {
        "analysis",
        "charts",
        "core",
        "errors",
        "replacement",
        "reporting",
        "shipped",
        "statistics",
    },
    "publishing": {
        "analysis",
        "errors",
        "pages",
        "rejudging",
        "replacement",
        "reporting",
        "shipped",
    },
    "settings": {"core", "errors"},
    "profile": {"core", "errors", "settings", "yaml12"},
    "testing": {"core", "errors"},
    "resolve": {
        "core",
        "datasets",
        "endpoint",
        "errors",
        "foreign_code",
        "judging",
        "models",
        "plugins",
        "settings",
        "reading",
        "shipped",
        "systems",
        "yaml12",
    },
    "importing": {"core", "datasets", "errors", "journal", "outputs", "reporting"},
    "staff": {"core", "datasets", "errors", "running"},
    "job": {"core", "diagnoses", "errors", "journal", "settings", "running", "staff"},
    "planning": {
        "executors",
        "running",
        "assemble",
        "core",
        "errors",
        "job",
        "journal",
        "judging",
        "outputs",
        "reading",
        "reporting",
        "resolve",
        "settings",
        "shipped",
        "statistics",
    },
    "matrix": {
        "analysis",
        "assemble",
        "core",
        "ending",
        "errors",
        "executors",
        "interruption",
        "job",
        "journal",
        "metrics",
        "outputs",
        "profile",
        "replacement",
        "reporting",
        "settings",
        "shipped",
        "statistics",
        "yaml12",
    },
    "merging": {"core", "ending", "errors", "journal", "replacement", "reporting", "settings"},
    "executors": {"core", "errors", "interruption", "job", "running", "settings", "staff"},
    "outputs": {"core", "errors", "journal", "settings"},
    "assemble": {
        "staff",
        "core",
        "datasets",
        "errors",
        "job",
        "outputs",
        "settings",
        "resolve",
        "running",
        "shipped",
    },
    "rejudging": {
        "staff",
        "core",
        "datasets",
        "errors",
        "job",
        "journal",
        "outputs",
        "settings",
        "reporting",
        "resolve",
        "running",
        "shipped",
    },
    "ablation": {
        "assemble",
        "core",
        "ending",
        "errors",
        "job",
        "journal",
        "metrics",
        "outputs",
        "settings",
        "reporting",
        "resolve",
        "shipped",
        "yaml12",
    },
    "evaluation": {
        "executors",
        "staff",
        "assemble",
        "core",
        "datasets",
        "downloading",
        "ending",
        "errors",
        "job",
        "journal",
        "judging",
        "metrics",
        "outputs",
        "settings",
        "rejudging",
        "reporting",
        "resolve",
        "running",
        "shipped",
        "replacement",
    },
    "selection": {
        "staff",
        "assemble",
        "core",
        "ending",
        "errors",
        "foreign_code",
        "job",
        "judging",
        "metrics",
        "models",
        "outputs",
        "settings",
        "reporting",
        "resolve",
        "running",
        "systems",
        "yaml12",
        "replacement",
    },
    "generate": {
        "appending",
        "core",
        "datasets",
        "errors",
        "interruption",
        "lint",
        "models",
        "profile",
        "settings",
        "replacement",
        "resolve",
        "running",
        "world",
        "worlds",
        "yaml12",
    },
    "diagnoses": {"core", "shipped"},
    "doctor": {
        "core",
        "datasets",
        "errors",
        "judging",
        "plugins",
        "reading",
        "testing",
    },
    "ending": {
        "executors",
        "core",
        "errors",
        "interruption",
        "job",
        "outputs",
        "settings",
        "reporting",
    },
    "library": {
        "matrix",
        "planning",
        "merging",
        "analysis",
        "assemble",
        "core",
        "datasets",
        "ending",
        "errors",
        "evaluation",
        "importing",
        "job",
        "profile",
        "settings",
        "publishing",
        "rejudging",
        "reporting",
        "resolve",
        "shipped",
        "systems",
    },
    "cli": {
        "executors",
        "planning",
        "matrix",
        "merging",
        "ablation",
        "analysis",
        "assemble",
        "core",
        "diagnoses",
        "doctor",
        "downloading",
        "ending",
        "endpoint",
        "errors",
        "evaluation",
        "job",
        "judge_lab",
        "library",
        "lint",
        "portrait",
        "rejudging",
        "profile",
        "settings",
        "publishing",
        "reporting",
        "resolve",
        "selection",
        "serving",
        "shipped",
        "testing",
        "worlds",
        "yaml12",
        "replacement",
        "interruption",
        "generate",
        "importing",
    },
    "__main__": {"cli"},
    "__init__": {"core", "ending", "errors", "library", "settings", "reporting"},
}

MODULES = sorted(ROOT.rglob("*.py"))


def part(module: str) -> str:
    """`recall_bench.core.plan` belongs to `core`."""
    return module.split(".")[1]


def imports(path: Path) -> set[str]:
    """Every `recall_bench` module named anywhere in the file, functions and all."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= (
                {f"recall_bench.{alias.name}" for alias in node.names}
                if node.module == "recall_bench"
                else {node.module or ""}
            )
    return {name for name in names if name.startswith("recall_bench.")}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    own = part(".".join(("recall_bench", *path.relative_to(ROOT).with_suffix("").parts)))

    assert {part(name) for name in imports(path)} - {own} <= MAY_IMPORT[own]


def test_the_picture_shows_no_import_that_is_not_there() -> None:
    found: dict[str, set[str]] = {name: set() for name in MAY_IMPORT}
    for path in MODULES:
        own = part(".".join(("recall_bench", *path.relative_to(ROOT).with_suffix("").parts)))
        found[own] |= {part(name) for name in imports(path)} - {own}

    assert {name: may - found[name] for name, may in MAY_IMPORT.items() if may - found[name]} == {}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "systems").rglob("*.py")), ids=lambda path: path.name
)
def test_systems_cannot_see_the_truth(path: Path) -> None:
    names = {
        alias.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert not names & {"Truth", "Item", "Scenario", "Exhibit"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_stay_readable(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # A command's options are its documentation, not its logic.
            body = node.body[0].lineno if node.name.endswith("_command") else node.lineno
            assert (node.end_lineno or 0) - body <= 40, node.name
            assert len(node.args.args) <= 6, node.name
