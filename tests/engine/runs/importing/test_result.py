"""A result.json is a run: every view reads from it what it stores, apart from what is repaired."""

import shutil
from collections.abc import Callable

import pytest

from recall_bench.core.errors import BenchError, DataError, UsageError
from recall_bench.core.event import Judged, NotAnswered
from recall_bench.core.scenario import Disclosure, Expects
from recall_bench.core.verdict import Verdict
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import RunStatus, summarise
from recall_bench.engine.runs.trials import read_trials
from recall_bench.reporting.analyses.costs import CostMeasure, measure_costs
from tests.engine.runs.importing.public_files import Row, part, reconstructed, result, row
from tests.fixtures.runs_importing import Import, faults

Opened = Callable[[], RunFolder]


def two_checkpoints() -> Row:
    synthesis = {"category": "synthesis", "relevantDays": [2, 9]}
    first = [row("q2", (3, 2, 1)), row("q1", (1, 1, 0), answer="Plum.")]
    second = [row("q1", (3, 2, 1)), row("q2", (2, 1, 1)), row("q3", (0, 0, 0), qa=synthesis)]
    return result([part(6, first), part(12, second)])


def test_every_view_has_the_means_that_are_stored(imported: Import, opened: Opened) -> None:
    found = imported(result=two_checkpoints())

    summary = summarise(opened())
    assert found.stored_mean == found.graded_mean == found.mean == pytest.approx(18 / 5)
    assert [part.overall.mean for part in summary.checkpoints] == [4.0, pytest.approx(10 / 3)]
    assert summary.checkpoints[1].get_tally("synthesis").mean == 0.0
    assert summary.overall.hallucination_rate == pytest.approx(2 / 5)
    assert summary.validity.status is RunStatus.VALID
    assert (found.disagreeing, found.card.repairs, found.card.complete) == ((), (), True)


def test_what_was_put_is_owed_in_that_order_and_nothing_else(
    imported: Import, opened: Opened
) -> None:
    imported(result=two_checkpoints())

    trials = [each.trial for each in opened().results("ada")]
    assert [(t.checkpoint, t.item) for t in trials] == [
        ("6d", "q2"),
        ("6d", "q1"),
        ("12d", "q1"),
        ("12d", "q2"),
        ("12d", "q3"),
    ]


def test_a_question_keeps_its_evidence_and_its_days(imported: Import, opened: Opened) -> None:
    qa = {"relevantDays": [3, 2], "irrelevantAfter": 40, "requiresSynthesis": True}
    imported(result=result([part(6, [row("q1", qa=qa)])]))

    (item,) = opened().states.scenarios["ada"].items
    assert (item.known_from, item.known_until) == (3, 40)
    assert [cited.day for cited in item.truth.evidence] == [3, 2]
    assert item.truth.requires_synthesis
    assert item.truth.reference == "Reference of q1."


def test_a_boundary_question_is_shown_whatever_the_settings_say(
    imported: Import, opened: Opened
) -> None:
    qa = {
        "category": "information-boundary",
        "expectedDisclosure": "refuse",
        "querySession": "crew",
        "forbiddenSessions": ["lender"],
    }

    found = imported(result=result([part(6, [row("q1", (2, 2, 1), qa=qa)])]))

    summary = summarise(opened())
    (item,) = opened().states.scenarios["ada"].items
    assert (item.truth.expects, item.session) == (Expects.WITHHOLD, "crew")
    assert summary.disclosures[Disclosure.REFUSE].tally.mean == 5.0
    assert "information-boundary" in summary.asked_categories
    assert faults(found) == {"askers": 1}


def test_a_reconstructed_result_reads_like_any_other_and_is_marked(
    imported: Import, opened: Opened
) -> None:
    found = imported(result=reconstructed(two_checkpoints()))

    assert found.mean == pytest.approx(18 / 5)
    assert (found.card.reconstructed, found.card.complete) == (True, False)
    assert faults(found) == {"reconstructed": 1}
    assert opened().plan.imported == found.card


def test_a_failed_query_is_not_an_answer_however_it_was_graded(
    imported: Import, opened: Opened
) -> None:
    rows = [row("q1", (3, 2, 1)), row("q2", (3, 2, 1), answer="[TIMEOUT]")]

    found = imported(result=result([part(6, rows)]))

    assert (found.graded_mean, found.mean) == (6.0, 3.0)
    assert faults(found) == {"sentinels": 1}
    _, failed = opened().results("ada")
    assert isinstance(failed.outcome, NotAnswered)
    assert opened().count_faults() == {"SystemFault": 1}


def test_it_stays_as_graded_if_a_person_asks_for_the_published_number(
    imported: Import, opened: Opened
) -> None:
    rows = [row("q1", (3, 2, 1)), row("q2", (0, 0, 1), answer="[TIMEOUT]")]

    found = imported(result=result([part(6, rows)]), as_graded=True)

    assert (found.stored_mean, found.mean) == (3.5, 3.5)
    assert faults(found) == {"as-graded": 1}


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        pytest.param("", "silent", id="silence"),
        pytest.param("Sorry, the content filter stopped me.", "apologies", id="an apology"),
    ],
)
def test_what_a_system_said_stays_graded_and_is_marked(
    imported: Import, answer: str, name: str
) -> None:
    found = imported(result=result([part(6, [row("q1", (3, 2, 1), answer=answer)])]))

    assert found.mean == 6.0
    assert faults(found) == {name: 1}


