"""Two runs on a public dataset and one on a persona, small enough for every test of exports."""

from pathlib import Path

from tests.features.datasets.evaluation.eval_datasets import (
    BOUGHT,
    FROST,
    HARVEST,
    LEMONS,
    SOLD,
    WHERE,
    finding,
    report_on,
    request_for,
    write_locomo,
)

GOOD = {WHERE: [BOUGHT], HARVEST: [LEMONS]}
POOR = {WHERE: [FROST], HARVEST: [FROST]}


def run_locomo(home: Path, name: str, *, is_good: bool, protocol: str = "official") -> Path:
    """A run of a system that finds the right passages, or the wrong ones."""
    data = write_locomo(home / "locomo10.json")
    request = request_for("locomo", data, home, protocol=protocol, floors=False, into=home / name)
    report_on(request, finding(GOOD if is_good else POOR, otherwise=[SOLD]))
    return home / name
