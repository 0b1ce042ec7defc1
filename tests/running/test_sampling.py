"""What `--sample`, `--sampling` and long stories mean for a plan, and what a run records."""

import json
from pathlib import Path

import pytest

import recall_bench
from recall_bench.core.plan import SampleMode
from recall_bench.core.settings import Settings
from recall_bench.runs.journal import JOURNAL
from recall_bench.runs.run_folder import RunFolder


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
    events = map(json.loads, (tmp_path / JOURNAL).read_text().splitlines())
    answered = [each for each in events if each["type"] == "answered" and "delivery" in each]

    assert answered
    quoted = total = 0
    for each in answered:
        passages, spans = each["answer"]["passages"], each["delivery"]["spans"]
        for passage, span in zip(passages, spans, strict=True):
            total += 1
            if span is not None:
                quoted += 1
                assert span[1] - span[0] >= len(passage["text"])
    assert quoted > 0.5 * total
