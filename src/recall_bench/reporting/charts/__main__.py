"""Draw the charts of a report: `python -m recall_bench.reporting.charts report.json FOLDER`.

A process of its own, because drawing takes seconds and holds the interpreter lock.
"""

import sys
from pathlib import Path

import msgspec

from recall_bench.reporting.charts.gallery import draw_charts
from recall_bench.reporting.run_report import RunReport


def main(figures: str, folder: str) -> None:
    """Draw all, and print the names of the files."""
    report = msgspec.json.decode(Path(figures).read_bytes(), type=RunReport)
    names = [path.name for path in draw_charts(report, Path(folder))]
    sys.stdout.buffer.write(msgspec.json.encode(names))


if __name__ == "__main__":
    main(*sys.argv[1:])
