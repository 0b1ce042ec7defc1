"""Answers a question from passages: the best sentences, or what is computed from several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from functools import cache
from hashlib import blake2b
from math import exp

from recall_bench.core.memory import Passage
from recall_bench.core.scenario import PRINCIPAL, Question
from recall_bench.systems.builtin.no_memory import NO_RECORD
from recall_bench.systems.reading.aggregation import (
    Ranked,
    choose_extreme,
    collect_amounts,
    count_days,
    count_items,
    find_common,
    format_sum,
    match_events,
    name_subject,
    write_amount,
)
from recall_bench.systems.reading.answer_values import find_amounts, find_days, resolve_dates
from recall_bench.systems.reading.passage_sentences import (
    ReadSentence,
    collect_stems,
    read_passages,
)
from recall_bench.systems.reading.question_analysis import (
    AnswerKind,
    AskedQuestion,
    analyse_question,
    find_named_days,
)
from recall_bench.systems.reading.sentence_ranker import (
    CONTENT_WEIGHTS,
    EVENT_WEIGHTS,
    SentenceRanker,
    fits_noun,
    is_on_day,
    is_other_speaker,
    share_ranker,
    speaks_of_self,
)

SENTENCES = 4
"""The most sentences that are quoted for one part of a question."""
LISTED = 6
"""The most passages that are quoted for a list."""
MARGIN = 3.0
"""How much worse than the best sentence one of a list may be."""
SURE = 0.9
"""Sentences are quoted until one of them is the right one with this probability."""

PERIOD = 6
"""Days from which on a question asks about a period and not about a day."""
SEARCHED = 3
"""The number of passages from which on it counts that none holds a name of the question."""
COVERED = 0.65
"""The share of a question's words that they must hold then."""
SHARED = 0.1
"""The same for a question without names and codes."""
ALIKE = 0.4
"""The share of words from which on two sentences with different values speak of the same thing."""
CERTAIN = 0.8
"""The closeness from which on a sentence is the one that is meant: other passages are left out."""
STATED = 0.65
"""How close the words of a sentence must be to those of a question that it affirms."""

NO = "No, there is no record of that."
CLOSED = "That belongs to the session {} and cannot be shared here."


WRITTEN = 4096
"""Answers that are kept: a question is asked at many checkpoints, and finds the same at most."""


class AnswerWriter:
    """Answers questions from passages. The same passages give the same answer."""

    def __init__(self) -> None:
        self._ranker = share_ranker()
        self._written: dict[bytes, str] = {}

    def write(self, question: Question, passages: Sequence[Passage]) -> str:
        """The answer, or that there is no record, or that it belongs to another session."""
        key = digest_reading(question, passages)
        found = self._written.get(key)
        if found is None:
            if len(self._written) >= WRITTEN:
                del self._written[next(iter(self._written))]
            found = self._written[key] = self._write_anew(question, passages)
        return found

    def _write_anew(self, question: Question, passages: Sequence[Passage]) -> str:
        sentences = read_passages(passages)
        closed = [each for each in sentences if is_closed(each, question.session)]
        open_ones = [
            sentence for sentence in sentences if not is_closed(sentence, question.session)
        ]
        today = question.asked_at.date()
        answers: list[str] = []
        for asked in analyse_question(question.text, today):
            reading = _Reading(self._ranker, asked, open_ones, today)
            secret = _Reading(self._ranker, asked, closed, today)
            if _is_better(reading, secret):
                answers.append(CLOSED.format(secret.ranked[0][0].session))
            else:
                answers.append(reading.answer())
        said = [each for each in dict.fromkeys(answers) if each]
        kept = [each for each in said if each != NO_RECORD] or said
        return " ".join(kept) or NO_RECORD


def digest_reading(question: Question, passages: Sequence[Passage]) -> bytes:
    """A digest of all that an answer depends on; of today, only the days that it makes of words."""
    days = find_named_days(question.text, question.asked_at.date())
    named = ";".join(",".join(f"{span.first}/{span.last}" for span in spans) for spans in days)
    parts = (question.text, question.session, named, *(passage.text for passage in passages))
    sizes = ",".join(str(len(part)) for part in parts)
    whole = "".join((sizes, *parts)).encode(errors="surrogatepass")
    return blake2b(whole, digest_size=16).digest()


