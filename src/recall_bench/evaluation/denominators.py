"""How many of a dataset's questions each protocol counts, and for what."""

from collections.abc import Iterator

from recall_bench.core.question import Item
from recall_bench.datasets.public import PublicDataset
from recall_bench.evaluation.methodologies import list_methodologies


def list_denominators(dataset: PublicDataset, item: Item) -> Iterator[str]:
    """The counts a question belongs to: `official: asked`, `strict: counted by turns`."""
    for methodology in list_methodologies(dataset.family):
        if not methodology.asked(item):
            continue
        yield f"{methodology.name}: asked"
        for ranking in methodology.rankings:
            if ranking.empty is not None or ranking.gold("", item):
                yield f"{methodology.name}: counted by {ranking.level}s"
