"""Reliability curves are drawn from the bins, and only where there are probabilities."""

from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.judges.judge_agreement import Agreement, measure_judge
from recall_bench.features.judges.judge_charts import (
    build_reliability_chart,
    write_reliability_chart,
)
from recall_bench.features.judges.labelled_verdicts import NO_CORPUS
from tests.features.judges.orchard import Reader, labelled

pytestmark = pytest.mark.anyio


async def some_agreement() -> Agreement:
    answers = [
        labelled(
            f"3 2 1 | {number % 10 / 10 + 0.05} 0.85 0.35",
            (3, 2, 1) if number % 10 > 3 else (0, 0, 0),
            question=f"q{number}",
        )
        for number in range(60)
    ]
    return await measure_judge(Reader(), answers, NO_CORPUS)


async def test_there_is_a_panel_for_each_mark_with_its_filled_bins() -> None:
    chart: Any = build_reliability_chart(await some_agreement())

    correctness, completeness, _ = chart["hconcat"]
    assert correctness["title"]["text"] == "Correctness ≥ 2 of 3"
    points = correctness["data"]["values"]
    assert len(points) == 10
    assert [(point["n"], point["observed"]) for point in points[2:6]] == [
        (6, 0.0),
        (6, 0.0),
        (6, 1.0),
        (6, 1.0),
    ]
    assert [(point["n"], point["observed"]) for point in completeness["data"]["values"]] == [
        (60, 0.6)
    ]


async def test_the_text_alternative_tells_the_curves() -> None:
    chart = build_reliability_chart(await some_agreement())

    assert "completeness passes 60% of 60 at 85%." in str(chart["description"])


async def test_a_judge_without_probabilities_has_no_curve() -> None:
    found = await measure_judge(Reader(), [labelled("3 2 1")], NO_CORPUS)

    with pytest.raises(UsageError, match="gives no probabilities"):
        build_reliability_chart(found)


async def test_pictures_are_what_their_name_says(tmp_path: Path) -> None:
    agreement = await some_agreement()
    for name, start in (("a.png", b"\x89PNG"), ("a.SVG", b"<svg"), ("b.pdf", b"%PDF")):
        write_reliability_chart(agreement, tmp_path / name)

        assert (tmp_path / name).read_bytes().startswith(start)


async def test_other_names_are_refused() -> None:
    with pytest.raises(UsageError, match=r"a\.gif: a picture ends in"):
        write_reliability_chart(await some_agreement(), Path("a.gif"))
