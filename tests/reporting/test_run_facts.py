"""Report and files tell what judging cost, what reviews did and how boundaries were kept."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from recall_bench.core.event import Paid
from recall_bench.core.plan import ReviewMode
from recall_bench.core.scenario import Disclosure, Item
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Finding, JudgeCard, RubricCard, Verdict
from recall_bench.engine.runs.summary import RunStatus, summarise
from recall_bench.reporting.run_text import render_run
from tests.engine.runs.test_result_files import exported
from tests.written_runs import (
    ALL_OF_ADA,
    INVENTED,
    PERFECT,
    POOR,
    Story,
    ada_story,
    plan_of,
    question,
    trial,
)

SENIOR = JudgeCard(name="senior", version="2")
WRITTEN = JudgeCard(
    name="rubric",
    version="1",
    rubrics=(RubricCard(name="reference", version="3", digest="d" * 64),),
)

CALL = Usage(calls=1, input_tokens=1000, output_tokens=50, cost_usd=0.01)


def fact(story: Story, label: str) -> str | None:
    """What the report's header says under a label, on one line."""
    folder = story.open()
    text = render_run(folder, summarise(folder), width=1000)
    found = [line for line in text.splitlines() if line.startswith(f"{label:13}")]
    return found[0][13:] if found else None


def test_a_run_that_paid_nothing_says_nothing_of_cost(finished: Story) -> None:
    assert fact(finished, "Cost") is None
    assert "usage" not in exported(finished).result["metadata"]


def test_the_cost_of_every_call_is_in_the_report_and_the_result(story: Story) -> None:
    story.answer(trial("cat"))
    story.judge(trial("cat"), usage=CALL)
    story.answer(trial("dog"))
    story.not_judged(trial("dog"), usage=CALL.replace(cost_usd=0.0, unpriced=1))
    story.add(Paid(at=story.now, trial=trial("dog"), usage=CALL))
    story.resume()
    story.judge(trial("dog"), usage=Usage(cached=1))

    assert fact(story, "Cost") == (
        "3 calls · 3,000 tokens in, 150 out · $0.0200 (1 call unpriced) · 1 reply from the cache"
    )
    assert exported(story).result["metadata"]["usage"] == {
        "calls": 3,
        "inputTokens": 3000,
        "outputTokens": 150,
        "costUsd": 0.02,
        "unpricedCalls": 1,
        "cachedReplies": 1,
    }


def test_each_judge_s_part_of_the_cost_is_reported(tmp_path: Path) -> None:
    story = ada_story(tmp_path, appellate=SENIOR)
    story.answer(trial("cat"))
    twice = CALL + CALL
    story.judge(trial("cat"), primary=POOR, usage=CALL + twice, review_usage=twice)

    metadata = exported(story).result["metadata"]

    assert (fact(story, "Cost") or "").endswith("$0.0300 · of this for reviews 2 calls, $0.0200")
    assert metadata["judgeUsage"]["calls"] == 1
    assert metadata["judgeUsage"]["costUsd"] == 0.01
    assert metadata["appellateUsage"]["calls"] == 2


def test_an_unknown_price_is_not_zero(story: Story) -> None:
    story.answer(trial("cat"))
    story.judge(trial("cat"), usage=CALL.replace(cost_usd=0.0, unpriced=1))

    assert (fact(story, "Cost") or "").endswith("price unknown")


def reviewed_run(folder: Path, **settings: object) -> Story:
    """One failure raised to full marks, one left; one pass lowered by four points."""
    story = ada_story(folder, appellate=SENIOR, **settings)
    story.answer(trial("cat"))
    story.judge(trial("cat"), PERFECT, primary=POOR)
    story.answer(trial("dog"))
    story.judge(trial("dog"), POOR, primary=POOR)
    for each in ALL_OF_ADA[2:]:
        story.both(each)
    story.judge(ALL_OF_ADA[2], POOR, primary=PERFECT)
    story.judge(ALL_OF_ADA[3], PERFECT, review_fault="JudgeTimeout: late")
    story.end()
    return story


def test_the_report_tells_reviews_of_failures_and_passes_apart(tmp_path: Path) -> None:
    assert fact(reviewed_run(tmp_path), "Reviews") == (
        "of failures 2: 1 raised, 0 lowered, 1 same · "
        "of passes 1: 0 raised, 1 lowered, 0 same, 1 failed · score 73.3 → 73.3"
    )


