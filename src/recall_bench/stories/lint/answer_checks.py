"""Lints of answers: the relevant days state them, no other day does, and No is not always right."""

from collections.abc import Iterable, Iterator
from datetime import date

from recall_bench.core.scenario import CROSS_REFERENCE, NEGATIVE, SYNTHESIS, TEMPORAL, Disclosure
from recall_bench.stories.lint.lint_corpus import (
    LintCorpus,
    LintFinding,
    LintGroup,
    Severity,
)
from recall_bench.stories.lint.value_index import DayLog, LintQuestion, SentenceMention
from recall_bench.stories.persona_files import find_runs, format_days
from recall_bench.text.text_values import (
    CODE,
    DATE,
    MONEY,
    NAME,
    NUMBER,
    PERCENT,
    QUOTE,
    TextValue,
    collect_stems,
    find_text_values,
    list_words,
    normalise_text,
)
from recall_bench.text.value_patterns import WEEKDAYS

ANSWER_LINTS = LintGroup()
EVIDENCE_LINTS = LintGroup()
NEGATIVE_LINTS = LintGroup()

INFERRED = frozenset({TEMPORAL, SYNTHESIS, CROSS_REFERENCE})
"""Categories whose amounts may be computed, so that no day need state them."""
AMOUNTS = frozenset({NUMBER, MONEY, PERCENT})
_SAME_MATTER = 3
"""Words that a sentence with the value must share with the question to have the same topic."""
_EVERYWHERE = 5
"""Number of other days from which a value counts as common knowledge."""
_CHOICE = frozenset({"or", "first", "earlier", "later"})
"""Words in a question that names the possible answers."""
_NEAR = {"yesterday": -1, "tomorrow": 1}
_REACH = 14
"""The largest distance in days of a weekday from the log that names it."""


def find_telling_days(corpus: LintCorpus, question: LintQuestion) -> set[int]:
    """Return the days that state every exact value of the answer on the same topic."""
    if not question.exact:
        return set()
    return set.intersection(
        *(_find_days_about(corpus, question, value) for value in question.exact)
    )


def _find_days_about(corpus: LintCorpus, question: LintQuestion, value: TextValue) -> set[int]:
    if value.kind == QUOTE:
        return corpus.index.find_days(value)
    least = min(_SAME_MATTER, len(question.topics))
    about = question.topics
    return {
        mention.day
        for mention in corpus.index.find_mentions(value)
        if len(mention.topics & about) >= least and not _is_of_another(mention, question)
    }


def _is_of_another(mention: SentenceMention, question: LintQuestion) -> bool:
    """Whether a sentence names a file or a ticket by its code, and the question another one."""
    question_codes, named = (
        {value.core for value in find_text_values(normalise_text(text)) if value.kind == CODE}
        for text in (question.item.text, f"{mention.under} {mention.text}")
    )
    return bool(question_codes and named) and question_codes.isdisjoint(named)


def _find_missing(corpus: LintCorpus, question: LintQuestion) -> tuple[list[TextValue], int]:
    """Return the values of an answer that no relevant day states, and how many were checked."""
    if question.item.truth.disclosure is Disclosure.REFUSE:
        return [], 0
    own = set(list_words(corpus.persona.name)) if corpus.persona else set()
    checked = [
        value
        for value in question.atoms
        if not (value.kind in AMOUNTS and question.category in INFERRED)
        and not (value.kind == NAME and own.issuperset(value.words))
    ]
    relevant = set(question.days)
    absent = [
        value
        for value in checked
        if relevant.isdisjoint(corpus.index.find_loose_days(value))
        and not any(_is_derivable(corpus, day, value) for day in question.days)
    ]
    return absent, len(checked)


def _is_derivable(corpus: LintCorpus, day: int, value: TextValue) -> bool:
    """Whether a date is the day's own, or one its log names by weekday or as tomorrow."""
    if value.kind != DATE:
        return False
    words = set(list_words(corpus.by_number[day].text))
    for own in {corpus.find_date(day), corpus.text_dates[day]}:
        meant = _parse_date(value, own)
        if meant is None:
            continue
        gap = (meant - own).days
        is_named = WEEKDAYS[meant.weekday()].lower() in words and abs(gap) <= _REACH
        if gap == 0 or is_named or any(gap == n and name in words for name, n in _NEAR.items()):
            return True
    return False


