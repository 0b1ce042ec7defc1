"""The names of `recall_bench.testing`, which are imported on first use."""

import ast
import sys
from pathlib import Path

import pytest

import recall_bench.testing


def test_every_name_is_there_and_typed_where_it_comes_from() -> None:
    source = Path(recall_bench.testing.__file__ or "").read_text(encoding="utf-8")
    typed = {
        alias.name: node.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("recall_bench.features.doctor.")
        for alias in node.names
    }

    assert sorted(typed) == recall_bench.testing.__all__ == dir(recall_bench.testing)
    for name, module in typed.items():
        assert getattr(recall_bench.testing, name) is getattr(sys.modules[str(module)], name)


def test_a_name_that_is_not_there_says_so() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nobody'"):
        _ = recall_bench.testing.Nobody
