"""What the page says in words is said of every case there is."""

from collections.abc import Iterable

import pytest

from recall_bench.metrics.estimate import IntervalMethod
from recall_bench.reporting.analyses.attribution import LEAF_MEANINGS, FailureLeaf
from recall_bench.reporting.analyses.canaries import (
    CanaryChange,
    CanaryQuestion,
    CanaryWatch,
    WatchedCanary,
)
from recall_bench.reporting.pages.page_body import render_header
from recall_bench.reporting.pages.page_sections import render_parts
from recall_bench.reporting.report_sections import (
    describe_canaries,
    describe_costs,
    describe_degradation,
    describe_failures,
    describe_hallucination,
)
from recall_bench.reporting.score_tables import build_category_scores
from recall_bench.reporting.sections import SectionPart
from tests.loops import loop_over_rows
from tests.reporting.charts.sample_report import estimate, sampled_report

REPORT = sampled_report(3)


def shown(parts: Iterable[SectionPart]) -> str:
    return "\n".join(render_parts(parts))


def watched(change: CanaryChange) -> WatchedCanary:
    canary = CanaryQuestion(
        persona="ada",
        question="cat",
        text="What is the cat called?",
        category="factual-recall",
        digest="00",
        asked=4,
        hallucinated=4,
        runs=1,
        sizes=2,
        repeats=2,
    )
    return WatchedCanary(canary=canary, change=change, asked=2, hallucinated=1)


@loop_over_rows("change", CanaryChange)
def test_a_canary_is_shown_whatever_became_of_it(change: CanaryChange) -> None:
    watch = CanaryWatch(file="c.json", rule="always made up", watched=(watched(change),))

    page = shown(describe_canaries(watch))

    assert f"<td>{change.value}</td>" in page
    assert "What is the cat called?" in page
    assert "1 of 2" in page


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (IntervalMethod.QUESTIONS, "The interval covers other questions to the same personas."),
        (IntervalMethod.PERSONAS, "The interval covers other personas."),
        (
            IntervalMethod.AGREEMENT,
            (
                "All questions have the same result; the interval allows for questions with "
                "another "
                "one."
            ),
        ),
        (IntervalMethod.NONE, "There are too few questions for an interval."),
    ],
)
@pytest.mark.parametrize("questions", [19, 20])
def test_how_sure_a_headline_is_is_said_in_whole_sentences(
    method: IntervalMethod, said: str, questions: int
) -> None:
    found = estimate(3.9, 0.2, most=6).replace(method=method, questions=questions)
    if method is IntervalMethod.NONE:
        found = found.replace(low=None, high=None)

    page = str(render_header(REPORT.replace(header=REPORT.header.replace(overall=found))))

    doubts = questions < 20 and method is not IntervalMethod.NONE
    ending = " With so few questions the interval is unreliable." if doubts else ""
    assert f">{said}{ending}</p>" in page


def test_every_leaf_is_shown_with_its_meaning() -> None:
    leaves = tuple(each.replace(trials=3) for each in REPORT.attribution.leaves)
    page = shown(describe_failures(REPORT.attribution.replace(leaves=leaves)))

    assert all(LEAF_MEANINGS[leaf] in page for leaf in FailureLeaf)
    assert "marks lost, of 6 a trial" in page
    assert page.count('data-leaf="') == len(FailureLeaf)


def test_costs_and_half_lives_have_the_words_of_the_text() -> None:
    assert '<td class="number">23 ms a day</td>' in shown(describe_costs(REPORT.costs, ()))
    page = shown(describe_degradation(REPORT.degradation))
    assert "900 (720 to beyond 950)" in page
    assert "beyond 950 (from 848)" in page


def test_inventions_and_leaks_have_a_trend_each() -> None:
    text = shown(describe_hallucination(REPORT.hallucination))

    assert "<dt>Leaked</dt><dd>40.0 % (30.0 to 52.0) of 60 answers that could leak.</dd>" in text
    assert "Forecast: 43.0 % at 2,000 days" in text
    assert "o forecast for 2,000 and 5,000 days: the band says nothing" in text


def test_the_header_has_silence_ceiling_and_both_rates() -> None:
    text = str(render_header(REPORT))

    assert "silence 25 · ceiling 85 · 67 % of the way (62 to 73)" in text
    assert text.count('class="headline"') == 3
    assert [text.index(word) for word in ("<h2>Score", "<h2>Invented", "<h2>Leaked")] == sorted(
        text.index(word) for word in ("<h2>Score", "<h2>Invented", "<h2>Leaked")
    )
    without = str(render_header(REPORT.replace(header=REPORT.header.replace(bounds=None))))
    assert "Silence and ceiling: not computed; run --adapter none" in without


def test_a_system_like_silence_has_a_loud_notice() -> None:
    bounds = REPORT.header.bounds
    assert bounds is not None
    equal = bounds.replace(gain=bounds.gain.replace(low=-0.1, high=0.1))
    header = REPORT.header.replace(bounds=equal)

    text = str(render_header(REPORT.replace(header=header)))

    assert "cannot be distinguished from a memory that knows nothing" in text
    assert "NO BETTER THAN SILENCE" not in str(render_header(REPORT))


def test_every_category_stands_between_silence_and_its_ceiling() -> None:
    text = shown(build_category_scores(REPORT.heatmaps[0]))

    assert text.count("<tr>") == 12
    assert "the reader is the limit here, not the memory" in text
    table = REPORT.heatmaps[0]
    bare = table.replace(rows=tuple(row.replace(bounds=None) for row in table.rows))
    assert "silence" not in shown(build_category_scores(bare))
