"""A score comes with its range over judges, and an order that depends on the judge is told."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from recall_bench.cli.main import cli
from recall_bench.core.errors import UsageError
from recall_bench.core.event import OtherVerdict
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import Trial
from recall_bench.core.scenario import Item
from recall_bench.core.verdict import JudgeCard, Strictness, name_judges
from recall_bench.engine.runs.judge_sensitivity import SplitAnswer
from recall_bench.engine.runs.result_files import export_files
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from recall_bench.features.comparison.comparison_text import render_comparison
from recall_bench.features.comparison.gate.gate_checks import CheckOutcome
from recall_bench.features.comparison.gate.gate_rules import GateRules
from recall_bench.features.comparison.gate.run_gate import check_run
from recall_bench.features.judges.label_correction import correct_headline
from recall_bench.judging.human_labels import HumanLabel, append_label, make_label
from recall_bench.metrics.judge_correction import solve_rogan_gladen
from recall_bench.reporting.judge_scores import OrderAgreement
from recall_bench.reporting.judge_text import SPLITS_FILE, describe_range
from recall_bench.reporting.publication import publish_report
from recall_bench.reporting.run_brief import render_brief
from recall_bench.reporting.run_comparison import compare_runs
from recall_bench.reporting.trial_scores import measure_judges
from tests.reporting.simulated_runs import questions, verdict_of
from tests.written_runs import NOON, Story, plan_of, trial

COUNT = 24
ITEMS = questions(COUNT, "factual-recall", "synthesis")
OTHERS = (
    JudgeCard(name="kind", version="1"),
    JudgeCard(name="offline", version="7", reading=Strictness.STRICT),
)
FULL, PART, NONE = 6, 3, 1

Marks = tuple[int, ...]
"""The points of one answer by each judge, the first one first."""


def write(folder: Path, marks: Mapping[str, Marks], name: str = "careful") -> RunFolder:
    """A finished run with one checkpoint; a missing mark is a verdict that was never given."""
    scenarios: dict[str, Sequence[Item]] = {"ada": ITEMS}
    plan = plan_of(scenarios, other_judges=OTHERS, system=SystemCard(name=name, version="1"))
    story = Story(folder, scenarios, plan.replace(checkpoints=plan.checkpoints[:1]))
    for item, (first, *others) in marks.items():
        each = trial(item)
        story.both(each, verdict_of(first))
        for judge, points in enumerate(others):
            said = verdict_of(points).replace(reason=f"{points} by judge {judge}")
            story.add(OtherVerdict(at=NOON, trial=each, judge=judge, verdict=said))
    story.end()
    return RunFolder.open(story.save())


def split(count: int, wide: Marks, rest: Marks) -> dict[str, Marks]:
    """The first questions with these points, and all others with those."""
    return {f"q{n}": wide if n < count else rest for n in range(COUNT)}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """Six of 24 answers pass by the second judge alone."""
    return write(tmp_path / "run", split(6, (NONE, FULL, NONE), (FULL, FULL, FULL)))


def test_the_range_the_agreement_and_the_splits_are_those_of_the_marks(run: RunFolder) -> None:
    found = measure_judges(run)

    assert found is not None
    assert found.names == (run.plan.judge_names[0], "kind", "offline@strict")
    means = [(6 * NONE + 18 * FULL) / 24, 6.0, (6 * NONE + 18 * FULL) / 24]
    assert [judge.score.value for judge in found.judges if judge.score] == pytest.approx(means)
    assert found.low == pytest.approx(means[0])
    assert found.high == 6.0
    assert (found.answers, len(found.splits)) == (COUNT, 6)
    assert found.splits[0].points == (NONE, FULL, NONE)
    agreement = {(pair.first, pair.second): pair.agreement for pair in found.pairs}
    assert list(agreement.values()) == [0.75, 1.0, 0.75]
    by_category = {each.name: (each.answers, each.splits) for each in found.categories}
    assert by_category == {"factual-recall": (12, 3), "synthesis": (12, 3)}
    assert "79 to 100 of 100 over 3 judges" in describe_range(found)
    assert "split on 6 of 24 answers" in describe_range(found)


def test_a_run_by_another_judge_reads_as_if_that_judge_alone_had_judged(run: RunFolder) -> None:
    view = RunFolder.open(run.path, other_judge=0)

    assert (view.plan.judge, view.plan.other_judges) == (OTHERS[0], ())
    assert summarise(view).overall.mean == 6.0
    assert {result.outcome.verdict.reason for result in view.results("ada")} == {"6 by judge 0"}  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="2 other judges"):
        RunFolder.open(run.path, other_judge=2)


def test_the_files_hold_every_verdict(run: RunFolder, tmp_path: Path) -> None:
    done = publish_report(run, into=tmp_path / "report")
    export_files(run, result=tmp_path / "result.json", questions=tmp_path / "questions.jsonl")

    assert tmp_path / "report" / SPLITS_FILE in done.files
    lines = (tmp_path / "report" / SPLITS_FILE).read_bytes().splitlines()
    splits = [msgspec.json.decode(line, type=SplitAnswer) for line in lines]
    assert len(splits) == 6
    assert [each.passes for each in splits[0].verdicts] == [False, True, False]
    assert splits[0].verdicts[1].reason == "6 by judge 0"
    page = (tmp_path / "report" / "report.html").read_text()
    assert page.count('class="opener" data-persona="ada"') >= 6
    result = msgspec.json.decode((tmp_path / "result.json").read_bytes())
    assert (result["judges"]["splits"], result["judges"]["high"]) == (6, 6.0)
    log = tmp_path / "questions.jsonl"
    rows = [msgspec.json.decode(line) for line in log.read_bytes().splitlines()]
    assert [each["composite"] for each in rows[0]["otherScores"]] == [FULL, NONE]


def test_verdicts_that_are_missing_are_counted_and_leave_the_score(tmp_path: Path) -> None:
    marks = split(20, (FULL, NONE, NONE), (FULL, NONE))
    found = measure_judges(write(tmp_path, marks))

    assert found is not None
    assert [judge.missing for judge in found.judges] == [0, 0, 4]
    assert (found.answers, found.judges[0].score and found.judges[0].score.value) == (20, 6.0)
    assert "4 verdicts of other judges missing" in describe_range(found)


def test_names_of_judges_are_short_and_unlike() -> None:
    card = JudgeCard(name="rubric", version="3", model="openai:m;http://127.0.0.1:1/v1")
    strict = card.replace(reading=Strictness.STRICT)

    assert name_judges([card, strict, card]) == ("openai:m", "openai:m@strict", "openai:m#2")


FLIPPED = split(16, (FULL, NONE, PART), (PART, PART, PART))
"""By the first judge better than `EVEN`, by the second worse, by the third as good."""
EVEN = split(0, (PART, PART, PART), (PART, PART, PART))


def test_compare_says_that_the_order_depends_on_the_judge(tmp_path: Path) -> None:
    even = write(tmp_path / "even", EVEN, "even")
    runs = [even, write(tmp_path / "flipped", FLIPPED, "flipped")]

    report = compare_runs(runs, resamples=500)

    contrast = report.contrasts[0]
    assert contrast.order is OrderAgreement.CONTRADICTED
    differences = [part.comparison.difference.value for part in contrast.judges]
    assert differences == pytest.approx([16 * 3 / 24, -16 * 2 / 24, 0.0])
    text = " ".join(render_comparison(report).split())
    first = even.plan.judge_names[0]
    assert "The order of A (even 1) and B (flipped 1) depends on the judge" in text
    assert f"B (flipped 1) is better by {first}, and A (even 1) by kind" in text


@pytest.mark.parametrize(
    ("marks", "order"),
    [
        pytest.param(
            split(16, (FULL, PART, FULL), (PART, PART, PART)),
            OrderAgreement.SIGNIFICANCE,
            id="no difference by one judge",
        ),
        pytest.param(
            split(16, (FULL, PART, FULL), (PART, PART, PART)) | {"q0": (FULL, NONE, FULL)},
            OrderAgreement.REVERSED,
            id="a difference the other way that proves nothing",
        ),
        pytest.param(
            split(16, (FULL, FULL, FULL), (PART, PART, PART)), OrderAgreement.SAME, id="all alike"
        ),
    ],
)
def test_what_the_judges_say_of_an_order_is_distinguished(
    tmp_path: Path, marks: dict[str, Marks], order: OrderAgreement
) -> None:
    runs = [write(tmp_path / "even", EVEN, "even"), write(tmp_path / "other", marks, "other")]

    assert compare_runs(runs, resamples=500).contrasts[0].order is order


def test_the_gate_goes_by_the_named_judge(run: RunFolder) -> None:
    first = run.plan.judge_names[0]

    usual = check_run(run, None, GateRules(min_score=90))
    assert usual.verdict is CheckOutcome.FAILED
    assert usual.judges == {
        first: CheckOutcome.FAILED,
        "kind": CheckOutcome.PASSED,
        "offline@strict": CheckOutcome.FAILED,
    }
    assert any("depends on the judge" in warning for warning in usual.warnings)
    assert (
        check_run(run, None, GateRules(min_score=90, judge="kind")).verdict is CheckOutcome.PASSED
    )
    every = check_run(run, None, GateRules(min_score=90, judge="every"))
    assert every.verdict is CheckOutcome.FAILED
    assert {check.judge for check in every.checks} == set(run.plan.judge_names)
    with pytest.raises(UsageError, match=r"'nobody' did not judge .* kind, offline@strict"):
        check_run(run, None, GateRules(min_score=90, judge="nobody"))


def test_the_gate_compares_both_runs_by_the_same_judge(tmp_path: Path) -> None:
    even = write(tmp_path / "even", EVEN, "even")
    flipped = write(tmp_path / "flipped", FLIPPED, "flipped")

    found = check_run(flipped, even, GateRules(category_margin=100))

    assert list(found.judges.values())[:2] == [CheckOutcome.PASSED, CheckOutcome.FAILED]


def test_compare_goes_by_the_named_judge(tmp_path: Path) -> None:
    for name, marks in (("even", EVEN), ("flipped", FLIPPED)):
        write(tmp_path / name, marks, name)
    words = ["compare", str(tmp_path / "even"), str(tmp_path / "flipped"), "--judge", "kind"]

    said = CliRunner().invoke(cli, words)

    assert said.exit_code == 0, said.output
    assert "B (flipped 1) is worse than A (even 1)" in " ".join(said.output.split())


def label(run: RunFolder, right: int) -> None:
    """People call the first `right` answers right, and the other labelled ones wrong."""
    for n in range(16):
        each = Trial(scenario="ada", item=f"q{n}", checkpoint="2d")
        said = HumanLabel.RIGHT if n < right else HumanLabel.WRONG
        line = make_label(each, ITEMS[n], "something", said, by="mia", days=2, comment="")
        append_label(run.path, line)


def test_labels_correct_the_share_of_right_answers_of_every_judge(tmp_path: Path) -> None:
    # The first judge passes q0 to q7 and 8 of the rest; people call q0 to q9 right.
    marks = {f"q{n}": (FULL if n < 8 or n >= 16 else NONE, FULL, NONE) for n in range(COUNT)}
    run = write(tmp_path, marks)
    assert correct_headline(run) is None
    label(run, 10)

    found = correct_headline(run)

    assert found is not None
    assert found.right is not None
    sensitivity, specificity = 8 / 10, 6 / 6
    assert found.right.observed == pytest.approx(16 / 24)
    expected = solve_rogan_gladen(16 / 24, sensitivity, specificity)
    assert found.right.corrected == pytest.approx(expected)
    assert found.right.interval[0] < expected < found.right.interval[1]
    # A judge that passes everything, or nothing, tells nothing apart.
    assert [judge.right for judge in found.judges[1:]] == [None, None]

    text = CliRunner().invoke(cli, ["report", str(run.path)]).output
    words = " ".join(text.split())
    assert "Result 83 % right" in words
    assert render_brief(run, summarise(run)).split("Result")[1].split()[:3] == ["83", "%", "right"]
    assert "corrected by 16 labels in labels.jsonl; 67 % as judged" in words