@pytest.mark.parametrize("answer", ["The [TIMEOUT] flag.", "[Fig]", "Timeout"])
def test_only_the_mark_itself_is_one(imported: Import, answer: str) -> None:
    assert faults(imported(result=result([part(6, [row("q1", answer=answer)])]))) == {}


def test_a_judge_that_said_nothing_is_marked(imported: Import) -> None:
    silent = row("q1", (0, 0, 1))
    del silent["score"]["reasoning"]

    found = imported(result=result([part(6, [silent, row("q2")])]))

    assert faults(found) == {"speechless": 1}


def test_first_verdicts_are_kept_beside_the_final_ones(imported: Import, opened: Opened) -> None:
    first = {"correctness": 0, "completeness": 0, "hallucination": 0, "reasoning": "Wrong."}
    rows = [row("q1", (3, 2, 1), primaryScore=first), row("q2", (0, 0, 0))]

    found = imported(result=result([part(6, rows)], appellateJudgeModel="azure:gpt-5.4"))

    outcome = next(opened().results("ada")).outcome
    assert isinstance(outcome, Judged)
    assert outcome.primary == Verdict.of(0, 0, 0, "Wrong.")
    assert opened().count_reviews().total.raised == 1
    assert faults(found) == {"not-judged-twice": 1}


def test_reviews_are_counted_from_the_rows(imported: Import, opened: Opened) -> None:
    """The result's own count holds only those of the last process."""
    first = {"correctness": 0, "completeness": 0, "hallucination": 0}
    rows = [row(f"q{number}", (3, 2, 1), primaryScore=first) for number in range(3)]

    found = imported(
        result=result([part(6, rows)], appellateJudgeModel="a", appellateInvocations=1)
    )

    assert opened().count_reviews().total.done == 3
    assert faults(found) == {"uncounted-reviews": 2}


def test_a_row_that_stands_there_twice_counts_once(imported: Import) -> None:
    rows = [row("q1", (3, 2, 1)), row("q1", (3, 2, 1)), row("q2", (0, 0, 1))]

    found = imported(result=result([part(6, rows)]))

    assert found.mean == 3.5
    assert faults(found) == {"doubled": 1, "means": 2}
    assert found.card.complete


def test_two_outcomes_of_one_question_are_refused(imported: Import) -> None:
    rows = [row("q1", (3, 2, 1)), row("q1", (0, 0, 1))]

    with pytest.raises(DataError, match="'q1' is evaluated twice"):
        imported(result=result([part(6, rows)]))


def test_two_wordings_of_one_id_are_two_questions(imported: Import, opened: Opened) -> None:
    later = row("q1", (0, 0, 1), qa={"question": "What now?"})

    found = imported(result=result([part(6, [row("q1")]), part(12, [later])]))

    assert [item.id for item in opened().states.scenarios["ada"].items] == ["q1", "q1~2"]
    assert faults(found) == {"reworded": 1}
    assert found.mean == 3.5


def test_marks_hold_against_a_total_that_is_not_their_sum(imported: Import) -> None:
    wrong = row("q1", (1, 1, 1)) | {"compositeScore": 6}

    found = imported(result=result([part(6, [wrong])]))

    assert found.mean == 3.0
    assert faults(found) == {"composites": 1, "means": 2}
    assert found.disagreeing[0] == (
        "'ada' at '6d', overall: 6.0000 of 1 stored, 3.0000 of 1 in the rows"
    )


def test_a_stored_rate_that_is_not_that_of_the_rows_is_reported(imported: Import) -> None:
    wrong = part(6, [row("q1")]) | {"hallucinationRate": 50}

    assert faults(imported(result=result([wrong]))) == {"means": 1}


def test_checkpoints_that_have_only_means_are_left_out_and_counted(
    imported: Import, opened: Opened
) -> None:
    """A continued run's result keeps what an earlier process asked as means alone."""
    bare = part(6, [row("q1"), row("q2")]) | {"questionResults": []}

    found = imported(result=result([bare, part(12, [row("q1", (0, 0, 1))])]))

    assert [each.label for each in opened().plan.checkpoints] == ["12d"]
    assert (found.stored_mean, found.mean) == (1.0, 1.0)
    assert faults(found) == {"no-rows": 1}
    assert not found.card.complete


def test_a_run_that_did_not_come_to_all_its_checkpoints_is_incomplete(imported: Import) -> None:
    killed = result([part(6, [row("q1")])])
    killed["ranges"] += [{"label": "12d", "days": 12}, {"label": "full", "days": 2**53 - 1}]

    found = imported(result=killed)

    assert faults(found) == {"not-reached": 2}
    assert not found.card.complete