def is_closed(sentence: ReadSentence, session: str) -> bool:
    """Whether a sentence belongs to a session that the asker may not see."""
    return session != PRINCIPAL and sentence.session not in (None, session)


def _is_better(own: _Reading, other: _Reading) -> bool:
    """Whether the other reading has the better sentence."""
    if not own.ranked or not other.ranked:
        return bool(other.ranked)
    return other.ranked[0][1] > own.ranked[0][1]


class _Reading:
    """One part of a question and the sentences that may answer it."""

    def __init__(
        self,
        ranker: SentenceRanker,
        asked: AskedQuestion,
        sentences: Sequence[ReadSentence],
        today: date,
    ) -> None:
        self.ranker = ranker
        self.asked = asked
        self.sentences = sentences
        self.today = today
        self.ranked = self.rank(asked)

    def rank(self, asked: AskedQuestion) -> Ranked:
        """The sentences with their scores, best first; of equals, the newer one."""
        if not self.sentences:
            return []
        scores = self.ranker.score(asked, self.sentences).tolist()
        pairs = zip(self.sentences, scores, strict=True)
        return sorted(pairs, key=lambda pair: (-pair[1], -(pair[0].on or date.min).toordinal()))

    def rank_event(self, event: str) -> Ranked:
        """The same for an event that the question names."""
        parts = analyse_question(event, self.today)
        return self.rank(parts[0]) if parts else []

    def answer(self) -> str:
        """The answer to this part."""
        if not self.ranked or not self._is_covered() or self._is_foreign():
            return NO_RECORD
        computed = {
            AnswerKind.ORDER: self._order,
            AnswerKind.FIRST: self._choose_first,
            AnswerKind.GAP: self._measure_gap,
            AnswerKind.COUNT: self._count,
            AnswerKind.SUM: self._add_up,
            AnswerKind.EXTREME: self._find_extreme,
            AnswerKind.YES_NO: self._decide,
            AnswerKind.DATE: self._date,
            AnswerKind.COMMON: self._find_common,
        }.get(self.asked.wanted)
        return (computed() if computed else "") or self._quote()

    def _is_covered(self) -> bool:
        """Whether the passages hold a name, code or day of the question, or most of its words.

        A search that finds one or two passages is trusted to know what they have to do with it.
        """
        words = collect_stems(self.asked.text)
        if not words or len({each.passage for each in self.sentences}) < SEARCHED:
            return bool(words)
        contexts = list({each.passage: each.context for each in self.sentences}.values())
        anchors = collect_stems(" ".join(self.asked.anchors))
        if not all(anchors.isdisjoint(each) for each in contexts) or any(
            is_on_day(self.asked, sentence) for sentence in self.sentences
        ):
            return True
        held = sum(any(word in context for context in contexts) for word in words)
        return held >= (COVERED if self.asked.anchors else SHARED) * len(words)

    def _is_foreign(self) -> bool:
        """Whether the best sentence is another speaker's, about themselves.

        Below a heading a word before a colon may be a label, such as `Outstanding:`.
        """
        best = self.ranked[0][0]
        is_said = not best.heading or speaks_of_self(best)
        return is_said and is_other_speaker(self.asked, best)

    def _quote(self) -> str:
        """The sentences that are likely to hold the answer, in their order, after their day."""
        if self.asked.wants_list:
            return quote_sentences(select_by_passage(self.ranked))
        likely = select_likely(self.ranked)
        best = likely[0]
        if self.ranker.measure_closeness(self.asked, best) >= CERTAIN:
            likely = [each for each in likely if _is_related(each, best)]
        current, past = split_superseded(likely)
        changed = "".join(f" Before, on {old.on}: {old.text}" if old.on else "" for old in past[:1])
        return quote_sentences(current) + changed

    def _order(self) -> str:
        found = (
            match_events(self.asked.events, self.rank_event) if len(self.asked.events) > 1 else None
        )
        if found is None:
            return ""
        pairs = sorted(
            zip(self.asked.events, found, strict=True), key=lambda pair: pair[1].on or date.min
        )
        said = [f"{event} ({sentence.on})" for event, sentence in pairs]
        return f"First {said[0]}, then {', then '.join(said[1:])}."

    @property
    def _wants_later(self) -> bool:
        return self.asked.side in {"later", "last", "second"}

    def _choose_first(self) -> str:
        found = (
            match_events(self.asked.events, self.rank_event)
            if len(self.asked.events) == 2
            else None
        )
        if found is None:
            return ""
        pairs = sorted(
            zip(self.asked.events, found, strict=True),
            key=lambda pair: pair[1].on or date.min,
            reverse=self._wants_later,
        )
        (event, sentence), (other, after) = pairs
        side = "later" if self._wants_later else "first"
        return f"{event[:1].upper()}{event[1:]} came {side}, on {sentence.on}; {other}: {after.on}."

    def _measure_gap(self) -> str:
        """The time between two events, or else between the first and last passage about it."""
        named = len(self.asked.events) == 2
        found = match_events(self.asked.events, self.rank_event) if named else None
        days = sorted({each.on for each in found or self._list_relevant() if each.on is not None})
        if len(days) < 2:
            return ""
        first, last = days[0], days[-1]
        return f"{count_days(first, last, self.asked.noun)}, from {first} to {last}."

    def _list_relevant(self) -> list[ReadSentence]:
        """The sentences of passages that hold a name of the question; all of a few passages."""
        anchors = collect_stems(" ".join(self.asked.anchors))
        about = [each for each in self.sentences if not anchors.isdisjoint(each.context)]
        is_trusted = len({sentence.passage for sentence in self.sentences}) < SEARCHED
        return about or (list(self.sentences) if is_trusted else [])

    def _count(self) -> str:
        is_stated = any(fits_noun(self.asked, each) for each, _ in self.ranked[:SENTENCES])
        if is_stated or not any(
            (span.last - span.first).days >= PERIOD for span in self.asked.spans
        ):
            return ""
        number = count_items(self.asked, self.sentences)
        if not number:
            return ""
        return f"{number} in all."

    def _add_up(self) -> str:
        found = collect_amounts(self.asked, self.sentences, self.ranked)
        if len(found) < 2:
            return ""
        parts = " + ".join(value.shown for _, value in found)
        return f"{format_sum([value for _, value in found])} in all: {parts}."

    def _find_extreme(self) -> str:
        found = collect_amounts(self.asked, self.sentences, self.ranked)
        if len(found) < 2:
            return ""
        sentence, value = choose_extreme(self.asked, found)
        subject = name_subject(self.sentences, sentence.passage)
        title = f"{subject[:1].upper()}{subject[1:]}, at " if subject else ""
        return f"{title}{write_amount(value.shown, value)}. {quote_sentences([sentence])}"

    def _decide(self) -> str:
        """Yes if a sentence says so, no if one denies it or none says so."""
        best = self.ranked[0][0]
        if self.asked.wants_change:
            for each, _ in self.ranked[:3]:
                if _CHANGED.search(each.text) and not _KEPT.search(each.text):
                    return _affirm(each)
        if _DENIES.search(best.text):
            return f"No. {quote_sentences([best])}"
        return _affirm(best) if self.ranker.measure_closeness(self.asked, best) >= STATED else NO

    def _date(self) -> str:
        """The day that the best sentence names; for an event that is over, else its own day."""
        if self.asked.wants_deadline:
            for each, _ in self.ranked[: SENTENCES + 1]:
                if later := [
                    day for day in find_days(each.text, each.on) if not each.on or day > each.on
                ]:
                    return f"{later[0]}. {quote_sentences([each])}"
        best = self.ranked[0][0]
        named = resolve_dates(best.text, best.on)
        days = find_days(best.text, best.on)
        if named and not (best.on and days and min(days) > best.on):
            return f"{named[0]}. {quote_sentences([best])}"
        if best.on is None:
            return ""
        return f"{'' if named else f'{best.on}. '}{quote_sentences([best])}"

    def _find_common(self) -> str:
        found = find_common(self.ranked)
        if found is None:
            return ""
        return f"{found[0]}. {quote_sentences(found[1])}"


