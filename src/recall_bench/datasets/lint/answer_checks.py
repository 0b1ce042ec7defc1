"""Whether the days say what the references claim: there, and nowhere before."""

from collections.abc import Iterable, Iterator
from datetime import date

from recall_bench.core.scenario import Disclosure
from recall_bench.core.text_values import (
    DATE,
    MONEY,
    NAME,
    NUMBER,
    PERCENT,
    QUOTE,
    TextValue,
    collect_stems,
    split_words,
)
from recall_bench.core.value_patterns import WEEKDAYS
from recall_bench.datasets.lint.lint_corpus import Lint, LintCorpus, Remark, Severity
from recall_bench.datasets.lint.value_index import DayLog, LintQuestion
from recall_bench.datasets.persona_files import find_runs, format_days

INFERRED = frozenset({"temporal-reasoning", "synthesis", "cross-reference"})
"""Categories whose amounts may be counted or added up, so that no day need state them."""
AMOUNTS = frozenset({NUMBER, MONEY, PERCENT})
_SAME_MATTER = 3
"""Words of the question that a sentence with the value must share to be about the same thing."""
_EVERYWHERE = 5
"""From so many other days on, a value is common knowledge."""
_CHOICE = frozenset({"or", "first", "earlier", "later"})
"""Words of a question that names the possible answers."""
_NEAR = {"yesterday": -1, "tomorrow": 1}
_REACH = 14
"""How many days from a log a weekday in it may mean."""


def find_telling_days(corpus: LintCorpus, asked: LintQuestion) -> set[int]:
    """The days that state every exact value of the answer, and about the same matter."""
    if not asked.exact:
        return set()
    return set.intersection(*(_find_days_about(corpus, asked, atom) for atom in asked.exact))


def _find_days_about(corpus: LintCorpus, asked: LintQuestion, atom: TextValue) -> set[int]:
    if atom.kind == QUOTE:
        return corpus.index.find_days(atom)
    least = min(_SAME_MATTER, len(asked.topics))
    about = asked.topics
    return {
        said.day for said in corpus.index.find_mentions(atom) if len(said.topics & about) >= least
    }


def _find_missing(corpus: LintCorpus, asked: LintQuestion) -> tuple[list[TextValue], int]:
    """The atoms of an answer that no relevant day holds, and how many were looked for."""
    if asked.item.truth.disclosure is Disclosure.REFUSE:
        return [], 0
    own = set(split_words(corpus.persona.name)) if corpus.persona else set()
    checked = [
        atom
        for atom in asked.atoms
        if not (atom.kind in AMOUNTS and asked.category in INFERRED)
        and not (atom.kind == NAME and own.issuperset(atom.words))
    ]
    relevant = set(asked.days)
    absent = [
        atom
        for atom in checked
        if relevant.isdisjoint(corpus.index.find_loose_days(atom))
        and not any(_is_derivable(corpus, day, atom) for day in asked.days)
    ]
    return absent, len(checked)


def _is_derivable(corpus: LintCorpus, day: int, atom: TextValue) -> bool:
    """Whether a date is the day's own, or one its log gives by weekday or as tomorrow."""
    if atom.kind != DATE:
        return False
    said = set(split_words(corpus.by_number[day].text))
    for own in {corpus.find_date(day), corpus.text_dates[day]}:
        meant = _parse_date(atom, own)
        if meant is None:
            continue
        gap = (meant - own).days
        is_named = WEEKDAYS[meant.weekday()].lower() in said and abs(gap) <= _REACH
        if gap == 0 or is_named or any(gap == n and name in said for name, n in _NEAR.items()):
            return True
    return False


def _parse_date(atom: TextValue, near: date) -> date | None:
    year = atom.value if atom.value != atom.core else f"{near.year}-{atom.core}"
    try:
        return date.fromisoformat(year)
    except ValueError:
        return None


