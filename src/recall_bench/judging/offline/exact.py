"""Answers to questions whose truth lists what every right answer contains.

All required parts must be stated, in a sentence that answers the question, and in the right order
where an order is asked for. Another value in place of a required one contradicts it. A superseded
value may stand beside the current one if the answer says which is which.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from recall_bench.judging.offline.answer_sentence import (
    AnswerSentence,
    SentenceHit,
    drop_overtaken,
    select_deciding,
    weigh_sentences,
)
from recall_bench.judging.offline.arrangement import arrange, is_sequence_stated
from recall_bench.judging.offline.calculation import find_computed, find_extra_entry
from recall_bench.judging.offline.choice import OpposedChoice
from recall_bench.judging.offline.commitment import (
    is_one_name_of_many,
    is_passing_mention,
    select_committed,
)
from recall_bench.judging.offline.contents import AnswerContents, ContentReader, TextContents
from recall_bench.judging.offline.direction import (
    Relation,
    is_comparison_reversed,
    is_origin_exchanged,
)
from recall_bench.judging.offline.hedges import (
    is_end_of_range,
    is_list_of_candidates,
    is_listed_among_others,
    is_one_of_several,
    is_only_offered,
)
from recall_bench.judging.offline.past_values import is_given_as_past, is_total, list_past_values
from recall_bench.judging.offline.relations import (
    HARD_CLAUSE,
    NameLabels,
    PartLabels,
    find_mentions,
    find_opposite,
    find_opposite_time,
    find_other_actor,
    find_roles,
    is_giver_told,
    is_range_reversed,
    read_time_relation,
    split_clauses,
)
from recall_bench.judging.offline.required_part import RequiredPart
from recall_bench.judging.offline.speakers import find_other_speaker, is_object_exchanged
from recall_bench.judging.offline.successors import find_successor
from recall_bench.judging.offline.time_order import is_order_exchanged
from recall_bench.judging.offline.value_claims import (
    find_main_rival,
    find_other_period,
    find_turned_word,
    is_progress_changed,
)
from recall_bench.text.cued_pattern import CuedPattern
from recall_bench.text.multilingual_text import guess_language
from recall_bench.text.text import split_normalised
from recall_bench.text.values import DATE, MONTH, QUANTITY, ValueAtom

_UNDECIDED = CuedPattern(
    r"\b(?:could be|might be|may be|possibly|perhaps|maybe|either|unclear which|depending on"
    r"|(?:can(?:'t|not)|could not|couldn't) (?:tell|say|determine) which|not sure (?:which|whether)"
    r"|one (?:\w+ )?(?:says?|names?|gives?|has|entry|note|log|source|record)\b.*\b(?:another"
    r"|the other)\b"
    r"|some (?:\w+ ){0,2}(?:say|name|give|mention|have)\b.*\bothers?\b"
    r"|between\s\S+(?:\s\w+)?\sand\b"
    r"|two (?:different |possible )?(?:numbers|values|entries|dates|names|answers|versions"
    r"|places|figures))\b",
    *("could be", "might be", "may be", "possibly", "perhaps", "maybe", "either", "depending on"),
    *("which", "whether", "other", "between", "two "),
    flags=re.DOTALL,
)

_TIME_SIDES = {"before": "before", "earlier": "before", "after": "after", "later": "after"}
_TWO_SIDED = CuedPattern(
    r"\bsome (?:\w+ ){0,2}(?:say|name|give|mention|have)\b.*\bothers?\b"
    r"|\bin one (?:\w+ )?(?:place|note|entry|log)\b.*\banother\b"
    r"|\b(?:can(?:'t|not)|could(?:n't| not)) (?:decide|choose) between\b|\btorn between\b"
    r"|\beither\b[^.;]*\bor\b|\bboth (?:are |were |seem )?possible\b|\bcould (?:just )?as well be\b"
    r"|\b(?:notes|entries|logs|sources|records) (?:differ|disagree|contradict)\b",
    *("other", "between", "either", "possible", "as well be", "differ", "disagree", "contradict"),
    flags=re.DOTALL,
)
"""Words that leave a choice open, whatever the candidates are."""
ALLOWED_PER_RIGHT_VALUE = 1
"""Other values allowed beside each right one: answers mention what was superseded."""


UNDECIDED = "undecided"
"""The conflict of an answer that lists candidates and chooses none."""

_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_STEM = 5
"""Letters by which the forms of a word are the same."""


class ExactCoverage(msgspec.Struct, frozen=True, gc=False):
    """How an answer compares with the required parts."""

    share: float
    """The share of required parts that are stated."""
    missing: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    """What is stated in place of missing parts."""
    is_stale: bool = False
    """Whether it gives a superseded value as current."""
    is_disordered: bool = False
    focus: float = 1.0
    """The share of right values, after the allowed others."""
    conflict: str | None = None
    """How the parts are put together wrongly, in words."""
    is_recital: bool = False
    """Whether it quotes at length, and does not say what of it is the answer."""

    @property
    def is_contradicted(self) -> bool:
        """Whether it says something else than the truth."""
        return bool(self.is_disordered or self.instead or self.conflict)


@dataclass(frozen=True)
class ExactTruth:
    """What one item requires, prepared once for all its answers."""

    required: tuple[RequiredPart, ...]
    stale: tuple[RequiredPart, ...]
    distractors: tuple[RequiredPart, ...]
    is_order: bool
    """Whether the question names the things and asks for their order."""
    question: TextContents
    asked: str
    """The question, levelled."""
    stems: frozenset[str]
    """The stems of the truth and of the other candidates."""
    reader: ContentReader
    labels: PartLabels | None
    """What belongs to which part,"""
    name_labels: NameLabels | None
    """and to which of two names of the reference."""
    actors: tuple[RequiredPart, ...]
    """Two that the reference puts into a relation,"""
    roles: tuple[int, int] | None
    """and which of them gives, and which receives."""
    relation: Relation | None
    """What the reference says of two sides,"""
    asked_relation: Relation | None
    """and what the question does."""
    texts: tuple[str, str]
    """The question and the reference, normalised,"""
    known_words: frozenset[str]
    """and their words with content."""
    choice: OpposedChoice | None
    """A word and its opposite that the question offers."""
    distinct: tuple[frozenset[str], ...] = ()
    """For an order: the words by which question and reference tell each thing from the others."""

    def compare(self, account: AnswerContents) -> ExactCoverage:
        """Compare an answer with what is required."""
        sentences = weigh_sentences(account, self.question.stems, self.stems)
        committed = select_committed(sentences)
        if not committed:
            missing = tuple(part.text for part in self.required)
            return ExactCoverage(0.0, missing, is_recital=True)
        if len(committed) < len(sentences):
            account = account.select([sentence.place for sentence in committed])
            sentences = weigh_sentences(account, self.question.stems, self.stems)
        relation = self._compare_time(account) or self._compare_choice(account)
        if relation is not None:
            return self._check_decision(relation, account)
        if self.is_order:
            return self._check_decision(self._compare_order(account), account)
        parts = self._compare_parts(account, sentences)
        if not parts.share:
            return parts
        conflict = self._find_conflict(account, sentences)
        return parts if conflict is None else replace(parts, conflict=conflict)

    def _check_decision(self, found: ExactCoverage, account: AnswerContents) -> ExactCoverage:
        is_open = found.share and self._is_list_of_candidates(account)
        return replace(found, conflict=UNDECIDED) if is_open else found

    def _compare_time(self, account: AnswerContents) -> ExactCoverage | None:
        """The answer to "before or after?"; None where that is not asked or not stated."""
        text = self.required[0].text.lower() if len(self.required) == 1 else ""
        wanted = _TIME_SIDES.get(text)
        if wanted is None:
            return None
        relation = read_time_relation(self.texts[0], account.text, self.reader)
        if relation is None:
            return None
        is_right = relation == wanted
        missing = () if is_right else (self.required[0].text,)
        return ExactCoverage(float(is_right), missing, is_disordered=not is_right)

    def _compare_choice(self, account: AnswerContents) -> ExactCoverage | None:
        """The answer to "larger or smaller?"; None where that is not asked or not stated."""
        is_right = self.choice.read(account.text) if self.choice else None
        if is_right is None:
            return None
        missing = () if is_right else (self.required[0].text,)
        return ExactCoverage(float(is_right), missing, is_disordered=not is_right)

    def _find_conflict(
        self, account: AnswerContents, sentences: list[AnswerSentence]
    ) -> str | None:
        """How an answer puts the parts together wrongly, in words; None if it does not."""
        question, reference = self.texts
        parts, reader = self.required, self.reader
        if self._is_undecided(account, sentences):
            return UNDECIDED
        wrong = self._find_wrong_part(account, sentences)
        # Relations are shown by the word order and the prepositions of English.
        if wrong is not None or guess_language(reference) != "en":
            return wrong
        if self.roles is not None:
            given = [find_roles(text, self.actors, reader) for text in account.sentences]
            if self.roles in given:
                return None
            if self.roles[::-1] in given:
                return "roles reversed"
        reversal = self._find_reversal(account)
        if reversal is not None:
            return reversal
        return (
            find_opposite(self._main_clauses, question, account.text, reader)
            or find_opposite_time(question, parts, account, reader)
            or find_turned_word(question, parts, account.text, reader)
        )

    @cached_property
    def _main_clauses(self) -> str:
        """The clauses of the reference with the required parts: what it adds need not be said."""
        reference = self.texts[1]
        clauses = [reference[start:end] for start, end in split_clauses(reference, HARD_CLAUSE)]
        own = [
            clause
            for clause in clauses
            if any(find_mentions(part, clause, self.reader) for part in self.required)
        ]
        return "; ".join(own or clauses)

    def _find_reversal(self, account: AnswerContents) -> str | None:
        """A relation of the reference or of the question that an answer turns round, in words."""
        reference = self.texts[1]
        text, reader = account.text, self.reader
        if is_range_reversed(self.required, reference, text, reader):
            return "the range reversed"
        if is_progress_changed(self.required, reference, text, reader):
            return "the values in another order"
        if is_order_exchanged(self.required, self.texts, text, reader):
            return "the earlier for the later"
        if self.relation is not None and self.relation.is_reversed(text, reader):
            return "sides exchanged"
        if self.asked_relation and self.asked_relation.is_role_reversed(text, reader):
            return "told by the one who was told"
        return self._find_turned_part(text) if len(self.required) == 1 else None

    def _find_turned_part(self, text: str) -> str | None:
        """What an answer says of the one required part that makes it another, in words."""
        question, reference = self.texts
        part, reader = self.required[0], self.reader
        period = find_other_period(self.texts, part, text)
        if period is not None:
            return period
        if is_comparison_reversed(question, part, text, reader):
            return "the opposite of what is asked for"
        rivals = (find_main_rival(part, each, reader) for each in split_normalised(text))
        rival = next((rival for rival in rivals if rival), None)
        if rival is not None:
            return rival
        is_exchanged = is_origin_exchanged(reference, part, text, reader)
        return "from instead of to" if is_exchanged else None

    def _find_wrong_part(
        self, account: AnswerContents, sentences: list[AnswerSentence]
    ) -> str | None:
        """An entry too many, a part in another's place, or another person, in words."""
        parts, reader = self.required, self.reader
        extra = find_extra_entry(parts, account, self.known_words, reader)
        if extra is not None:
            return f"{extra} too many"
        swap = self.labels.find_swap(parts, account, reader) if self.labels else None
        if swap is None and self.name_labels is not None and not account.is_quoting:
            swap = self.name_labels.find_swap(account, reader)
        if swap is not None or self.labels is not None:
            return swap
        if len(parts) != 1:
            return None
        return self._find_other_person(parts[0], account, sentences)

    def _find_other_person(
        self, part: RequiredPart, account: AnswerContents, sentences: list[AnswerSentence]
    ) -> str | None:
        """Another person in the place of the one that a question asks for, in words."""
        question, reader = self.texts[0], self.reader
        if is_giver_told(question, part, account, reader):
            return f"{part.text} spoken to"
        if account.is_quoting:
            return None
        if is_object_exchanged(question, part, account.text, reader):
            return "the one for the other"
        successor = find_successor(question, part, account.text, reader)
        if successor is not None:
            return successor
        speaker = find_other_speaker(question, part, account.text, reader)
        if speaker is not None or any(
            sentence.is_direct and part.is_in(sentence, reader) for sentence in sentences
        ):
            return speaker
        return find_other_actor(question, part, account, reader)

    def _is_undecided(self, account: AnswerContents, sentences: list[AnswerSentence]) -> bool:
        """Whether an answer leaves open which of several candidates is right."""
        if self._is_offered(account) or self._is_list_of_candidates(account):
            return True
        is_open = len(self.required) == 1 and " or " not in self.texts[1]
        if is_open and _TWO_SIDED.search(account.text):
            return True
        return _UNDECIDED.search(account.text) is not None and any(
            other.is_in(sentence, self.reader)
            for other in (*self.stale, *self.distractors)
            for sentence in sentences
        )

    def _is_list_of_candidates(self, account: AnswerContents) -> bool:
        known = self.known_words
        return is_list_of_candidates(
            self.required,
            account.text,
            lambda entry: not self.reader.read_phrase(entry).content.isdisjoint(known),
            self.reader,
        )

    def _is_offered(self, account: AnswerContents) -> bool:
        """Whether the one required thing is only named as one of several."""
        if len(self.required) != 1 or self.required[0].value is not None:
            return False
        part, reader = self.required[0], self.reader
        if " or " in self.texts[1] or " or " in part.text:
            return False
        holding = [text for text in account.sentences if find_mentions(part, text, reader)]
        if not holding:
            return False
        if all(is_only_offered(part, text, reader) for text in holding):
            return True
        if any(
            is_end_of_range(text, span)
            for text in holding
            for span in find_mentions(part, text, reader)
        ):
            return True
        known = self.known_words
        return not _ASKS_PLACE.search(self.texts[0]) and any(
            is_listed_among_others(
                part,
                text,
                lambda entry: not reader.read_phrase(entry).content.isdisjoint(known),
                reader,
            )
            for text in holding
        )

    def _compare_parts(
        self, account: AnswerContents, sentences: list[AnswerSentence]
    ) -> ExactCoverage:
        matches = [self._find(one, sentences, account.cited) for one in self.required]
        found = [one for one, find in zip(self.required, matches, strict=True) if find.is_stated]
        missing = [
            one for one, find in zip(self.required, matches, strict=True) if not find.is_stated
        ]
        others = {r for f in matches if f.is_stated for r in f.rivals}
        if others and self._is_computed(found, account):
            others = set()
        excess = len(others) - ALLOWED_PER_RIGHT_VALUE * len(found)
        return ExactCoverage(
            share=len(found) / (len(self.required) or 1),
            missing=tuple(one.text for one in missing),
            instead=tuple(r for f in matches if not f.is_stated for r in f.rivals),
            is_stale=any(find.is_stale for find in matches),
            focus=len(found) / (len(found) + excess) if found and excess > 0 else 1.0,
        )

    def _is_computed(self, found: list[RequiredPart], account: AnswerContents) -> bool:
        """Whether a required number is the result of the answer's working."""
        numbers = [one.value for one in found if one.value and one.value.kind == QUANTITY]
        if not numbers:
            return False
        computed = find_computed(account.text)
        return any(abs(float(value.core)) in computed for value in numbers)

    def _find(
        self, one: RequiredPart, sentences: list[AnswerSentence], cited: tuple[ValueAtom, ...]
    ) -> "_PartMatch":
        hits = drop_overtaken(
            [hit for sentence in sentences if (hit := self._find_hit(one, sentence))]
        )
        counting = select_deciding(
            [hit.sentence for hit in hits if hit.is_stated],
            [hit.sentence for hit in hits if not hit.is_stated],
        )
        if not any(sentence.is_direct for sentence in counting) and _is_date_in_citations(
            one, cited
        ):
            return _PartMatch(is_stated=True, rivals=(), is_stale=False)
        deciders = [hit for hit in hits if hit.sentence in counting]
        stated = [
            hit
            for hit in deciders
            if hit.is_stated and not (one.is_word and is_passing_mention(hit.sentence, sentences))
        ]
        if stated and one.is_name and self._is_one_of_many(one, stated, sentences):
            stated = []
        rivals = list(dict.fromkeys(r for hit in deciders for r in hit.rivals))
        stale = any(hit.is_stale for hit in deciders)
        if any(not hit.is_stated and hit.is_candidate for hit in deciders):
            # One candidate after the other does not say which of them is right.
            stated = []
        is_past = bool(stated) and stale and all(_is_past(one, hit.sentence.text) for hit in stated)
        return _PartMatch(
            is_stated=bool(stated) and not is_past,
            rivals=tuple(rivals),
            is_stale=stale and (is_past or not stated),
        )

    def _is_one_of_many(
        self,
        one: RequiredPart,
        stated: list[SentenceHit],
        sentences: list[AnswerSentence],
    ) -> bool:
        known = self.question.words | {word for _, word in one.words}
        return is_one_name_of_many([hit.sentence for hit in stated], sentences, known)

    def _find_hit(self, one: RequiredPart, sentence: AnswerSentence) -> SentenceHit | None:
        if one.value is not None and not sentence.contents.values:
            return None
        if sentence.text.rstrip().endswith("?"):
            return None  # a question states nothing
        is_stated = one.is_in(sentence, self.reader)
        stale = self._find_others(self.stale, one, sentence, is_stated=is_stated)
        others = [*stale, *self._find_others(self.distractors, one, sentence, is_stated=is_stated)]
        if is_stated and one.value is None:
            is_stated = not others or one.measure_likeness(sentence, self.reader) == 1.0
        if is_stated and others and _ASKS_NOW.search(self.texts[0]):
            # "They went from the one to the other": the other is what is so now.
            is_stated = not _is_past(one, sentence.text)
        rivals = {other.display: None for other in others}
        past = self._list_past_series(one, sentence) if is_stated else frozenset[str]()
        for rival in one.find_rivals(sentence, is_stated=is_stated):
            if (
                rival not in past
                and not self._is_given(rival, sentence)
                and not _is_label(rival, sentence.text)
            ):
                rivals[rival] = None
        if is_stated and one.value is not None and len(rivals) > len(others):
            for rival in list_past_values(sentence.text):
                rivals.pop(rival, None)
        place = one.find_place(sentence.text) if is_stated and rivals else None
        if place is not None and is_total(sentence.text, place):
            rivals = {}
        if not (is_stated or rivals):
            return None
        is_hedged = place is not None and bool(rivals) and is_one_of_several(sentence.text, place)
        if is_stated and len(self.required) == 1:
            is_hedged = is_hedged or self._is_value_hedged(one, sentence)
        # A sentence of nothing but candidates does not say which of them is right.
        is_hedged = is_hedged or (bool(others) and is_stated and sentence.is_bare)
        is_candidate = sentence.is_bare and any(
            not _is_past(other, sentence.text) for other in others
        )
        return SentenceHit(
            sentence, is_stated and not is_hedged, tuple(rivals), bool(stale), is_candidate
        )

    def _list_past_series(self, one: RequiredPart, sentence: AnswerSentence) -> frozenset[str]:
        """Other members of the part's series that a sentence gives as past."""
        if one.value is not None or not one.has_number:
            return frozenset()
        return frozenset(
            literal.strip()
            for other in (*self.stale, *self.distractors)
            if _is_past(other, sentence.text)
            for literal in other.literals
        )

    def _is_value_hedged(self, one: RequiredPart, sentence: AnswerSentence) -> bool:
        """Whether a value is the end of a range, or stands beside an "or" and another value."""
        place = one.find_place(sentence.text) if one.value is not None else None
        if place is None or one.value is None:
            return False
        if is_end_of_range(sentence.text, place):
            return True
        kinds = {value.kind for value in sentence.contents.values if not one.is_value(value)}
        is_date = one.value.kind == DATE and not kinds.isdisjoint({DATE, MONTH})
        return is_date and is_one_of_several(sentence.text, place)

    def _find_others(
        self,
        others: tuple[RequiredPart, ...],
        one: RequiredPart,
        sentence: AnswerSentence,
        *,
        is_stated: bool,
    ) -> list[RequiredPart]:
        """Other values in a sentence; beside the right one, only current and equally clear ones."""
        stated = [o for o in others if o.text != one.text and o.is_in(sentence, self.reader)]
        if not (is_stated and stated):
            return stated
        own = one.measure_likeness(sentence, self.reader) if one.value is None else 0.0
        return [
            other
            for other in stated
            if not _is_past(other, sentence.text)
            and (one.value is not None or other.measure_likeness(sentence, self.reader) >= own)
        ]

    def _is_given(self, rival: str, sentence: AnswerSentence) -> bool:
        """Whether a value is in the question, or is another required part."""
        if f" {rival} " in self.asked or any(
            f" {rival} " in literal for part in self.required for literal in part.literals
        ):
            return True
        known = [v for v in sentence.contents.values if v.value == rival]
        return any(
            self.question.holds(value)
            or any(
                other.value is not None and other.value.matches(value) for other in self.required
            )
            for value in known
        )

    def _compare_order(self, account: AnswerContents) -> ExactCoverage:
        things = (*self.required, *self.distractors)
        if len({part.text for part in self.required}) < len(self.required):
            return self._compare_sequence(account)
        if self._is_order_open(things, account):
            return ExactCoverage(0.0, tuple(part.text for part in self.required))
        text = self._remove_asked_firsts(account.text)
        order = arrange(things, text, self.reader, self.distinct)
        if len(self.required) == 1:
            first = order.order[:1]
            is_other_last = first == (1,) and order.is_placed_last
            is_right = is_other_last or (first == (0,) and not order.is_placed_last)
            if find_opposite_time(self.texts[0], self.required, account, self.reader):
                is_right = False
            missing = () if is_right else (self.required[0].text,)
            return ExactCoverage(
                float(is_right), missing, is_disordered=bool(order.order) and not is_right
            )
        stated = [number for number in order.order if number < len(self.required)]
        if len(stated) < len(self.required) and not self._shares_word(account.text):
            stated = []
        return ExactCoverage(
            share=len(stated) / len(self.required),
            missing=tuple(w.text for n, w in enumerate(self.required) if n not in stated),
            is_disordered=stated != sorted(stated),
        )

    def _shares_word(self, text: str) -> bool:
        """Whether a text has a word of the question or the reference, in whatever form.

        Synonyms alone, of some of the things to be ordered, may be about anything.
        """
        own = {word[:_STEM] for text in self.texts for word in _LONG_WORD.findall(text.lower())}
        return any(word[:_STEM] in own for word in _LONG_WORD.findall(text.lower()))

    def _remove_asked_firsts(self, text: str) -> str:
        """A text without "first" where that is a part of what the question names: "my first jog".

        The words stay in their places.
        """
        named = _FIRST_OF_KIND.findall(self.texts[0])
        if not named:
            return text
        nouns = "|".join(map(re.escape, named))
        return re.sub(
            rf"\b(?:first|last)(?=\s(?:{nouns})\b)",
            lambda found: "_" * len(found[0]),
            text,
            flags=re.IGNORECASE,
        )

    def _compare_sequence(self, account: AnswerContents) -> ExactCoverage:
        """An answer to a question for an order in which something comes back."""
        is_right = is_sequence_stated(self.required, account.text, self.reader)
        missing = () if is_right else (self.required[-1].text,)
        return ExactCoverage(float(is_right or 0), missing, is_disordered=is_right is False)

    def _is_order_open(self, things: Sequence[RequiredPart], account: AnswerContents) -> bool:
        """Whether an answer only names the candidates, and does not say which comes first."""
        spans = sorted(
            span for thing in things for span in find_mentions(thing, account.text, self.reader)
        )
        between = [
            account.text[one[1] : other[0]] for one, other in pairwise(spans) if one[1] <= other[0]
        ]
        if any(_OR_BETWEEN.search(words) for words in between):
            return True
        if len(self.required) != 1 or not between or any(map(_WORD_BETWEEN.search, between)):
            return False
        outside = f"{account.text[: spans[0][0]]} {account.text[spans[-1][1] :]}"
        return _TIME_WORD.search(outside) is None


