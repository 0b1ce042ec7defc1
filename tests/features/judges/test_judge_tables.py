"""The tables fit a screen, say what is missing, and claim nothing that is not known."""

import re

import pytest

from recall_bench.core.usage import Usage
from recall_bench.features.judges.correction import correct_run
from recall_bench.features.judges.judge_agreement import Agreement, measure_judge
from recall_bench.features.judges.judge_tables import (
    NO_VALUE,
    format_usage,
    render_agreement,
    render_correction,
)
from recall_bench.features.judges.labelled_verdicts import NO_CORPUS
from tests.features.judges.orchard import Reader, labelled
from tests.features.judges.test_correction import measured, rates, run, trials

pytestmark = pytest.mark.anyio


async def some_agreement(*, judge: Reader | None = None, extra: str = "") -> Agreement:
    answers = [
        labelled(
            ("3 2 1" if number % 3 else "0 0 0") + extra,
            (3, 2, 1) if number % 4 else (0, 0, 0),
            question=f"q{number}",
            category="negative-recall" if number % 2 else "contradiction-resolution",
        )
        for number in range(48)
    ]
    return await measure_judge(judge or Reader(), [*answers, labelled("mumble")], NO_CORPUS)


async def test_agreement_fits_a_screen() -> None:
    lines = render_agreement(await some_agreement()).splitlines()

    assert len(lines) <= 30
    assert max(map(len, lines)) <= 100


async def test_agreement_shows_figures_with_their_intervals() -> None:
    found = await some_agreement()

    rows = {line[:18].strip(): line[18:] for line in render_agreement(found).splitlines()}
    assert f"{found.marks['correctness'].auc:.3f} [0." in rows["AUC"]
    for figure in ("AUC", "kappa", "sensitivity", "specificity"):
        assert len(re.findall(r"0\.\d{3} \[-?\d\.\d\d, \d\.\d\d\]", rows[figure])) == 3
    assert rows["passes by label"].split()[:2] == ["75", "%"]
    assert rows["passes by judge"].split()[:2] == ["67", "%"]


async def test_agreement_says_what_was_not_judged_and_how_auc_ranks() -> None:
    text = render_agreement(await some_agreement())

    assert "49 answers to 49 questions, 1 not judged (JudgeFault 1); no corpus" in text
    assert "AUC of correctness, completeness and grounded ranks by points" in text
    assert "USD" not in text


async def test_a_judge_with_probabilities_and_a_bill_shows_both() -> None:
    judge = Reader(computes=False, cost_usd=0.01)

    text = render_agreement(await some_agreement(judge=judge, extra=" | 0.9 0.9 0.9"))

    assert "49 calls, 490 tokens in, 98 out, 0.4900 USD" in text
    assert "ranks by points" not in text


async def test_what_is_undefined_is_a_dash_and_never_a_number() -> None:
    found = await measure_judge(Reader(), [labelled("3 2 1")], NO_CORPUS)

    text = render_agreement(found)

    assert NO_VALUE in text
    assert "nan" not in text.lower()
    assert "None" not in text


def test_a_correction_fits_a_screen_and_shows_both_rates() -> None:
    own = {"synthesis": {"correctness": rates(0.9, 0.5)}}
    found = correct_run(run(trials(62, 38, silent=5), missing=2), measured(rates(0.9, 0.8), own))

    lines = render_correction(found).splitlines()

    assert max(map(len, lines)) <= 100
    assert "105 trials, 5 not answered; errors measured on labelled verdicts" in lines[2]
    row = next(line for line in lines if line.startswith("correctness"))
    assert "59.0 % [" in row
    assert "57.1 % [" in row
    assert any(line.startswith("synthesis, correctness") for line in lines)
    assert lines[-1] == "note: 2 trials without a verdict are left out"


def test_a_correction_says_why_a_mark_has_none() -> None:
    known = measured(rates(0.9, 0.8)).replace(marks={"correctness": rates(0.9, 0.8)})

    text = render_correction(correct_run(run(trials(62, 38)), known))

    assert "note: grounded: the judge's errors in grounded were not measured" in text
    assert "No category has error rates of its own" in text


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (Usage(calls=2, cost_usd=0.5), "2 calls, 0 tokens in, 0 out, 0.5000 USD"),
        (Usage(calls=1, unpriced=1), "1 call, 0 tokens in, 0 out, 1 call of unknown price"),
        (Usage(cached=9), "0 calls, 0 tokens in, 0 out, 0.0000 USD, 9 verdicts on record"),
    ],
)
def test_the_bill_says_what_is_known_of_the_price(usage: Usage, words: str) -> None:
    assert format_usage(usage) == words
