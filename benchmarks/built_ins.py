"""The built-in systems side by side: the floor, the ceiling, and what lies between.

python benchmarks/built_ins.py                       the embedded persona of thirty days
python benchmarks/built_ins.py written               the written editions of all shipped personas
python benchmarks/built_ins.py dialogues             the same days as dialogues
python benchmarks/built_ins.py thousand              the written 1,000 days, of two personas
python benchmarks/built_ins.py half                  the half-years of these two
python benchmarks/built_ins.py lives                 the simulated 1,000 days of all shipped personas
python benchmarks/built_ins.py DATA 30d 60d 90d …    another data folder, these checkpoints
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import recall_bench
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.engine.runs.estimates import RunEstimates
from recall_bench.features.personas.simulator.trades import load_trades
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.marks import TrialTally
from recall_bench.stories.drawn import SHIPPED_SIMULATION
from recall_bench.stories.persona_files import DEFAULT_ARCS
from recall_bench.stories.shipped import DEMO, SAMPLE

SYSTEMS = "none random placebo recency vector full-context bm25 hybrid gold-passages oracle".split()

SHIPPED: dict[str, dict[str, Any]] = {
    "written": {},
    "dialogues": {"ingest": "conversations"},
    "thousand": {"personas": DEMO, "arcs": DEFAULT_ARCS},
    "half": {"personas": DEMO},
    "lives": {"arcs": DEFAULT_ARCS, "edition": SHIPPED_SIMULATION},
}
"""The editions of the shipped personas, and the settings that choose them."""


def main(what: str, ranges: tuple[str, ...]) -> None:
    is_shipped = what == SAMPLE or what in SHIPPED
    settings = {"personas": load_trades(), **SHIPPED[what]} if what in SHIPPED else {}
    personas = settings.pop("personas", (SAMPLE,))
    print(
        "| system | score of 100 | of the way | first checkpoint | last | invented | leaked "
        "| ms an answer |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    bounds = ""
    for system in SYSTEMS:
        with tempfile.TemporaryDirectory() as scratch:
            result = recall_bench.run(
                adapter=system,
                data=None if is_shipped else Path(what),
                personas=personas if is_shipped else (),
                ranges=ranges,
                groups_enabled=is_shipped,
                into=Path(scratch, "run"),
                heatmap_png=False,
                **settings,
            )
            summary, found = result.summary, RunEstimates.get(result.folder).estimate_range()
            leak_share = summary.boundary.leaks.share
        if found is None:
            raise SystemExit(f"{system}: the run has no bounds")
        overall, columns = summary.overall, summary.checkpoints
        asked_s = sum(part.clock.query_s for part in columns)
        cells = (
            _format_points(overall),
            _format_share(found.share),
            _format_points(columns[0].overall),
            _format_points(columns[-1].overall),
            f"{overall.invention_rate:.1%}",
            "–" if leak_share is None else f"{leak_share:.1%}",
            f"{1000 * asked_s / overall.owed:.1f}",
        )
        print(f"| {system} | {' | '.join(cells)} |", flush=True)
        bounds = f"silence {100 * found.floor / FULL_MARKS:.0f} of 100"
        if found.ceiling is not None:
            bounds += f", ceiling {100 * found.ceiling / FULL_MARKS:.0f}"
    print(f"\n{bounds}; {summary.overall.owed} trials")


def _format_points(tally: TrialTally) -> str:
    return "–" if tally.share is None else f"{100 * tally.share:.1f}"


def _format_share(share: Estimate | None) -> str:
    if share is None or share.low is None:
        return "–"
    return f"{share.value:.0%} ({share.low:.0%} to {share.high:.0%})"


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else SAMPLE, tuple(sys.argv[2:]))
