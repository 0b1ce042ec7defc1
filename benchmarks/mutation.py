"""How many faults, inserted into the code on purpose, the tests notice.

    python benchmarks/mutation.py                 # twelve mutants of each of five parts
    python benchmarks/mutation.py --part judge --count 30 --seed 7
    python benchmarks/mutation.py --older ../older --table docs/design/mutation.md

A mutant is one small change: another comparison, a constant off by one, `and` for `or`, a statement left
out. They are drawn by a seed from the functions of a part, written into a copy of the tree, and the tests
of that part run against each. Prints each mutant, with the test that noticed it or its change, and the
kill rate.

With `--older`, a checkout of an older commit, only places are drawn that are found there too, under
whatever names, and each mutant runs against the tests of both trees.
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
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import pytest
from mutation_places import Statement, Tree, walk_head

ROOT = Path(__file__).parents[1]
SOURCE = Path("src/recall_bench")

PARTS = {
    "engine": (
        ("engine/checkpoint", "engine/scheduler", "engine/grader", "engine/lifecycle",
         "engine/fed_memory", "engine/backlog", "engine/job", "engine/local_engine",
         "systems/memory_call", "systems/reply", "judging/judge_call", "core/schedule",
         "core/trial_states", "core/retry", "core/budget", "core/work_unit"),
        ("tests/engine", "tests/core", "--ignore=tests/engine/runs", "--ignore=tests/engine/pool"),
    ),
    "judge": (("judging/offline", "judging/rubric", "judging/verdicts"), ("tests/judging",)),
    "metrics": (("metrics",), ("tests/metrics",)),
    "journal": (
        ("engine/runs/journal", "engine/runs/run_folder", "engine/runs/summary",
         "engine/runs/trials", "features/archive/merge", "core/append_log", "core/atomic_file"),
        ("tests/engine/runs", "tests/features/archive", "tests/core"),
    ),
}  # fmt: skip
"""For each part: its files or folders, and the tests that are to notice."""

OLDER_TESTS = {
    "engine": ("tests/running", "tests/core", "tests/test_kill.py"),
    "judge": ("tests/judging",),
    "metrics": ("tests/metrics", "tests/statistics"),
    "journal": ("tests/test_journal.py", "tests/reporting", "tests/merging", "tests/importing",
                "tests/core"),
    "verification": ("tests/proof",),
}  # fmt: skip
"""Where the tests of each part were at commit 0dbc665, before the packages were arranged as today."""

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
    """The index of the node in the file's tree, in the order of `ast.walk`."""


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


