"""Imports follow one order of thirteen packages, and no files import each other in a circle."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TypeAlias

import recall_bench

ROOT = Path(recall_bench.__file__).parent
ORDER = (
    "core", "metrics", "models", "datasets", "stories", "runs", "systems",
    "judging", "testing", "generate", "reporting", "running", "cli",
)  # fmt: skip
TOP = {"__init__", "__main__", "library"}

FILES = sorted(ROOT.rglob("*.py"))
PAGE = ROOT.parents[1] / "docs" / "design" / "architecture.md"


def module_name(path: Path) -> str:
    """`core/plan.py` is `core.plan`; a package is its folder."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {module_name(path): path for path in FILES}


Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class SourceFacts:
    """What the tests ask about a file. Its tree is a thousand times as large."""

    lines: int
    imports: set[str] = field(default_factory=set)
    """Modules, and names with their modules, imported anywhere, lazily and for types too."""
    names: set[str] = field(default_factory=set)
    """Those imported from modules, without the modules."""
    classes: list[str] = field(default_factory=list)
    long_functions: list[str] = field(default_factory=list)
    has_memory: bool = False
    """Whether it has a class that is asked."""
    sees_truth: bool = False
    """Whether it has such a class, and reads an attribute `truth`."""


@cache
def read_facts(path: Path) -> SourceFacts:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    facts = SourceFacts(len(text.splitlines()))
    for node in iterate_statements(tree):
        if isinstance(node, ast.Import):
            facts.imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            facts.names |= {alias.name for alias in node.names}
            if node.module:
                facts.imports |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ClassDef):
            facts.classes.append(node.name)
            facts.has_memory |= is_memory(node)
        elif isinstance(node, Function) and is_long(node):
            facts.long_functions.append(node.name)
    facts.sees_truth = facts.has_memory and any(
        isinstance(node, ast.Attribute) and node.attr == "truth" for node in ast.walk(tree)
    )
    return facts


def iterate_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement: expressions, nine tenths of a tree, hold none."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending += getattr(node, name, ())


def is_memory(node: ast.ClassDef) -> bool:
    """Whether this is a class that is asked."""
    return any(isinstance(each, Function) and each.name == "answer" for each in node.body)


def is_long(node: Function) -> bool:
    # The options of a command are its documentation, not its logic.
    first = node.body[0].lineno if node.name.endswith("_command") else node.lineno
    return (node.end_lineno or 0) - first > 60 or len(node.args.args) > 6


@cache
def find_imports(path: Path) -> set[str]:
    """Modules of the package that a file imports."""
    inside = {
        name.removeprefix("recall_bench.")
        for name in read_facts(path).imports
        if name.startswith("recall_bench.")
    }
    return {name if name in MODULES else name.rpartition(".")[0] for name in inside} - {""}


def test_there_are_thirteen_packages_and_three_modules() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/*.py")}

    assert packages == set(ORDER)
    assert {path.stem for path in ROOT.glob("*.py")} == TOP


def test_imports_follow_the_order_of_the_packages() -> None:
    place = {name: number for number, name in enumerate(ORDER)}
    wrong = [
        f"{module} imports {other}"
        for module, path in MODULES.items()
        for other in sorted(find_imports(path))
        if (own := place.get(module.split(".")[0])) is not None
        and place.get(other.split(".")[0], -1 if own == len(ORDER) - 1 else len(ORDER)) > own
    ]

    assert wrong == []


def test_no_files_import_each_other() -> None:
    graph = {module: find_imports(path) - {module} for module, path in MODULES.items()}

    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_systems_cannot_see_the_truth() -> None:
    seen: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "systems").rglob("*.py"):
        seen[path.name] |= read_facts(path).names

    forbidden = {"Truth", "Item", "Scenario", "Exhibit"}
    assert {name: found & forbidden for name, found in seen.items() if found & forbidden} == {}


def test_no_other_memory_sees_the_truth_than_the_one_that_is_named() -> None:
    """It looks through a listing for it."""
    named = {"running.stored_answers"}
    found = {module for module, path in MODULES.items() if read_facts(path).sees_truth}

    assert found == named
    assert "stored_answers.py" in PAGE.read_text(encoding="utf-8")


def test_files_and_functions_stay_readable() -> None:
    long: list[str] = []
    for path in FILES:
        facts = read_facts(path)
        if facts.lines > 700:
            long.append(f"{path.name}: {facts.lines} lines")
        long += [f"{path.name}: {name}" for name in facts.long_functions]

    assert long == []


def test_class_names_are_unique() -> None:
    places = defaultdict(list)
    for path in FILES:
        for name in read_facts(path).classes:
            places[name.lstrip("_")].append(module_name(path))

    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_the_page_names_files_and_functions_that_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"(?<!\[)`([a-z_]+(?:/[a-z_]+)+\.py)`", text))
    missing = [name for name in named if not (ROOT / name).exists()]
    places = re.findall(r"`(\w+)` in `([a-z_/]+\.py)`", text)
    strays = [
        f"{name} in {file}"
        for name, file in places
        if file not in missing and name not in (ROOT / file).read_text(encoding="utf-8")
    ]

    assert (missing, strays) == ([], [])
    assert len(named) > 20
    assert len(places) > 5