def _check_support(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        absent, looked_for = _find_missing(corpus, asked)
        if absent and len(absent) == looked_for:
            yield corpus.note_question(
                asked,
                f"nothing on {format_days(asked.days)} states {_format_values(absent)}, which is the answer; "
                "correct the answer or relevant_days",
            )


def _check_full_support(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        absent, looked_for = _find_missing(corpus, asked)
        if absent and len(absent) < looked_for:
            yield corpus.note_question(
                asked,
                f"nothing on {format_days(asked.days)} states {_format_values(absent)}, a part of the answer; "
                "leave it out, or add the day that states it",
            )


def _check_early_answers(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        before = sorted(day for day in find_telling_days(corpus, asked) if day < asked.days[0])
        if before:
            yield corpus.note_question(
                asked,
                f"{_format_values(asked.exact)} is stated on {_format_day_list(before)} already, before the first "
                f"relevant day {asked.days[0]}; list the day that states it first",
            )


def _check_elsewhere(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        others = find_telling_days(corpus, asked) - set(asked.days)
        if len(others) >= _EVERYWHERE:
            yield corpus.note_question(
                asked,
                f"{_format_values(asked.exact)} is stated on {len(others)} days that are not relevant "
                "days; ask for something said less often, or list them",
            )


def _check_giveaway(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        if asked.denies or asked.affirms or _CHOICE.intersection(split_words(asked.item.text)):
            continue
        answer = collect_stems(asked.reference)
        if answer and answer <= asked.stems:
            yield corpus.note_question(
                asked, "every word of the answer is in the question; ask without giving it away"
            )


def _format_values(several: Iterable[TextValue]) -> str:
    names = list(dict.fromkeys(atom.shown for atom in several))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _format_day_list(days: list[int]) -> str:
    return format_days(days) if len(days) <= 3 else f"{len(days)} days from day {days[0]} on"


ANSWER_LINTS = (
    Lint(
        code="answer-unsupported",
        severity=Severity.ERROR,
        summary="The relevant days state at least one value, name or quotation of the answer.",
        check=_check_support,
    ),
    Lint(
        code="answer-partly-unsupported",
        severity=Severity.WARNING,
        summary="The relevant days state every value, name and quotation of the answer; amounts "
        "of categories that may count or add up are not looked for.",
        check=_check_full_support,
    ),
    Lint(
        code="answer-known-early",
        severity=Severity.WARNING,
        summary="No day before the first relevant one states the answer's values on the same "
        "matter, so what is asked is learned when the file says.",
        check=_check_early_answers,
    ),
    Lint(
        code="answer-elsewhere",
        severity=Severity.NOTE,
        summary=f"Fewer than {_EVERYWHERE} other days state the answer's values, so that finding "
        "the relevant days matters.",
        check=_check_elsewhere,
    ),
    Lint(
        code="answer-in-question",
        severity=Severity.WARNING,
        summary="The question does not hold its own answer.",
        check=_check_giveaway,
    ),
)


_WINDOW = 7
"""A week of relevant days in a row is the window a question was written from."""
_SYNTHESIS = "synthesis"
_NEGATIVE = "negative-recall"


def is_whole_window(asked: LintQuestion) -> bool:
    """Whether the relevant days hold a week or more without a gap."""
    return any(last - first + 1 >= _WINDOW for first, last in find_runs(asked.days))


def is_single_fact(asked: LintQuestion) -> bool:
    """Whether one fact is asked for; a denial and a synthesis may rest on every day of a week."""
    is_one_fact = asked.category not in {_SYNTHESIS, _NEGATIVE} and not asked.denies
    return is_one_fact and not asked.item.truth.requires_synthesis


def _check_windows(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        if is_single_fact(asked) and is_whole_window(asked):
            yield corpus.note_question(
                asked,
                f"it lists {len(asked.days)} relevant days, {asked.days[0]} to {asked.days[-1]}, "
                "for one fact; list the days that state it",
            )


def _check_single_day(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        if _is_synthesis(asked) and len(asked.days) == 1:
            yield corpus.note_question(
                asked,
                f"it asks for synthesis and has one relevant day, {asked.days[0]}; "
                "list the others, or call it what it is",
            )


def _check_synthesis(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        if not _is_synthesis(asked) or len(asked.days) < 2 or len(asked.exact) < 2:
            continue
        together = find_telling_days(corpus, asked).intersection(
            asked.days, *(corpus.index.find_days(atom) for atom in asked.atoms)
        )
        if together:
            yield corpus.note_question(
                asked,
                f"day {min(together)} alone states every value and name of the answer, so nothing "
                "need be put together; ask for what only several days tell",
            )


def _is_synthesis(asked: LintQuestion) -> bool:
    return asked.category == _SYNTHESIS or asked.item.truth.requires_synthesis


EVIDENCE_LINTS = (
    Lint(
        code="whole-window",
        severity=Severity.WARNING,
        summary="A question for one fact does not list seven relevant days or more in a row.",
        check=_check_windows,
    ),
    Lint(
        code="synthesis-one-day",
        severity=Severity.WARNING,
        summary="A question that asks for synthesis rests on more than one day.",
        check=_check_single_day,
    ),
    Lint(
        code="synthesis-told-whole",
        severity=Severity.WARNING,
        summary="No single day states every value and name of a synthesis of two values or more.",
        check=_check_synthesis,
    ),
)


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
