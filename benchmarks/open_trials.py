"""What a driver spends before its workers begin: listing what each work unit has still to ask.

    python benchmarks/open_trials.py

One persona of 1,756 questions at 143 checkpoints, with 1, 3 and 6 repeats: what is open is listed
once for every unit, as the driver does when it hands them out. The baseline, in the same run, is
one listing of the whole scenario: both look at every trial once, so the ratio must not grow with
the number of units.
"""

import time
from collections.abc import Sequence

from recall_bench.core.plan import Checkpoint
from recall_bench.core.scenario import Item, Truth
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.engine.lifecycle import list_open_trials

QUESTIONS, CHECKPOINTS = 1_756, 143
MOST = 5.0
"""How many times as long as the whole listing the units may take."""


def build_states(repeats: int) -> ScenarioStates:
    """A scenario of which nothing was asked yet."""
    truth = Truth(reference="ok", category="factual-recall")
    items = tuple(
        Item(id=f"q{number}", text=f"What about {number}?", truth=truth, known_from=1)
        for number in range(QUESTIONS)
    )
    plans = []
    for number in range(1, CHECKPOINTS + 1):
        asked = tuple(range(QUESTIONS * number // CHECKPOINTS))
        day = 7 * number
        plans.append(
            CheckpointPlan(
                checkpoint=Checkpoint(label=f"{day}d", days=day),
                cutoff=day,
                asked=asked,
                eligible=asked,
                new=0,
                older=len(asked),
            )
        )
    return ScenarioStates(items, tuple(plans), repeats)


def measure(
    states: ScenarioStates, units: Sequence[tuple[str | None, int | None]]
) -> tuple[float, int]:
    """Processor seconds of listing what these units have open, and the number of trials."""
    started = time.process_time()
    count = sum(len(each.items) for unit in units for each in list_open_trials(states, *unit))
    return time.process_time() - started, count


def main() -> None:
    """Print one row for each number of repeats; fail if a ratio is too high."""
    print(f"{'repeats':>7} {'units':>6} {'trials':>9} {'whole':>8} {'by unit':>8} {'ratio':>6}")
    ratios = []
    for repeats in (1, 3, 6):
        states = build_states(repeats)
        units: list[tuple[str | None, int | None]] = [
            (label, repeat) for label in states.row for repeat in range(repeats)
        ]
        whole, trials = measure(states, [(None, None)])
        by_unit, again = measure(states, units)
        assert trials == again, (trials, again)
        ratios.append(by_unit / whole)
        print(
            f"{repeats:>7} {len(units):>6} {trials:>9,} {whole:>6.2f} s {by_unit:>6.2f} s "
            f"{ratios[-1]:>5.1f}x"
        )
    if max(ratios) > MOST:
        raise SystemExit(f"by unit it takes {max(ratios):.1f} times as long; at most {MOST:g}")


if __name__ == "__main__":
    main()
