"""Rules about a run by itself: its scores and rates, and what it told."""

from collections.abc import Iterator, Mapping

from recall_bench.analysis.gate.checks import Check, Outcome
from recall_bench.analysis.gate.rules import FULL, Rules
from recall_bench.analysis.trials import Table
from recall_bench.core.plan import Trial
from recall_bench.core.question import CATEGORIES
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.errors import UsageError
from recall_bench.reporting.estimates import SEED
from recall_bench.statistics.comparison import Marks
from recall_bench.statistics.estimate import Estimate, mean_estimate

OVERALL = "overall"

_ROUNDING = 1e-9
"""What a sum of sixths may be off by, which is not held against a run."""


def scores(table: Table) -> dict[Trial, float]:
    """Points of 100 of every trial that counts."""
    return {trial: FULL * points / FULL_MARKS for trial, points in table.points.items()}


def estimate(marks: Marks, *, missing: int = 0) -> Estimate | None:
    """The mean of marks from 0 to 100; None where there is none."""
    return mean_estimate(
        list(marks.values()),
        [trial.item for trial in marks],
        [trial.scenario for trial in marks],
        seed=SEED,
        missing=missing,
        limits=(0.0, FULL),
    )


def value_checks(rules: Rules, table: Table, score: Estimate | None) -> Iterator[Check]:
    """Every rule that needs no baseline, in the order they are written."""
    if rules.min_score is not None:
        yield _at_least("min-score", OVERALL, rules.min_score, score, rules)
    if rules.min_category:
        yield from _categories(rules, table)
    if rules.max_hallucination is not None:
        rates = {trial: FULL * made_up for trial, made_up in table.hallucinations.items()}
        yield _at_most("max-hallucination", rules.max_hallucination, estimate(rates), rules)
    if rules.max_leaks is not None:
        yield _leaks(rules.max_leaks, table)


def _categories(rules: Rules, table: Table) -> Iterator[Check]:
    category = category_of(table)
    known = {
        *CATEGORIES,
        *(item.truth.category for items in table.items.values() for item in items),
    }
    marks: dict[str, dict[Trial, float]] = {}
    for trial, mark in scores(table).items():
        marks.setdefault(category[trial], {})[trial] = mark
    for name, least in rules.min_category.items():
        if name not in known:
            raise UsageError(
                f"--min-category: there is no category {name[:60]!r}; "
                f"the run has {', '.join(sorted(marks))}"
            )
        yield _at_least("min-category", name, least, estimate(marks.get(name, {})), rules)


def _at_least(rule: str, of: str, least: float, found: Estimate | None, rules: Rules) -> Check:
    if found is None:
        return unmeasured(rule, of, "no question of it has a mark", limit=least)
    low = found.low if rules.confident else found.value
    is_kept = low is not None and low >= least - _ROUNDING
    of_what = "the score" if of == OVERALL else f"the score of {of}"
    said = f"{of_what} is {found.value:.1f}{interval(found)} of 100"
    said += _held(is_kept, least, rules, "at least")
    return _measured(rule, of, found, is_kept, least).but(said=said)


def _at_most(rule: str, most: float, found: Estimate | None, rules: Rules) -> Check:
    if found is None:
        return unmeasured(rule, OVERALL, "no answer was judged", limit=most, is_least=False)
    high = found.high if rules.confident else found.value
    is_kept = high is not None and high <= most + _ROUNDING
    said = f"{found.value:.1f} %{interval(found)} of judged answers made something up"
    said += _held(is_kept, most, rules, "at most")
    return _measured(rule, OVERALL, found, is_kept, most).but(said=said, is_least=False)


def _leaks(most: int, table: Table) -> Check:
    guarded = len(table.leaks)
    if not guarded:
        why = "no answer could have told a secret; `run --groups-enabled` asks such questions"
        return unmeasured("max-leaks", OVERALL, why, limit=most, is_least=False)
    told = round(sum(table.leaks.values()))
    return Check(
        rule="max-leaks",
        of=OVERALL,
        outcome=Outcome.PASSED if told <= most else Outcome.FAILED,
        said=f"{told:,} of {guarded:,} guarded answers told the secret; at most {most:,} may",
        value=told,
        limit=most,
        is_least=False,
        questions=len({(trial.scenario, trial.item) for trial in table.leaks}),
    )


def unmeasured(
    rule: str, of: str, why: str, *, limit: float | None = None, is_least: bool = True
) -> Check:
    """A rule that cannot be decided."""
    return Check(
        rule=rule, of=of, outcome=Outcome.UNDECIDED, said=why, limit=limit, is_least=is_least
    )


def interval(found: Estimate) -> str:
    """Both ends in brackets; nothing where there is none."""
    if found.low is None or found.high is None:
        return ""
    return f" (95 % {found.low:.1f} to {found.high:.1f})"


def _measured(rule: str, of: str, found: Estimate, is_kept: bool, limit: float) -> Check:
    return Check(
        rule=rule,
        of=of,
        outcome=Outcome.PASSED if is_kept else Outcome.FAILED,
        said="",
        value=found.value,
        limit=limit,
        low=found.low,
        high=found.high,
        questions=found.questions,
    )


def _held(is_kept: bool, limit: float, rules: Rules, word: str) -> str:
    whole = "the whole interval " if rules.confident else ""
    return f"; {whole}has to be {word} {limit:g}" if not is_kept else f"; {word} {limit:g} is asked"


def category_of(table: Table) -> Mapping[Trial, str]:
    """The category of every trial."""
    return {row.trial: row.category for row in table.rows}
