"""The text report says what was run, whether it holds, and never prints a number it has not."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from recall_bench.core.plan import Checkpoint
from recall_bench.core.scenario import Item
from recall_bench.core.verdict import JudgeCard, Verdict
from recall_bench.engine.runs.estimates import RunEstimates
from recall_bench.engine.runs.summary import summarise
from recall_bench.reporting.formats import format_duration
from recall_bench.reporting.headlines import LOW_CEILING_NOTE
from recall_bench.reporting.heatmap.heatmap_data import build_run_heatmap
from recall_bench.reporting.run_brief import render_brief
from recall_bench.reporting.run_text import (
    STUB_WARNING,
    describe_verdict,
    format_progress,
    render_run,
)
from recall_bench.reporting.score_tables import render_heatmap
from tests.loops import loop_over_rows
from tests.written_runs import (
    ADA,
    ALL_OF_ADA,
    INVENTED,
    PERFECT,
    POOR,
    Story,
    ada_story,
    bounded_story,
    plan_of,
    question,
    trial,
)


def reported(story: Story, *, width: int = 100) -> str:
    folder = story.open()
    return render_run(folder, summarise(folder), width=width)


def test_the_header_names_system_judge_data_and_time(finished: Story) -> None:
    text = reported(finished)

    assert "scripted 1" in text
    assert "Judge        exact 1" in text
    assert f"dataset {finished.plan.dataset_digest[:12]}" in text
    assert f"plan {finished.plan.digest[:12]}" in text
    assert "5 owed · 5 judged · 0 not answered · 0 not judged · 0 open" in text
    assert "Lifecycle    fresh" in text
    assert "2026-05-24 12:00:01 UTC, took 12s" in text


def test_a_valid_run_shows_its_score(finished: Story) -> None:
    text = reported(finished)

    assert "Result       87 of 100 (67 to 100) · invented 0 % · 3 questions (!)" in text
    assert "Silence      not computed, because it takes further verdicts of exact; run" in text
    assert "Intervals    95 %, bootstrap over questions" in text
    assert "; seed 42" in text


def test_a_stub_judge_is_announced_at_the_top(tmp_path: Path) -> None:
    story = ada_story(tmp_path, judge=JudgeCard(name="stub", version="1"))

    assert reported(story).splitlines()[2] == STUB_WARNING


def test_an_invalid_run_shows_no_score_but_why(story: Story) -> None:
    story.both(trial("cat"))
    story.both(trial("dog"))
    for each in ALL_OF_ADA[2:]:
        story.not_answered(each)
    story.end()

    text = reported(story)

    assert "Result       INVALID (3 of 5 trials failed, budget 5 %)" in text
    assert "of 100" not in text.split("ada ·")[0]
    early, late = (line for line in text.splitlines() if line.startswith(("2d ", "4d ")))
    assert "100.0" in early
    assert "INVALID" in late


def test_an_unfinished_run_says_how_much_is_open(story: Story) -> None:
    story.both(trial("cat"))

    text = reported(story)

    assert "UNFINISHED (4 of 5 trials open); so far 100 of 100" in text
    assert "INVALID" not in text


def test_an_unfinished_run_whose_questions_fail_has_no_score(story: Story) -> None:
    """Failures are no answers: they must not look like a low score."""
    story.both(trial("cat"))
    story.not_answered(trial("dog"))

    folder = story.open()
    summary = summarise(folder)

    assert describe_verdict(summary, RunEstimates.get(folder)) == (
        "UNFINISHED (3 of 5 trials open); no score: 1 of 2 trials so far failed, budget 5 %"
    )
    assert "of 100" not in render_brief(folder, summary)
    assert "of 100" not in reported(story).split("ada ·")[0]
    assert build_run_heatmap(folder).headline is None


def test_a_checkpoint_without_a_graded_answer_has_no_score(story: Story) -> None:
    story.not_answered(trial("cat"))
    story.not_answered(trial("dog"))
    part = summarise(story.open()).personas[0].checkpoints[0]

    line = format_progress(part, persona="ada", index=1, total=2)

    assert "score=-- unanswered=2" in line


def test_a_run_that_measured_nothing_says_so(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": ()}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    story.end()

    folder = story.open()
    said = describe_verdict(summarise(folder), RunEstimates.get(folder))
    assert said == "no score: nothing was measured"
    assert reported(story)


def test_failures_are_listed_by_kind_and_feeding_with_its_message(story: Story) -> None:
    story.not_answered(trial("cat"))
    story.not_answered(trial("dog"), "NotAnAnswer")
    story.feed_failed("ada", "4d", message="connection\n\x1b[31mrefused " + "x" * 1000)

    text = reported(story)

    assert "Failures     1 × NotAnAnswer, first: " in text
    assert "1 × SystemTimeout, first: " in text
    assert "Feed failed  ada at 4d, day 3 (ingest): SystemFault: connection" in text
    assert "\x1b" not in text
    assert "x" * 400 not in text


def lines_of(story: Story, *, width: int = 100) -> list[str]:
    """The heatmap of Ada, without rules and with single spaces."""
    text = render_heatmap(RunEstimates(story.open()).build_heatmap("ada"), width=width)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip(" ─")]


def test_the_heatmap_has_means_questions_intervals_and_the_two_rows_below(story: Story) -> None:
    story.both(trial("cat"), INVENTED)
    story.both(trial("dog"), POOR)

    found = lines_of(story)

    assert found[:4] == [
        "points of 100 (questions) 2d 4d",
        "95 % interval ─────────────────",
        "factual-recall 83 (1)! --",
        "2–100",
    ]
    assert found[-4:] == ["OVERALL 58 (2)! --", "33–83", "invented 50 %! --", "0–100"]
    assert not any(line.startswith(("synthesis", "leaked")) for line in found)


def asked_often(folder: Path, count: int, **settings: object) -> Story:
    """This many questions, each asked as often as the settings say, every second one failed."""
    items = tuple(question(f"q{n}") for n in range(count))
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(folder, scenarios, plan_of(scenarios, **settings))
    for label in ("2d", "4d"):
        for repeat in range(story.plan.repeats):
            for n in range(count):
                each = trial(f"q{n}", label, repeat=repeat)
                story.both(each, POOR if n % 2 else PERFECT)
    story.end()
    return story


def test_questions_are_counted_and_not_trials(tmp_path: Path) -> None:
    """Asked ten times over, nineteen questions are still few."""
    few = asked_often(tmp_path / "few", 19, repeats=10)
    enough = asked_often(tmp_path / "enough", 20)

    assert any(line.startswith("OVERALL 68 (19)! 68 (19)!") for line in lines_of(few))
    assert any(line.startswith("OVERALL 67 (20) 67 (20)") for line in lines_of(enough))


def test_the_mark_of_small_cells_is_explained_below_and_only_where_there_is_one(
    tmp_path: Path,
) -> None:
    note = "! fewer than 20 questions: the interval is unreliable"

    assert reported(asked_often(tmp_path / "few", 19)).splitlines()[-1] == note
    assert note not in reported(asked_often(tmp_path / "enough", 20))


def test_a_single_small_category_is_enough_for_the_explanation(tmp_path: Path) -> None:
    items = (*(question(f"q{n}") for n in range(20)), question("odd", "synthesis"))
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    for item in items:
        story.both(trial(item.id))

    assert "! fewer than 20 questions" in reported(story)


def test_the_table_has_intervals_and_questions_at_every_width(tmp_path: Path) -> None:
    story = asked_often(tmp_path, 20, repeats=2)

    for width, last in (
        (80, ["20", "66.7", "50.0–83.3"]),
        (100, ["20", "66.7", "50.0–83.3"]),
    ):
        lines = reported(story, width=width).splitlines()
        head = next(line for line in lines if line.startswith("checkpoint"))
        first = next(line for line in lines if line.startswith("2d "))
        assert len(head) == len(first)
        assert first.split()[-len(last) :] == last
        assert ("fed to" in head) == (width == 100)


MIXED = [PERFECT, POOR, PERFECT, INVENTED] * 6


def test_a_score_stands_between_silence_and_the_ceiling(tmp_path: Path) -> None:
    text = reported(bounded_story(tmp_path, MIXED))

    assert "Result       79 of 100 (65 to 90) · silence 17 · ceiling 100 · 75 % of the way" in text
    row = next(line for line in text.splitlines() if line.startswith("factual-recall"))
    assert row.split()[:8] == ["factual-recall", "24", "79", "66–90", "17", "100", "75", "%"]
    head, *rows = lines_of(bounded_story(tmp_path / "again", MIXED))
    assert head == "points of 100 (questions) 2d 4d silence ceiling"
    assert rows[1] == "factual-recall 79 (24) 79 (24) 17 100"
    assert rows[-4] == "OVERALL 79 (24) 79 (24) 17 100"
    assert rows[-2] == "invented 25 % 25 %"


def test_a_reader_that_fails_with_the_evidence_is_named_as_the_limit(tmp_path: Path) -> None:
    low = reported(bounded_story(tmp_path / "low", MIXED, ceiling=(1, 0, 1)))
    high = reported(bounded_story(tmp_path / "high", MIXED, ceiling=(2, 0, 1)))

    assert "33^" in low
    assert LOW_CEILING_NOTE in low
    assert LOW_CEILING_NOTE not in high


def test_a_system_like_silence_is_called_so_first(tmp_path: Path) -> None:
    verdicts = [Verdict.of(0, 0, 0, ""), Verdict.of(1, 0, 1, "")] * 12
    text = reported(bounded_story(tmp_path, verdicts))

    assert text.splitlines()[3].startswith(
        "Result       cannot be distinguished from a memory that knows nothing: 17 of 100"
    )


@pytest.mark.parametrize("width", [80, 100])
def test_bounds_keep_to_the_width(tmp_path: Path, width: int) -> None:
    lines = reported(bounded_story(tmp_path, MIXED), width=width).splitlines()

    assert max(map(len, lines)) <= width


def test_group_categories_are_left_out_where_they_are_not_asked(story: Story) -> None:
    text = reported(story)

    assert "information-boundary" not in text
    assert "group questions off" in text


def many_checkpoints(folder: Path, count: int) -> Story:
    checkpoints = tuple(Checkpoint(label=f"{day}d", days=day) for day in range(1, count + 1))
    items = tuple(question(f"q{i}", known_from=1) for i in range(30))
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(folder, scenarios, plan_of(scenarios, checkpoints=checkpoints))
    for checkpoint in checkpoints:
        for item in items:
            story.both(trial(item.id, checkpoint.label))
    story.end()
    return story


@pytest.mark.parametrize("count", [1, 5, 143])
@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_wider_than_the_page(tmp_path: Path, count: int, width: int) -> None:
    lines = reported(many_checkpoints(tmp_path, count), width=width).splitlines()

    assert max(len(line) for line in lines) <= width


def test_five_checkpoints_are_all_shown(tmp_path: Path) -> None:
    text = reported(many_checkpoints(tmp_path, 5), width=80)

    assert "checkpoints shown" not in text


def test_a_selection_of_many_checkpoints_says_it_is_one_and_has_the_last(tmp_path: Path) -> None:
    story = many_checkpoints(tmp_path, 143)

    heatmap = render_heatmap(RunEstimates(story.open()).build_heatmap("ada"), width=80)

    assert heatmap.splitlines()[0].split()[-1] == "143d"
    assert heatmap.splitlines()[-1].endswith("of 143 checkpoints shown)")


def test_several_personas_are_followed_by_all_of_them(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": ADA, "bob": ADA}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    story.both(trial("cat"), PERFECT)
    story.both(trial("cat", scenario="bob"), POOR)

    text = reported(story)

    assert "All 2 personas" in text
    assert text.count("OVERALL") == 4
    assert "67 (2)" in text.split("All 2 personas")[1]


def test_a_progress_line_tells_one_checkpoint(story: Story) -> None:
    story.ingest("ada", 1, "2d")
    story.ingest("ada", 2, "2d")
    story.both(trial("cat"), PERFECT)
    story.not_answered(trial("dog"))
    part = summarise(story.open()).checkpoints[0]

    line = format_progress(part, persona="ada", index=1, total=12)

    assert line == (
        "  [bench] [ 1/12] ada     2d +   2d ingest=  1.0s q=2 (new=2 hist=0/0) "
        "query=  2.1s score=50.0% unanswered=1"
    )


def test_a_progress_line_tells_days_that_were_fed_again_apart(story: Story) -> None:
    for day in (1, 2, 1, 2):
        story.ingest("ada", day, "2d")
    part = summarise(story.open()).checkpoints[0]

    line = format_progress(part, persona="ada", index=1, total=12)

    assert "ada     2d +   2d ingest=  2.0s (4d, some again) q=2" in line


def test_a_progress_line_without_questions_has_no_score(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": ()}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    part = summarise(story.open()).checkpoints[0]

    assert format_progress(part, persona="ada", index=1, total=1).endswith("score=--")


@loop_over_rows(
    ("seconds", "words"),
    [(0.2, "0s"), (3, "3s"), (123, "2m 03s"), (3723, "1h 02m 03s"), (59.9, "1m 00s")],
)
def test_durations_read_as_people_say_them(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words
