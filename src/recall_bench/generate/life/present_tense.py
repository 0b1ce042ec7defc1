"""Questions in the present tense end with the state that they ask about.

"When does the exclusivity lapse?" is a question until it lapses, and "Why does she take no calls?"
until she takes them again. The same question in the past can be asked for ever.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

from recall_bench.core.sentences import split_sentences
from recall_bench.generate.life.simulation import LifeSimulation
from recall_bench.generate.written.derivation import parse_derivation
from recall_bench.generate.written.slots import FactState, parse_state
from recall_bench.generate.written.sources import WrittenQuestion

_NOW = r"(?:is|are|am|does|do|has|have|can|may|must|will)\b"
_NOT_ASKED_FOR = r"(?:to|that|did|was|were|had|could|would|might)\b"
_PRESENT = re.compile(
    rf"(?:who|when|where|why|how(?: \w+)?) {_NOW}|(?:what|who|when)['’]s\b"
    rf"|(?:(?:by|from|in|on|for|under|until|to) )?(?:what|which|whose|when|how (?:much|many))"
    rf"(?: (?!\w+ed\b|{_NOT_ASKED_FOR})[\w'’-]+){{0,3}}? {_NOW}",
    re.IGNORECASE,
)
"""A question word, what is asked for, and a verb in the present tense."""
_CLAUSE = re.compile(r"(?:[^,]|,(?! ))*[,:] (?=(?:\w+ )?(?:wh|how))", re.IGNORECASE)
"""What stands before the question itself: "By the corrected figure, how many"."""
_OF_VALUES = ("value", "latest", "secret")


def is_present(ask: str) -> bool:
    """Whether the last sentence of a question is in the present tense."""
    last = split_sentences(ask)[-1]
    return _PRESENT.match(last) is not None or _PRESENT.match(_CLAUSE.sub("", last, 1)) is not None


class StateEnds:
    """Knows when what a question rests on is over."""

    def __init__(self, play: LifeSimulation) -> None:
        self._facts = play.lives.book.facts
        self._reasons = {
            each.mention.state: each.entity.facts[each.attribute].find_end(each.of)
            for each in play.lives.reasons
        }
        self._threads = {
            mention.state: thread.ended
            for thread in play.threads.threads
            for mention in (*thread.mentions.values(), *thread.later_mentions.values())
        }
        self._lasting = {
            fact.key for entity in play.lives.entities for fact in entity.facts.values()
        }

    def limit(self, questions: Iterable[WrittenQuestion]) -> list[WrittenQuestion]:
        """The questions, those in the present tense up to the end of what they ask about."""
        return [self._limit(each) for each in questions]

    def _limit(self, question: WrittenQuestion) -> WrittenQuestion:
        derivation = parse_derivation(question.derive)
        if question.until is not None or derivation.form not in _OF_VALUES:
            return question
        if not is_present(question.ask):
            return question
        needed = [state for each in question.needs if (state := parse_state(each)) is not None]
        rests = [*derivation.states, *(needed if question.expects == "partial" else ())]
        ends = [end for state in rests for end in self._list_ends(state)]
        last = [end for end in ends if end >= (question.from_ or 0)]
        return msgspec.structs.replace(question, until=min(last)) if last else question

    def _list_ends(self, state: FactState) -> Iterator[int]:
        """The last days of a reason, of a thread, and before a date that was set."""
        fact = self._facts.get(state.key)
        if fact is None or state.key in self._lasting:
            return
        for known in (self._reasons.get(state), self._threads.get(state)):
            if known is not None:
                yield known
        day = fact.states[state.number - 1].value.day
        if day is not None:
            yield day - 1
