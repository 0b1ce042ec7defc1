"""Every leaf has a title and a meaning."""

from recall_bench.reporting.analyses.attribution import LEAF_MEANINGS, LEAF_TITLES, FailureLeaf


def test_every_leaf_is_explained() -> None:
    assert set(LEAF_MEANINGS) == set(FailureLeaf)
    assert len(set(LEAF_MEANINGS.values())) == len(FailureLeaf)


def test_every_leaf_has_a_title_of_its_own() -> None:
    assert set(LEAF_TITLES) == set(FailureLeaf)
    assert len(set(LEAF_TITLES.values())) == len(FailureLeaf)