def _affirm(sentence: ReadSentence) -> str:
    quote = quote_sentences([sentence])
    return f"Yes, on {sentence.on}. {quote}" if sentence.on else f"Yes. {quote}"


_CHANGED = re.compile(
    r"\b(?:rather than|instead of|no longer|moved|changed|new date|reopened|swap(?:ped)?|recurr\w+"
    r"|relaps\w+|came back|reversed|revised|put off|postponed|amended|overturned|withdrawn|redone"
    r"|replac\w+|extended|corrected|undone|modified|altered|rescheduled)\b",
    re.IGNORECASE,
)
_KEPT = re.compile(
    r"\b(?:remain(?:ed|s)?|stay(?:ed|s)?|kept|unchanged|no change|not[\s*]+(?:chang|justif|reset"
    r"|alter)\w*)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|neither|without|remained|stayed|unchanged|declined"
    r"|refused)\b|n't\b",
    re.IGNORECASE,
)


def select_likely(ranked: Ranked) -> list[ReadSentence]:
    """The best sentences, until one of them is the right one with some certainty."""
    top = ranked[0][1]
    weights = [exp(score - top) for _, score in ranked]
    total = sum(weights)
    chosen: list[ReadSentence] = []
    reached = 0.0
    for (sentence, _), weight in zip(ranked, weights, strict=True):
        if len(chosen) == SENTENCES or reached >= SURE:
            break
        if all(sentence.text != other.text for other in chosen):
            chosen.append(sentence)
        reached += weight / total
    return chosen


