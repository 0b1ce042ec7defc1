"""What a run took is what its journal says, by checkpoint and in all; judges are no part of it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from recall_bench.core.event import (
    INGEST,
    QUERY,
    Answered,
    Ingested,
    Inspected,
    Judged,
    Metered,
    Settled,
)
from recall_bench.core.memory import Answer, Delivery, ReaderCard, SystemCard
from recall_bench.core.plan import FULL, Lifecycle
from recall_bench.core.scenario import Item
from recall_bench.core.usage import Usage
from recall_bench.engine.runs.trials import read_trials
from recall_bench.reporting.analyses.costs import (
    CostMeasure,
    RunCosts,
    measure_costs,
)
from recall_bench.reporting.groups import find_quantile
from tests.loops import loop_over_rows
from tests.written_runs import ADA, NOON, PERFECT, Story, ada_story, plan_of, trial

MODEL = ReaderCard(name="model", version="1", model="some:model")
PLAIN = ReaderCard(name="extractive", version="1")
COMPUTING = SystemCard(name="bm25", version="1", computes=True)


def told(story: Story) -> RunCosts:
    folder = story.open()
    return measure_costs(folder, read_trials(folder))


def answer(
    story: Story,
    item: str,
    checkpoint: str = "2d",
    *,
    seconds: float = 1.0,
    usage: Usage | None = None,
    reading: Usage | None = None,
    tokens: int | None = None,
    scenario: str = "ada",
) -> None:
    delivery = None if tokens is None else Delivery(offered=1, kept=1, tokens=tokens, traced=1)
    story.add(
        Answered(
            at=NOON,
            trial=trial(item, checkpoint, scenario=scenario),
            answer=Answer(text="Fig", usage=usage),
            seconds=seconds,
            reading_s=None if reading is None else 1.0,
            reading_usage=reading,
            delivery=delivery,
        )
    )


def metered(story: Story, checkpoint: str, stage: str, usage: Usage) -> None:
    story.add(Metered(at=NOON, scenario="ada", checkpoint=checkpoint, stage=stage, usage=usage))


def inspected(story: Story, checkpoint: str, size: int | None, scenario: str = "ada") -> None:
    story.add(Inspected(at=NOON, scenario=scenario, checkpoint=checkpoint, bytes=size))


def two_personas(folder: Path, **settings: object) -> Story:
    scenarios: dict[str, Sequence[Item]] = {"ada": ADA, "bob": ADA}
    return Story(folder, scenarios, plan_of(scenarios, **settings))


def test_feeding_and_settling_are_shared_among_the_days_fed_by_all_personas(
    tmp_path: Path,
) -> None:
    """Ada takes 1 s for each of two days, bob 4 s for one; settling takes 3 s."""
    story = two_personas(tmp_path)
    fed = (("ada", 1, 1.0), ("ada", 2, 1.0), ("bob", 1, 4.0))
    for scenario, day, seconds in fed:
        story.add(Ingested(at=NOON, scenario=scenario, day=day, checkpoint="2d", seconds=seconds))
    story.add(Settled(at=NOON, scenario="bob", checkpoint="2d", seconds=3.0))

    found = told(story)

    assert [each.ingest_s_a_day for each in found.points] == [3.0, None]
    assert found.measures[CostMeasure.INGEST] == 3.0


def test_percentiles_are_answers_in_one_list_and_failures_are_none_of_them(
    tmp_path: Path,
) -> None:
    story = two_personas(tmp_path)
    for scenario, item, seconds in (("ada", "cat", 1.0), ("bob", "cat", 9.0), ("bob", "dog", 2.0)):
        answer(story, item, seconds=seconds, scenario=scenario)
    story.not_answered(trial("dog"))

    first = told(story).points[0]

    assert (first.query_p50_s, first.query_p95_s) == (2.0, 9.0)


@loop_over_rows(("share", "expected"), [(0.5, 10.0), (0.95, 19.0), (1.0, 20.0), (0.0, 1.0)])
def test_a_percentile_is_a_value_that_was_seen(share: float, expected: float) -> None:
    assert find_quantile([float(n) for n in range(20, 0, -1)], share) == expected
    assert find_quantile([], share) is None


def test_what_we_counted_is_not_added_to_what_the_system_says_of_the_same(story: Story) -> None:
    metered(story, "2d", INGEST, Usage(calls=2, input_tokens=100, cost_usd=0.5))
    metered(story, "2d", QUERY, Usage(calls=1, input_tokens=30, cost_usd=0.1))
    metered(story, "2d", QUERY, Usage(calls=1, input_tokens=10, cost_usd=0.1))
    answer(story, "cat", usage=Usage(calls=2, input_tokens=41))
    answer(story, "dog", usage=Usage(calls=2, input_tokens=41))

    found = told(story)

    assert found.points[0].ingest_usage == Usage(calls=2, input_tokens=100, cost_usd=0.5)
    assert found.points[0].query_usage == Usage(calls=2, input_tokens=40, cost_usd=0.2)
    assert found.points[1].query_usage == Usage()
    assert found.measures[CostMeasure.TOKENS] == 20.0
    assert found.measures[CostMeasure.MONEY] == pytest.approx(350.0)


def test_the_reader_is_added_to_what_we_counted(tmp_path: Path) -> None:
    story = ada_story(tmp_path, reader=MODEL)
    metered(story, "2d", QUERY, Usage(calls=1, input_tokens=30))
    said = Usage(calls=1, input_tokens=30)
    answer(story, "cat", usage=said, reading=Usage(calls=1, input_tokens=500), tokens=480)

    found = told(story)

    assert found.points[0].query_usage == Usage(calls=2, input_tokens=530)
    assert found.points[0].delivered_tokens == 480
    assert found.measures[CostMeasure.TOKENS] == 530, "the passages are among what the reader read"


def test_passages_count_as_read_even_without_a_model(tmp_path: Path) -> None:
    story = ada_story(tmp_path, reader=PLAIN, system=COMPUTING)
    answer(story, "cat", tokens=480)
    answer(story, "dog", tokens=20)

    found = told(story)

    assert found.points[0].delivered_tokens == 250
    assert found.measures[CostMeasure.TOKENS] == 250
    assert found.measures[CostMeasure.MONEY] == 0


def test_a_system_that_only_computes_spends_nothing_and_another_spends_an_unknown_amount(
    tmp_path: Path,
) -> None:
    free, unknown = ada_story(tmp_path / "free", system=COMPUTING), ada_story(tmp_path / "other")
    for story in (free, unknown):
        answer(story, "cat")

    assert told(free).points[0].query_usage == Usage()
    assert told(free).measures[CostMeasure.MONEY] == 0
    assert told(unknown).points[0].query_usage is None
    assert CostMeasure.MONEY not in told(unknown).measures
    assert CostMeasure.TOKENS not in told(unknown).measures
    assert any("--endpoint" in note for note in told(unknown).notes)
    assert not any("--endpoint" in note for note in told(free).notes)


def test_what_the_system_says_counts_where_we_counted_nothing(story: Story) -> None:
    answer(story, "cat", usage=Usage(calls=1, input_tokens=10, output_tokens=4))
    answer(story, "dog", usage=Usage(calls=1, input_tokens=20, output_tokens=5))

    found = told(story)

    assert found.points[0].query_usage == Usage(calls=2, input_tokens=30, output_tokens=9)
    assert found.points[0].ingest_usage is None
    assert found.measures[CostMeasure.TOKENS] == 15
    assert CostMeasure.MONEY not in found.measures, "the usage of ingestion is unknown"
    assert any("ingestion" in note for note in found.notes)


def test_answers_that_do_not_say_leave_the_rest_unknown(story: Story) -> None:
    answer(story, "cat", usage=Usage(calls=1, input_tokens=10))
    answer(story, "dog")

    found = told(story)

    assert CostMeasure.TOKENS not in found.measures
    assert any(note.endswith("usage report: 1") for note in found.notes)


def test_the_readers_spending_is_not_taken_for_the_systems(tmp_path: Path) -> None:
    story = ada_story(tmp_path, reader=MODEL)
    answer(story, "cat", reading=Usage(calls=1, input_tokens=500))

    found = told(story)

    assert found.points[0].query_usage == Usage(calls=1, input_tokens=500)
    assert CostMeasure.TOKENS not in found.measures
    assert any("reader's alone" in note for note in found.notes)


def test_money_with_an_unknown_price_is_unknown(story: Story) -> None:
    metered(story, "2d", QUERY, Usage(calls=3, input_tokens=30, cost_usd=0.1, unpriced=2))
    answer(story, "cat")

    found = told(story)

    assert CostMeasure.MONEY not in found.measures
    assert any("2 calls have no known price" in note for note in found.notes)


def test_judges_are_no_cost_of_the_system(tmp_path: Path) -> None:
    story = ada_story(tmp_path, system=COMPUTING)
    answer(story, "cat")
    paid = Usage(calls=1, input_tokens=900, cost_usd=3.0)
    story.add(Judged(at=NOON, trial=trial("cat"), verdict=PERFECT, usage=paid))

    assert told(story).measures[CostMeasure.MONEY] == 0


def test_the_index_is_all_personas_together_and_the_last_word_counts(tmp_path: Path) -> None:
    story = two_personas(tmp_path)
    inspected(story, "2d", 10)
    inspected(story, "2d", 20, "bob")
    inspected(story, "4d", 99)
    inspected(story, "4d", 50)
    inspected(story, "4d", 70, "bob")

    found = told(story)

    assert [each.index_bytes for each in found.points] == [30, 120]
    assert found.measures[CostMeasure.BYTES] == 120


def test_an_index_of_which_one_persona_says_nothing_is_unknown(tmp_path: Path) -> None:
    story = two_personas(tmp_path)
    inspected(story, "4d", 50)
    inspected(story, "4d", None, "bob")

    found = told(story)

    assert found.points[1].index_bytes is None
    assert CostMeasure.BYTES not in found.measures
    assert any("stored_bytes" in note for note in found.notes)


def test_feeding_anew_for_every_checkpoint_is_said_to_be_paid_for_anew(tmp_path: Path) -> None:
    story = ada_story(tmp_path, lifecycle=Lifecycle.FRESH)
    metered(story, "2d", INGEST, Usage(calls=2, cost_usd=0.5))

    assert any("fresh" in note for note in told(story).notes)


def test_a_checkpoint_called_full_is_as_many_days_as_the_story_has(tmp_path: Path) -> None:
    plan = plan_of({"ada": ADA})
    last = plan.checkpoints[1].replace(label="full", days=FULL)
    story = ada_story(tmp_path, checkpoints=(plan.checkpoints[0], last))

    assert [each.days for each in told(story).points] == [2, 4]


def test_a_run_that_has_done_nothing_took_nothing_that_is_known(story: Story) -> None:
    found = told(story)

    assert found.measures == {}
    assert [each.query_p50_s for each in found.points] == [None, None]