def _parse_date(value: TextValue, near: date) -> date | None:
    year = value.value if value.value != value.core else f"{near.year}-{value.core}"
    try:
        return date.fromisoformat(year)
    except ValueError:
        return None


@ANSWER_LINTS.add_question_check(
    "answer-unsupported",
    Severity.ERROR,
    "The relevant days state at least one value, name or quotation of the answer.",
)
def _describe_no_support(corpus: LintCorpus, question: LintQuestion) -> str | None:
    absent, checked = _find_missing(corpus, question)
    if not absent or len(absent) < checked:
        return None
    return (
        f"nothing on {format_days(question.days)} states {_format_values(absent)}, which is the "
        "answer; correct the answer or relevant_days"
    )


@ANSWER_LINTS.add_question_check(
    "answer-partly-unsupported",
    Severity.WARNING,
    "The relevant days state every value, name and quotation of the answer; amounts "
    "of categories that may count or add up are not looked for.",
)
def _describe_partial_support(corpus: LintCorpus, question: LintQuestion) -> str | None:
    absent, checked = _find_missing(corpus, question)
    if not absent or len(absent) == checked:
        return None
    return (
        f"nothing on {format_days(question.days)} states {_format_values(absent)}, a part of the "
        "answer; leave it out, or add the day that states it"
    )


@ANSWER_LINTS.add_question_check(
    "answer-known-early",
    Severity.WARNING,
    "No day before the first relevant one states the answer's values on the same "
    "matter, so what is asked is learned when the file says.",
)
def _describe_early_answer(corpus: LintCorpus, question: LintQuestion) -> str | None:
    telling = find_telling_days(corpus, question)
    before = sorted(day for day in telling if day < question.days[0])
    if not before:
        return None
    days = (
        format_days(before) if len(before) <= 3 else f"{len(before)} days from day {before[0]} on"
    )
    return (
        f"{_format_values(question.exact)} is stated on {days} already, before the first relevant "
        f"day {question.days[0]}; list the day that states it first"
    )


@ANSWER_LINTS.add_question_check(
    "answer-elsewhere",
    Severity.NOTE,
    f"Fewer than {_EVERYWHERE} other days state the answer's values, so that finding "
    "the relevant days matters.",
)
def _describe_other_days(corpus: LintCorpus, question: LintQuestion) -> str | None:
    others = find_telling_days(corpus, question) - set(question.days)
    if len(others) < _EVERYWHERE:
        return None
    return (
        f"{_format_values(question.exact)} is stated on {len(others)} days that are not relevant "
        "days; ask for something said less often, or list them"
    )


@ANSWER_LINTS.add_question_check(
    "answer-in-question", Severity.WARNING, "The question does not hold its own answer."
)
def _describe_giveaway(_: LintCorpus, question: LintQuestion) -> str | None:
    if question.denies or question.affirms:
        return None
    if _CHOICE.intersection(list_words(question.item.text)):
        return None
    answer = collect_stems(question.reference)
    if not answer or not answer <= question.stems:
        return None
    return "every word of the answer is in the question; ask without giving it away"


def _format_values(values: Iterable[TextValue]) -> str:
    names = list(dict.fromkeys(value.shown for value in values))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


_WINDOW = 7
"""Relevant days in a row that show the window a question was written from."""


def is_whole_window(question: LintQuestion) -> bool:
    """Whether the relevant days contain a week or more without a gap."""
    return any(last - first + 1 >= _WINDOW for first, last in find_runs(question.days))


def is_single_fact(question: LintQuestion) -> bool:
    """Whether the question is about one fact; a denial or a synthesis may need every day."""
    is_one_fact = question.category not in {SYNTHESIS, NEGATIVE} and not question.denies
    return is_one_fact and not question.item.truth.requires_synthesis


@EVIDENCE_LINTS.add_question_check(
    "whole-window",
    Severity.WARNING,
    "A question for one fact does not list seven relevant days or more in a row.",
)
def _describe_window(_: LintCorpus, question: LintQuestion) -> str | None:
    if not (is_single_fact(question) and is_whole_window(question)):
        return None
    first, last = question.days[0], question.days[-1]
    return (
        f"it lists {len(question.days)} relevant days, {first} to {last}, for one fact; list the "
        "days that state it"
    )


