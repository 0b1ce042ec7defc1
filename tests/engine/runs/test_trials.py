"""One row for every trial owed; a mean over rows is the mean the summary prints."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from recall_bench.core.event import Answered, Inspected, Judged
from recall_bench.core.memory import Answer, Delivery, Passage
from recall_bench.core.plan import Trial
from recall_bench.core.scenario import Disclosure, Evidence, Item
from recall_bench.core.trial_states import TrialState
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Finding, JudgeCard, RubricCard, Verdict
from recall_bench.engine.runs.summary import summarise
from recall_bench.engine.runs.trials import ScoreScale, TrialRow, TrialTable, read_trials
from tests.written_runs import (
    ADA,
    ALL_OF_ADA,
    INVENTED,
    NOON,
    PERFECT,
    POOR,
    Story,
    ada_story,
    plan_of,
    question,
    trial,
)


@pytest.fixture
def story(tmp_path: Path) -> Story:
    """Ada's run, started and nothing done."""
    return ada_story(tmp_path / "run")


def table(story: Story) -> TrialTable:
    return read_trials(story.open())


def row(story: Story, wanted: Trial) -> TrialRow:
    return next(each for each in table(story).rows if each.trial == wanted)


def mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None


@pytest.fixture
def mixed(story: Story) -> Story:
    """Ada's run with everything that can become of a trial: one is still open."""
    story.both(trial("cat"), INVENTED)
    story.not_answered(trial("dog"))
    story.answer(trial("house", "4d"))
    story.not_judged(trial("house", "4d"))
    story.both(trial("cat", "4d"), POOR)
    return story


def test_every_trial_owed_has_a_row_in_the_order_of_the_schedule(mixed: Story) -> None:
    rows = table(mixed).rows

    assert tuple(each.trial for each in rows) == ALL_OF_ADA
    assert [each.state for each in rows] == [
        TrialState.JUDGED,
        TrialState.NOT_ANSWERED,
        TrialState.NOT_JUDGED,
        TrialState.JUDGED,
        TrialState.OPEN,
    ]
    assert [each.difficulty for each in rows] == ["easy", "medium", "hard", "easy", "medium"]
    assert [(each.days, each.cutoff) for each in rows] == [(2, 2), (2, 2), (4, 4), (4, 4), (4, 4)]


def test_an_unanswered_question_is_no_points_and_an_unjudged_one_unknown(mixed: Story) -> None:
    rows = table(mixed).rows

    assert [each.points for each in rows] == [5, 0, None, 2, None]
    assert [each.is_hallucination for each in rows] == [True, None, None, False, None]
    assert [each.fault for each in rows] == [
        None,
        "SystemTimeout",
        "UnreadableVerdict",
        None,
        None,
    ]


def test_means_are_those_of_the_summary(mixed: Story) -> None:
    found, summary = table(mixed), summarise(mixed.open())

    assert mean(found.points.values()) == summary.overall.mean == pytest.approx(7 / 3)
    assert mean(found.hallucinations.values()) == summary.overall.hallucination_rate == 0.5
    for part in summary.checkpoints:
        here = [each for each in found.rows if each.days == part.checkpoint.days]
        assert len(here) == part.overall.owed
        for name, tally in part.categories.items():
            points = [each.points for each in here if each.category == name]
            assert mean(p for p in points if p is not None) == tally.mean


def test_the_last_word_on_a_trial_counts(story: Story) -> None:
    story.both(trial("cat"), INVENTED)
    story.not_judged(trial("cat"))
    story.judge(trial("cat"), POOR)
    story.not_answered(trial("dog"))
    story.both(trial("dog"), PERFECT)
    story.answer(trial("dog"))

    cat, dog = row(story, trial("cat")), row(story, trial("dog"))

    assert (cat.points, cat.fault) == (2, None)
    assert (dog.state, dog.points, dog.fault, dog.seconds) == (
        TrialState.ANSWERED,
        None,
        None,
        0.125,
    )


def test_what_an_answer_took_is_reported(story: Story) -> None:
    answered = Answered(
        at=NOON,
        trial=trial("cat"),
        answer=Answer(text="Fig", usage=Usage(calls=1, input_tokens=10)),
        seconds=0.5,
        reading_s=2.0,
        reading_usage=Usage(calls=1, input_tokens=5, output_tokens=7),
        delivery=Delivery(offered=3, kept=2, tokens=40, traced=1),
    )
    story.add(answered)
    story.not_answered(trial("dog"))

    cat, dog = row(story, trial("cat")), row(story, trial("dog"))

    assert (cat.seconds, cat.reading_s) == (0.5, 2.0)
    assert cat.usage == Usage(calls=2, input_tokens=15, output_tokens=7)
    assert cat.delivery == answered.delivery
    assert (dog.seconds, dog.usage, dog.delivery) == (30.0, None, None)


