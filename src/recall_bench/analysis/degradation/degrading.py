"""Whether memory degrades as it grows: the questions asked, the same ones throughout, and facts."""

from recall_bench.analysis.degradation.curves import card_of, curve, line, within
from recall_bench.analysis.degradation.facts import Facts, facts_of, survivals
from recall_bench.analysis.degradation.sizes import grown, sizes_of
from recall_bench.analysis.degradation.stretch import Stretch, best_stretch
from recall_bench.analysis.degradation.views import Degradation
from recall_bench.analysis.trials import Table, TrialRow
from recall_bench.statistics.clusters import RESAMPLES
from recall_bench.statistics.estimate import FEW_QUESTIONS
from recall_bench.statistics.survival import RESAMPLES as SURVIVAL_RESAMPLES

FAILURES = 2
"""A fact is lost at the first of two wrong answers in a row: one slip of a judge loses nothing."""


def degradation(
    table: Table, *, seed: int, resamples: int = RESAMPLES, failures: int = FAILURES
) -> Degradation:
    """The mixed view, the fixed one, and how long facts stay known.

    Points of a curve, and survival curves, are drawn again at most a thousand times each.
    """
    sizes = sizes_of(table)
    asked = list(grown(table))
    stretch = best_stretch(asked, sizes, repeats=table.plan.repeats)
    followed = [] if stretch is None else within(asked, stretch)
    facts = facts_of(asked, failures=failures)
    curves, notes = survivals(facts, seed=seed, resamples=min(resamples, SURVIVAL_RESAMPLES))
    labels = () if stretch is None else stretch.labels
    return Degradation(
        mixed=curve(table.rows, sizes, seed=seed, resamples=resamples),
        mixed_trend=line(table.rows, seed=seed, resamples=resamples),
        fixed=curve(
            followed,
            {label: sizes[label] for label in labels},
            seed=seed,
            resamples=resamples,
        ),
        fixed_trend=line(followed, seed=seed, resamples=resamples),
        cohort=None if stretch is None else card_of(stretch, asked),
        survivals=tuple(curves),
        never_known=facts.never_known,
        failures=failures,
        reason=_reason(asked, stretch, facts, failures),
        unfollowed=facts.unfollowed,
        notes=(*_sampling(table), *_followed(stretch), *notes),
    )


def _reason(
    asked: list[TrialRow], stretch: Stretch | None, facts: Facts, failures: int
) -> str | None:
    if not any(row.points is not None for row in asked) and not facts.lifetimes:
        return "no answer has marks yet"
    reasons = []
    if stretch is None:
        reasons.append(
            "no question has marks at two checkpoints in a row, so there is no fixed view; ask at "
            "more checkpoints, for example --ranges every:30"
        )
    if not facts.lifetimes:
        reasons.append(
            f"no fact was known and then asked {failures} times more, so there is no survival; "
            "ask at more checkpoints, and without --sample"
        )
    return "; ".join(reasons) or None


def _followed(stretch: Stretch | None) -> list[str]:
    if stretch is None or (count := len(stretch.questions)) >= FEW_QUESTIONS:
        return []
    noun = "question" if count == 1 else "questions"
    note = (
        f"the fixed view follows only {count} {noun}: with fewer than {FEW_QUESTIONS} its "
        "intervals are themselves in doubt"
    )
    return [note]


def _sampling(table: Table) -> list[str]:
    if table.plan.sample is None:
        return []
    note = (
        f"at each checkpoint only {table.plan.sample} older questions of a persona were asked "
        "again (--sample), so few are followed for long; without it all are"
    )
    return [note]
