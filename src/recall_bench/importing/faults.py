"""What is wrong with the files of a run: counted as it is met, told in one order."""

from collections import Counter

from recall_bench.core.plan import ImportRepair

REPAIRED = {
    "unlabeled": ("evaluation", "without a checkpoint, placed by its time"),
    "superseded": ("evaluation", "left out: a continued run put the same question there again"),
    "unfinished": ("evaluation", "left out: of a checkpoint that was never finished"),
    "doubled": ("evaluation", "in the result twice, alike; counts once"),
    "repeated-checkpoints": ("checkpoint", "recorded more than once; the last record holds"),
    "repeated-headers": ("continuation", "of the run in the same files"),
    "sentinels": (
        "answer",
        ("the mark of a failed query, which was graded; counts as not answered, without points"),
    ),
    "reviews-not-failures": (
        "row",
        (
            "of the failure log that ended in a pass: it lists reviews, and only verdicts count as "
            "failures"
        ),
    ),
    "composites": ("total", "stored that is not the sum of its marks; the marks hold"),
    "reworded": ("question", "with the id of another wording; has one of its own now (~2)"),
    "uncounted-reviews": (
        "review",
        "beyond the result's own count, which starts again with each continuation",
    ),
    "restored-reviews": ("first verdict", "missing in the result, taken from the failure log"),
}
"""Each fault that is put right: what is counted, and what is the matter with it."""

MARKED = {
    "reconstructed": ("result", "pieced together from logs after the run had been killed"),
    "not-reached": ("checkpoint", "configured and never finished"),
    "no-rows": ("checkpoint", "with means and no evaluations; left out"),
    "short": ("evaluation", "missing: a checkpoint holds fewer than it says it asked"),
    "means": ("mean", "stored that is not the mean of its rows"),
    "too-full": (
        "checkpoint",
        "asked after the memory had lived past it: a run was continued at an earlier checkpoint",
    ),
    "too-early": ("evaluation", "put before all of its evidence was told"),
    "unlisted": ("evaluation", "of a category that the public harness has no row for"),
    "as-graded": ("answer", "the mark of a failed query; stays as it was graded, as asked"),
    "silent": ("answer", "empty; stays as it was graded"),
    "apologies": ("answer", "that apologises for a content filter; stays as it was graded"),
    "speechless": (
        "verdict",
        (
            "of 0/0/1 without a reason, which is written where the judge said nothing; stays as "
            "it was graded"
        ),
    ),
    "not-judged-twice": (
        "failing verdict",
        (
            "without a first verdict beside it, though there was an appellate judge: what the "
            "review changed cannot be told"
        ),
    ),
    "askers": ("question", "about a boundary, put to a system that was not told who asks"),
    "passages": ("answer", "with passages, which are left out: others have none on record"),
    "disagreeing": ("row", "of a log that matches no evaluation of the result; adds nothing"),
    "ambiguous": ("row", "of a log that matches several evaluations of the result; adds nothing"),
    "untimed": ("answer", "without a time on record; reads 0 s, and p50 and p95 are not known"),
    "shared-times": ("day", "with an even share of the time on record for its checkpoint"),
    "clocks": ("row", "of the question log that is earlier than the one before"),
}
"""Each fault that stays in the numbers: what is counted, and what is the matter with it."""


class FaultCounts:
    """Counts faults by name."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def note(self, name: str, count: int = 1) -> None:
        """Count a fault, which must be one of those listed here."""
        if name not in REPAIRED and name not in MARKED:
            raise KeyError(name)
        if count:
            self._counts[name] += count

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def list_repairs(self) -> tuple[ImportRepair, ...]:
        """Everything that was met, what is repaired first."""
        return tuple(
            ImportRepair(
                name=name,
                count=count,
                is_repaired=name in REPAIRED,
                said=_describe_fault(count, *words),
            )
            for name, words in (REPAIRED | MARKED).items()
            if (count := self._counts[name])
        )


def _describe_fault(count: int, noun: str, matter: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}: {matter}"
