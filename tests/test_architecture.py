"""The kernel imports in one order, features import the kernel, and no files go in a circle."""

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
from recall_bench.core.feature import list_features, load_target

ROOT = Path(recall_bench.__file__).parent
KERNEL = (
    *("core", "text", "stories", "metrics", "systems", "judging", "engine", "reporting", "cli"),
)
"""Each package imports those before it and none behind it."""
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


def find_room(module: str) -> str:
    """The kernel's package or the feature that a module belongs to."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "features" else parts[0]


def test_there_are_nine_packages_the_features_and_the_facades() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/*.py")}

    assert packages == {*KERNEL, "features", "testing"}
    assert {path.stem for path in ROOT.glob("*.py")} == TOP


def test_the_kernel_imports_in_order_and_no_feature_and_features_no_other() -> None:
    """Lazily too. The facades `library` and `testing` are public names: commands may use them."""
    place = {name: number for number, name in enumerate(KERNEL)}
    wrong = []
    for module, path in MODULES.items():
        room = find_room(module)
        if room in {*TOP, "testing", "features"}:
            continue
        for other in sorted(find_imports(path)):
            aim = find_room(other)
            is_facade = aim in {"library", "testing"} and (room == "cli" or room not in place)
            is_earlier = aim in place and place[aim] <= place.get(room, len(place))
            if aim not in {room, ""} and not is_facade and not is_earlier:
                wrong.append(f"{module} imports {other}")

    assert wrong == []


def test_every_feature_has_a_declaration_that_imports_the_kernel_alone() -> None:
    """What `--help` imports of a feature is its declaration."""
    features = {path.parent.name for path in (ROOT / "features").glob("*/__init__.py")}
    declared = {feature.name for feature in list_features()}

    assert features <= declared
    for name in features:
        assert find_imports(ROOT / "features" / name / "__init__.py") == {"core.feature"}


def test_what_features_name_exists() -> None:
    """A target that is misspelt fails here, and not where it is used first."""
    for feature in list_features():
        for command in feature.commands:
            assert load_target(command.target).name in {command.name, command.name.split()[-1]}
        for kind in ("systems", "forms", "transports", "judges", "protocols", "figures", "parts"):
            for target in getattr(feature, kind).values():
                load_target(target)


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
    named = {"features.datasets.stored_answers"}
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
