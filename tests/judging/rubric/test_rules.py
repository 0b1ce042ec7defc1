"""The digest of what decides a verdict covers what it should, and nothing else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from recall_bench.judging.rubric import rules
from recall_bench.judging.rubric.rules import SHARED, digest_of

RUBRIC = Path(rules.__file__).parent
OFFLINE = RUBRIC.parent / "offline"
PACKAGE = "recall_bench.judging.offline"


def offline_imports(path: Path) -> Iterator[str]:
    """The offline modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        named: list[str] = []
        if isinstance(node, ast.ImportFrom):
            named = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        for name in named:
            if name.startswith(f"{PACKAGE}."):
                yield name.removeprefix(f"{PACKAGE}.").split(".")[0]


def test_the_shared_rules_are_all_that_the_judge_reaches_and_no_more() -> None:
    reached: set[str] = set()
    ahead = {name for path in RUBRIC.glob("*.py") for name in offline_imports(path)}
    while ahead:
        reached |= ahead
        ahead = {
            name for module in ahead for name in offline_imports(OFFLINE / f"{module}.py")
        } - reached

    assert sorted(reached) == list(SHARED)
    assert "leaks" in reached
    assert "features" not in reached, "grading offline is no business of a model's verdict"


@pytest.mark.parametrize(
    ("after", "same"),
    [
        ('"""Other words."""\nX = 1  # why\n', True),
        ('"""Words."""\nX = 2\n', False),
        ('"""Words."""\nX = "1"\n', False),
    ],
)
def test_the_digest_is_about_what_code_does(tmp_path: Path, after: str, same: bool) -> None:
    path = tmp_path / "rule.py"
    path.write_text('"""Words."""\nX = 1\n')
    before = digest_of([path])
    path.write_text(after)

    assert (digest_of([path]) == before) is same
