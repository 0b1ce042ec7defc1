"""A run folder reads the same however its run was carried out; the last word on a trial holds."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

import pytest

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.event import Event, Judged, NotAnswered, NotJudged, encode_event
from recall_bench.core.trial_states import TrialState
from recall_bench.core.verdict import JudgeCard
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.metrics.marks import ReviewTally
from tests.written_runs import ALL_OF_ADA, INVENTED, PERFECT, POOR, Story, ada_story, trial


def test_results_come_in_the_order_of_the_schedule(story: Story) -> None:
    for each in reversed(ALL_OF_ADA):
        story.both(each)

    results = list(story.open().results("ada"))

    assert [result.trial for result in results] == list(ALL_OF_ADA)


def test_every_owed_trial_has_a_result_run_or_not(story: Story) -> None:
    story.answer(trial("cat"), "Fig")

    results = list(story.open().results("ada"))

    assert len(results) == len(ALL_OF_ADA)
    assert results[0].answered is not None
    assert [result.outcome for result in results] == [None] * 5


def test_repeats_follow_one_another_within_a_checkpoint(tmp_path: Path) -> None:
    story = ada_story(tmp_path, repeats=2)
    story.both(trial("dog", repeat=1), POOR)

    results = [result for result in story.open().results("ada") if result.trial.checkpoint == "2d"]

    assert [(r.trial.repeat, r.trial.item) for r in results] == [
        (0, "cat"),
        (0, "dog"),
        (1, "cat"),
        (1, "dog"),
    ]
    assert [r.outcome is not None for r in results] == [False, False, False, True]


def test_a_later_verdict_supersedes_a_failure_to_judge(story: Story) -> None:
    story.answer(trial("cat"))
    story.not_judged(trial("cat"))
    story.resume()
    story.judge(trial("cat"), POOR)
    folder = story.open()

    result = next(folder.results("ada"))

    assert isinstance(result.outcome, Judged)
    assert result.outcome.verdict == POOR
    assert folder.count_faults() == {}


def test_a_later_answer_supersedes_a_timeout(story: Story) -> None:
    story.not_answered(trial("cat"))
    story.resume()
    story.both(trial("cat"), text="Fig")
    folder = story.open()

    result = next(folder.results("ada"))

    assert isinstance(result.outcome, Judged)
    assert result.answered is not None
    assert result.answered.answer.text == "Fig"
    assert folder.count_faults() == {}


def test_an_answer_asked_for_again_forgets_its_old_verdict(story: Story) -> None:
    story.both(trial("cat"), INVENTED)
    story.resume()
    story.answer(trial("cat"), "Plum")
    folder = story.open()

    result = next(folder.results("ada"))

    assert result.outcome is None
    assert folder.states.scenarios["ada"].get_status(0, 0, 0).state is TrialState.ANSWERED


def test_a_timeout_forgets_the_answer_it_supersedes(story: Story) -> None:
    story.both(trial("cat"))
    story.resume()
    story.not_answered(trial("cat"))

    result = next(story.open().results("ada"))

    assert result.answered is None
    assert isinstance(result.outcome, NotAnswered)


def test_faults_are_counted_by_kind_as_they_stand(story: Story) -> None:
    story.not_answered(trial("cat"))
    story.not_answered(trial("dog"), "NotAnAnswer")
    story.not_answered(trial("house", "4d"))
    story.answer(trial("cat", "4d"))
    story.not_judged(trial("cat", "4d"))

    folder = story.open()

    assert folder.count_faults() == {"NotAnAnswer": 1, "SystemTimeout": 2, "UnreadableVerdict": 1}


def test_reviews_are_counted_by_what_the_first_judge_had_said(story: Story) -> None:
    story.answer(trial("cat"))
    story.judge(trial("cat"), PERFECT, primary=POOR)
    story.answer(trial("dog"))
    story.judge(trial("dog"), POOR, review_fault="JudgeTimeout")
    story.both(trial("house", "4d"))
    story.judge(trial("house", "4d"), POOR, primary=PERFECT)

    reviews = story.open().count_reviews()

    assert reviews.failures == ReviewTally(raised=1, failed=1, points=4)
    assert reviews.passes == ReviewTally(lowered=1, points=-4)


def test_a_review_is_forgotten_with_the_answer_it_was_about(story: Story) -> None:
    story.answer(trial("cat"))
    story.judge(trial("cat"), PERFECT, primary=POOR)
    story.resume()
    story.answer(trial("cat"), "Plum")

    assert story.open().count_reviews().total == ReviewTally()


def test_reviews_due_are_counted_while_the_run_goes_on(tmp_path: Path) -> None:
    story = ada_story(tmp_path, appellate=JudgeCard(name="senior", version="2"))
    for each in ALL_OF_ADA:
        story.both(each, POOR if each.item == "dog" else PERFECT)
    before = story.open().count_reviews().open
    story.judge(trial("dog"), PERFECT, primary=POOR)
    after = story.open().count_reviews().open
    story.end()

    assert (before, after, story.open().count_reviews().open) == (4, 3, 0)


def test_results_of_some_questions_are_read_and_of_no_others(finished: Story) -> None:
    folder = finished.open()
    read: list[int] = []
    event = folder._read_event

    def counted(file: BinaryIO, offset: int) -> Event | None:
        read.append(offset)
        return event(file, offset)

    folder._read_event = counted  # type: ignore[method-assign]

    results = list(folder.read_results_of("ada", lambda item: item.id == "dog"))

    assert [result.trial for result in results] == [trial("dog"), trial("dog", "4d")]
    assert len(read) == 4
    assert list(folder.read_results_of("ada", lambda item: False)) == []
    assert len(read) == 4


def test_any_text_survives(story: Story) -> None:
    text = '<script>alert("ö")</script>\u2028\n日本語 🐈\0"\\'
    story.both(trial("cat"), text=text)

    result = next(story.open().results("ada"))

    assert result.answered is not None
    assert result.answered.answer.text == text


def test_a_torn_last_line_is_no_event(finished: Story) -> None:
    with (finished.save() / JOURNAL).open("ab") as journal:
        journal.write(b'{"type":"judged","at"')

    folder = RunFolder.open(finished.folder)

    assert folder.is_finished


def test_an_unreadable_line_is_named(finished: Story) -> None:
    finished.lines[4] = b'{"type":"judged"}'

    with pytest.raises(DataError, match=rf"{JOURNAL}, line 5: .*at"):
        finished.open()


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda s: s.both(trial("parrot")), id="an item there is not"),
        pytest.param(lambda s: s.both(trial("house", "2d")), id="an item not asked there"),
        pytest.param(lambda s: s.both(trial("cat", "9d")), id="a checkpoint there is not"),
        pytest.param(lambda s: s.both(trial("cat", repeat=1)), id="a repeat too many"),
        pytest.param(lambda s: s.both(trial("cat", repeat=-1)), id="a repeat below none"),
        pytest.param(lambda s: s.both(trial("cat", scenario="bob")), id="a scenario there is not"),
        pytest.param(lambda s: s.declare("bob", ()), id="a declaration nobody planned"),
        pytest.param(lambda s: s.lines.append(s.lines[0]), id="a second start"),
    ],
)
def test_an_event_the_plan_does_not_allow_is_named(
    story: Story, write: Callable[[Story], None]
) -> None:
    write(story)

    with pytest.raises(DataError, match="line 3"):
        story.open()


def test_a_journal_without_its_start_is_refused(story: Story) -> None:
    del story.lines[0]

    with pytest.raises(DataError, match="line 1: the first event is not the start of a run"):
        story.open()


def test_an_empty_journal_is_refused(story: Story) -> None:
    story.lines.clear()

    with pytest.raises(DataError, match="no event yet"):
        story.open()


def test_a_folder_without_a_journal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is not a run folder"):
        RunFolder.open(tmp_path)


def test_a_folder_of_runs_names_them(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / JOURNAL).write_text("")

    with pytest.raises(UsageError, match=r"name one of the runs in it: \S+first, \S+second$"):
        RunFolder.open(tmp_path)
    with pytest.raises(UsageError, match=r"is not a run folder; did you mean '\S+/second'\?"):
        RunFolder.open(tmp_path / "secnd")


def test_a_journal_that_is_a_folder_is_no_run_to_suggest(tmp_path: Path) -> None:
    (tmp_path / "run" / JOURNAL).mkdir(parents=True)

    with pytest.raises(UsageError, match=r"its journal.jsonl cannot be read \("):
        RunFolder.open(tmp_path / "run")
    with pytest.raises(UsageError, match=r"^there is no folder \S+/rum; runs are in recall-runs/"):
        RunFolder.open(tmp_path / "rum")


def test_a_journal_changed_behind_our_back_is_noticed(finished: Story) -> None:
    folder = finished.open()
    journal = folder.path / JOURNAL
    journal.write_bytes(b"x" * journal.stat().st_size)

    with pytest.raises(DataError, match="was changed after it was written"):
        list(folder.results("ada"))


def test_pauses_are_not_work(story: Story) -> None:
    story.both(trial("cat"))
    before = story.open().active_s
    story.resume(after=timedelta(days=3))
    story.both(trial("dog"))

    folder = story.open()

    assert folder.active_s == before + 2
    assert (folder.ended - folder.started).days == 3


def test_codes_are_listed_once_in_order(story: Story) -> None:
    story.resume(code="0.2.0+bbbb")
    story.resume(code="0.1.0+aaaa")

    assert story.open().codes == ("0.1.0+aaaa", "0.2.0+bbbb")


def test_a_feed_failure_stands_while_its_questions_wait(story: Story) -> None:
    story.both(trial("cat"))
    story.both(trial("dog"))
    story.feed_failed("ada", "4d", message="first")
    story.feed_failed("ada", "4d", message="second")
    folder = story.open()

    failures = folder.list_feed_failures("ada")

    assert [failure.message for failure in failures] == ["second"]
    assert folder.stopped_scenarios == {"ada"}


def test_a_feed_failure_is_overcome_by_going_on(story: Story) -> None:
    story.feed_failed("ada", "4d")
    story.resume()
    for each in ALL_OF_ADA:
        story.both(each)
    folder = story.open()

    assert folder.list_feed_failures("ada") == ()
    assert folder.stopped_scenarios == set()


def test_a_failure_to_close_costs_nothing(story: Story) -> None:
    story.feed_failed("ada", "4d", stage="close")
    folder = story.open()

    assert folder.list_feed_failures("ada") == ()
    assert folder.stopped_scenarios == set()


def test_an_unjudged_answer_keeps_its_text(story: Story) -> None:
    story.answer(trial("cat"), "Fig")
    story.not_judged(trial("cat"))

    result = next(story.open().results("ada"))

    assert isinstance(result.outcome, NotJudged)
    assert result.answered is not None


def test_opening_keeps_no_answers_in_memory(tmp_path: Path) -> None:
    import tracemalloc

    story = ada_story(tmp_path)
    for each in ALL_OF_ADA:
        story.both(each, text="x" * 1_000_000)
    story.save()
    tracemalloc.start()

    folder = RunFolder.open(tmp_path)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert held < 500_000
    assert (
        sum(len(encode_event(r.answered)) for r in folder.results("ada") if r.answered) > 5_000_000
    )
