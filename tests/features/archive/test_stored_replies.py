"""The marks of a model are held against its stored replies; it is not asked again."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.core.verdict import JudgeCard, RubricCard, Verdict
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.archive.run_verification import (
    CheckState,
    RunCheck,
    StoryFinder,
    verify_folder,
)
from tests.written_runs import ADA, Story, plan_of, trial

MODEL = JudgeCard(
    name="rubric",
    version="3",
    model="openai:m",
    rubrics=(RubricCard(name="reference", version="1", digest="d"),),
)

Run = Callable[..., RunCheck]


def make_verdict(
    correctness: int, completeness: int, grounded: int, reply: tuple[int, int, int] | None = None
) -> Verdict:
    """A verdict with these marks, read from a reply with the same ones unless others are given."""
    marks = correctness, completeness, grounded
    names = ("correctness", "completeness", "grounded")
    said = {"reason": "as read", **dict(zip(names, reply or marks, strict=True))}
    verdict = Verdict.of(correctness, completeness, grounded, "as read")
    return verdict.replace(rubric="reference", reply=json.dumps(said))


@pytest.fixture
def check(tmp_path: Path) -> Run:
    def verify(first: Verdict, second: Verdict, primary: Verdict | None = None) -> RunCheck:
        plan = plan_of({"ada": ADA}, judge=MODEL, appellate=MODEL if primary else None)
        story = Story(tmp_path / "run", {"ada": ADA}, plan)
        story.both(trial("cat", "2d"), first)
        story.answer(trial("dog", "2d"))
        story.judge(trial("dog", "2d"), second, primary=primary)
        story.save()
        folder = RunFolder.open(story.folder)
        checks = verify_folder(folder, StoryFinder(folder.plan)).checks
        [found] = [each for each in checks if each.part == "verdicts"]
        return found

    return verify


def test_marks_that_follow_from_replies_are_verified(check: Run) -> None:
    found = check(make_verdict(3, 2, 1), make_verdict(1, 0, 1))

    assert found.state is CheckState.VERIFIED
    assert found.detail.startswith("2 follow from the stored reply")


def test_a_better_mark_than_the_reply_says_is_named(check: Run) -> None:
    found = check(make_verdict(3, 2, 1), make_verdict(3, 2, 1, reply=(1, 0, 1)))

    assert found.state is CheckState.DIFFERS
    assert "1 of 2" in found.detail
    assert "ada/dog@2d#0" in found.detail


def test_the_first_verdict_under_a_review_is_checked_too(check: Run) -> None:
    found = check(
        make_verdict(3, 2, 1),
        make_verdict(3, 2, 1),
        primary=make_verdict(0, 0, 1, reply=(3, 2, 1)),
    )

    assert found.state is CheckState.DIFFERS


def test_a_reply_that_is_no_verdict_supports_none(check: Run) -> None:
    broken = make_verdict(3, 2, 1).replace(reply="It is excellent.")

    assert check(make_verdict(3, 2, 1), broken).state is CheckState.DIFFERS


def test_another_reason_than_the_reply_gives_is_named(check: Run) -> None:
    changed = make_verdict(3, 2, 1).replace(reason="all there")

    assert check(make_verdict(3, 2, 1), changed).state is CheckState.DIFFERS


def test_verdicts_without_a_reply_are_counted_as_not_verified(check: Run) -> None:
    """Those on leaks and empty answers, and those of earlier versions."""
    found = check(make_verdict(3, 2, 1), make_verdict(0, 0, 1).replace(reply=None))

    assert found.state is CheckState.UNVERIFIED
    assert found.detail.endswith("1 have none")
