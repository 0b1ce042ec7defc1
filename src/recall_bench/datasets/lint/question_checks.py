"""Whether a question says what it means to somebody who has only lived through the days.

Such a reader knows the calendar and the words of the log. It does not know from which window a
question was written, that the days are numbered, or that there is a benchmark.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator

from recall_bench.core.text_values import (
    DATE,
    collect_stems,
    find_values,
    measure_likeness,
    normalise_text,
    split_words,
)
from recall_bench.core.value_patterns import MONTHS
from recall_bench.datasets.lint.lint_corpus import Lint, LintCorpus, Remark, Severity
from recall_bench.datasets.lint.value_index import LintQuestion

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
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)}|(?:19|20)\d\d)\b")
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


_ALIKE = 0.8
"""Questions that share so many of their words ask the same."""
_SHORT = 4
"""Answers of so few words that share none are two answers."""
_PARTICULAR = re.compile(r"\b\w*\d\w*|(?<=[\s(/\"'])[A-Z]\w+")
"""Numbers, codes and names: what tells questions of one wording apart."""


def is_contradiction(one: LintQuestion, other: LintQuestion) -> bool:
    """Whether the answers cannot both be right: a yes and a no, or values none of which agree."""
    if (one.denies and other.affirms) or (one.affirms and other.denies):
        return True
    if one.denies or other.denies or one.affirms or other.affirms:
        return False
    mine, theirs = ({(a.kind, a.core) for a in asked.atoms} for asked in (one, other))
    if mine and theirs:
        return mine.isdisjoint(theirs)
    said = (collect_stems(one.reference), collect_stems(other.reference))
    return max(map(len, said)) <= _SHORT and said[0].isdisjoint(said[1])


def normalise_wording(asked: LintQuestion) -> tuple[str, ...]:
    """What questions share that are asked from one session in the same words."""
    return (asked.session, *split_words(normalise_text(asked.item.text)))


def find_particulars(asked: LintQuestion, usual: Collection[str]) -> frozenset[str]:
    """The session, numbers, codes and names that alike questions share; `usual` ones aside."""
    found = {word.lower() for word in _PARTICULAR.findall(normalise_text(asked.item.text))}
    return frozenset(found.difference(usual)) | {f"from {asked.session}"}


def _check_two_answers(corpus: LintCorpus) -> Iterator[Remark]:
    for earlier, asked in _pair_open(_group_by_words(corpus)):
        if is_contradiction(earlier, asked):
            yield corpus.note_question(
                asked,
                f"{_format_place(earlier)} asks the same and has another answer while both may be asked; "
                "correct one, or let irrelevant_after part them",
            )


def _check_repeats(corpus: LintCorpus) -> Iterator[Remark]:
    for earlier, asked in _pair_open(_group_by_words(corpus)):
        if not is_contradiction(earlier, asked):
            yield corpus.note_question(
                asked, f"{_format_place(earlier)} asks the same; remove one of them"
            )


def _check_near_repeats(corpus: LintCorpus) -> Iterator[Remark]:
    seen: set[str] = set()
    for earlier, asked in _pair_open(_group_by_particulars(corpus)):
        if (
            asked.item.id not in seen
            and measure_likeness(earlier.stems, asked.stems) >= _ALIKE
            and split_words(normalise_text(earlier.item.text))
            != split_words(normalise_text(asked.item.text))
            and not is_contradiction(earlier, asked)
        ):
            seen.add(asked.item.id)
            yield corpus.note_question(
                asked, f"{_format_place(earlier)} asks nearly the same; remove one, or ask for more"
            )


def _group_by_words(corpus: LintCorpus) -> Iterable[list[LintQuestion]]:
    groups: dict[tuple[str, ...], list[LintQuestion]] = defaultdict(list)
    for asked in corpus.questions:
        groups[normalise_wording(asked)].append(asked)
    return groups.values()


def _group_by_particulars(corpus: LintCorpus) -> Iterable[list[LintQuestion]]:
    groups: dict[frozenset[str], list[LintQuestion]] = defaultdict(list)
    usual = frozenset(split_words(corpus.persona.name)) if corpus.persona else frozenset()
    for asked in corpus.questions:
        groups[find_particulars(asked, usual)].append(asked)
    return groups.values()


def _pair_open(groups: Iterable[list[LintQuestion]]) -> Iterator[tuple[LintQuestion, LintQuestion]]:
    for group in groups:
        for place, asked in enumerate(group):
            for earlier in group[:place]:
                if earlier.is_open_with(asked):
                    yield earlier, asked


def _format_place(asked: LintQuestion) -> str:
    return asked.item.id if asked.line is None else f"{asked.item.id} on line {asked.line}"


DUPLICATE_LINTS = (
    Lint(
        code="two-answers",
        severity=Severity.ERROR,
        summary="A question asked from one session has one right answer at any checkpoint.",
        check=_check_two_answers,
    ),
    Lint(
        code="repeated-question",
        severity=Severity.WARNING,
        summary="No question is asked twice in the same words while both may be asked.",
        check=_check_repeats,
    ),
    Lint(
        code="near-repeat",
        severity=Severity.NOTE,
        summary="No two questions with the same answer share four fifths of their words, for then "
        "they count one thing twice.",
        check=_check_near_repeats,
    ),
)


_FEWEST = 10
"""With fewer, one answer moves a category's score by more than a tenth."""


def _check_few_questions(corpus: LintCorpus) -> Iterator[Remark]:
    for category, asked in corpus.by_category.items() if corpus.questions else ():
        if 0 < len(asked) < _FEWEST:
            yield corpus.note_questions(
                f"{category} has {len(asked)} questions, so one answer moves its score by "
                f"{1 / len(asked):.0%}; ask at least {_FEWEST}"
            )


def _check_no_questions(corpus: LintCorpus) -> Iterator[Remark]:
    absent = [category for category, asked in corpus.by_category.items() if not asked]
    if absent and corpus.questions:
        yield corpus.note_questions(
            f"no question is of the category {', '.join(absent)}; nothing will be known about it"
        )


def _check_difficulties(corpus: LintCorpus) -> Iterator[Remark]:
    labels = Counter(asked.item.truth.difficulty for asked in corpus.questions)
    if len(labels) == 1 and labels.total() >= _FEWEST:
        yield corpus.note_questions(
            f"all {labels.total()} questions are {next(iter(labels))}; "
            "label them by how hard they are"
        )


BALANCE_LINTS = (
    Lint(
        code="few-questions",
        severity=Severity.NOTE,
        summary=f"A category that is asked about has at least {_FEWEST} questions.",
        check=_check_few_questions,
    ),
    Lint(
        code="no-questions",
        severity=Severity.NOTE,
        summary="Every one of the ten categories has questions.",
        check=_check_no_questions,
    ),
    Lint(
        code="one-difficulty",
        severity=Severity.NOTE,
        summary="Difficulty labels differ, or they say nothing.",
        check=_check_difficulties,
    ),
)
