"""A gate's figures as people read them, and names that can steer nothing."""

from collections.abc import Iterator

from recall_bench.analysis.figures import p_words, signed
from recall_bench.analysis.gate.checks import Check, Outcome, Subject
from recall_bench.analysis.gate.regression import CATEGORY, HALLUCINATION, MARGIN
from recall_bench.reporting import lines
from recall_bench.reporting.lines import NO_DATA
from recall_bench.reporting.summary import Status

_LONGEST = 500

_DIFFERENCES = (MARGIN, CATEGORY, HALLUCINATION)


def plain(words: str) -> str:
    """Names and messages come from elsewhere: one printable line of them, and not endless."""
    line = lines.plain(words)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def value(check: Check) -> str:
    """The value; a difference with its sign, and leaks as they are counted."""
    if check.value is None:
        return NO_DATA
    if check.rule == "max-leaks":
        return f"{check.value:.0f}"
    return signed(check.value, 1) if is_difference(check) else f"{check.value:.1f}"


def limit(check: Check) -> str:
    """The limit, and on which side of it the value has to be."""
    if check.limit is None:
        return NO_DATA
    sign = "≥" if check.is_least else "≤"
    if check.rule == "max-leaks":
        return f"{sign} {check.limit:.0f}"
    shown = signed(check.limit, 1) if is_difference(check) else f"{check.limit:.1f}"
    return f"{sign} {shown}"


def interval(check: Check) -> str:
    """Both ends of the interval."""
    if check.low is None or check.high is None:
        return NO_DATA
    ends = check.low, check.high
    low, high = (signed(end, 1) if is_difference(check) else f"{end:.1f}" for end in ends)
    return f"{low} to {high}"


def p_value(check: Check) -> str:
    """How likely it is by chance."""
    return NO_DATA if check.p_value is None else p_words(check.p_value)


def noticed(check: Check) -> str:
    """The smallest loss that would be noticed."""
    return NO_DATA if check.noticed is None else f"{check.noticed:.1f}"


def questions(check: Check) -> str:
    """How many different ones stand behind it."""
    return NO_DATA if check.questions is None else f"{check.questions:,}"


def is_difference(check: Check) -> bool:
    """Whether it is about what the run has more or less than the baseline."""
    return check.rule in _DIFFERENCES


def subject(run: Subject) -> Iterator[str]:
    """A run in a few words: system, score, how many questions, and what is wrong with it."""
    yield plain(run.system)
    if run.score is None:
        yield "no score: nothing was measured"
    else:
        ends = run.score.low, run.score.high
        within = "" if None in ends else f" ({run.score.low:.1f} to {run.score.high:.1f})"
        yield f"{run.score.value:.1f}{within} of 100"
        yield f"{run.score.questions:,} questions, {run.score.trials:,} trials"
    if run.status is not Status.VALID:
        yield plain(f"{run.status.value.upper()} ({run.reason})")
    yield plain(f"judge {run.judge}")
    yield plain(run.folder)


def is_unshown(check: Check) -> bool:
    """Whether the value is beyond its limit, and passes because that may be chance."""
    if check.outcome is not Outcome.PASSED or not is_difference(check):
        return False
    if check.value is None or check.limit is None:
        return False
    return check.value < check.limit if check.is_least else check.value > check.limit
