"""The built-in systems side by side: the floor, the ceiling, and what lies between.

python benchmarks/built_ins.py                       the embedded persona
python benchmarks/built_ins.py DATA 30d 60d 90d …    another data folder, these checkpoints
"""

import sys
import tempfile
from pathlib import Path

import recall_bench

SYSTEMS = "none random recency vector full-context bm25 hybrid gold-passages oracle".split()


def main(data: Path | None, ranges: tuple[str, ...]) -> None:
    print("| system | mean of 6 | first checkpoint | last | hallucination | ms an answer |")
    print("|---|--:|--:|--:|--:|--:|")
    for system in SYSTEMS:
        with tempfile.TemporaryDirectory() as scratch:
            summary = recall_bench.run(
                adapter=system,
                data=data,
                ranges=ranges,
                groups_enabled=data is None,
                into=Path(scratch, "run"),
                heatmap_png=False,
            ).summary
        overall, columns = summary.overall, summary.checkpoints
        asked_s = sum(part.clock.query_s for part in columns)
        print(
            f"| {system} | {overall.mean:.2f} | {columns[0].overall.mean:.2f} "
            f"| {columns[-1].overall.mean:.2f} | {overall.hallucination_rate:.1%} "
            f"| {1000 * asked_s / overall.owed:.1f} |"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else None, tuple(sys.argv[2:]))