def select_by_passage(ranked: Ranked) -> list[ReadSentence]:
    """The best sentence of each passage, of those that are nearly as good as the best."""
    best: dict[int, ReadSentence] = {}
    for sentence, score in ranked:
        if score >= ranked[0][1] - MARGIN and len(best) < LISTED:
            best.setdefault(sentence.passage, sentence)
    return list(dict.fromkeys([*select_likely(ranked), *best.values()]))[:LISTED]


def _is_related(one: ReadSentence, other: ReadSentence) -> bool:
    is_same = one.passage == other.passage
    return is_same or supersedes(one, other) or supersedes(other, one)


def split_superseded(
    sentences: Sequence[ReadSentence],
) -> tuple[list[ReadSentence], list[ReadSentence]]:
    """The sentences that still hold, and those of which a later one gives another value."""
    past = [each for each in sentences if any(supersedes(later, each) for later in sentences)]
    return [sentence for sentence in sentences if sentence not in past], past


def supersedes(later: ReadSentence, earlier: ReadSentence) -> bool:
    """Whether a later sentence says nearly the same with another value of the same unit."""
    if not (later.on and earlier.on and later.on > earlier.on):
        return False
    new = {value.unit: value.number for value in find_amounts(later.text)}
    old = {value.unit: value.number for value in find_amounts(earlier.text)}
    if not any(new[unit] != old[unit] for unit in new.keys() & old.keys()):
        return False
    shared = len(frozenset(later.stems).intersection(earlier.stems))
    alike = shared / (len(later.stems) + len(earlier.stems) - shared)
    return alike >= ALIKE


def quote_sentences(sentences: Sequence[ReadSentence]) -> str:
    """The sentences by passage, in their own order, each passage after its day."""
    lines: list[str] = []
    ordered = sorted(sentences, key=lambda each: (each.on or date.min, each.passage, each.place))
    for place, each in enumerate(ordered):
        before = ordered[place - 1] if place else None
        if before is not None and before.passage == each.passage:
            lines[-1] += f" {each.text if before.speaker == each.speaker else each.quote}"
        else:
            lines.append(f"{each.origin}: {each.quote}" if each.origin else each.quote)
    return "\n".join(lines)


@cache
def load_writer() -> AnswerWriter:
    """The one writer of this process."""
    return AnswerWriter()


def describe_rules() -> dict[str, object]:
    """The constants that can change an answer, for the reader's card."""
    return {
        "sentences": SENTENCES,
        "sure": SURE,
        "covered": COVERED,
        "content_weights": list(CONTENT_WEIGHTS),
        "event_weights": list(EVENT_WEIGHTS),
    }
