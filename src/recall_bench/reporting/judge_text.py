"""How much a score depends on the judge, in words and tables."""

from collections.abc import Iterator, Sequence

from recall_bench.core.plain_text import NO_DATA, clean_text, format_fact, wrap_text
from recall_bench.core.tables import make_table, render_text
from recall_bench.engine.runs.judge_sensitivity import (
    JudgedCategory,
    JudgePair,
    JudgeScore,
    JudgeSensitivity,
    SplitTrial,
)
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.metrics.bootstrap import Interval
from recall_bench.reporting.analyses.cost_units import format_money
from recall_bench.reporting.corrected_headline import (
    CorrectedHeadline,
    CorrectedJudge,
    correct_headline,
)
from recall_bench.reporting.formats import format_number, format_points, format_score

MAX_SPLITS = 8
"""Answers that are listed in a terminal; a file and the page have all."""
SPLITS_FILE = "judge-splits.jsonl"
JUDGES_NOTE = (
    "The score is that of the first judge. Alike: both judges pass an answer, or both fail it; it "
    "fails with fewer than 4 of 6 points, or where it is wrong or not grounded."
)
JUDGE_HEADS = ("", "judge", "score", "missing", "dollars")
PAIR_HEADS = ("judges", "answers", "alike", "kappa", "correct", "complete", "grounded")
"""Two judges; then the share of the same passes in each mark."""
FAIL_MARK = "✗"


def letter_judge(place: int) -> str:
    """The letter of a judge in tables: names may be long."""
    return chr(ord("A") + place) if place < _LETTERS else str(place + 1)


_LETTERS = 26


def letter_pair(found: JudgeSensitivity, pair: JudgePair) -> str:
    """The letters of two judges."""
    return " · ".join(letter_judge(found.names.index(name)) for name in (pair.first, pair.second))


def describe_range(found: JudgeSensitivity) -> str:
    """The range of the scores, the least agreement of two judges, and the splits."""
    names = f"{', '.join(found.names)}; the first gives the score"
    parts = [f"{format_range(found)} of 100 over {len(found.judges)} judges ({names})"]
    if (pair := found.weakest_pair) is not None:
        between = "" if len(found.judges) == 2 else f" by {pair.first} and {pair.second}"
        parts.append(f"{format_alike(pair)} of verdicts alike{between}, kappa {format_kappa(pair)}")
    parts.append(describe_splits(found))
    if missing := sum(judge.missing for judge in found.judges[1:]):
        parts.append(f"{missing:,} verdicts of other judges missing")
    return " · ".join(parts)


def describe_splits(found: JudgeSensitivity) -> str:
    """How many answers some judges pass and others fail."""
    if not found.splits:
        return f"no split over {found.answers:,} answers"
    return f"split on {len(found.splits):,} of {found.answers:,} answers"


def describe_correction(found: CorrectedHeadline) -> str | None:
    """The corrected share of right answers as the headline; None where there is none."""
    right = found.right
    if right is None:
        return None
    low, high = (format_number(100 * end, 0) for end in right.interval)
    return (
        f"{format_number(100 * right.corrected, 0)} % right ({low} to {high}), corrected by "
        f"{found.source}; {format_number(100 * right.observed, 0)} % as judged"
    )


def add_correction(folder: RunFolder, result: str) -> str:
    """The result of a run, after the share of right answers that its labels correct, if any do."""
    headline = correct_headline(folder)
    right = None if headline is None else describe_correction(headline)
    return result if right is None else f"{right} · {result}"


def format_range(found: JudgeSensitivity) -> str:
    """The lowest and the highest score in points of 100."""
    low, high = format_score(found.low), format_score(found.high)
    return low if low == high else f"{low} to {high}"


def format_alike(pair: JudgePair) -> str:
    """The share of the same verdicts, in percent."""
    return NO_DATA if pair.agreement is None else f"{format_number(100 * pair.agreement, 0)} %"


def format_kappa(pair: JudgePair) -> str:
    """Kappa with its interval."""
    if pair.kappa is None:
        return NO_DATA
    return format_number(pair.kappa, 2) + _format_ends(pair.kappa_interval, 1, 2)


def _format_ends(ends: Interval | None, scale: float, digits: int) -> str:
    if ends is None or ends[0] == ends[1]:
        # No resample differs where all answers agree: that is no interval.
        return ""
    low, high = (format_number(scale * end, digits) for end in ends)
    return f" ({low} to {high})"


