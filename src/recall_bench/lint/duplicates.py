"""Whether each question is asked once and has one answer at a time."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.finding import Lint, Remark, Severity
from recall_bench.lint.words import collect_stems, measure_likeness, normalise_text, split_words

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