def test_personas_may_have_come_to_different_checkpoints(imported: Import, opened: Opened) -> None:
    parts = {"ada": [part(6, [row("q1")])], "bo": [part(12, [row("q1", (0, 0, 0))])]}

    imported(result=result(parts))

    summary = summarise(opened())
    assert [each.overall.mean for each in summary.personas] == [6.0, 0.0]
    assert [each.overall.owed for each in summary.checkpoints] == [1, 1]


def test_columns_go_by_days_whatever_the_order_of_the_file(
    imported: Import, opened: Opened
) -> None:
    imported(result=result([part(30, [row("q1")]), part(6, [row("q1")])]))

    assert [each.days for each in opened().plan.checkpoints] == [6, 30]


def test_a_question_put_several_times_keeps_every_outcome(imported: Import, opened: Opened) -> None:
    rows = [row("q1", (3, 2, 1), repeat=0), row("q1", (0, 0, 1), repeat=1)]

    found = imported(result=result([part(6, rows)]))

    assert [each.trial.repeat for each in opened().results("ada")] == [0, 1]
    assert (found.mean, faults(found)) == (3.5, {})


def test_a_category_no_one_lists_is_marked_and_shown(imported: Import, opened: Opened) -> None:
    found = imported(result=result([part(6, [row("q1", qa={"category": "gossip"})])]))

    assert faults(found) == {"unlisted": 1}
    assert "gossip" in summarise(opened()).categories


def test_a_question_put_before_its_evidence_is_marked_and_still_owed(
    imported: Import, opened: Opened
) -> None:
    found = imported(result=result([part(6, [row("q1", qa={"relevantDays": [9]})])]))

    assert faults(found) == {"too-early": 1}
    assert summarise(opened()).overall.owed == 1


def test_an_answer_without_a_time_is_marked(imported: Import) -> None:
    found = imported(result=result([part(6, [row("q1") | {"latencyMs": None}])]))

    assert faults(found) == {"untimed": 1}


def test_what_an_answer_without_a_time_took_is_not_known(imported: Import, opened: Opened) -> None:
    rows = [row("q1"), row("q2") | {"latencyMs": None}]

    for content, is_known in ((rows[:1], True), (rows, False)):
        imported(result=result([part(6, content)]))
        taken = measure_costs(opened(), read_trials(opened()))
        shutil.rmtree(opened().path)

        assert (CostMeasure.QUERY_P50 in taken.measures) is is_known
        assert (CostMeasure.QUERY_P95 in taken.measures) is is_known
        assert [point.query_p50_s is not None for point in taken.points] == [is_known]
        assert [point.query_p95_s is not None for point in taken.points] == [is_known]
        noted = [note for note in taken.notes if "the time of an answer is unknown" in note]
        assert bool(noted) is not is_known
        assert all(note.endswith("imported without one: 1") for note in noted)


def test_no_judge_and_no_points_is_the_stub(imported: Import, opened: Opened) -> None:
    found = result([part(6, [row("q1", (0, 0, 0))])])
    del found["metadata"]["judgeModel"]

    imported(result=found)

    assert summarise(opened()).is_stub


def broken(**changes: object) -> Row:
    return result([part(6, [row("q1") | changes])])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(
            broken(score={"correctness": 4, "completeness": 2, "hallucination": 1}),
            r"Expected `int` <= 3 - at `\$\.personas\[0\]",
            id="a mark off its scale",
        ),
        pytest.param(
            broken(score={"correctness": 2.5, "completeness": 2, "hallucination": 1}),
            "Expected `int`",
            id="half a mark",
        ),
        pytest.param(
            broken(score={"correctness": 3, "completeness": 2}), "hallucination", id="no mark"
        ),
        pytest.param(broken(latencyMs=float("nan")), "as JSON", id="not a number"),
        pytest.param(broken(latencyMs=-1), "Expected `float` >= 0", id="a negative time"),
        pytest.param(result([part(6, [row("q1", qa={"relevantDays": [0]})])]), ">= 1", id="day 0"),
        pytest.param(
            result([part(6, [row("q1", qa={"answer": None})])]), "no reference", id="no reference"
        ),
        pytest.param(
            result([part(6, [row("q1")]) | {"daysIngested": 10**12}]), "<= 1000000", id="too far"
        ),
        pytest.param(
            result([part(6, [row("q1")]), part(6, [row("q2")])]), "two results", id="twice there"
        ),
        pytest.param(
            result([part(6, [row("q1")]) | {"questionsEvaluated": 0}]),
            "it is unknown which",
            id="more than asked",
        ),
    ],
)
def test_what_no_harness_writes_is_refused_with_its_file(
    imported: Import, content: Row, said: str
) -> None:
    with pytest.raises(DataError, match=said) as refused:
        imported(result=content)

    assert "result.json" in str(refused.value)


def test_a_result_of_means_alone_says_what_can_be_done_with_it(imported: Import) -> None:
    bare = part(6, [row("q1")]) | {"questionResults": []}

    with pytest.raises(UsageError, match="recall-bench report heatmap") as refused:
        imported(result=result([bare]))

    assert isinstance(refused.value, BenchError)
    assert refused.value.exit_code == 2
