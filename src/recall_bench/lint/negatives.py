"""Whether a question about what never happened can be told from one about what did."""

from collections.abc import Iterator

from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.day import DayLog
from recall_bench.lint.finding import Lint, Remark, Severity
from recall_bench.lint.words import collect_stems, split_words

_NEGATIVE_RECALL = "negative-recall"
_FEWEST = 4
"""With fewer questions a share says nothing."""
_BALANCED = (1 / 3, 2 / 3)
_MOST_OF_IT = 0.85
"""A sentence with so many of a question's words states what is asked about."""
_ENOUGH = 4
_WHETHER = frozenset("did was were is are has have had do does can could will would".split())
"""How a question that wants a yes or a no begins."""
_NEGATION = frozenset(
    "no not none never nothing neither nor nobody without cannot t didn wasn isn hadn avoid"
    " declined refused unchanged instead rather if unless until whether would could may might"
    " should must will pending before".split()
)
"""Words that make a sentence deny, doubt or postpone what it names."""


def count_constant_no(corpus: LintCorpus) -> tuple[int, int]:
    """How many negative-recall questions the one word No answers, and how many there are."""
    asked = corpus.by_category[_NEGATIVE_RECALL]
    return sum(each.denies for each in asked), len(asked)


def _check_balance(corpus: LintCorpus) -> Iterator[Remark]:
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


def _check_statements(corpus: LintCorpus) -> Iterator[Remark]:
    known: dict[str, frozenset[str]] = {}
    for asked in corpus.questions:
        opening = split_words(asked.item.text)[:1]
        if not asked.denies or len(asked.stems) < _ENOUGH or not _WHETHER.issuperset(opening):
            continue
        for day in asked.days:
            if found := _find_statement(asked, corpus.by_number[day], known):
                yield corpus.note_question(
                    asked, f"the answer is no, but day {day} says “{found}”; check which is right"
                )
                break


def _find_statement(
    asked: LintQuestion, day: DayLog, known: dict[str, frozenset[str]]
) -> str | None:
    """The first sentence of the day that states what is asked and neither denies nor doubts it."""
    for sentence in day.sentences:
        said = known.get(sentence.text)
        if said is None:
            said = known[sentence.text] = collect_stems(sentence.text)
        if len(said & asked.stems) >= _MOST_OF_IT * len(asked.stems) and _NEGATION.isdisjoint(
            split_words(sentence.with_lead)
        ):
            return sentence.text
    return None


NEGATIVE_LINTS = (
    Lint(
        code="constant-answer",
        severity=Severity.WARNING,
        summary="Neither a constant No nor a constant Yes gets more than two thirds of the "
        "negative-recall questions right.",
        check=_check_balance,
    ),
    Lint(
        code="no-but-stated",
        severity=Severity.WARNING,
        summary="Where the answer is no, no sentence of the relevant days says that it happened.",
        check=_check_statements,
    ),
)
