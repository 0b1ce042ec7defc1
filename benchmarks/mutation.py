"""How many faults, put into the code on purpose, the tests notice.

    python benchmarks/mutation.py                 # twelve mutants of each of five parts
    python benchmarks/mutation.py --part judge --count 30 --seed 7

A mutant is one small change: another comparison, a constant off by one, `and` for `or`, a statement left
out. They are drawn by a seed from the functions of a part, written into a copy of the tree, and the tests
of that part run against each. Prints each mutant, with the test that noticed it or its change, and the
kill rate.
"""

import argparse
import ast
import difflib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = Path("src/recall_bench")

PARTS = {
    "engine": (
        ("running/checkpoint", "running/scheduler", "running/grader", "running/lifecycle",
         "running/fed_memory", "running/backlog", "running/job", "running/local_engine",
         "systems/memory_call", "systems/reply", "judging/judge_call", "core/schedule",
         "core/trial_states", "core/retry", "core/budget", "core/work_unit"),
        ("tests/running", "tests/core"),
    ),
    "judge": (("judging/offline", "judging/rubric", "judging/verdicts"), ("tests/judging",)),
    "metrics": (("metrics",), ("tests/metrics",)),
    "journal": (
        ("runs/journal", "runs/run_folder", "runs/summary", "runs/merge", "runs/trials",
         "core/append_log", "core/atomic_file"),
        ("tests/runs", "tests/core"),
    ),
    "verification": (("generate/verification",), ("tests/generate/verification",)),
}  # fmt: skip
"""For each part: its files or folders, and the tests that are to notice."""

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change at one place of one file."""

    part: str
    path: Path
    line: int
    kind: str
    place: int
    """The how-manieth node of the file's tree, in the order of `ast.walk`."""


def list_mutants(part: str) -> Iterator[Mutant]:
    """Every change that could be made to a part, in the order of its files."""
    for stem in PARTS[part][0]:
        base = ROOT / SOURCE / stem
        files = sorted(base.rglob("*.py")) if base.is_dir() else [base.with_suffix(".py")]
        for file in files:
            tree = ast.parse(file.read_text(encoding="utf-8"))
            inside = {
                n
                for f in ast.walk(tree)
                if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef)
                for n in ast.walk(f)
            }
            for place, node in enumerate(ast.walk(tree)):
                kind = find_kind(node)
                if kind and node in inside:
                    yield Mutant(
                        part, file.relative_to(ROOT), getattr(node, "lineno", 0), kind, place
                    )


def find_kind(node: ast.AST) -> str | None:  # noqa: PLR0911 - a table in the shape of a match
    """Which change can be made to a node, if any."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARE:
            return "comparison"
        case ast.BinOp(op=op) if type(op) in _BINARY and not isinstance(node.left, ast.JoinedStr):
            return "arithmetic"
        case ast.BoolOp():
            return "and/or"
        case ast.UnaryOp(op=ast.Not()):
            return "not"
        case ast.Constant(value=value) if type(value) is int:
            return "constant"
        case ast.Constant(value=value) if type(value) is bool:
            return "flag"
        case ast.Expr(value=ast.Call()):
            return "call left out"
        case ast.If():
            return "condition"
    return None


def apply(mutant: Mutant, text: str) -> str:
    """The file with the change."""
    tree = ast.parse(text)
    node = list(ast.walk(tree))[mutant.place]
    match node:
        case ast.Compare():
            node.ops = [_COMPARE[type(node.ops[0])]()]
        case ast.BinOp():
            node.op = _BINARY[type(node.op)]()
        case ast.BoolOp():
            node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        case ast.UnaryOp():
            node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=int() as value):
            node.value = value + 1
        case ast.Expr():
            node.value = ast.Constant(None)
        case ast.If():
            node.test = ast.UnaryOp(ast.Not(), node.test)
    return ast.unparse(ast.fix_missing_locations(tree))


def find_killer(mutant: Mutant, tests: tuple[str, ...], tree: Path) -> str:
    """The first test of its part that fails with the mutant in place, or nothing.

    The tests that import the changed module come first, and slow ones last.
    """
    file = tree / mutant.path
    before = file.read_text(encoding="utf-8")
    file.write_text(apply(mutant, before), encoding="utf-8")
    near = find_importing_tests(mutant, tests, tree)
    rounds = [(*near, "-m", "not slow")] if near else []
    rounds += [(*tests, "-m", "not slow"), (*tests, "-m", "slow")]
    try:
        return next(filter(None, (find_failure(arguments, tree) for arguments in rounds)), "")
    finally:
        file.write_text(before, encoding="utf-8")


def find_importing_tests(mutant: Mutant, tests: tuple[str, ...], tree: Path) -> list[str]:
    """The test files that import the changed module."""
    module = ".".join(mutant.path.with_suffix("").parts[1:])
    return sorted(
        str(path.relative_to(tree))
        for folder in tests
        for path in (tree / folder).rglob("test_*.py")
        if f"{module} import" in path.read_text(encoding="utf-8")
    )


def find_failure(arguments: tuple[str, ...], tree: Path) -> str:
    """The first test that fails or takes longer than all of them should, or nothing."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [*command, *arguments],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "(time)"
    if done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return ""
    named = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return named[1] if named else f"(exit code {done.returncode})"


def show_change(mutant: Mutant) -> str:
    """The lines that differ, without the formatting that is lost on the way."""
    text = (ROOT / mutant.path).read_text(encoding="utf-8")
    plain = ast.unparse(ast.parse(text)).splitlines()
    lines = difflib.unified_diff(plain, apply(mutant, text).splitlines(), n=0, lineterm="")
    return "\n".join(f"    {line}" for line in list(lines)[3:])


def copy_tree(place: Path) -> Path:
    """A copy of the checkout that mutants may be written into."""
    ignore = shutil.ignore_patterns(".venv", ".git", ".products", ".mypy_cache", "__pycache__")
    shutil.copytree(ROOT, place, ignore=ignore)
    return place


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--count", type=int, default=12, help="mutants of each part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="*", help="run these instead of the part's own")
    options = parser.parse_args()
    drawn = [
        mutant
        for part in options.part or PARTS
        for mutant in random.Random(options.seed).sample(list(list_mutants(part)), options.count)
    ]
    killed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        trees = [copy_tree(Path(folder) / str(number) / "recall") for number in range(2)]

        def run(mutant: Mutant) -> tuple[Mutant, str]:
            tree = trees.pop()
            tests = tuple(options.tests or PARTS[mutant.part][1])
            try:
                return mutant, find_killer(mutant, tests, tree)
            finally:
                trees.append(tree)

        for mutant, killer in pool.map(run, drawn):
            killed += bool(killer)
            print(
                f"{'killed  ' if killer else 'SURVIVED'} {mutant.part:12} {mutant.kind:14} "
                f"{mutant.path}:{mutant.line}",
                f"    by {killer}" if killer else show_change(mutant),
                sep="\n",
                flush=True,
            )
    print(f"{killed} of {len(drawn)} mutants killed: {killed / len(drawn):.0%}")


if __name__ == "__main__":
    main()
