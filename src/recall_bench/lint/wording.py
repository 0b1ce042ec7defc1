"""Whether a question says what it means to somebody who has only lived through the days.

Such a reader knows the calendar and the words of the log. It does not know from which window a
question was written, that the days are numbered, or that there is a benchmark.
"""

import re
from collections.abc import Iterator

from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.atoms import DATE, find_values
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.finding import Lint, Remark, Severity
from recall_bench.lint.words import measure_likeness, normalise_text

_PERIOD = re.compile(
    r"\b(?:(?:this|the|that|these|those) (?:\w+ )?(window|period|time ?frame|span|stretch)"
    r"|(?:this|these) (?:weeks?|months?|quarter|days)"
    r"|(?:in|across|during|over|throughout) the (?:week|month)"
    r"|recently|lately|(?:the )?past few (?:days|weeks))\b",
    re.IGNORECASE,
)
_CURRENT = re.compile(
    r"\b(?:currently|current|now|at present|at the moment|latest|most recent|as of today)\b",
    re.IGNORECASE,
)
_MONTH = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:19|20)\d\d)\b"
)
_DAY_NUMBER = re.compile(r"\bdays? #?(\d{1,5})\b(?:\s?(?:[-–]|to|through)\s?\d+)?", re.IGNORECASE)
_BENCHMARK = re.compile(
    r"\b(?:corpus|personas?|checkpoints?|benchmarks?|datasets?|ground truth|references?"
    r"|memory (?:entry|entries|logs?|files?)|(?:log|day|daily) files?|relevant days|arcs?"
    r"|transcripts?|sessions?)\b",
    re.IGNORECASE,
)
_SAME_QUESTION = 0.5


def is_dated(text: str) -> bool:
    """Whether a question names a date, a month or a year."""
    level = normalise_text(text)
    return _MONTH.search(level) is not None or any(atom.kind == DATE for atom in find_values(level))


def _check_periods(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        found = _PERIOD.search(asked.item.text)
        if found is None or is_dated(asked.item.text):
            continue
        # A window may be of glass: then the log has it too.
        if not (found[1] and _is_written(corpus, asked, rf"\b{re.escape(found[0])}\b")):
            yield corpus.note_question(
                asked, f"“{found[0]}” is a period nobody has named; say which dates it covers"
            )


def describe_undated_present(corpus: LintCorpus, asked: LintQuestion) -> str | None:
    """What is wrong with a question for what holds now if its answer changes, or None."""
    found = _CURRENT.search(asked.item.text)
    if found is None or asked.item.known_until is not None or is_dated(asked.item.text):
        return None
    change = _find_change(corpus, asked)
    if change is None:
        return None
    return (
        f"it asks for what holds “{found[0]}”, and {change}; "
        "add irrelevant_after, or ask as of a date"
    )


def _check_presents(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        if message := describe_undated_present(corpus, asked):
            yield corpus.note_question(asked, message)


def _find_change(corpus: LintCorpus, asked: LintQuestion) -> str | None:
    """What shows that the answer does not hold for ever."""
    if isinstance(day := asked.extra.get("changes_on"), int):
        return f"the answer changes on day {day}"
    answer = {atom.value: atom.kind for atom in asked.exact}
    for other in corpus.questions if answer else ():
        theirs = {atom.value: atom.kind for atom in other.exact}
        if (
            other.opens > asked.opens
            and other.session == asked.session
            and theirs
            and answer.keys().isdisjoint(theirs)
            and set(answer.values()) == set(theirs.values())
            and measure_likeness(asked.stems, other.stems) >= _SAME_QUESTION
        ):
            return f"{other.item.id} has another answer from day {other.opens} on"
    return None


def _check_day_numbers(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        for part, text in (("question", asked.item.text), ("answer", asked.reference)):
            found = _DAY_NUMBER.search(text)
            if found and not _is_written(corpus, asked, rf"\bdays? #?{found[1]}\b"):
                yield corpus.note_question(
                    asked,
                    f"the {part} says “{found[0]}”, and the log does not number its days; "
                    "give the date",
                )
                break


def _check_benchmark_words(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        for found in _BENCHMARK.finditer(asked.item.text):
            if not _is_written(corpus, asked, rf"\b{re.escape(found[0].removesuffix('s'))}"):
                yield corpus.note_question(
                    asked,
                    f"“{found[0]}” is a word of the benchmark and not of the log; "
                    "ask as somebody in the story would",
                )
                break


def _is_written(corpus: LintCorpus, asked: LintQuestion, pattern: str) -> bool:
    """Whether a relevant day's own text says it, session headings apart."""
    compiled = re.compile(pattern, re.IGNORECASE)
    return any(
        compiled.search(part)
        for day in asked.days
        for _, part in corpus.by_number[day].split_sessions()
    )


WORDING_LINTS = (
    Lint(
        code="unnamed-period",
        severity=Severity.WARNING,
        summary="A question names the dates it is about and no “this window” or “recently” that "
        "only its author could place.",
        check=_check_periods,
    ),
    Lint(
        code="undated-present",
        severity=Severity.WARNING,
        summary="A question for what holds now is retired by irrelevant_after when the answer "
        "changes.",
        check=_check_presents,
    ),
    Lint(
        code="day-number",
        severity=Severity.WARNING,
        summary="Questions and answers use day numbers only where the log itself does.",
        check=_check_day_numbers,
    ),
    Lint(
        code="benchmark-words",
        severity=Severity.WARNING,
        summary="A question does not speak of sessions, checkpoints, personas or references "
        "unless the log does.",
        check=_check_benchmark_words,
    ),
)