def test_evidence_is_found_if_a_passage_of_its_day_was_delivered(story: Story) -> None:
    story.answer(trial("cat"), "Fig", Passage(text="…", day=1), Passage(text="…", day=9))
    story.answer(trial("dog"), "Rex", Passage(text="…", day=1))
    story.answer(trial("cat", "4d"), "no idea")
    story.answer(trial("dog", "4d"), "Rex", Passage(text="from nowhere"))

    rows = {each.trial: each for each in table(story).rows}

    assert rows[trial("cat")].evidence_days == 1
    assert rows[trial("cat")].evidence_found == 1
    assert rows[trial("dog")].evidence_found == 0
    assert rows[trial("cat", "4d")].evidence_found == 0, "it delivers, and delivered nothing here"
    assert rows[trial("dog", "4d")].evidence_found is None, "nobody knows where that is from"
    assert rows[trial("house", "4d")].evidence_found is None, "not asked yet"


def test_what_became_of_the_evidence_is_reported(story: Story) -> None:
    """The dog is asked about on day 2 and told of on day 2; the cat is of day 1."""
    story.add(Inspected(at=NOON, scenario="ada", checkpoint="2d", lost=(1,)))
    story.add(Inspected(at=NOON, scenario="ada", checkpoint="2d", lost=(2,)))
    story.add(Inspected(at=NOON, scenario="ada", checkpoint="4d", bytes=7))
    story.answer(trial("cat"), "no idea", Passage(text="…", day=2))
    story.answer(trial("dog"), "no idea", Passage(text="…", day=1))
    cut = Delivery(offered=2, kept=1, tokens=1, traced=1, cut_days=(2,))
    passages = (Passage(text="…", day=1),)
    reply = Answer(text="no idea", passages=passages)
    story.add(Answered(at=NOON, trial=trial("dog", "4d"), answer=reply, seconds=1.0, delivery=cut))

    rows = {each.trial: each for each in table(story).rows}
    trails = {
        name: (each.evidence_missing, each.evidence_cut, each.evidence_lost)
        for name, each in rows.items()
    }

    assert trails[trial("cat")] == (1, 0, 0), "the last word on what is held counts"
    assert trails[trial("dog")] == (1, 0, 1)
    assert trails[trial("dog", "4d")] == (1, 1, None), "it does not say what it holds there"
    assert trails[trial("cat", "4d")] == (None, None, None), "not asked yet"


def test_a_day_that_the_run_did_not_feed_is_not_held(tmp_path: Path) -> None:
    cat = question("cat")
    far = cat.replace(truth=cat.truth.replace(evidence=(Evidence(day=0),)))
    scenarios: dict[str, Sequence[Item]] = {"ada": (far,)}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    story.answer(trial("cat"), "no idea", Passage(text="…", day=2))

    assert row(story, trial("cat")).evidence_lost == 1


def test_a_memory_that_could_not_be_looked_into_again_is_not_known(story: Story) -> None:
    story.add(Inspected(at=NOON, scenario="ada", checkpoint="2d", lost=(1,)))
    story.add(Inspected(at=NOON, scenario="ada", checkpoint="2d"))
    story.answer(trial("cat"), "no idea", Passage(text="…", day=2))

    assert row(story, trial("cat")).evidence_lost is None


def test_values_in_the_place_of_the_right_one_are_reported(tmp_path: Path) -> None:
    hour = question("hour", "group-session-attribution")
    truth = hour.truth.replace(atoms=("11:30",), stale=("10:30",), distractors=("09:00",))
    scenarios: dict[str, Sequence[Item]] = {"ada": (hour.replace(truth=truth),)}
    story = Story(tmp_path, scenarios, plan_of(scenarios, groups_enabled=True))
    story.answer(trial("hour"), "At 10:30.")
    story.answer(trial("hour", "4d"), "At 9:00, or rather 09:00.")

    early, late = table(story).rows

    assert (early.tells_stale, early.tells_others, early.is_silent) == (True, False, False)
    assert (late.tells_stale, late.tells_others) == (False, True)


def test_an_answer_without_a_word_is_silent(story: Story) -> None:
    story.answer(trial("cat"), " \n")

    assert row(story, trial("cat")).is_silent


def two_personas(folder: Path) -> Story:
    """Ada's cat is Fig Plum, and Bob's is Rex Umber."""

    def asked(value: str) -> tuple[Item, ...]:
        cat = question("cat")
        return (cat.replace(truth=cat.truth.replace(atoms=(value,))),)

    scenarios: dict[str, Sequence[Item]] = {"ada": asked("Fig Plum"), "bob": asked("Rex Umber")}
    return Story(folder, scenarios, plan_of(scenarios))


def test_what_was_made_up_is_compared_with_what_other_personas_were_reported(
    tmp_path: Path,
) -> None:
    story = two_personas(tmp_path)
    story.both(trial("cat"), INVENTED, "Rex Umber")
    story.both(trial("cat", "4d"), POOR, "Rex Umber")
    story.both(trial("cat", scenario="bob"), INVENTED, "Rex Umber")
    story.both(trial("cat", "4d", scenario="bob"), INVENTED, "Nobody Else")

    found = {each.trial: each.tells_other_people for each in table(story).rows}

    assert found == {
        trial("cat"): True,
        trial("cat", "4d"): False,
        trial("cat", scenario="bob"): False,
        trial("cat", "4d", scenario="bob"): False,
    }


