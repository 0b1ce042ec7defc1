"""What the page says in words is said of every case there is."""

from collections.abc import Iterable

import pytest

from recall_bench.analysis.attribution.views import Leaf
from recall_bench.analysis.attribution.words import MEANINGS
from recall_bench.analysis.canaries.views import Canary, CanaryWatch, Change, Watched
from recall_bench.analysis.hallucination.views import Rate
from recall_bench.core.question import BOUNDARY
from recall_bench.pages.failures import failure_words
from recall_bench.pages.header import header_of
from recall_bench.pages.sections import (
    canary_words,
    cost_words,
    degradation_words,
    hallucination_words,
)
from recall_bench.statistics.estimate import Method
from tests.charts.sampled import estimate, sampled_report

REPORT = sampled_report(3)


def shown(parts: Iterable[str]) -> str:
    return "\n".join(parts)


def watched(change: Change) -> Watched:
    canary = Canary(
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
    return Watched(canary=canary, change=change, asked=2, hallucinated=1)


@pytest.mark.parametrize("change", Change)
def test_a_canary_is_shown_whatever_became_of_it(change: Change) -> None:
    watch = CanaryWatch(file="c.json", rule="always made up", watched=(watched(change),))

    page = shown(canary_words(watch))

    assert f"change-{change.value}" in page
    assert "What is the cat called?" in page
    assert "1 of 2" in page


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (Method.QUESTIONS, "The interval speaks of other questions to the same personas."),
        (Method.PERSONAS, "The interval speaks of other personas."),
        (
            Method.AGREEMENT,
            "Every question came to the same; the interval allows for others that would not have.",
        ),
        (Method.NONE, "There are too few questions for an interval."),
    ],
)
@pytest.mark.parametrize("questions", [19, 20])
def test_how_sure_a_headline_is_is_said_in_whole_sentences(
    method: Method, said: str, questions: int
) -> None:
    found = estimate(3.9, 0.2, most=6).but(method=method, questions=questions)
    if method is Method.NONE:
        found = found.but(low=None, high=None)

    page = str(header_of(REPORT.but(header=REPORT.header.but(overall=found))))

    doubts = questions < 20 and method is not Method.NONE
    ending = " With so few questions it is itself in doubt." if doubts else ""
    assert f">{said}{ending}</p>" in page


def test_every_leaf_is_shown_with_its_meaning() -> None:
    leaves = tuple(each.but(trials=3) for each in REPORT.attribution.leaves)
    page = shown(failure_words(REPORT.attribution.but(leaves=leaves)))

    assert all(MEANINGS[leaf] in page for leaf in Leaf)


def test_costs_and_half_lives_have_the_words_of_the_text() -> None:
    assert "<dd>23 ms a day</dd>" in shown(cost_words(REPORT.costs, ()))
    page = shown(degradation_words(REPORT.degradation))
    assert "900 (720 to beyond 950)" in page
    assert "beyond 950 (from 848)" in page


def test_a_leak_is_said_to_count_as_made_up_where_secrets_have_a_rate() -> None:
    guarded = Rate(name=BOUNDARY, rate=estimate(0.2, 0.1), leaked=3)
    views = REPORT.hallucination.but(categories=(guarded,))

    assert "An answer that leaks counts as made up" in shown(hallucination_words(views))
    views = views.but(categories=(guarded.but(rate=None),))
    assert "leaks" not in shown(hallucination_words(views))