@EVIDENCE_LINTS.add_question_check(
    "synthesis-one-day",
    Severity.WARNING,
    "A question that asks for synthesis rests on more than one day.",
)
def _describe_single_day(_: LintCorpus, question: LintQuestion) -> str | None:
    if not _is_synthesis(question) or len(question.days) != 1:
        return None
    return (
        f"it asks for synthesis and has one relevant day, {question.days[0]}; list the others, or "
        "call it what it is"
    )


@EVIDENCE_LINTS.add_question_check(
    "synthesis-told-whole",
    Severity.WARNING,
    "No single day states every value and name of a synthesis of two values or more.",
)
def _describe_whole_day(corpus: LintCorpus, question: LintQuestion) -> str | None:
    if not _is_synthesis(question) or len(question.days) < 2 or len(question.exact) < 2:
        return None
    together = find_telling_days(corpus, question).intersection(
        question.days, *(corpus.index.find_days(value) for value in question.atoms)
    )
    if not together:
        return None
    return (
        f"day {min(together)} alone states every value and name of the answer, so no synthesis is "
        "needed; ask for what only several days state"
    )


def _is_synthesis(question: LintQuestion) -> bool:
    return question.category == SYNTHESIS or question.item.truth.requires_synthesis


_FEWEST = 4
"""The fewest questions for a meaningful share."""
_BALANCED = (1 / 3, 2 / 3)
_MOST_OF_IT = 0.85
"""Share of a question's words from which a sentence states what it asks."""
_ENOUGH = 4
_WHETHER = frozenset("did was were is are has have had do does can could will would".split())
"""First words of a question with the answer yes or no."""
_NEGATION = frozenset(
    "no not none never nothing neither nor nobody without cannot t didn wasn isn hadn avoid"
    " changed declined refused unchanged instead rather if unless until whether would could may"
    " might should must will pending before".split()
)
"""Words with which a sentence denies, doubts or postpones something."""


def count_constant_no(corpus: LintCorpus) -> tuple[int, int]:
    """Count the negative-recall questions with the answer No, and all of them."""
    question = corpus.by_category[NEGATIVE]
    return sum(negative.denies for negative in question), len(question)


@NEGATIVE_LINTS.add_check(
    "constant-answer",
    Severity.WARNING,
    "Neither a constant No nor a constant Yes gets more than two thirds of the "
    "negative-recall questions right.",
)
def _check_balance(corpus: LintCorpus) -> Iterator[LintFinding]:
    right, total = count_constant_no(corpus)
    if total < _FEWEST:
        return
    low, high = _BALANCED
    if not low <= right / total <= high:
        word, share = ("No", right / total) if right * 2 > total else ("Yes", 1 - right / total)
        count = max(right, total - right)
        yield corpus.note_questions(
            f"answering {word} to every negative-recall question is right {count} times out of "
            f"{total} ({share:.0%}); add as many whose answer is the other"
        )


@NEGATIVE_LINTS.add_check(
    "no-but-stated",
    Severity.WARNING,
    "Where the answer is no, no sentence of the relevant days says that it happened.",
)
def _check_statements(corpus: LintCorpus) -> Iterator[LintFinding]:
    for question in corpus.questions:
        opening = list_words(question.item.text)[:1]
        if not question.denies or len(question.stems) < _ENOUGH or not _WHETHER.issuperset(opening):
            continue
        for day in question.days:
            if statement := _find_statement(question, corpus.by_number[day], corpus.known_stems):
                yield corpus.note_question(
                    question,
                    f"the answer is no, but day {day} says “{statement}”; check which is right",
                )
                break


def _find_statement(
    question: LintQuestion, day: DayLog, known: dict[str, frozenset[str]]
) -> str | None:
    """Return the first sentence of the day that states what is asked without denial or doubt."""
    for sentence in day.sentences:
        stems = known.get(sentence.text)
        if stems is None:
            stems = known[sentence.text] = collect_stems(sentence.text)
        if len(stems & question.stems) >= _MOST_OF_IT * len(
            question.stems
        ) and _NEGATION.isdisjoint(list_words(sentence.with_lead)):
            return sentence.text
    return None