def test_a_leak_is_not_about_another_persona_unless_a_later_verdict_withdraws_it(
    tmp_path: Path,
) -> None:
    story, leak = two_personas(tmp_path), INVENTED.replace(findings=(Finding.LEAK,))
    for each in (trial("cat"), trial("cat", "4d")):
        story.both(each, leak, "Rex Umber")
    story.judge(trial("cat", "4d"), INVENTED)

    found = {each.trial: each.tells_other_people for each in table(story).rows}

    assert not found[trial("cat")]
    assert found[trial("cat", "4d")]


def test_of_a_system_that_shows_no_passages_nothing_is_known(story: Story) -> None:
    story.both(trial("cat"))

    assert row(story, trial("cat")).evidence_found is None


TELLING = JudgeCard(
    name="rubric", version="1", rubrics=(RubricCard(name="r", version="1", digest="d"),)
)


def boundary_story(folder: Path, judge: JudgeCard) -> Story:
    items: Sequence[Item] = (
        question("pay", "information-boundary", disclosure=Disclosure.REFUSE),
        question("job", "information-boundary", disclosure=Disclosure.ANSWER),
    )
    pay = items[0].replace(truth=items[0].truth.replace(withheld=("90,000",)))
    scenarios: dict[str, Sequence[Item]] = {"ada": (pay, items[1])}
    plan = plan_of(scenarios, judge=judge, groups_enabled=True)
    story = Story(folder, scenarios, plan)
    noticed = Verdict(marks=POOR.marks, findings=(Finding.REFUSAL,))
    story.both(trial("pay"), PERFECT, "She earns 90000.")
    story.both(trial("pay", "4d"), noticed, "That is private.")
    story.both(trial("job"), noticed, "I cannot say.")
    story.both(trial("job", "4d"), PERFECT, "A clerk.")
    return story


def test_leaks_are_those_of_the_summary(tmp_path: Path) -> None:
    story = boundary_story(tmp_path, TELLING)

    leaks, counted = table(story).leaks, summarise(story.open()).boundary.leaks

    assert leaks == {trial("pay"): 1.0, trial("pay", "4d"): 0.0}
    assert (counted.answers, counted.leaked) == (2, 1)


def test_who_declined_is_known_where_the_judge_says_what_it_noticed(tmp_path: Path) -> None:
    rows = {each.trial: each for each in table(boundary_story(tmp_path, TELLING)).rows}

    assert rows[trial("job")].is_refusal is True
    assert rows[trial("job", "4d")].is_refusal is False


def test_findings_of_a_judge_who_does_not_say_are_unknown_and_not_none(story: Story) -> None:
    story.both(trial("cat"))

    assert row(story, trial("cat")).findings is None
    assert row(story, trial("cat")).is_refusal is None


def test_a_verdict_that_was_withdrawn_leaves_no_findings(tmp_path: Path) -> None:
    story = ada_story(tmp_path, judge=TELLING)
    story.both(trial("cat"))
    story.not_judged(trial("cat"))

    assert row(story, trial("cat")).findings is None


def test_a_reviewed_verdict_has_the_findings_of_the_reviewer(tmp_path: Path) -> None:
    """The first judge says what it notices, the second does not."""
    second = JudgeCard(name="exact", version="1")
    story = ada_story(tmp_path, judge=TELLING, appellate=second)
    story.both(trial("cat"))
    story.answer(trial("dog"))
    story.add(Judged(at=NOON, trial=trial("dog"), verdict=PERFECT, primary=POOR))

    assert row(story, trial("cat")).findings == ()
    assert row(story, trial("dog")).findings is None
    assert row(story, trial("dog")).points == 6


def test_a_run_that_goes_on_meanwhile_is_read_as_far_as_it_was_opened(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": ADA, "bob": ADA}
    story = Story(tmp_path, {"ada": ADA}, plan_of(scenarios))
    story.both(trial("cat"))
    folder = story.open()
    story.declare("bob", ADA)
    story.both(trial("cat", scenario="bob"))
    story.save()

    found = read_trials(folder)

    assert {each.trial.scenario for each in found.rows} == {"ada"}
    assert found.points == {trial("cat"): 6.0}


def test_a_protocol_gives_a_score_and_no_points(story: Story) -> None:
    story.both(trial("cat"), Verdict(score=0.5))

    cat = row(story, trial("cat"))

    assert (cat.state, cat.score, cat.points) == (TrialState.MEASURED, 0.5, None)


def test_the_best_score_of_a_protocol_is_six_points_and_no_score_is_no_points(story: Story) -> None:
    story.both(trial("cat"), Verdict(score=0.5))
    story.both(trial("dog"), Verdict(score=1.0))
    story.both(trial("cat", "4d"), Verdict(score=0.0))
    story.both(trial("house", "4d"), POOR)
    scale = ScoreScale(name="locomo/official", label="token F1", protocol="locomo/strict")

    scored = replace(table(story), scale=scale)

    assert scored.missing == 1, "the figure need not apply to what was judged; one is still open"
    assert scored.points == {trial("cat"): 3.0, trial("dog"): 6.0, trial("cat", "4d"): 0.0}
