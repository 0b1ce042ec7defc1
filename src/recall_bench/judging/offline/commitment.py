"""Whether an answer commits itself: what it holds counts only if it says that this is the answer.

Short answers commit themselves. A long one does in its first or last sentence, or by being about
the question: a recital, in which few sentences have to do with it, holds the right thing by chance.
In an answer of several sentences, a person counts where no sentence with another person says more
about the question.
"""

from collections.abc import Iterable, Sequence

from recall_bench.judging.offline.answer_sentence import AnswerSentence
from recall_bench.judging.offline.contents import find_names

LONG_ANSWER = 12
"""Sentences of an answer that is about its question, whatever it says."""
SEVERAL = 4
"""Sentences from which on names and single words are weighed against each other."""
ABOUT_SHARE = 0.25
"""The least share of the sentences of a long answer that have to do with the question."""
ABOUT_WORDS = 2
"""The words of the question that make a sentence have to do with it."""


def select_committed(
    sentences: Sequence[AnswerSentence],
) -> Sequence[AnswerSentence]:
    """The sentences of an answer that may answer its question: in a recital, next to none.

    A recital commits itself where it says so ("To your question: ..."), and in a first or last
    sentence of its own that is about the question.
    """
    if not is_recital(sentences):
        return sentences
    own = [sentence for sentence in sentences if not sentence.dated]
    outer = {id(sentence) for sentence in (*own[:1], *own[-1:])}
    return [
        each
        for each in own
        if each.is_marked or (id(each) in outer and each.is_direct and each.relevance)
    ]


def is_recital(sentences: Sequence[AnswerSentence]) -> bool:
    """Whether a long answer is mostly quotations, or mostly about something else."""
    if len(sentences) <= LONG_ANSWER:
        return False
    own = [sentence for sentence in sentences if not sentence.dated]
    about = sum(sentence.relevance >= ABOUT_WORDS for sentence in own)
    return 2 * len(own) < len(sentences) or about < ABOUT_SHARE * len(sentences)


def is_one_name_of_many(
    stating: Sequence[AnswerSentence], sentences: Sequence[AnswerSentence], known: frozenset[str]
) -> bool:
    """Whether other names stand in sentences that say as much about the question, or more.

    `known` are the words of the question and of the right name. A sentence that answers directly,
    and the first one, need no comparison.
    """
    if len(sentences) <= SEVERAL or any(each.is_direct or each.is_opening for each in stating):
        return False
    best = max(sentence.relevance for sentence in stating)
    others = [
        (sentence.relevance, names)
        for sentence in sentences
        if sentence not in stating
        and sentence.relevance >= best
        and (names := set(find_names(sentence.text)) - known)
    ]
    return any(relevance > best for relevance, _ in others) or len(_join(others)) > 1


def _join(others: Iterable[tuple[int, set[str]]]) -> set[str]:
    return set().union(*(names for _, names in others))


def is_passing_mention(sentence: AnswerSentence, sentences: Sequence[AnswerSentence]) -> bool:
    """Whether a sentence has nothing to do with the question, in an answer of several."""
    is_near = sentence.is_direct or sentence.is_opening or sentence.relevance > 0
    return len(sentences) > SEVERAL and not is_near