_FIRST_OF_KIND = re.compile(
    r"\b(?:my|our|the|his|her|their|its|'s)\s(?:first|last)\s(?!of\b|to\b|time\b|one\b)(\w+)",
    re.IGNORECASE,
)
_ASKS_NOW = re.compile(
    r"\b(?:now|currently|at (?:the moment|present|last)|today|in the end|finally|latest|these days"
    r"|nowadays|eventually)\b",
    re.IGNORECASE,
)
_ASKS_PLACE = re.compile(r"^\W*(?:\w+\s){0,3}?where\b", re.IGNORECASE)
_OR_BETWEEN = re.compile(r"\b(?:or|perhaps|maybe|possibly)\b", re.IGNORECASE)
_TIME_WORD = re.compile(
    r"\b(?:first|last|earlier|later|before|after\w*|then|sooner|next|already|finally|follow\w*)\b",
    re.IGNORECASE,
)
_WORD_BETWEEN = re.compile(r"\b(?!(?:the|an?|and)\b)[^\W\d_]|[>(]", re.IGNORECASE)


class _PartMatch(msgspec.Struct, frozen=True, gc=False):
    is_stated: bool
    rivals: tuple[str, ...]
    is_stale: bool


def _is_label(number: str, text: str) -> bool:
    """Whether a number is part of a name wherever it occurs: "Purchase 8110"."""
    places = [match.start() for match in re.finditer(rf"\b{re.escape(number)}\b", text)]
    return bool(places) and all(_LABEL_BEFORE.search(text, 0, at) for at in places)


_LABEL_BEFORE = re.compile(r"(?:[,:;(-]\s*|[a-z]\s)[A-Z][\w.]*[ -]$")


def _is_date_in_citations(one: RequiredPart, cited: tuple[ValueAtom, ...]) -> bool:
    """Whether a date is stated by citing it, and not among many."""
    if one.value is None or one.value.kind not in (DATE, MONTH):
        return False
    dates = [atom for atom in cited if atom.kind == DATE]
    is_there = any(map(one.is_value, dates))
    return is_there and len(dates) <= 1 + ALLOWED_PER_RIGHT_VALUE


def _is_past(one: RequiredPart, text: str) -> bool:
    place = one.find_place(text)
    return place is not None and is_given_as_past(text, place)
