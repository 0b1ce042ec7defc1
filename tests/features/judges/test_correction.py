"""A run is corrected by the errors of its own judge, and by nothing else."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from numpy.random import default_rng

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.verdict import SCALES, JudgeCard, RubricCard
from recall_bench.features.judges.correction import (
    MIN_ANSWERS,
    JudgedRun,
    JudgeErrors,
    RunTrial,
    correct_run,
    load_agreement,
)
from recall_bench.features.judges.judge_agreement import measure_judge
from recall_bench.features.judges.labelled_verdicts import NO_CORPUS
from recall_bench.metrics.judge_correction import EffectiveShare, ErrorRates
from tests.features.judges.orchard import Reader, labelled

JUDGE = JudgeCard(name="reader", version="1", computes=True)


def rates(sensitivity: float, specificity: float, size: float = 500.0) -> ErrorRates:
    return ErrorRates(
        sensitivity=EffectiveShare(share=sensitivity, size=size),
        specificity=EffectiveShare(share=specificity, size=size),
    )


def measured(
    known: ErrorRates, categories: dict[str, dict[str, ErrorRates]] | None = None
) -> JudgeErrors:
    return JudgeErrors(
        judge=JUDGE,
        source="agreement",
        marks=dict.fromkeys(SCALES, known),
        categories=categories or {},
    )


def trials(
    passes: int, failures: int, *, silent: int = 0, category: str = "synthesis"
) -> list[RunTrial]:
    perfect, none = {"correctness": 3, "completeness": 2, "grounded": 1}, dict.fromkeys(SCALES, 0)
    outcomes: Sequence[dict[str, int] | None] = (
        [perfect] * passes + [none] * failures + [None] * silent
    )
    return [
        RunTrial(question=f"{category}/q{number}", category=category, marks=marks)
        for number, marks in enumerate(outcomes)
    ]


def run(*parts: list[RunTrial], judge: JudgeCard = JUDGE, missing: int = 0) -> JudgedRun:
    return JudgedRun(judge=judge, trials=[t for part in parts for t in part], missing=missing)


def test_the_pass_rate_of_every_mark_is_corrected() -> None:
    found = correct_run(run(trials(62, 38)), measured(rates(0.9, 0.8)))

    for part in found.marks.values():
        assert part.corrected is not None
        assert part.corrected.observed == pytest.approx(0.62)
        assert part.corrected.corrected == pytest.approx(0.6)
        assert part.reason is None
    assert (found.trials, found.not_answered) == (100, 0)


def test_a_mark_passes_at_its_own_level() -> None:
    half = {"correctness": 2, "completeness": 1, "grounded": 1}
    found = correct_run(
        run([RunTrial(question=f"q{n}", category="synthesis", marks=half) for n in range(50)]),
        measured(rates(1.0, 1.0)),
    )

    observed = {
        mark: part.corrected.observed for mark, part in found.marks.items() if part.corrected
    }
    assert observed == {"correctness": 1.0, "completeness": 0.0, "grounded": 1.0}


def test_unanswered_trials_fail_and_missing_ones_are_said() -> None:
    found = correct_run(run(trials(30, 10, silent=60), missing=7), measured(rates(1.0, 0.5)))

    part = found.marks["correctness"].corrected
    assert part is not None
    assert part.observed == pytest.approx(0.3)
    assert part.corrected == pytest.approx(0.4 * 0.5)
    assert (found.not_answered, found.missing) == (60, 7)
    assert found.cautions == ("7 trials without a verdict are left out",)


def test_a_category_is_corrected_by_its_own_rates_if_they_are_sure_enough() -> None:
    own = {
        "synthesis": dict.fromkeys(SCALES, rates(0.9, 0.5, MIN_ANSWERS)),
        "negative-recall": dict.fromkeys(SCALES, rates(0.9, 0.5, MIN_ANSWERS - 1)),
    }

    found = correct_run(
        run(
            trials(10, 40, category="zoology"),
            trials(10, 40, category="negative-recall"),
            trials(60, 40),
        ),
        measured(rates(0.9, 0.8), own),
    )

    assert list(found.categories) == ["synthesis", "negative-recall", "zoology"]
    sure = found.categories["synthesis"]["correctness"]
    assert (sure.n, sure.questions) == (100, 100)
    assert sure.corrected is not None
    assert sure.corrected.corrected == pytest.approx(0.25)
    unsure = found.categories["negative-recall"]["correctness"]
    assert unsure.corrected is None
    assert unsure.reason is not None
    assert "19 passes and 19 failures in effect, and 20 of each" in unsure.reason
    assert "not measured" in str(found.categories["zoology"]["grounded"].reason)


def test_a_judge_no_better_than_chance_is_refused_in_one_sentence() -> None:
    with pytest.raises(UsageError) as raised:
        correct_run(run(trials(60, 40)), measured(rates(0.3, 0.7)))

    message = str(raised.value)
    assert "cannot tell right from wrong in correctness" in message
    assert "0.30 and specificity 0.70" in message
    assert "\n" not in message


def test_a_mark_that_cannot_be_corrected_does_not_keep_the_others_from_it() -> None:
    known = measured(rates(0.9, 0.8))
    known = known.replace(marks={"correctness": rates(0.9, 0.8), "grounded": rates(0.99, 0.01)})

    found = correct_run(run(trials(60, 40)), known)

    assert found.marks["correctness"].corrected is not None
    assert found.marks["completeness"].corrected is None
    assert "not measured on both" in str(found.marks["completeness"].reason)
    assert "cannot tell right from wrong" in str(found.marks["grounded"].reason)


@pytest.mark.parametrize(
    ("judge", "problem"),
    [
        pytest.param(JUDGE.replace(version="2"), "it is reader 2", id="another version"),
        pytest.param(JUDGE.replace(model="gpt"), r"it is reader 1 \(gpt\)", id="another model"),
        pytest.param(JUDGE.replace(rules_digest="x"), "it is reader 1, rules x", id="other rules"),
        pytest.param(
            JUDGE.replace(rubrics=(RubricCard(name="boundary", version="1", digest="d"),)),
            "another rubric",
            id="another rubric",
        ),
    ],
)
def test_another_judges_errors_correct_nothing(judge: JudgeCard, problem: str) -> None:
    with pytest.raises(UsageError, match=f"the errors are those of reader 1.*{problem}"):
        correct_run(run(trials(60, 40), judge=judge), measured(rates(0.9, 0.8)))


def test_a_run_without_a_verdict_is_refused() -> None:
    with pytest.raises(UsageError, match="no verdict to correct"):
        correct_run(run(trials(0, 0, silent=5)), measured(rates(0.9, 0.8)))


def test_a_rate_out_of_the_judges_reach_is_a_caution() -> None:
    found = correct_run(run(trials(100, 0)), measured(rates(0.8, 0.7)))

    assert len(found.cautions) == 3
    assert found.cautions[0].startswith("correctness: a judge with these errors could not")


def test_a_judge_that_was_shown_other_evidence_is_a_caution() -> None:
    card = JUDGE.replace(computes=False)
    known = measured(rates(0.9, 0.8)).replace(judge=card, memory_window=1)

    assert len(correct_run(run(trials(60, 40), judge=card), known).cautions) == 1
    assert correct_run(run(trials(60, 40)), known.replace(judge=JUDGE)).cautions == ()


@pytest.mark.anyio
async def test_what_agreement_measured_is_what_corrects(tmp_path: Path) -> None:
    """The whole way: a lenient judge measured on labels, a run of the same judge, the truth."""
    chance = default_rng(4)

    def ruled(is_right: bool) -> str:
        passes = chance.random() < (0.98 if is_right else 0.6)
        return "3 2 1" if passes else "0 0 0"

    right = [bool(chance.random() < 0.5) for _ in range(800)]
    answers = [
        labelled(ruled(is_right), (3, 2, 1) if is_right else (0, 0, 0), question=f"q{n}")
        for n, is_right in enumerate(right)
    ]
    path = tmp_path / "agreement.json"
    path.write_bytes(msgspec.json.encode(await measure_judge(Reader(), answers, NO_CORPUS)))
    judged = [ruled(n % 10 < 3) for n in range(600)]

    found = correct_run(
        run(trials(judged.count("3 2 1"), judged.count("0 0 0"))), load_agreement(path)
    )

    part = found.marks["correctness"].corrected
    assert part is not None
    assert part.observed > 0.65
    assert part.interval[0] < 0.3 < part.interval[1]
    assert part.interval[1] < 0.45


@pytest.mark.parametrize("text", ["", "{}", '{"judge": 1}', "[1]", "\x00"])
def test_a_file_that_is_no_measurement_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "agreement.json"
    path.write_text(text)

    with pytest.raises(Malformed, match=r"is not what `judge-lab agreement --json` prints"):
        load_agreement(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_agreement(tmp_path / "nowhere.json")