def test_one_sided_reviews_are_called_that(tmp_path: Path) -> None:
    story = ada_story(tmp_path, appellate=SENIOR, review=ReviewMode.FAILURES)
    story.answer(trial("cat"))
    story.judge(trial("cat"), PERFECT, primary=POOR)

    assert fact(story, "Reviews") == (
        "of failures 1: 1 raised, 0 lowered, 0 same · of passes none, by the plan · "
        "score 33.3 → 100.0"
    )


def test_the_result_holds_what_reviews_did(tmp_path: Path) -> None:
    metadata = exported(reviewed_run(tmp_path)).result["metadata"]

    assert metadata["appellateInvocations"] == 3
    assert metadata["appellateFaults"] == 1
    assert metadata["review"] == "balanced"
    assert metadata["reviews"] == {
        "failures": {"reviewed": 2, "raised": 1, "lowered": 0, "same": 1, "failed": 0, "points": 4},
        "passes": {"reviewed": 1, "raised": 0, "lowered": 1, "same": 0, "failed": 1, "points": -4},
        "open": 0,
        "meanBefore": pytest.approx(4.4),
    }


def test_rows_say_whether_a_failure_or_a_pass_was_reviewed(tmp_path: Path) -> None:
    files = exported(reviewed_run(tmp_path))

    questions = {
        (line["qa"]["id"], line["checkpoint"]): line.get("reviewed")
        for line in files.lines("questions.jsonl")
    }
    failures = [
        (line["qa"]["id"], line["reviewed"], line["primaryScore"], line["appellateScore"])
        for line in files.lines("failures.jsonl")
    ]

    assert questions == {
        ("cat", "2d"): "failure",
        ("dog", "2d"): "failure",
        ("house", "4d"): "pass",
        ("cat", "4d"): "pass",
        ("dog", "4d"): None,
    }
    assert [(name, kind) for name, kind, *_ in failures] == [("dog", "failure"), ("house", "pass")]
    assert failures[1][2]["correctness"] == 3
    assert failures[1][3]["correctness"] == 1


def test_a_run_with_verdicts_to_review_is_unfinished(tmp_path: Path) -> None:
    story = ada_story(tmp_path, appellate=SENIOR)
    for each in ALL_OF_ADA:
        story.both(each, POOR if each == trial("dog") else PERFECT)

    validity = summarise(story.open()).validity

    assert validity.status is RunStatus.UNFINISHED
    assert validity.reason == "0 of 5 trials open, 2 verdicts to review"
    assert "2 still to do" in (fact(story, "Reviews") or "")
    story.end()
    assert summarise(story.open()).validity.status is RunStatus.VALID


def test_no_run_is_invalid_before_its_verdicts_were_reviewed(tmp_path: Path) -> None:
    story = ada_story(tmp_path, appellate=SENIOR)
    story.both(trial("cat"), POOR)
    for each in ALL_OF_ADA[1:]:
        story.not_answered(each)

    assert summarise(story.open()).validity.status is RunStatus.UNFINISHED
    story.judge(trial("cat"), POOR, primary=POOR)
    assert summarise(story.open()).validity.status is RunStatus.INVALID


def test_probabilities_findings_and_rubric_reach_the_question_log(tmp_path: Path) -> None:
    story = ada_story(tmp_path, judge=WRITTEN)
    verdict = Verdict(
        marks=INVENTED.marks,
        probabilities={"correctness": 0.75, "grounded": 0.125},
        findings=(Finding.FABRICATION, Finding.STALE),
        rubric="reference",
    )
    story.both(trial("cat"), verdict)
    story.both(trial("dog"), PERFECT)
    files = exported(story)

    said, silent = files.lines("questions.jsonl")

    assert said["probabilities"] == {"correctness": 0.75, "hallucination": 0.125}
    assert said["findings"] == ["fabrication", "stale"]
    assert said["rubric"] == "reference"
    assert not {"probabilities", "findings", "rubric"} & silent.keys()


def test_rubrics_are_named_with_their_digests(tmp_path: Path) -> None:
    story = ada_story(tmp_path, judge=WRITTEN)

    rubrics = exported(story).result["metadata"]["judge"]["rubrics"]

    assert rubrics == [{"name": "reference", "version": "3", "digest": "d" * 64}]
    assert fact(story, "Rubrics") == f"reference 3 ({'d' * 12})"


