"""What the offline judge costs: verdicts a second on one core, and its part of a whole sweep.

    python benchmarks/judging.py [--judged FILE.jsonl --corpus DIR] [--persona ID]

Verdicts are timed in processor time, on the audit set of a persona, whose truth is exact, and,
where labelled verdicts are given, on their answers, which need the calibration. Each set is judged
in a new process, because a judge caches much of what it reads. What is paid once is timed
separately: reading the whole history, then the questions with their truths. The rates are of the
answers alone, and of everything together. Then all is judged again as at a checkpoint a week later,
where only what the history did not hold is looked up, and once more with nothing changed. The baseline is plain word overlap with the reference. The
sweep is the whole command `recall-bench run` with the hybrid memory over the persona, once with the
offline judge and once with the stub, each in a process of its own, in the same minute.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import recall_bench
from recall_bench.core.scenario import Scenario
from recall_bench.core.verdict import Exhibit
from recall_bench.features.judges.audit_answers import build_audit_set
from recall_bench.features.judges.judge_agreement import LabelledExhibits
from recall_bench.features.judges.labelled_verdicts import load_labels, merge_repeats, read_corpus
from recall_bench.judging.offline.offline_judge import StudiedScenario
from recall_bench.text.text import normalise, split_words
from recall_bench.text.values import find_values

END = 10**6
"""A day after the last."""


def measure_calls(call: Callable[[Exhibit], object], exhibits: Sequence[Exhibit]) -> float:
    """Processor seconds of one call for each exhibit."""
    start = time.process_time()
    for exhibit in exhibits:
        call(exhibit)
    return time.process_time() - start


def compute_overlap(exhibit: Exhibit) -> float:
    """The share of the reference's words that the answer holds."""
    reference = set(split_words(normalise(exhibit.item.truth.reference)))
    return len(reference & set(split_words(normalise(exhibit.answer.text)))) / len(reference)


@dataclass(frozen=True)
class VerdictCost:
    """The processor time of one set of answers, in seconds."""

    answers: int
    questions: int
    history_s: float
    questions_s: float
    answers_s: float
    later_s: float
    unchanged_s: float
    overlap_s: float

    @property
    def whole_s(self) -> float:
        """All that the first verdicts take."""
        return self.history_s + self.questions_s + self.answers_s


def _measure_verdicts(scenario: Scenario, exhibits: Sequence[Exhibit]) -> VerdictCost:
    start = time.process_time()
    studied = StudiedScenario(scenario)
    # Every index reads all of the history to find what it does not hold.
    studied.history.is_value_known(next(find_values("7 March 1871")), END)
    studied.history.is_stem_known("unheardof", END)
    studied.history.is_sentence_known("unheard of", END)
    history_s = time.process_time() - start
    first_by_item = list({exhibit.item.id: exhibit for exhibit in exhibits}.values())
    later = [replace(exhibit, days=exhibit.days + 7) for exhibit in exhibits]
    return VerdictCost(
        answers=len(exhibits),
        questions=len(first_by_item),
        history_s=history_s,
        questions_s=measure_calls(studied.prepare, first_by_item),
        answers_s=measure_calls(studied.judge, exhibits),
        later_s=measure_calls(studied.judge, later),
        unchanged_s=measure_calls(studied.judge, later),
        overlap_s=measure_calls(compute_overlap, exhibits),
    )


def measure_verdicts(scenario: Scenario, exhibits: Sequence[Exhibit]) -> VerdictCost:
    """Measure in a new process, because building the answers fills the caches."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measure_verdicts, scenario, exhibits).result()


def print_verdicts(name: str, cost: VerdictCost) -> None:
    """Print what one set of answers takes."""
    count = cost.answers
    print(
        f"{name}: {count:,} answers to {cost.questions:,} questions\n"
        f"  the history, once {cost.history_s:.2f} s; the questions, once {cost.questions_s:.2f} s\n"
        f"  answers {count / cost.answers_s:,.0f}/s, with history and questions "
        f"{count / cost.whole_s:,.0f}/s; {cost.answers_s / cost.overlap_s:.1f} times word overlap\n"
        f"  a week later {count / cost.later_s:,.0f}/s, unchanged {count / cost.unchanged_s:,.0f}/s"
    )


def sweep(persona: str, judge: str, into: Path) -> float:
    """The processor time of a whole run."""
    command = [sys.executable, "-m", "recall_bench", "run", "--personas", persona]
    command += ["--arcs", "arcs-1000d.yaml", "--edition", "2"]
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

    scenario = recall_bench.load_persona(options.persona, arcs="arcs-1000d.yaml", edition=2)
    items = build_audit_set(scenario, seed=1, per_class=100)
    exhibits = [item.make_exhibit() for item in items]
    print_verdicts(f"audit set of {options.persona}", measure_verdicts(scenario, exhibits))
    if options.judged is not None:
        days = read_corpus(options.corpus)
        window = LabelledExhibits(days, 0)
        answers = merge_repeats(load_labels(options.judged))
        cost = measure_verdicts(days, [window.build(answer) for answer in answers])
        print_verdicts(options.judged.name, cost)
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
