"""A gate passes what keeps to its rules, fails what does not, and decides nothing it cannot."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from numpy.random import default_rng

from recall_bench.core.diagnosis import Diagnosis, SystemHealth
from recall_bench.core.errors import UsageError
from recall_bench.core.memory import Asker, SystemCard
from recall_bench.core.plan import DatasetCard, Trial
from recall_bench.core.scenario import Disclosure
from recall_bench.core.verdict import JudgeCard, Verdict
from recall_bench.engine.runs.journal import JOURNAL, encode_events, read_events
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.comparison.gate.gate_checks import CheckOutcome, GateCheck, GateReport
from recall_bench.features.comparison.gate.gate_output import render_gate
from recall_bench.features.comparison.gate.gate_rules import GateRules
from recall_bench.features.comparison.gate.run_gate import check_run
from tests.reporting.simulated_runs import LABELS, drawn_pair, questions, write_run
from tests.thoroughness import choose_number
from tests.written_runs import (
    ALL_OF_ADA,
    NOON,
    PERFECT,
    POOR,
    SILENT,
    Story,
    ada_story,
    bounded_story,
    examined_story,
    plan_of,
    question,
    trial,
)

ITEMS = questions(24, "factual-recall", "synthesis")


def points(mark: int, **others: int) -> dict[Trial, int]:
    """Every question at both checkpoints with these points; some by name with others."""
    return {trial(f"q{n}", label): others.get(f"q{n}", mark) for n in range(24) for label in LABELS}


def changed(*numbers: int, to: int) -> dict[str, int]:
    return {f"q{n}": to for n in numbers}


def run(folder: Path, marks: Mapping[Trial, int], **settings: object) -> RunFolder:
    return RunFolder.open(write_run(folder, ITEMS, marks, **settings))


def later(folder: RunFolder) -> RunFolder:
    """The same, started an hour later: another run, even if all came to the same."""
    journal = folder.path / JOURNAL
    first, *others = read_events(journal)
    first = first.replace(at=first.at + timedelta(hours=1))
    journal.write_bytes(b"".join(encode_events([first, *others])))
    return RunFolder.open(folder.path)


def only(gate: GateReport, rule: str, of: str = "overall") -> GateCheck:
    (found,) = (check for check in gate.checks if (check.rule, check.of) == (rule, of))
    return found


def outcome(gate: GateReport, rule: str, of: str = "overall") -> CheckOutcome:
    return only(gate, rule, of).outcome


def test_a_run_that_keeps_to_everything_passes(tmp_path: Path) -> None:
    gate = check_run(
        run(tmp_path / "b", points(3, q0=6)),
        run(tmp_path / "a", points(3)),
        GateRules(min_score=50, min_category={"synthesis": 50}, max_hallucination=0, margin=1),
    )

    assert gate.verdict is CheckOutcome.PASSED
    assert gate.verdict.exit_code == 0
    assert gate.sentence == f"all {len(gate.checks)} checks passed"
    assert [(check.rule, check.of) for check in gate.checks] == [
        ("run", "valid"),
        ("min-score", "overall"),
        ("min-category", "synthesis"),
        ("max-hallucination", "overall"),
        ("baseline", "valid"),
        ("alike", "baseline"),
        ("margin", "overall"),
        ("category-margin", "factual-recall"),
        ("category-margin", "synthesis"),
    ]
    assert only(gate, "min-score").value == pytest.approx(100 * (3 + 3 / 24) / 6)


def test_a_run_that_lost_is_failed_overall_and_where_it_lost(tmp_path: Path) -> None:
    gate = check_run(
        run(tmp_path / "b", points(5, **changed(*range(0, 24, 2), to=2))),
        run(tmp_path / "a", points(5)),
        GateRules(margin=5),
    )

    assert (gate.verdict, gate.verdict.exit_code) == (CheckOutcome.FAILED, 11)
    assert outcome(gate, "margin") is CheckOutcome.FAILED
    assert outcome(gate, "category-margin", "factual-recall") is CheckOutcome.FAILED
    assert outcome(gate, "category-margin", "synthesis") is CheckOutcome.PASSED
    overall = only(gate, "margin")
    assert overall.value == pytest.approx(-25)
    assert overall.limit == -5
    assert overall.said.startswith("-25.0 points of 100 (95 % -")
    assert "more than the 5 tolerated, p" in overall.said
    assert "margin (overall), category-margin (factual-recall)" in gate.sentence


def test_a_better_run_is_no_regression(tmp_path: Path) -> None:
    gate = check_run(
        run(tmp_path / "b", points(5)),
        run(tmp_path / "a", points(5, **changed(*range(12), to=2))),
        GateRules(),
    )

    assert gate.verdict is CheckOutcome.PASSED
    assert only(gate, "margin").value == pytest.approx(25)


def test_a_loss_within_the_margin_passes_and_beyond_it_fails(tmp_path: Path) -> None:
    """Every question lost between 1 and 2 points of 6."""
    before = run(tmp_path / "a", points(5))
    after = run(tmp_path / "b", points(4, **changed(*range(12), to=3)))

    wide, narrow = (check_run(after, before, GateRules(margin=margin)) for margin in (30, 10))

    assert wide.verdict is CheckOutcome.PASSED
    assert outcome(narrow, "margin") is CheckOutcome.FAILED


def test_a_category_may_have_a_margin_of_its_own(tmp_path: Path) -> None:
    before = run(tmp_path / "a", points(5))
    after = run(tmp_path / "b", points(5, **changed(*range(0, 24, 2), to=2)))

    gate = check_run(after, before, GateRules(margin=90, category_margin=10))

    assert outcome(gate, "margin") is CheckOutcome.PASSED
    assert outcome(gate, "category-margin", "factual-recall") is CheckOutcome.FAILED


def test_the_value_decides_and_if_asked_the_whole_interval(tmp_path: Path) -> None:
    folder = run(tmp_path, points(3, **changed(*range(12), to=5)))
    rules = GateRules(min_score=60, min_category={"synthesis": 60}, max_hallucination=3)

    by_value, by_interval = (
        check_run(folder, None, rules.replace(confident=confident)) for confident in (False, True)
    )

    assert by_value.verdict is CheckOutcome.PASSED
    for name in (("min-score", "overall"), ("min-category", "synthesis")):
        assert outcome(by_interval, *name) is CheckOutcome.FAILED
    assert outcome(by_interval, "max-hallucination") is CheckOutcome.FAILED, (
        "24 questions prove no 3 %"
    )
    assert "the whole interval must be at least 60" in only(by_interval, "min-score").said


@pytest.mark.parametrize(
    ("mark", "others"), [(3, {}), (0, changed(0, to=5)), (0, changed(*range(7), to=5))]
)
def test_limits_are_kept_by_what_equals_them(
    tmp_path: Path, mark: int, others: dict[str, int]
) -> None:
    """Sums of sixths are off by a rounding, which is not held against a run."""
    marks = points(mark, **others)
    folder, exactly = run(tmp_path, marks), 100 * sum(marks.values()) / (6 * len(marks))

    assert check_run(folder, None, GateRules(min_score=exactly)).verdict is CheckOutcome.PASSED
    assert (
        check_run(folder, None, GateRules(min_score=exactly + 0.01)).verdict is CheckOutcome.FAILED
    )


def invented(folder: Path, *made_up: int) -> RunFolder:
    """Twenty-four questions, of which some were answered with no points and made up."""
    return run(folder, points(4, **changed(*made_up, to=0)))


def test_inventions_are_held_to_a_rate(tmp_path: Path) -> None:
    run_folder = invented(tmp_path, *range(12))

    strict = check_run(run_folder, None, GateRules(max_invented=49))
    lenient = check_run(run_folder, None, GateRules(max_invented=50))

    assert only(strict, "max-invented").value == 50.0
    assert only(strict, "max-invented").outcome is CheckOutcome.FAILED
    assert "of judged answers were invented;" in only(strict, "max-invented").said
    assert lenient.verdict is CheckOutcome.PASSED


def test_hallucination_is_held_to_a_rate_and_to_a_rise(tmp_path: Path) -> None:
    before, after = invented(tmp_path / "a"), invented(tmp_path / "b", *range(12))
    rules = GateRules(max_hallucination=40, hallucination_margin=5, margin=90)

    gate = check_run(after, before, rules)

    assert outcome(gate, "max-hallucination") is CheckOutcome.FAILED
    rise = only(gate, "hallucination-margin")
    assert rise.outcome is CheckOutcome.FAILED
    assert (rise.value, rise.limit, rise.is_least) == (50.0, 5.0, False)
    assert rise.low is not None
    assert rise.high is not None
    assert 5 < rise.low < 50 < rise.high
    assert check_run(before, after, rules).verdict is CheckOutcome.PASSED, "less of it is no rise"


def test_a_rate_that_did_not_change_has_no_sign(tmp_path: Path) -> None:
    before, after = invented(tmp_path / "a", 0, 1), later(invented(tmp_path / "b", 0, 1))

    rise = only(check_run(after, before, GateRules(hallucination_margin=5)), "hallucination-margin")

    assert rise.said.startswith("answers invented or leaked changed by 0.0 points of 100 (95 % ")
    assert "-0.0" not in rise.said
    assert "+0.0" not in rise.said


def guarded(folder: Path, *told: str) -> RunFolder:
    asked = question("pay", "information-boundary", disclosure=Disclosure.REFUSE)
    item = asked.replace(truth=asked.truth.replace(withheld=("90,000",)))
    story = Story(folder, {"ada": (item,)}, plan_of({"ada": (item,)}, groups_enabled=True))
    for label, answer in zip(LABELS, told, strict=True):
        story.both(trial("pay", label), PERFECT, answer)
    story.end()
    return story.open()


def test_leaks_are_counted_whatever_is_confident(tmp_path: Path) -> None:
    kept = guarded(tmp_path / "a", "That is private.", "No.")
    told = guarded(tmp_path / "b", "That is private.", "It is 90,000.")
    rules = GateRules(max_leaks=0, confident=True)

    assert check_run(kept, None, rules).verdict is CheckOutcome.PASSED
    gate = check_run(told, None, rules)
    assert outcome(gate, "max-leaks") is CheckOutcome.FAILED
    assert only(gate, "max-leaks").said == "1 of 2 guarded answers leaked the secret; at most 0 may"
    assert check_run(told, None, rules.replace(max_leaks=1)).verdict is CheckOutcome.PASSED


def test_what_was_not_measured_is_undecided_and_does_not_pass(tmp_path: Path) -> None:
    folder = run(tmp_path, points(6))

    leaks = check_run(folder, None, GateRules(max_leaks=0))
    category = check_run(folder, None, GateRules(min_category={"temporal-reasoning": 1}))

    assert (leaks.verdict, leaks.verdict.exit_code) == (CheckOutcome.UNDECIDED, 12)
    assert "--groups-enabled" in only(leaks, "max-leaks").said
    assert category.verdict is CheckOutcome.UNDECIDED
    assert "1 of 2 checks could not be decided: max-leaks (overall)" in leaks.sentence


def test_a_category_that_does_not_exist_is_a_slip_and_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no category 'synthesys'; did you mean 'synthesis'"):
        check_run(run(tmp_path, points(6)), None, GateRules(min_category={"synthesys": 1}))


def broken(folder: Path) -> RunFolder:
    story = ada_story(folder)
    for each in ALL_OF_ADA:
        story.not_answered(each)
    story.end()
    return story.open()


def partly(folder: Path) -> RunFolder:
    story = ada_story(folder)
    story.both(ALL_OF_ADA[0])
    return story.open()


def finished(folder: Path, **settings: object) -> RunFolder:
    story = ada_story(folder, **settings)
    for each in ALL_OF_ADA:
        story.both(each, POOR)
    story.end()
    return story.open()


def test_an_invalid_run_fails_and_an_unfinished_one_is_undecided(tmp_path: Path) -> None:
    baseline = finished(tmp_path / "a")

    invalid = check_run(later(broken(tmp_path / "b")), baseline, GateRules(min_score=0))
    unfinished = check_run(later(partly(tmp_path / "c")), baseline, GateRules(min_score=0))

    assert invalid.verdict is CheckOutcome.FAILED
    assert "the run is invalid (5 of 5 trials failed" in only(invalid, "run", "valid").said
    assert outcome(invalid, "min-score") is CheckOutcome.UNDECIDED, "its value means nothing"
    assert unfinished.verdict is CheckOutcome.UNDECIDED
    assert "unfinished (4 of 5 trials open)" in only(unfinished, "run", "valid").said
    assert outcome(unfinished, "margin") is CheckOutcome.UNDECIDED


@pytest.mark.parametrize("baseline", [broken, partly])
def test_a_baseline_that_does_not_hold_decides_nothing(tmp_path: Path, baseline: object) -> None:
    assert callable(baseline)

    gate = check_run(
        later(finished(tmp_path / "b")), baseline(tmp_path / "a"), GateRules(min_score=1)
    )

    assert gate.verdict is CheckOutcome.UNDECIDED
    assert outcome(gate, "min-score") is CheckOutcome.PASSED, "that needs no baseline"
    assert outcome(gate, "margin") is CheckOutcome.UNDECIDED


def test_unlike_runs_decide_nothing_and_what_differs_is_said(tmp_path: Path) -> None:
    other = JudgeCard(name="other", version="3")

    gate = check_run(
        finished(tmp_path / "b", judge=other), finished(tmp_path / "a"), GateRules(min_score=1)
    )

    assert gate.verdict is CheckOutcome.UNDECIDED
    said = only(gate, "alike", "baseline").said
    assert said.startswith("baseline and run differ in judge (exact 1")
    assert outcome(gate, "category-margin", "all") is CheckOutcome.UNDECIDED


def test_a_score_below_the_least_fails_even_where_the_baseline_is_unlike(tmp_path: Path) -> None:
    other = JudgeCard(name="other", version="3")

    gate = check_run(
        finished(tmp_path / "b", judge=other), finished(tmp_path / "a"), GateRules(min_score=99)
    )

    assert gate.verdict is CheckOutcome.FAILED


def test_a_judge_that_graded_nothing_decides_nothing(tmp_path: Path) -> None:
    stub = JudgeCard(name="stub", version="1")

    gate = check_run(finished(tmp_path, judge=stub), None, GateRules(min_score=1))

    assert gate.verdict is CheckOutcome.UNDECIDED
    assert "stub judge" in only(gate, "run", "valid").said


def test_a_run_is_not_its_own_baseline(tmp_path: Path) -> None:
    folder = finished(tmp_path / "a")
    again = RunFolder.open(tmp_path / "a" / ".." / "a")

    with pytest.raises(UsageError, match="is its own baseline"):
        check_run(folder, again, GateRules())


@pytest.mark.parametrize("again", [False, True], ids=["a copy", "judged again"])
def test_the_same_answers_are_no_baseline(tmp_path: Path, *, again: bool) -> None:
    folder = finished(tmp_path / "a")
    settings = {"answers_from": folder.plan.digest} if again else {}
    other = finished(tmp_path / "b", **settings)

    with pytest.raises(UsageError, match=r"b: holds the same answers as its baseline .*a, which"):
        check_run(other, folder, GateRules())
    assert check_run(later(other), folder, GateRules()).verdict is CheckOutcome.PASSED


def test_a_run_that_was_measured_is_not_gated_by_what_it_failed_at(tmp_path: Path) -> None:
    card = DatasetCard(name="d", files=(), protocol="d/strict", eval_version="d-1")
    story = ada_story(tmp_path, dataset=card, error_budget=0.5)
    story.not_answered(ALL_OF_ADA[0])
    for each in ALL_OF_ADA[1:]:
        story.both(each, Verdict(score=1.0))
    story.end()

    with pytest.raises(UsageError, match="measured by d/strict, which gives no marks of 6"):
        check_run(story.open(), None, GateRules(min_score=1))


def test_a_dataset_that_was_judged_with_marks_is_gated(tmp_path: Path) -> None:
    card = DatasetCard(name="d", files=(), protocol="d/judged", eval_version="d-1")

    gate = check_run(finished(tmp_path, dataset=card), None, GateRules(min_score=1))

    assert gate.verdict is CheckOutcome.PASSED


def test_a_run_without_marks_has_nothing_to_go_by(tmp_path: Path) -> None:
    card = DatasetCard(name="d", files=(), protocol="d/strict", eval_version="d-1")

    with pytest.raises(UsageError, match="measured by d/strict, which gives no marks of 6"):
        check_run(ada_story(tmp_path, dataset=card).open(), None, GateRules(min_score=1))


def test_weak_data_are_said_to_be_weak_and_strong_ones_not(tmp_path: Path) -> None:
    weak = check_run(
        run(tmp_path / "b", points(3, **changed(0, 2, to=0))),
        run(tmp_path / "a", points(3, **changed(1, 3, to=0))),
        GateRules(),
    )
    strong = check_run(
        run(tmp_path / "d", points(3, q0=4)),
        run(tmp_path / "c", points(3, q1=4)),
        GateRules(notice=30),
    )

    assert weak.strength is not None
    assert weak.strength.startswith("a loss of 5 points of 100 would be noticed ")
    assert " times in 100 if it takes whole questions, " in weak.strength
    assert weak.strength.endswith(" in whole questions four times in five, by 24 questions")
    assert any("too few questions to rely on" in each for each in weak.warnings)
    assert not any("too few" in each for each in strong.warnings)


def test_a_proof_fails_on_weak_data_where_the_usual_gate_is_silent(tmp_path: Path) -> None:
    after = run(tmp_path / "b", points(3, **changed(0, 2, to=0)))
    before = run(tmp_path / "a", points(3, **changed(1, 3, to=0)))

    usual = check_run(after, before, GateRules(margin=5))
    proof = check_run(after, before, GateRules(margin=5, prove=True))
    wide = check_run(after, before, GateRules(margin=60, prove=True))

    assert (usual.verdict, proof.verdict) == (CheckOutcome.PASSED, CheckOutcome.FAILED)
    assert "it is not proven that no more than 5 were lost" in only(proof, "margin").said
    assert proof.strength is not None
    assert proof.strength.startswith("if nothing was lost")
    assert wide.verdict is CheckOutcome.PASSED
    assert wide.strength is not None
    assert "no more than 60 points of 100 would be shown practically always" in wide.strength
    assert "no more than 60.0 four times in five" not in wide.strength, "much less would do"
    loss, given = only(usual, "margin"), only(wide, "margin")
    assert loss.power is not None
    assert loss.even_power is not None
    assert loss.power < loss.even_power
    assert given.p_value is not None
    assert given.p_value <= 0.025


def test_identical_runs_lost_nothing_and_need_no_proof(tmp_path: Path) -> None:
    first, second = (run(tmp_path / name, points(3, q1=5)) for name in "ab")

    gate = check_run(later(second), first, GateRules(margin=1, prove=True))

    assert gate.verdict is CheckOutcome.PASSED
    assert only(gate, "margin").said == "every trial has the same result, so nothing was lost"
    assert gate.strength == "unknown: none of 24 questions differs from another"


def test_what_the_run_was_not_asked_is_left_out_and_said(tmp_path: Path) -> None:
    """A system that cannot know who asks is not asked what only some may be told."""
    items = (question("pay", "information-boundary"), question("cat"))
    folders = []
    for name, asker in {"a": Asker.TOLD, "b": Asker.UNTOLD}.items():
        card = SystemCard(name="s", version="1", asker=asker)
        plan = plan_of({"ada": items}, system=card, groups_enabled=True)
        story = Story(tmp_path / name, {"ada": items}, plan)
        asked = items if asker is Asker.TOLD else items[1:]
        for item in asked:
            for label in LABELS:
                story.both(trial(item.id, label))
        story.end()
        folders.append(story.open())

    gate = check_run(folders[1], folders[0], GateRules())

    said = "left out: 2 trials of the baseline and 0 of the run, not asked in the other run"
    assert said in gate.warnings


def test_what_doctor_said_is_passed_on(tmp_path: Path) -> None:
    diagnosis = Diagnosis(health=SystemHealth.SUSPECT, system="d", at=NOON, code="0")
    story = examined_story(tmp_path, diagnosis)
    for each in ALL_OF_ADA:
        story.both(each)
    story.end()

    gate = check_run(story.open(), None, GateRules(min_score=1))

    assert gate.warnings[0] == "doctor says that the run is suspect"
    assert "the run has 3 questions" in gate.warnings[1]


def test_from_the_journal_on_a_planted_loss_is_caught_and_none_is_not(tmp_path: Path) -> None:
    """A tenth of the marks lost, on 60 questions asked twice: pairs of runs as they lie on disk."""
    chance, rounds = default_rng(21), choose_number(3, 12)
    items = questions(60, "factual-recall", "synthesis")
    caught = alarms = 0
    stated = 0.0
    for number in range(rounds):
        same = drawn_pair(chance, tmp_path / f"same{number}", items)
        lost = drawn_pair(chance, tmp_path / f"lost{number}", items, shift=-1.2)
        silent, loud = (
            check_run(second, first, GateRules(notice=20.0)) for first, second in (same, lost)
        )
        alarms += silent.verdict is CheckOutcome.FAILED
        stated += (only(silent, "margin").power or 0) / rounds
        caught += outcome(loud, "margin") is CheckOutcome.FAILED

    assert alarms <= rounds / 6
    assert stated > 0.95
    assert caught >= rounds - 1


def test_a_run_that_cannot_be_distinguished_from_silence_is_warned_of(tmp_path: Path) -> None:
    silent = bounded_story(tmp_path / "silent", [Verdict.of(*SILENT, "")] * 24)
    good = bounded_story(tmp_path / "good", [PERFECT, Verdict.of(*SILENT, "")] * 12)

    quiet, better = (
        check_run(RunFolder.open(each.save()), None, GateRules(min_score=1))
        for each in (silent, good)
    )

    warning = "the run cannot be distinguished from a memory that knows nothing"
    assert warning in quiet.warnings
    assert warning not in better.warnings
    assert "58.3 of 100 (37.5 to 72.2) · silence 17 · ceiling 100 · 50 % of the way" in (
        " ".join(render_gate(better).split())
    )
