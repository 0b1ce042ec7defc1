"""The sentences of an answer, and which of them decide."""

import re
from functools import lru_cache

import msgspec

from recall_bench.judging.offline.contents import (
    AnswerContents,
    TextContents,
    remove_denied_names,
)
from recall_bench.judging.offline.phrase import (
    level_text,
)
from recall_bench.text.cued_pattern import CuedPattern

OWN_WORDS = 2
"""An answer with more foreign words than this may be stating something."""
FOREIGN_ALLOWED = 1
"""Foreign words allowed in a direct sentence that repeats nothing of the question."""
RELEVANCE_SHARE = 0.5
"""A sentence counts beside a better one if it shares this part of the words that one shares."""

FRAME = frozenset(
    """
    accord afraid among amount answer ask awar bear believ best came case check clear clock come
    compar conclud correct count date day detail document enter entri evid exact fact fall far
    fell figur file find follow found full gave get give given go goe going got happen have
    honest hour inde inform item kind know knowledg known list log look make mark matter mean
    memori mention mind moment month name never nobodi none note noth notic number occur one
    original place pleas point present put question read recal record refer regard rememb repli
    report requir respons result said sake say see seem set short show sort sourc speak stand
    stat state stood sum suppos sure take tell thing think time today stated took total true turn
    valu want way well went word write written year yes
    """.split()
)
"""Stems of words in which answers speak of themselves, their sources and the question."""


_PERSONAL = re.compile(
    r"\b(?:I|my|mine|me|you|your|we|us|our|sorry)\b|\b(?:not|no)\b|n't\b", re.IGNORECASE
)
_MARKED = CuedPattern(
    r"(?:^|[.!?]\s)\W*(?:(?:the |my |short |final |direct )*answer(?: is| to \w+(?: \w+)*)?"
    r"|to your question|as to your question|in short|in a word)\s*:",
    *("answer", "to your question", "in short", "in a word"),
)


class AnswerSentence(msgspec.Struct, frozen=True, gc=False):
    """One sentence of an answer, compared with the question."""

    text: str
    """Without the words that announce it as the answer."""
    levelled: str
    """The same for comparison, without names it only denies."""
    contents: TextContents
    is_opening: bool
    is_direct: bool
    relevance: int
    """The number of words shared with the question."""
    is_bare: bool
    """Whether it has no foreign word at all."""
    dated: str = ""
    """The date of the quotation that it belongs to; blank if to none."""
    is_marked: bool = False
    """Whether it announces itself as the answer."""
    place: int = 0
    """Its place among the sentences."""


def weigh_sentences(
    account: AnswerContents, question: frozenset[str], truth: frozenset[str]
) -> list[AnswerSentence]:
    """The sentences of an answer; `question` and `truth` are stems."""
    sentences = []
    dates = [line.dated for line in account.lines for _ in line.sentences]
    for place, (text, contents) in enumerate(zip(account.sentences, account.passages, strict=True)):
        strange = contents.stems - question - truth - FRAME
        foreign = [stem for stem in strange if "'" not in stem] if strange else []
        marked = _MARKED.search(text)
        shared = len(contents.stems & question)
        is_direct = marked is not None or len(foreign) <= max(FOREIGN_ALLOWED, shared)
        body = text[marked.end() :] if marked else text
        sentences.append(
            AnswerSentence(
                text=body,
                levelled=_level_claims(body),
                contents=contents,
                is_opening=place == 0,
                is_direct=is_direct,
                is_bare=not foreign,
                relevance=shared,
                dated=dates[place] if dates else "",
                is_marked=marked is not None,
                place=place,
            )
        )
    return sentences


@lru_cache(maxsize=4096)
def _level_claims(text: str) -> str:
    """A sentence for comparison: several rules ask for it."""
    return level_text(remove_denied_names(text))


def is_about_itself(account: AnswerContents, question: frozenset[str]) -> bool:
    """Whether an answer speaks only of itself or of the asker."""
    contents = account.contents
    foreign = {stem for stem in contents.stems - question - FRAME if "'" not in stem}
    return (
        len(foreign) <= OWN_WORDS
        and not contents.values
        and not contents.names
        and _PERSONAL.search(account.text) is not None
    )


def select_deciding(
    stated: list[AnswerSentence], rival: list[AnswerSentence]
) -> list[AnswerSentence]:
    """The sentences that decide, of those with the right answer and those with another.

    Direct ones decide alone. Without any, the right answer counts everywhere, and another one where
    it is about as relevant.
    """
    candidates = [*stated, *rival]
    direct = [sentence for sentence in candidates if sentence.is_direct]
    if direct or not candidates:
        return direct
    bar = max(1.0, RELEVANCE_SHARE * max(sentence.relevance for sentence in candidates))
    return [*stated, *(sentence for sentence in rival if sentence.relevance >= bar)]


class SentenceHit(msgspec.Struct, frozen=True, gc=False):
    """A sentence that states the part or another value in its place."""

    sentence: AnswerSentence
    is_stated: bool
    rivals: tuple[str, ...]
    is_stale: bool
    is_candidate: bool
    """Whether it names another candidate and nothing else."""


def drop_overtaken(hits: list[SentenceHit]) -> list[SentenceHit]:
    """The hits without quotations of another value that are older than one of the right value."""
    newest = max((hit.sentence.dated for hit in hits if hit.is_stated), default="")
    if not newest:
        return hits
    return [hit for hit in hits if hit.is_stated or not "" < hit.sentence.dated < newest]
