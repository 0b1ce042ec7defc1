"""Whether an answer holds what its own question says every right answer holds."""

from collections.abc import Iterator

from recall_bench.core.matching import contains
from recall_bench.core.question import BOUNDARY, Disclosure
from recall_bench.generate.checks.answer_kind import is_ignorant
from recall_bench.generate.checks.checker import Kind, Problem
from recall_bench.lint.asked import Asked
from recall_bench.lint.atoms import NAME, atoms
from recall_bench.lint.day import Day
from recall_bench.lint.index import SPELLED, Index
from recall_bench.lint.words import plain, stems, words

_SHOWN = 3
_STATING = frozenset(
    "did does had has have he is it never nobody none not nothing she that there they was we were"
    " will".split()
)
"""Words of a sentence that may say yes or no without the word."""
_FIGURES = {word: figure for figure, word in SPELLED.items()}


def contradicting(asked: Asked) -> Iterator[Problem]:
    """An answer without its own atoms: the reference would be marked wrong.

    An alias in the answer stands for all of them. Values may be spelled otherwise.
    """
    demanded = asked.item.truth.atoms
    if not demanded or _refuses(asked):
        return
    missing = [atom for atom in demanded if not _agrees(asked, atom)]
    if not missing or any(contains(asked.reference, each) for each in asked.item.truth.aliases):
        return
    named = ", ".join(missing[:_SHOWN]) + (", …" if len(missing) > _SHOWN else "")
    if len(missing) < len(demanded):
        yield _problem(f"the answer lacks {named}, which its atoms demand; correct one of the two")
    else:
        yield _problem(
            f"the answer “{asked.reference:.60}” holds none of its own atoms ({named}), which "
            "every right answer has to hold; correct the answer or atoms",
            is_grave=True,
        )


def _refuses(asked: Asked) -> bool:
    disclosure = asked.item.truth.disclosure
    return disclosure is Disclosure.REFUSE or (disclosure is None and asked.category == BOUNDARY)


def holds(answer: str, atom: str) -> bool:
    """Whether the words of an atom are in the answer, or its values in another spelling."""
    if contains(answer, atom) or contains(_figured(answer), _figured(atom)):
        return True
    letters = [char for char in atom if char.isalnum()]
    # Where words are written without blanks between them, none is whole.
    if letters and not any(char.isascii() for char in letters) and atom in answer:
        return True
    told = stems(atom)
    if told and told <= stems(answer) and not any(char.isdigit() for char in letters):
        return True
    return _is_spelled_otherwise(answer, atom)


def _agrees(asked: Asked, atom: str) -> bool:
    """Whether the answer holds the atom, or takes the side that is one."""
    answer = asked.reference
    side = words(atom)
    if side not in (["yes"], ["no"]) or contains(answer, atom):
        return holds(answer, atom)
    takes_other = asked.denies if side == ["yes"] else asked.affirms
    is_told = not takes_other and not is_ignorant(answer)
    return is_told and not _STATING.isdisjoint(words(answer))


def _is_spelled_otherwise(answer: str, atom: str) -> bool:
    """Whether each value and name of an atom is in the answer in some spelling."""
    told = atoms(atom)
    values = Index([Day(0, "", answer)], told)
    names = [set(each.words) for each in atoms(answer) if each.kind == NAME]
    return bool(told) and all(
        any(name <= set(each.words) for name in names)
        if each.kind == NAME
        else values.loose_days(each)
        for each in told
    )


def _figured(text: str) -> str:
    """The text with its numbers in figures."""
    return " ".join(
        _FIGURES.get(word.lower().strip(".,;:!?"), word) for word in plain(text).split()
    )


def _problem(message: str, *, is_grave: bool = False) -> Problem:
    return Problem(kind=Kind.SUPPORT, message=message, is_grave=is_grave)
