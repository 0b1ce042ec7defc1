"""The public datasets there are, by name."""

from difflib import get_close_matches

from recall_bench.datasets.public import PublicDataset
from recall_bench.errors import UsageError


def _load_datasets() -> tuple[PublicDataset, ...]:
    from recall_bench.datasets import (
        convomem,
        locomo,
        longmemeval,
        membench,
        memoryarena,
        persona_json,
        personamem,
    )

    return (
        *locomo.DATASETS,
        *longmemeval.DATASETS,
        *convomem.DATASETS,
        *membench.DATASETS,
        *personamem.DATASETS,
        *memoryarena.DATASETS,
        *persona_json.DATASETS,
    )


def list_datasets() -> tuple[PublicDataset, ...]:
    """All there are, in the order of our documentation."""
    return _load_datasets()


def find_dataset(name: str) -> PublicDataset:
    """The dataset of this name; UsageError if there is none."""
    known = {dataset.name: dataset for dataset in list_datasets()}
    if name not in known:
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise UsageError(f"no dataset is called {name!r}; {hint}there are {', '.join(known)}")
    return known[name]
