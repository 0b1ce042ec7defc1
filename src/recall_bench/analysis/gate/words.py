"""A gate's figures as people read them, and names that can steer nothing."""

from collections.abc import Iterator

from recall_bench.analysis.figures import format_delta, format_p
from recall_bench.analysis.gate.checks import CheckOutcome, GateCheck, GateRun
from recall_bench.analysis.gate.regression import CATEGORY_RULE, HALLUCINATION_RULE, MARGIN_RULE
from recall_bench.reporting import lines
from recall_bench.reporting.lines import NO_DATA
from recall_bench.reporting.summary import RunStatus

_MAX_LENGTH = 500

_DIFFERENCE_RULES = (MARGIN_RULE, CATEGORY_RULE, HALLUCINATION_RULE)


def clip_text(words: str) -> str:
    """Names and messages come from elsewhere: one printable line of them, and not endless."""
    line = lines.clean_text(words)
    return line if len(line) <= _MAX_LENGTH else line[: _MAX_LENGTH - 1] + "…"


def format_value(check: GateCheck) -> str:
    """The value; a difference with its sign, and leaks as they are counted."""
    if check.value is None:
        return NO_DATA
    if check.rule == "max-leaks":
        return f"{check.value:.0f}"
    return format_delta(check.value, 1) if is_difference(check) else f"{check.value:.1f}"


def format_limit(check: GateCheck) -> str:
    """The limit, and on which side of it the value has to be."""
    if check.limit is None:
        return NO_DATA
    sign = "≥" if check.is_least else "≤"
    if check.rule == "max-leaks":
        return f"{sign} {check.limit:.0f}"
    shown = format_delta(check.limit, 1) if is_difference(check) else f"{check.limit:.1f}"
    return f"{sign} {shown}"


def format_check_interval(check: GateCheck) -> str:
    """Both ends of the interval."""
    if check.low is None or check.high is None:
        return NO_DATA
    ends = check.low, check.high
    low, high = (format_delta(end, 1) if is_difference(check) else f"{end:.1f}" for end in ends)
    return f"{low} to {high}"


def format_p_value(check: GateCheck) -> str:
    """How likely it is by chance."""
    return NO_DATA if check.p_value is None else format_p(check.p_value)


def format_notice(check: GateCheck) -> str:
    """The smallest loss that would be noticed."""
    return NO_DATA if check.noticed is None else f"{check.noticed:.1f}"


def format_questions(check: GateCheck) -> str:
    """How many different ones stand behind it."""
    return NO_DATA if check.questions is None else f"{check.questions:,}"


def is_difference(check: GateCheck) -> bool:
    """Whether it is about what the run has more or less than the baseline."""
    return check.rule in _DIFFERENCE_RULES


def describe_run(run: GateRun) -> Iterator[str]:
    """A run in a few words: system, score, how many questions, and what is wrong with it."""
    yield clip_text(run.system)
    if run.score is None:
        yield "no score: nothing was measured"
    else:
        ends = run.score.low, run.score.high
        within = "" if None in ends else f" ({run.score.low:.1f} to {run.score.high:.1f})"
        yield f"{run.score.value:.1f}{within} of 100"
        yield f"{run.score.questions:,} questions, {run.score.trials:,} trials"
    if run.status is not RunStatus.VALID:
        yield clip_text(f"{run.status.value.upper()} ({run.reason})")
    yield clip_text(f"judge {run.judge}")
    yield clip_text(run.folder)


def is_inconclusive(check: GateCheck) -> bool:
    """Whether the value is beyond its limit, and passes because that may be chance."""
    if check.outcome is not CheckOutcome.PASSED or not is_difference(check):
        return False
    if check.value is None or check.limit is None:
        return False
    return check.value < check.limit if check.is_least else check.value > check.limit
