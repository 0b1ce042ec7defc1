"""Find the place of a mutant in an older checkout, where files, functions and variables had other names.

A statement is recognised by its shape, its words and its constants, and by those of its function. A
place counts as found if one statement of the older tree fits clearly better than every other.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log
from pathlib import Path

ENOUGH = 0.5
"""The least likeness of two functions, and of two statements with their functions, of 1."""

MARGIN = 0.05
"""How much less alike the second best must be."""


@dataclass(frozen=True)
class Statement:
    """One statement of a function, without the statements inside it."""

    file: Path
    node: ast.stmt
    function: "Function"
    shape: str
    words: frozenset[str]

    def find_path(self, wanted: ast.AST) -> str | None:
        """The way from the statement to a node in it."""
        return next((path for path, node in walk_head(self.node) if node is wanted), None)

    def find_node(self, path: str) -> ast.AST:
        """The node at the end of a way that `find_path` gave."""
        return dict(walk_head(self.node))[path]


class Function:
    """The features of all statements of a function."""

    def __init__(self) -> None:
        self.features: Counter[str] = Counter()


class Tree:
    """The statements of every function of a checkout."""

    def __init__(self, source: Path) -> None:
        self.parsed = {
            file: ast.parse(file.read_text(encoding="utf-8"))
            for file in sorted(source.rglob("*.py"))
        }
        self.statements = [
            statement
            for file in self.parsed
            for statement in read_statements(file, self.parsed[file])
        ]

    @cached_property
    def by_shape(self) -> dict[str, list[Statement]]:
        """The statements of each shape."""
        found = defaultdict(list)
        for statement in self.statements:
            found[statement.shape].append(statement)
        return found

    @cached_property
    def weights(self) -> dict[str, float]:
        """How much each feature tells: rare ones more."""
        counts = Counter(f for s in self.statements for f in {s.shape, *s.words})
        return {feature: log(len(self.statements) / count) for feature, count in counts.items()}

    def find_place(self, node: ast.AST, statement: Statement) -> tuple[Path, int] | None:
        """File and number, in the order of `ast.walk`, of the same node in this tree."""
        path = statement.find_path(node)
        ranked = sorted(
            (
                (self.compare(statement, other), n)
                for n, other in enumerate(self.by_shape[statement.shape])
            ),
            reverse=True,
        )
        if path is None or not ranked or ranked[0][0] < ENOUGH:
            return None
        if len(ranked) > 1 and ranked[0][0] - ranked[1][0] < MARGIN:
            return None
        best = self.by_shape[statement.shape][ranked[0][1]]
        twin = best.find_node(path)
        number = next(n for n, each in enumerate(ast.walk(self.parsed[best.file])) if each is twin)
        return best.file, number

    def compare(self, one: Statement, other: Statement) -> float:
        """How alike two statements of one shape are, with the functions they stand in."""
        words = self.weigh(one.words & other.words) / (self.weigh(one.words | other.words) or 1)
        ours, theirs = one.function.features, other.function.features
        both = self.weigh_counts(ours & theirs)
        around = both / (min(self.weigh_counts(ours), self.weigh_counts(theirs)) or 1)
        return (words + around) / 2 if around >= ENOUGH else 0.0

    def weigh(self, features: frozenset[str]) -> float:
        return sum(self.weights.get(feature, 10.0) for feature in features)

    def weigh_counts(self, features: Counter[str]) -> float:
        return sum(self.weights.get(feature, 10.0) * count for feature, count in features.items())


def read_statements(file: Path, tree: ast.Module) -> Iterator[Statement]:
    """Every statement inside the functions of a file, outermost function first."""
    done: set[ast.AST] = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or function in done:
            continue
        shared = Function()
        for node in ast.walk(function):
            if isinstance(node, ast.stmt) and node is not function and not is_docstring(node):
                done.add(node)
                statement = Statement(file, node, shared, describe_shape(node), collect_words(node))
                shared.features.update((statement.shape, *statement.words))
                yield statement


def walk_head(node: ast.AST, path: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every node of a statement with the way to it, without inner statements and annotations."""
    yield path, node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_comment"}:
            continue
        for number, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST) and not isinstance(
                child, ast.stmt | ast.ExceptHandler | ast.match_case
            ):
                yield from walk_head(child, f"{path}/{name}{number}")


def describe_shape(statement: ast.stmt) -> str:
    """The statement without its names and strings."""
    described = []
    for path, node in walk_head(statement):
        detail = (
            repr(node.value)
            if isinstance(node, ast.Constant) and not isinstance(node.value, str)
            else ""
        )
        described.append(f"{path}:{type(node).__name__}{detail}")
    return " ".join(described)


def collect_words(statement: ast.stmt) -> frozenset[str]:
    """The names and strings of a statement."""
    found = set()
    for _, node in walk_head(statement):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                found.add(name.strip("_"))
            case ast.Constant(value=str(text)):
                found.add(f"text {text}")
    return frozenset(found)


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