def list_judge_cells(place: int, judge: JudgeScore) -> tuple[str, ...]:
    """One judge: its letter, its name, its score, and what its verdicts cost."""
    name = judge.name if place else f"{judge.name} (the score)"
    score, cost = format_points(judge.score, digits=0), format_money(judge.usage.cost_usd)
    return (letter_judge(place), name, score, f"{judge.missing:,}", cost)


def list_pair_cells(found: JudgeSensitivity, pair: JudgePair) -> tuple[str, ...]:
    """Two judges: how often they agree, over all and in each mark."""
    marks = [
        NO_DATA if value is None else f"{format_number(100 * value, 0)} %"
        for value in pair.marks.values()
    ]
    alike = format_alike(pair) + _format_ends(pair.agreement_interval, 100, 0)
    return (
        letter_pair(found, pair),
        f"{pair.answers:,}",
        alike,
        format_kappa(pair),
        *(marks or [NO_DATA] * 3),
    )


def list_category_cells(category: JudgedCategory) -> tuple[str, ...]:
    """One category: its score by each judge, and the splits."""
    scores = (format_score(score) for score in category.scores)
    return (category.name, *scores, f"{category.answers:,}", f"{category.splits:,}")


def list_category_heads(found: JudgeSensitivity) -> tuple[str, ...]:
    """The heads of the table of categories."""
    letters = map(letter_judge, range(len(found.judges)))
    return ("points of 100", *letters, "answers", "splits")


def list_split_heads(found: JudgeSensitivity) -> tuple[str, str, str]:
    """The heads of the table of splits."""
    letters = " · ".join(map(letter_judge, range(len(found.judges))))
    return ("answer", "category", f"{letters}, of 6; {FAIL_MARK} fails")


def list_split_cells(split: SplitTrial) -> tuple[str, str, str]:
    """One answer that judges split on, with the points of each."""
    points = " · ".join(
        f"{format_number(points, 0 if points == round(points) else 1)}{'' if passes else FAIL_MARK}"
        for points, passes in zip(split.points, split.passes, strict=True)
    )
    return (str(split.trial), split.category, points)


def render_sensitivity(found: JudgeSensitivity) -> Iterator[str]:
    """Judges, pairs, categories and the widest splits, as text."""
    yield from format_fact("Range", f"{format_range(found)} of 100 over {len(found.judges)} judges")
    splits = (
        f"{len(found.splits):,} of {found.answers:,} answers pass by one judge and fail by "
        f"another; {SPLITS_FILE} has all"
    )
    yield from format_fact("Splits", splits if found.splits else describe_splits(found))
    yield ""
    rows = [list_judge_cells(place, judge) for place, judge in enumerate(found.judges)]
    yield from render_text(make_table(JUDGE_HEADS, rows, text=(1,)))
    yield ""
    pairs = [list_pair_cells(found, pair) for pair in found.pairs]
    yield from render_text(make_table(PAIR_HEADS, pairs))
    yield ""
    heads = list_category_heads(found)
    yield from render_text(make_table(heads, map(list_category_cells, found.categories)))
    if found.splits:
        yield ""
        shown = found.splits[:MAX_SPLITS]
        table = make_table(list_split_heads(found), map(list_split_cells, shown), text=(1, 2))
        yield from render_text(table)
        if len(shown) < len(found.splits):
            yield f"({len(shown)} of {len(found.splits):,} shown, the widest first)"
    yield from wrap_text(JUDGES_NOTE)


def render_correction(found: CorrectedHeadline) -> Iterator[str]:
    """The corrected share of every judge, and what to know of it."""
    if len(found.judges) > 1 or found.right is None:
        for judge in found.judges:
            yield from format_fact("Corrected", f"{clean_text(judge.name)}: {_describe(judge)}")
    for caution in found.cautions:
        yield from format_fact("Caution", caution)


def _describe(judge: CorrectedJudge) -> str:
    if judge.right is None:
        return f"not corrected: {judge.reason}"
    right = judge.right
    ends = _format_ends(right.interval, 100, 0)
    return (
        f"{format_number(100 * right.corrected, 0)} % right{ends}, "
        f"{format_number(100 * right.observed, 0)} % as judged"
    )


def list_corrected_rows(judges: Sequence[CorrectedJudge]) -> list[tuple[str, str]]:
    """Every judge with its corrected share, in words."""
    return [(judge.name, _describe(judge)) for judge in judges]
