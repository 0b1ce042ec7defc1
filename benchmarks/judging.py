"""What the offline judge costs: verdicts a second on one core, and its part of a whole sweep.

    python benchmarks/judging.py [--judged FILE.jsonl --corpus DIR] [--persona ID]

Verdicts are timed in processor time, on the audit set of a persona, whose truth is exact, and,
where labelled verdicts are given, on their answers, which need the calibration. Each answer is
judged for the first time by a judge that knows nothing of it, and then again as at a checkpoint a
week later, where only what the history did not hold is looked up. The baseline in the same process
is plain word overlap with the reference. The sweep is the whole command
`recall-bench run` with the hybrid memory over the persona, once with the offline judge and once
with the stub, each in a process of its own, in the same minute.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import recall_bench
from recall_bench.core.scenario import Scenario
from recall_bench.core.text import normalise, split_words
from recall_bench.core.verdict import Exhibit
from recall_bench.judging.lab.audit.audit import build_audit_set
from recall_bench.judging.lab.judge_agreement import LabelledExhibits
from recall_bench.judging.lab.labelled_verdicts import load_labels, merge_repeats, read_corpus
from recall_bench.judging.offline.offline_judge import StudiedScenario

ROUNDS = 1


def rate(exhibits: Sequence[Exhibit], prepare: Callable[[], Callable[[Exhibit], object]]) -> float:
    """Calls a second, the best of a few rounds, each prepared anew."""
    best = float("inf")
    for _ in range(ROUNDS + 1):
        call = prepare()
        start = time.process_time()
        for exhibit in exhibits:
            call(exhibit)
        best = min(best, time.process_time() - start)
    return len(exhibits) / best


def overlap(exhibit: Exhibit) -> float:
    """The share of the reference's words that the answer holds."""
    reference = set(split_words(normalise(exhibit.item.truth.reference)))
    return len(reference & set(split_words(normalise(exhibit.answer.text)))) / len(reference)


def verdicts(name: str, scenario: Scenario, exhibits: Sequence[Exhibit]) -> None:
    later = [replace(exhibit, days=exhibit.days + 7) for exhibit in exhibits]

    def judge_first() -> Callable[[Exhibit], object]:
        studied = StudiedScenario(scenario)
        studied.judge(later[-1])
        return studied.judge

    def judge_again() -> Callable[[Exhibit], object]:
        studied = StudiedScenario(scenario)
        for exhibit in exhibits:
            studied.judge(exhibit)
        return studied.judge

    first, again = rate(exhibits, judge_first), rate(later, judge_again)
    baseline = rate(exhibits, lambda: overlap)
    print(
        f"{name:<34}{len(exhibits):>7,} answers{first:>9,.0f} verdicts/s"
        f"{baseline / first:>7.1f} x the time of word overlap   again {again:,.0f}/s, "
        f"{again / first:.1f} times as many"
    )


def sweep(persona: str, judge: str, into: Path) -> float:
    """The processor time of a whole run."""
    command = [sys.executable, "-m", "recall_bench", "run", "--personas", persona, "--edition", "1"]
    command += ["--judge", judge, "--groups-enabled", "--into", str(into), "--no-heatmap-png"]
    before = os.times()
    subprocess.run(command, check=True, capture_output=True)
    after = os.times()
    return (
        after.children_user
        + after.children_system
        - (before.children_user + before.children_system)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--judged", type=Path)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--persona", default="er-physician")
    parser.add_argument("--no-sweep", action="store_true", help="time verdicts only")
    options = parser.parse_args()

    scenario = recall_bench.load_persona(options.persona, edition=1)
    items = build_audit_set(scenario, seed=1, per_class=100)
    verdicts(f"audit set of {options.persona}", scenario, [item.make_exhibit() for item in items])
    if options.judged is not None:
        days = read_corpus(options.corpus)
        window = LabelledExhibits(days, 0)
        answers = merge_repeats(load_labels(options.judged))
        verdicts(options.judged.name, days, [window.build(answer) for answer in answers])
    if options.no_sweep:
        return
    with tempfile.TemporaryDirectory() as scratch:
        stub = sweep(options.persona, "stub", Path(scratch, "stub"))
        offline = sweep(options.persona, "offline", Path(scratch, "offline"))
    print(
        f"sweep of {options.persona}, processor time: stub {stub:.1f} s, offline {offline:.1f} s; "
        f"judging adds {offline / stub - 1:.1%}"
    )


if __name__ == "__main__":
    main()
