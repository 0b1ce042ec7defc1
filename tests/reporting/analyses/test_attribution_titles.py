"""A leaf means the same to whoever reads a page and to whoever reads the code."""

import ast
import inspect

from recall_bench.reporting.analyses import attribution
from recall_bench.reporting.analyses.attribution import LEAF_MEANINGS, LEAF_TITLES, FailureLeaf


def documented() -> dict[FailureLeaf, str]:
    """What stands under each leaf in the source."""
    (defined,) = ast.parse(inspect.getsource(FailureLeaf)).body
    assert isinstance(defined, ast.ClassDef)
    found = {}
    for name, words in zip(defined.body, defined.body[1:], strict=False):
        match name, words:
            case (
                ast.Assign(targets=[ast.Name(id=leaf)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[FailureLeaf[leaf]] = " ".join(text.split())
    return found


def test_every_leaf_is_explained_as_it_is_defined() -> None:
    assert documented() == LEAF_MEANINGS, attribution.__file__
    assert set(LEAF_MEANINGS) == set(FailureLeaf)


def test_every_leaf_has_a_title_of_its_own() -> None:
    assert set(LEAF_TITLES) == set(FailureLeaf)
    assert len(set(LEAF_TITLES.values())) == len(FailureLeaf)
