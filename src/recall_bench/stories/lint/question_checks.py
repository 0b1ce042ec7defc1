"""Lints of questions: their wording, duplicates, and the balance of categories.

The wording must be clear to a reader of the log, who knows the calendar and the words of the log,
but not the window a question was written from, the numbers of the days, or the benchmark.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator

from recall_bench.stories.lint.lint_corpus import (
    LintCorpus,
    LintFinding,
    LintGroup,
    Severity,
)
from recall_bench.stories.lint.value_index import LintQuestion
from recall_bench.text.text_values import (
    DATE,
    collect_stems,
    find_text_values,
    list_words,
    measure_likeness,
    normalise_text,
)
from recall_bench.text.value_patterns import MONTHS

WORDING_LINTS = LintGroup()
DUPLICATE_LINTS = LintGroup()
BALANCE_LINTS = LintGroup()

_PERIOD = re.compile(
    r"\b(?:(?:this|the|that|these|those) (?:\w+ )?(window|period|time ?frame|span|stretch)"
    r"|(?:this|these) (?:weeks?|months?|quarter)"
    r"|(?:in|on|over|during) these days"
    r"|(?:in|across|during|over|throughout) the (?:week|month)"
    r"|recently|lately|(?:the )?past few (?:days|weeks))\b",
    re.IGNORECASE,
)
_CURRENT = re.compile(
    r"\b(?:currently|current|now|at present|at the moment|these days|latest|most recent"
    r"|as of today)\b",
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
    """Whether a text names a date, a month or a year."""
    level = normalise_text(text)
    return _MONTH.search(level) is not None or any(
        value.kind == DATE for value in find_text_values(level)
    )


@WORDING_LINTS.add_question_check(
    "unnamed-period",
    Severity.WARNING,
    "A question names the dates it is about and no “this window” or “recently” that "
    "only its author could place.",
)
def _describe_period(corpus: LintCorpus, question: LintQuestion) -> str | None:
    match = _PERIOD.search(question.item.text)
    if match is None or is_dated(question.item.text):
        return None
    # A window may be one of glass: then the log has the word too.
    if match[1] and _is_written(corpus, question, rf"\b{re.escape(match[0])}\b"):
        return None
    return f"“{match[0]}” is a period without dates; name the dates it covers"


@WORDING_LINTS.add_question_check(
    "undated-present",
    Severity.WARNING,
    "A question for what holds now is retired by irrelevant_after when the answer changes.",
)
def describe_undated_present(corpus: LintCorpus, question: LintQuestion) -> str | None:
    """Return the problem of a question about the present whose answer changes, or None."""
    match = _CURRENT.search(question.item.text)
    if match is None or question.item.known_until is not None or is_dated(question.item.text):
        return None
    change = _find_change(corpus, question)
    if change is None:
        return None
    return (
        f"it asks for what holds “{match[0]}”, and {change}; "
        "add irrelevant_after, or ask as of a date"
    )


def _find_change(corpus: LintCorpus, question: LintQuestion) -> str | None:
    """Return the evidence that the answer changes, or None."""
    if isinstance(day := question.extra.get("changes_on"), int):
        return f"the answer changes on day {day}"
    answer = {value.value: value.kind for value in question.exact}
    for other in corpus.questions if answer else ():
        theirs = {value.value: value.kind for value in other.exact}
        if (
            other.opens > question.opens
            and other.session == question.session
            and theirs
            and answer.keys().isdisjoint(theirs)
            and set(answer.values()) == set(theirs.values())
            and measure_likeness(question.stems, other.stems) >= _SAME_QUESTION
            and not _rest_on_other_facts(question, other)
        ):
            return f"{other.item.id} has another answer from day {other.opens} on"
    return None


def _rest_on_other_facts(one: LintQuestion, other: LintQuestion) -> bool:
    """Whether the dataset says that the two answers follow from different facts."""
    mine, theirs = _list_facts(one), _list_facts(other)
    return bool(mine) and bool(theirs) and mine.isdisjoint(theirs)


def _list_facts(question: LintQuestion) -> set[str]:
    derive = question.extra.get("derive")
    states = derive.get("states") if isinstance(derive, dict) else None
    return (
        {str(state).rpartition(".")[0] for state in states} if isinstance(states, list) else set()
    )


@WORDING_LINTS.add_question_check(
    "day-number",
    Severity.WARNING,
    "Questions and answers use day numbers only where the log itself does.",
)
def _describe_day_number(corpus: LintCorpus, question: LintQuestion) -> str | None:
    for part, text in (("question", question.item.text), ("answer", question.reference)):
        match = _DAY_NUMBER.search(text)
        if match and not _is_written(corpus, question, rf"\bdays? #?{match[1]}\b"):
            return (
                f"the {part} says “{match[0]}”, and the log does not number its days; give the date"
            )
    return None


@WORDING_LINTS.add_question_check(
    "benchmark-words",
    Severity.WARNING,
    "A question does not mention sessions, checkpoints, personas or references "
    "unless the log does.",
)
def _describe_benchmark_word(corpus: LintCorpus, question: LintQuestion) -> str | None:
    for match in _BENCHMARK.finditer(question.item.text):
        if not _is_written(corpus, question, rf"\b{re.escape(match[0].removesuffix('s'))}"):
            return (
                f"“{match[0]}” is a word of the benchmark and not of the log; ask as a person in "
                "the story would"
            )
    return None


def _is_written(corpus: LintCorpus, question: LintQuestion, pattern: str) -> bool:
    """Whether the text of a relevant day contains it, apart from session headings."""
    return any(corpus.by_number[day].has_pattern(pattern) for day in question.days)


_ALIKE = 0.8
"""Share of words from which two questions ask the same."""
_SHORT = 4
"""Answers of at most this many words that share none are two answers."""
_PARTICULAR = re.compile(r"\b\w*\d\w*|(?<=[\s(/\"'])[A-Z]\w+")
"""Numbers, codes and names, which distinguish questions of one wording."""


def is_contradiction(one: LintQuestion, other: LintQuestion) -> bool:
    """Whether the answers cannot both be right: a yes and a no, or values that all differ."""
    if (one.denies and other.affirms) or (one.affirms and other.denies):
        return True
    if one.denies or other.denies or one.affirms or other.affirms:
        return False
    mine, theirs = ({(a.kind, a.core) for a in question.atoms} for question in (one, other))
    if mine and theirs:
        return mine.isdisjoint(theirs)
    stems = (collect_stems(one.reference), collect_stems(other.reference))
    return max(map(len, stems)) <= _SHORT and stems[0].isdisjoint(stems[1])


def normalise_wording(question: LintQuestion) -> tuple[str, ...]:
    """Return the session and the words of a question, as a key."""
    return (question.session, *list_words(normalise_text(question.item.text)))


def find_particulars(question: LintQuestion, usual: Collection[str]) -> frozenset[str]:
    """Return session, numbers, codes and names of a question as a key, without `usual` ones."""
    particulars = {word.lower() for word in _PARTICULAR.findall(normalise_text(question.item.text))}
    return frozenset(particulars.difference(usual)) | {f"from {question.session}"}


@DUPLICATE_LINTS.add_check(
    "two-answers",
    Severity.ERROR,
    "A question asked from one session has one right answer at any checkpoint.",
)
def _check_two_answers(corpus: LintCorpus) -> Iterator[LintFinding]:
    for earlier, question in _pair_open(_group_by_words(corpus)):
        if is_contradiction(earlier, question):
            yield corpus.note_question(
                question,
                f"{_format_place(earlier)} asks the same and has another answer while both may be "
                "asked; correct one, or separate them with irrelevant_after",
            )


@DUPLICATE_LINTS.add_check(
    "repeated-question",
    Severity.WARNING,
    "No question is asked twice in the same words while both may be asked.",
)
def _check_repeats(corpus: LintCorpus) -> Iterator[LintFinding]:
    for earlier, question in _pair_open(_group_by_words(corpus)):
        if not is_contradiction(earlier, question):
            yield corpus.note_question(
                question, f"{_format_place(earlier)} asks the same; remove one of them"
            )


@DUPLICATE_LINTS.add_check(
    "near-repeat",
    Severity.NOTE,
    "No two questions with the same answer share four fifths of their words, for then "
    "they count one thing twice.",
)
def _check_near_repeats(corpus: LintCorpus) -> Iterator[LintFinding]:
    reported: set[str] = set()
    for earlier, question in _pair_open(_group_by_particulars(corpus)):
        if (
            question.item.id not in reported
            and measure_likeness(earlier.stems, question.stems) >= _ALIKE
            and list_words(normalise_text(earlier.item.text))
            != list_words(normalise_text(question.item.text))
            and not is_contradiction(earlier, question)
        ):
            reported.add(question.item.id)
            yield corpus.note_question(
                question,
                f"{_format_place(earlier)} asks nearly the same; remove one, or ask for more",
            )


def _group_by_words(corpus: LintCorpus) -> Iterable[list[LintQuestion]]:
    groups: dict[tuple[str, ...], list[LintQuestion]] = defaultdict(list)
    for question in corpus.questions:
        groups[normalise_wording(question)].append(question)
    return groups.values()


def _group_by_particulars(corpus: LintCorpus) -> Iterable[list[LintQuestion]]:
    groups: dict[frozenset[str], list[LintQuestion]] = defaultdict(list)
    usual = frozenset(list_words(corpus.persona.name)) if corpus.persona else frozenset()
    for question in corpus.questions:
        groups[find_particulars(question, usual)].append(question)
    return groups.values()


def _pair_open(groups: Iterable[list[LintQuestion]]) -> Iterator[tuple[LintQuestion, LintQuestion]]:
    for group in groups:
        for place, question in enumerate(group):
            for earlier in group[:place]:
                if earlier.is_open_with(question):
                    yield earlier, question


def _format_place(question: LintQuestion) -> str:
    return (
        question.item.id if question.line is None else f"{question.item.id} on line {question.line}"
    )


_FEWEST = 10
"""With fewer questions, one answer moves a category's score by more than a tenth."""


