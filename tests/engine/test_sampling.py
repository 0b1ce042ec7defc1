"""What `--sample`, `--sampling` and long stories mean for a plan, and what a run records."""

from pathlib import Path

import pytest

import recall_bench
from recall_bench.core.event import Answered
from recall_bench.core.plan import SampleMode
from recall_bench.core.settings import Settings
from recall_bench.engine.runs.journal import JOURNAL, read_events_of
from recall_bench.engine.runs.run_folder import RunFolder


def run(folder: Path, settings: Settings = Settings()) -> RunFolder:  # noqa: B008 - it is frozen
    return recall_bench.run(
        settings,
        adapter="bm25",
        judge="stub",
        ranges=("10d", "20d", "30d"),
        into=folder,
        heatmap_png=False,
    ).folder


@pytest.mark.parametrize(
    ("settings", "sampling"),
    [
        (Settings(), SampleMode.DRAWN),
        (Settings(sample=4), SampleMode.CORE),
        (Settings(sample=4, sampling=SampleMode.DRAWN), SampleMode.DRAWN),
    ],
)
def test_a_sample_has_a_core_unless_all_of_it_is_to_be_drawn(
    tmp_path: Path, settings: Settings, sampling: SampleMode
) -> None:
    plan = run(tmp_path, settings).plan

    assert plan.sampling is sampling
    # A plan of another mode must not change its digest: unfinished runs go on by it.
    assert (b"sampling" in (tmp_path / JOURNAL).read_bytes()) == (sampling is SampleMode.CORE)


def test_passages_are_recorded_with_their_place_in_the_day(tmp_path: Path) -> None:
    run(tmp_path)
    events = read_events_of(tmp_path / JOURNAL, Answered)
    answered = [each for each in events if each.delivery is not None]

    assert answered
    quoted = total = 0
    for each in answered:
        spans = () if each.delivery is None else each.delivery.spans
        for passage, span in zip(each.answer.passages, spans, strict=True):
            total += 1
            if span is not None:
                quoted += 1
                assert span[1] - span[0] >= len(passage.text)
    assert quoted > 0.5 * total