@dataclass(frozen=True)
class MutantSuite:
    """A copy of a checkout that mutants may be written into, with the tests of each part."""

    tree: Path
    tests: Mapping[str, tuple[str, ...]]
    timeout_s: float

    def find_killer(self, mutant: Mutant) -> str:
        """The first test of its part that fails with the mutant in place, or nothing.

        The tests that import the changed module come first; slow ones are left out.
        """
        tests = self.tests[mutant.part]
        file = self.tree / mutant.path
        before = file.read_text(encoding="utf-8")
        file.write_text(apply(mutant, before), encoding="utf-8")
        near = self.find_importing_tests(mutant)
        rounds = [(*near, "-m", "not slow")] if near else []
        rounds += [(*tests, "-m", "not slow")]
        try:
            killer = next(filter(None, map(self.find_failure, rounds)), "")
        finally:
            file.write_text(before, encoding="utf-8")
        if killer.startswith("tests") and self.find_failure((killer.partition("[")[0],)):
            raise SystemExit(f"{killer} fails without a mutant too; fix it first")
        return killer

    def find_importing_tests(self, mutant: Mutant) -> list[str]:
        """The test files that import the changed module, those of its part first."""
        module = ".".join(mutant.path.with_suffix("").parts[1:])
        found = [
            str(path.relative_to(self.tree))
            for path in (self.tree / "tests").rglob("test_*.py")
            if f"{module} import" in path.read_text(encoding="utf-8")
        ]
        own = self.tests[mutant.part]
        return sorted(found, key=lambda path: (not path.startswith(own), path))

    def find_failure(self, arguments: tuple[str, ...]) -> str:
        """The first test that fails or takes longer than all of them should, or nothing."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider"]
        environment = {
            **os.environ, "PYTHONPATH": str(self.tree / "src"), "OPENBLAS_NUM_THREADS": "1"
        }  # fmt: skip
        try:
            done = subprocess.run(
                [*command, *arguments],
                cwd=self.tree,
                env=environment,
                capture_output=True,
                text=True,
                timeout=self.timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "(time)"
        if done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return ""
        named = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        return named[1] if named else f"(exit code {done.returncode})"


def show_change(mutant: Mutant, root: Path) -> str:
    """The lines that differ, without the formatting that is lost on the way."""
    text = (root / mutant.path).read_text(encoding="utf-8")
    plain = ast.unparse(ast.parse(text)).splitlines()
    lines = difflib.unified_diff(plain, apply(mutant, text).splitlines(), n=0, lineterm="")
    return "\n".join(line for line in list(lines)[3:])


def copy_tree(root: Path, place: Path) -> Path:
    """A copy of a checkout that mutants may be written into."""
    ignore = shutil.ignore_patterns(".venv", ".git", ".products", ".mypy_cache", "__pycache__")
    shutil.copytree(root, place, ignore=ignore)
    return place


def draw(parts: Collection[str], count: int, seed: int) -> list[Mutant]:
    """Mutants of each part."""
    return [
        m for part in parts for m in random.Random(seed).sample(list(list_mutants(part)), count)
    ]


def draw_pairs(
    parts: Collection[str], count: int, seed: int, older: Path
) -> list[tuple[Mutant, Mutant]]:
    """Mutants of each part, each with the same change in an older checkout."""
    ours, theirs = Tree(ROOT / SOURCE), Tree(older / SOURCE)
    holders = {id(n): s for s in ours.statements for _, n in walk_head(s.node)}
    pairs: list[tuple[Mutant, Mutant]] = []
    for part in parts:
        drawn = list(list_mutants(part))
        random.Random(seed).shuffle(drawn)
        found = (find_twin(mutant, ours, holders, theirs, older) for mutant in drawn)
        both = ((one, twin) for one, twin in zip(drawn, found, strict=True) if twin)
        pairs += sorted(islice(both, count), key=lambda pair: (pair[0].path, pair[0].line))
    return pairs


def find_twin(
    mutant: Mutant, ours: Tree, holders: Mapping[int, Statement], theirs: Tree, older: Path
) -> Mutant | None:
    """The same change in an older checkout, or nothing if its place is not there."""
    node = list(ast.walk(ours.parsed[ROOT / mutant.path]))[mutant.place]
    if id(node) not in holders or not (found := theirs.find_place(node, holders[id(node)])):
        return None
    file, place = found
    line = getattr(list(ast.walk(theirs.parsed[file]))[place], "lineno", 0)
    return replace(mutant, path=file.relative_to(older), line=line, place=place)


def run_all(
    mutants: Sequence[Mutant], root: Path, tests: Mapping[str, tuple[str, ...]], timeout_s: float
) -> Iterator[str]:
    """The test that noticed each mutant, in their order, or nothing."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        suites = [
            MutantSuite(copy_tree(root, Path(folder) / str(number) / "recall"), tests, timeout_s)
            for number in range(2)
        ]

        def run(mutant: Mutant) -> str:
            suite = suites.pop()
            try:
                return suite.find_killer(mutant)
            finally:
                suites.append(suite)

        for mutant, killer in zip(mutants, pool.map(run, mutants), strict=True):
            print(
                f"{'killed  ' if killer else 'SURVIVED'} {mutant.part:12} {mutant.kind:14} "
                f"{mutant.path}:{mutant.line}",
                textwrap.indent(f"by {killer}" if killer else show_change(mutant, root), "    "),
                sep="\n",
                flush=True,
            )
            yield killer


def render_table(
    pairs: Sequence[tuple[Mutant, Mutant]], ours: Sequence[str], theirs: Sequence[str]
) -> str:
    """The kill rates of both suites, and what noticed each mutant."""
    rows = list(zip(pairs, ours, theirs, strict=True))
    lines = ["| Part | Mutants | Noticed at 0dbc665 | Noticed today |", "|---|--:|--:|--:|"]
    for part in (*dict.fromkeys(one.part for one, _ in pairs), "all"):
        of = [row for row in rows if part in (row[0][0].part, "all")]
        then, today = sum(bool(row[2]) for row in of), sum(bool(row[1]) for row in of)
        lines.append(f"| {part} | {len(of)} | {then} | {today} |")
    lines += ["", "| Mutant | Change | Place at 0dbc665 | Noticed then by | Noticed today by |"]
    lines += ["|---|---|---|---|---|"]
    for (one, twin), now, before in rows:
        place, old_place = (f"{m.path.relative_to(SOURCE)}:{m.line}" for m in (one, twin))
        lines.append(f"| {place} | {one.kind} | {old_place} | {shorten(before)} | {shorten(now)} |")
    return "\n".join([*lines, ""])


def shorten(killer: str) -> str:
    """A test without its parameters."""
    return killer.partition("[")[0] or "**nothing**"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--count", type=int, default=12, help="mutants of each part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="*", help="run these instead of the part's own")
    parser.add_argument("--timeout-s", type=float, default=900, help="of one run of the tests")
    parser.add_argument("--older", type=Path, help="a checkout of commit 0dbc665, to compare with")
    parser.add_argument("--table", type=Path, help="write the comparison there, as Markdown")
    options = parser.parse_args()
    parts = options.part or tuple(PARTS)
    tests = {part: tuple(options.tests or PARTS[part][1]) for part in PARTS}
    if options.older is None:
        drawn = draw(parts, options.count, options.seed)
        killed = sum(map(bool, run_all(drawn, ROOT, tests, options.timeout_s)))
        print(f"{killed} of {len(drawn)} mutants killed: {killed / len(drawn):.0%}")
        return
    older = options.older.resolve()
    pairs = draw_pairs(parts, options.count, options.seed, older)
    ours = list(run_all([one for one, _ in pairs], ROOT, tests, options.timeout_s))
    theirs = list(run_all([twin for _, twin in pairs], older, OLDER_TESTS, options.timeout_s))
    text = render_table(pairs, ours, theirs)
    print(text)
    if options.table:
        options.table.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
