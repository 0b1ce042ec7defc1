"""Which sentences of an answer answer the question.

A sentence answers directly if it is about little else: most of its words are the question's, the
truth's, or such as every answer uses to speak of itself and its sources. Other sentences bear on
the question as far as they share its words.
"""

import re
from dataclasses import dataclass

from recall_bench.judging.offline.contents import AnswerContents, TextContents
from recall_bench.judging.offline.literal import level_text
from recall_bench.judging.offline.names import remove_denied_names

OWN_WORDS = 2
"""An answer with more words of its own than this may be telling something."""
FOREIGN_ALLOWED = 1
"""Words about something else that a direct sentence may have though it repeats no question."""
RELEVANCE_SHARE = 0.5
"""A sentence counts beside a better one if it shares this part of the words that one shares."""

_FRAME = frozenset(
    """
    accord afraid among amount answer ask awar bear believ best came case check clear clock come
    compar conclud correct count date day detail document enter entri evid exact fact fall far
    fell figur file find follow found full gave get give given go goe going got happen have
    honest hour inde inform item kind know knowledg known list log look make mark matter mean
    memori mention mind moment month name never nobodi none note noth notic number occur one
    original place pleas point present put question read recal record refer regard rememb repli
    report requir respons result said sake say see seem set short show sort sourc speak stand
    stat state stood sum suppos sure take tell thing think time today told took total true turn
    valu want way well went word write written year yes
    """.split()
)
"""Stems of words in which answers speak of themselves, of their sources, and of what is asked."""
_PERSONAL = re.compile(
    r"\b(?:I|my|mine|me|you|your|we|us|our|sorry)\b|\b(?:not|no)\b|n't\b", re.IGNORECASE
)
_MARKED = re.compile(
    r"(?:^|[.!?]\s)\W*(?:(?:the |my |short |final |direct )*answer(?: is| to \w+(?: \w+)*)?"
    r"|to your question|as to your question|in short|in a word)\s*:",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """One sentence of an answer, weighed against the question."""

    text: str
    """Without the words that announce it as the answer."""
    levelled: str
    """The same for comparison, without the names it only denies."""
    contents: TextContents
    is_opening: bool
    is_direct: bool
    relevance: int
    """How many of the question's words it shares."""
    is_bare: bool
    """Whether it has no word about anything else at all."""


def weigh_sentences(
    account: AnswerContents, question: frozenset[str], truth: frozenset[str]
) -> list[AnswerSentence]:
    """The sentences of an answer; `question` and `truth` are stems."""
    own = question | truth
    found = []
    for place, (text, contents) in enumerate(zip(account.sentences, account.passages, strict=True)):
        foreign = {stem for stem in contents.stems - own - _FRAME if "'" not in stem}
        marked = _MARKED.search(text)
        shared = len(contents.stems & question)
        is_direct = marked is not None or len(foreign) <= max(FOREIGN_ALLOWED, shared)
        said = text[marked.end() :] if marked else text
        found.append(
            AnswerSentence(
                text=said,
                levelled=level_text(remove_denied_names(said)),
                contents=contents,
                is_opening=place == 0,
                is_direct=is_direct,
                is_bare=not foreign,
                relevance=shared,
            )
        )
    return found


def is_about_itself(account: AnswerContents, question: frozenset[str]) -> bool:
    """Whether an answer is about the one who gives it, or who gets it, and says nothing else."""
    contents = account.contents
    foreign = {stem for stem in contents.stems - question - _FRAME if "'" not in stem}
    return (
        len(foreign) <= OWN_WORDS
        and not contents.values
        and not contents.names
        and _PERSONAL.search(account.text) is not None
    )


def select_deciding(
    told: list[AnswerSentence], rival: list[AnswerSentence]
) -> list[AnswerSentence]:
    """Of the sentences that hold the right answer, and of those that hold another, which count.

    Direct ones count alone. Where there is none, the right answer counts wherever it stands, and
    another one where it bears on the question as much.
    """
    candidates = [*told, *rival]
    direct = [sentence for sentence in candidates if sentence.is_direct]
    if direct or not candidates:
        return direct
    bar = max(1.0, RELEVANCE_SHARE * max(sentence.relevance for sentence in candidates))
    return [*told, *(sentence for sentence in rival if sentence.relevance >= bar)]
