"""Whether an answer holds what its own question says every right answer holds."""

from collections.abc import Iterator

from recall_bench.core.matching import contains_phrase
from recall_bench.core.question import BOUNDARY, Disclosure
from recall_bench.generate.checks.answer_kind import is_ignorant
from recall_bench.generate.checks.checker import ProblemKind, QuestionProblem
from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.atoms import NAME, find_claims
from recall_bench.lint.day import DayLog
from recall_bench.lint.index import NUMBER_WORDS, ValueIndex
from recall_bench.lint.words import collect_stems, normalise_text, split_words

_MAX_SHOWN = 3
_STATING = frozenset(
    "did does had has have he is it never nobody none not nothing she that there they was we were"
    " will".split()
)
"""Words of a sentence that may say yes or no without the word."""
_FIGURES = {word: figure for figure, word in NUMBER_WORDS.items()}


def check_atoms(asked: LintQuestion) -> Iterator[QuestionProblem]:
    """An answer without its own atoms: the reference would be marked wrong.

    An alias in the answer stands for all of them. Values may be spelled otherwise.
    """
    demanded = asked.item.truth.atoms
    if not demanded or _is_refusal_due(asked):
        return
    missing = [atom for atom in demanded if not _is_atom_met(asked, atom)]
    if not missing or any(
        contains_phrase(asked.reference, each) for each in asked.item.truth.aliases
    ):
        return
    named = ", ".join(missing[:_MAX_SHOWN]) + (", …" if len(missing) > _MAX_SHOWN else "")
    if len(missing) < len(demanded):
        yield _make_atom_problem(
            f"the answer lacks {named}, which its atoms demand; correct one of the two"
        )
    else:
        yield _make_atom_problem(
            f"the answer “{asked.reference:.60}” holds none of its own atoms ({named}), which "
            "every right answer has to hold; correct the answer or atoms",
            is_grave=True,
        )


def _is_refusal_due(asked: LintQuestion) -> bool:
    disclosure = asked.item.truth.disclosure
    return disclosure is Disclosure.REFUSE or (disclosure is None and asked.category == BOUNDARY)


def is_in_answer(answer: str, atom: str) -> bool:
    """Whether the words of an atom are in the answer, or its values in another spelling."""
    if contains_phrase(answer, atom) or contains_phrase(
        _convert_numbers(answer), _convert_numbers(atom)
    ):
        return True
    letters = [char for char in atom if char.isalnum()]
    # Where words are written without blanks between them, none is whole.
    if letters and not any(char.isascii() for char in letters) and atom in answer:
        return True
    told = collect_stems(atom)
    if told and told <= collect_stems(answer) and not any(char.isdigit() for char in letters):
        return True
    return _is_spelled_otherwise(answer, atom)


def _is_atom_met(asked: LintQuestion, atom: str) -> bool:
    """Whether the answer holds the atom, or takes the side that is one."""
    answer = asked.reference
    side = split_words(atom)
    if side not in (["yes"], ["no"]) or contains_phrase(answer, atom):
        return is_in_answer(answer, atom)
    takes_other = asked.denies if side == ["yes"] else asked.affirms
    is_told = not takes_other and not is_ignorant(answer)
    return is_told and not _STATING.isdisjoint(split_words(answer))


def _is_spelled_otherwise(answer: str, atom: str) -> bool:
    """Whether each value and name of an atom is in the answer in some spelling."""
    told = find_claims(atom)
    values = ValueIndex([DayLog(0, "", answer)], told)
    names = [set(each.words) for each in find_claims(answer) if each.kind == NAME]
    return bool(told) and all(
        any(name <= set(each.words) for name in names)
        if each.kind == NAME
        else values.find_loose_days(each)
        for each in told
    )


def _convert_numbers(text: str) -> str:
    """The text with its numbers in figures."""
    return " ".join(
        _FIGURES.get(word.lower().strip(".,;:!?"), word) for word in normalise_text(text).split()
    )


def _make_atom_problem(message: str, *, is_grave: bool = False) -> QuestionProblem:
    return QuestionProblem(kind=ProblemKind.SUPPORT, message=message, is_grave=is_grave)
