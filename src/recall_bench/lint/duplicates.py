"""Whether each question is asked once and has one answer at a time."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from recall_bench.lint.asked import Asked
from recall_bench.lint.corpus import Corpus
from recall_bench.lint.finding import Lint, Remark, Severity
from recall_bench.lint.words import likeness, plain, stems, words

_ALIKE = 0.8
"""Questions that share so many of their words ask the same."""
_SHORT = 4
"""Answers of so few words that share none are two answers."""
_PARTICULAR = re.compile(r"\b\w*\d\w*|(?<=[\s(/\"'])[A-Z]\w+")
"""Numbers, codes and names: what tells questions of one wording apart."""


def contradict(one: Asked, other: Asked) -> bool:
    """Whether the answers cannot both be right: a yes and a no, or values none of which agree."""
    if (one.denies and other.affirms) or (one.affirms and other.denies):
        return True
    if one.denies or other.denies or one.affirms or other.affirms:
        return False
    mine, theirs = ({(a.kind, a.core) for a in asked.atoms} for asked in (one, other))
    if mine and theirs:
        return mine.isdisjoint(theirs)
    said = (stems(one.reference), stems(other.reference))
    return max(map(len, said)) <= _SHORT and said[0].isdisjoint(said[1])


def wording(asked: Asked) -> tuple[str, ...]:
    """What questions share that are asked from one session in the same words."""
    return (asked.session, *words(plain(asked.item.text)))


def particulars(asked: Asked, usual: Collection[str]) -> frozenset[str]:
    """The session, numbers, codes and names that alike questions share; `usual` ones aside."""
    found = {word.lower() for word in _PARTICULAR.findall(plain(asked.item.text))}
    return frozenset(found.difference(usual)) | {f"from {asked.session}"}


def _two_answers(corpus: Corpus) -> Iterator[Remark]:
    for earlier, asked in _open_together(_by_words(corpus)):
        if contradict(earlier, asked):
            yield corpus.of_question(
                asked,
                f"{_named(earlier)} asks the same and has another answer while both may be asked; "
                "correct one, or let irrelevant_after part them",
            )


def _repeated(corpus: Corpus) -> Iterator[Remark]:
    for earlier, asked in _open_together(_by_words(corpus)):
        if not contradict(earlier, asked):
            yield corpus.of_question(asked, f"{_named(earlier)} asks the same; remove one of them")


def _near(corpus: Corpus) -> Iterator[Remark]:
    seen: set[str] = set()
    for earlier, asked in _open_together(_by_particulars(corpus)):
        if (
            asked.item.id not in seen
            and likeness(earlier.stems, asked.stems) >= _ALIKE
            and words(plain(earlier.item.text)) != words(plain(asked.item.text))
            and not contradict(earlier, asked)
        ):
            seen.add(asked.item.id)
            yield corpus.of_question(
                asked, f"{_named(earlier)} asks nearly the same; remove one, or ask for more"
            )


def _by_words(corpus: Corpus) -> Iterable[list[Asked]]:
    groups: dict[tuple[str, ...], list[Asked]] = defaultdict(list)
    for asked in corpus.questions:
        groups[wording(asked)].append(asked)
    return groups.values()


def _by_particulars(corpus: Corpus) -> Iterable[list[Asked]]:
    groups: dict[frozenset[str], list[Asked]] = defaultdict(list)
    usual = frozenset(words(corpus.persona.name)) if corpus.persona else frozenset()
    for asked in corpus.questions:
        groups[particulars(asked, usual)].append(asked)
    return groups.values()


def _open_together(groups: Iterable[list[Asked]]) -> Iterator[tuple[Asked, Asked]]:
    for group in groups:
        for place, asked in enumerate(group):
            for earlier in group[:place]:
                if earlier.is_open_with(asked):
                    yield earlier, asked


def _named(asked: Asked) -> str:
    return asked.item.id if asked.line is None else f"{asked.item.id} on line {asked.line}"


LINTS = (
    Lint(
        code="two-answers",
        severity=Severity.ERROR,
        summary="A question asked from one session has one right answer at any checkpoint.",
        check=_two_answers,
    ),
    Lint(
        code="repeated-question",
        severity=Severity.WARNING,
        summary="No question is asked twice in the same words while both may be asked.",
        check=_repeated,
    ),
    Lint(
        code="near-repeat",
        severity=Severity.NOTE,
        summary="No two questions with the same answer share four fifths of their words, for then "
        "they count one thing twice.",
        check=_near,
    ),
)