def test_a_run_that_judged_others_answers_again_says_whose(tmp_path: Path) -> None:
    story = ada_story(tmp_path, answers_from="abc" * 20)

    assert fact(story, "Answers") == "recorded under plan abcabcabcabc, judged again here"
    assert exported(story).result["metadata"]["answersFrom"] == "abc" * 20


def boundary_run(folder: Path, **settings: object) -> Story:
    """Questions about a boundary: two that may be answered, one in part, one not at all."""
    items = (
        question("pay", "information-boundary", disclosure=Disclosure.REFUSE),
        question("age", "information-boundary", disclosure=Disclosure.PARTIAL),
        question("cat", "information-boundary", disclosure=Disclosure.ANSWER),
        question("dog", "information-boundary", disclosure=Disclosure.ANSWER),
    )
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    return Story(folder, scenarios, plan_of(scenarios, groups_enabled=True, **settings))


def found(*findings: Finding) -> Verdict:
    return Verdict(marks=POOR.marks, findings=findings)


def test_leaks_and_over_refusal_are_distinguished(tmp_path: Path) -> None:
    story = boundary_run(tmp_path, judge=WRITTEN)
    story.both(trial("pay"), found(Finding.LEAK))
    story.both(trial("age"), found())
    story.both(trial("cat"), found(Finding.REFUSAL))
    story.both(trial("dog"), PERFECT)

    result = exported(story).result

    assert fact(story, "Leaked") == "1 of 2 guarded answers leaked the secret (50.0 %)"
    assert fact(story, "Over-refusal") == (
        "partial 0 of 1 (0.0 %) · answer 1 of 2 (50.0 %) · together 1 of 3 (33.3 %)"
    )
    for part in (result, result["personas"][0]):
        assert part["leaks"] == {"answers": 2, "leaked": 1, "rate": 50.0}
        assert part["overRefusal"] == {
            "partial": {"answers": 1, "measured": 1, "refused": 0, "rate": 0.0},
            "answer": {"answers": 2, "measured": 2, "refused": 1, "rate": 50.0},
            "together": {
                "answers": 3,
                "measured": 3,
                "refused": 1,
                "rate": pytest.approx(100 / 3),
            },
        }


def test_a_judge_that_does_not_say_what_it_noticed_measures_no_refusals(tmp_path: Path) -> None:
    story = boundary_run(tmp_path)
    story.both(trial("pay"), PERFECT)
    story.both(trial("cat"), POOR)
    story.both(trial("dog"), PERFECT)

    result = exported(story).result

    assert fact(story, "Over-refusal") == (
        "not measured: the judge reports no findings (2 answers)"
    )
    assert fact(story, "Leaked") is None
    assert result["overRefusal"]["answer"] == {
        "answers": 2,
        "measured": 0,
        "refused": None,
        "rate": None,
    }


def test_a_judge_of_one_s_own_that_notices_something_once_is_taken_to_look_always(
    tmp_path: Path,
) -> None:
    story = boundary_run(tmp_path)
    story.both(trial("cat"), found(Finding.ABSTENTION))
    story.both(trial("dog"), PERFECT)

    assert fact(story, "Over-refusal") == "answer 1 of 2 (50.0 %)"


def test_a_judge_with_rules_that_never_noticed_anything_measures_nothing(tmp_path: Path) -> None:
    """The offline judge of earlier versions had rules and no findings: it must not count as 0."""
    story = boundary_run(tmp_path, judge=JudgeCard(name="offline", version="1", rules_digest="r"))
    story.both(trial("cat"), POOR)

    assert (fact(story, "Over-refusal") or "").startswith("not measured")


def test_the_judge_of_the_final_verdict_is_the_one_who_noticed(tmp_path: Path) -> None:
    """The first judge tells what it notices, the second does not."""
    story = boundary_run(tmp_path, judge=WRITTEN, appellate=SENIOR)
    story.answer(trial("cat"))
    story.judge(trial("cat"), POOR, primary=found(Finding.REFUSAL))
    story.both(trial("dog"), found(Finding.REFUSAL))

    assert fact(story, "Over-refusal") == "answer 1 of 1 (100.0 %), 1 not measured"


def test_unjudged_and_unanswered_questions_refuse_nothing(tmp_path: Path) -> None:
    story = boundary_run(tmp_path, judge=WRITTEN)
    story.answer(trial("cat"))
    story.not_answered(trial("dog"))

    assert fact(story, "Over-refusal") is None
    assert "overRefusal" not in exported(story).result
