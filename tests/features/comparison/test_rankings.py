"""A ranking says for whom it holds, and calls a run dominated only where a test shows it."""

from pathlib import Path

import pytest

from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import Trial
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import read_trials
from recall_bench.features.comparison.comparison_text import render_comparison
from recall_bench.reporting.pages import page_sections
from recall_bench.reporting.report_sections import describe_costs
from recall_bench.reporting.run_comparison import compare_runs
from recall_bench.reporting.run_report import RunReport, build_report
from recall_bench.reporting.sections import render_parts
from tests.reporting.simulated_runs import LABELS, questions, write_run
from tests.written_runs import trial

COUNT = 60
HOLDS = "The ranking holds for this persona: "


def points(lost: int) -> dict[Trial, int]:
    """Marks that vary a great deal; so many of the questions are one point lower."""
    return {
        trial(f"q{number}", label): max(0, 1 + number % 6 - (number < lost))
        for number in range(COUNT)
        for label in LABELS
    }


def write_pair(folder: Path, lost: int) -> list[RunFolder]:
    items = questions(COUNT)
    return [
        RunFolder.open(
            write_run(folder / name, items, points(less), system=SystemCard(name=name, version="1"))
        )
        for name, less in (("better", 0), ("worse", lost))
    ]


def report(runs: list[RunFolder]) -> RunReport:
    return build_report(runs[0], read_trials(runs[0]), beside=runs[1:])


def test_every_ranking_over_one_persona_says_so(tmp_path: Path) -> None:
    runs = write_pair(tmp_path, 12)
    found = report(runs)

    assert HOLDS in render_comparison(compare_runs(runs, resamples=50))
    assert HOLDS in "\n".join(render_parts(describe_costs(found.costs, found.paretos)))
    assert HOLDS in "".join(
        map(str, page_sections.render_parts(describe_costs(found.costs, found.paretos)))
    )


def test_a_report_of_one_run_ranks_nothing(tmp_path: Path) -> None:
    found = report(write_pair(tmp_path, 12)[:1])

    assert HOLDS not in "\n".join(render_parts(describe_costs(found.costs, found.paretos)))


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        pytest.param(12, "Dominated worse 1 by better 1", id="by the test, whatever the intervals"),
        pytest.param(2, "not distinguishable in score from better 1", id="it may be chance"),
    ],
)
def test_a_run_is_dominated_only_if_the_difference_is_significant(
    tmp_path: Path, lost: int, words: str
) -> None:
    found = report(write_pair(tmp_path, lost))
    better, worse = sorted(found.paretos[0].contenders, key=lambda each: -each.score.value)

    assert better.score.low is not None
    assert worse.score.high is not None
    assert better.score.low < worse.score.high, "the intervals overlap"
    beaten = [each for each in found.paretos if each.contenders[0].name == "better 1"]
    assert beaten, "one cost at least is no higher"
    assert words in " ".join(
        " ".join(render_parts(describe_costs(found.costs, tuple(beaten)))).split()
    )