@BALANCE_LINTS.add_check(
    "few-questions",
    Severity.NOTE,
    f"A category that is asked about has at least {_FEWEST} questions.",
)
def _check_few_questions(corpus: LintCorpus) -> Iterator[LintFinding]:
    for category, question in corpus.by_category.items() if corpus.questions else ():
        if 0 < len(question) < _FEWEST:
            yield corpus.note_questions(
                f"{category} has {len(question)} questions, so one answer moves its score by "
                f"{1 / len(question):.0%}; ask at least {_FEWEST}"
            )


@BALANCE_LINTS.add_check(
    "no-questions", Severity.NOTE, "Every one of the ten categories has questions."
)
def _check_no_questions(corpus: LintCorpus) -> Iterator[LintFinding]:
    absent = [category for category, question in corpus.by_category.items() if not question]
    if absent and corpus.questions:
        yield corpus.note_questions(
            f"no question is of the category {', '.join(absent)}; nothing will be known about it"
        )


@BALANCE_LINTS.add_check(
    "one-difficulty", Severity.NOTE, "Difficulty labels differ, or they carry no information."
)
def _check_difficulties(corpus: LintCorpus) -> Iterator[LintFinding]:
    labels = Counter(question.item.truth.difficulty for question in corpus.questions)
    if len(labels) == 1 and labels.total() >= _FEWEST:
        yield corpus.note_questions(
            f"all {labels.total()} questions are {next(iter(labels))}; "
            "label them by how hard they are"
        )
