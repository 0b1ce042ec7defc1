"""Answers that hold every required part, and put them together wrongly.

* Pairs: where the reference gives each part its own label ("31 crates of plums and 18 of pears"), a
  part with another one's label is swapped. Without labels the order of the question counts.
* Roles: who told, paid or gave, and to whom.
* Direction: the opposite of a word of the reference ("rose", "fell") that the answer does not have;
  a range the other way round; a time relation opposite to the question's.
* Actors: another person in the clause that answers a question for a person.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from recall_bench.judging.offline.contents import (
    AnswerContents,
    ContentReader,
    find_names,
    remove_denied_names,
)
from recall_bench.judging.offline.lexicon import load_lexicon
from recall_bench.judging.offline.phrase import Phrase, find_places
from recall_bench.judging.offline.required_part import (
    TITLES,
    RequiredPart,
    make_required_part,
)
from recall_bench.text.text import STOPWORDS
from recall_bench.text.values import locate_values

_CLAUSE = re.compile(r"[,;](?=\s)|[.!?](?=\s|$)|\n|\s(?:and|while|whereas|but)\s", re.IGNORECASE)
HARD_CLAUSE = re.compile(r"[;](?=\s)|[.!?](?=\s|$)|\n|,\s(?:and|while|but)\s", re.IGNORECASE)
_NEW_SUBJECT = re.compile(rf"{HARD_CLAUSE.pattern}|\sand\s(?=(?-i:[A-Z]))", re.IGNORECASE)

_NEGATED = re.compile(r"\b(?:not|no|never|without|neither|nor)\b|n't\b", re.IGNORECASE)
_NAME_RUN = re.compile(r"\b[A-Z][\w-]*(?:\s[A-Z][\w-]*)*")
_LABEL_DIRECTIONS = frozenset({"out", "off", "up", "down", "before", "after"})
"""Words without content that tell one of two values from the other: "out at 7, back at 9"."""

Span = tuple[int, int]


def split_clauses(text: str, pattern: re.Pattern[str] = _CLAUSE) -> Iterator[Span]:
    """The spans of the clauses of a text that have any words."""
    start = 0
    for match in pattern.finditer(text):
        if text[start : match.start()].strip():
            yield start, match.start()
        start = match.end()
    if text[start:].strip():
        yield start, len(text)


def find_mentions(part: RequiredPart, text: str, reader: ContentReader) -> list[Span]:
    """Where a text states a part: as a value, as spelled, or by its content words."""
    if part.value is not None:
        return [(start, end) for atom, start, end in locate_values(text) if part.is_value(atom)]
    places = [place for one in part.spellings for place in find_places(one, text)]
    places = places or list(part.find_surnames(text))
    if places or part.phrase is None:
        return places
    located = reader.locate_tokens(text)
    mentions: list[Span] = []
    for start, end in split_clauses(text):
        inside = [row for row in located if start <= row[1] < end]
        tokens = {token for token, _, _ in inside}
        if part.phrase.content and part.phrase.content <= tokens:
            own = [row for row in inside if row[0] in part.phrase.content]
            mentions.append((own[0][1], own[-1][2]))
    return mentions


@dataclass(frozen=True, slots=True)
class PartLabels:
    """What the reference says of each part and of no other."""

    labels: tuple[frozenset[str], ...]
    asked: tuple[int, ...] | None
    """The parts in the order in which the question names their labels, if it names all."""

    @classmethod
    def build(
        cls, parts: Sequence[RequiredPart], reference: str, question: str, reader: ContentReader
    ) -> "PartLabels | None":
        """The labels of some parts in a reference; None where one has none."""
        if len(parts) < 2:
            return None
        places = [find_mentions(part, reference, reader) for part in parts]
        if not all(places):
            return None
        segments = cut_segments(reference, [place[0] for place in places])
        located = reader.locate_tokens(reference)
        spans = [span for place in places for span in place]
        tokens: list[set[str]] = [
            {
                token
                for token, start, end in located
                if first <= start < last
                and (token not in STOPWORDS or token in _LABEL_DIRECTIONS)
                and token not in TITLES
                and not any(start < stop and end > begin for begin, stop in spans)
            }
            for first, last in segments
        ]
        labels = tuple(
            frozenset(own).difference(*(rest for rest in tokens if rest is not own))
            for own in tokens
        )
        if not all(labels):
            return None
        # Only like things are asked for in an order: values, or names.
        is_alike = all(part.value for part in parts) or not any(part.phrase for part in parts)
        asked = _order_labels(labels, reader.locate_tokens(question)) if is_alike else None
        return cls(labels, asked)

    def find_swap(
        self, parts: Sequence[RequiredPart], account: AnswerContents, reader: ContentReader
    ) -> str | None:
        """A part that an answer gives to another one's label, in words."""
        has_labels = False
        for sentence in account.sentences:
            marks = self._locate_labels(sentence, reader)
            has_labels = has_labels or bool(marks)
            swap = self.find_swap_in(parts, sentence, reader) if marks else None
            if swap is not None:
                return swap
        if has_labels or self.asked is None:
            return None
        stated = [
            number
            for _, number in sorted(
                (span, number)
                for number, part in enumerate(parts)
                for span in find_mentions(part, account.text, reader)[:1]
            )
        ]
        if sorted(stated) == list(range(len(parts))) and tuple(stated) != self.asked:
            return "the parts in another order than asked"
        return None

    def find_swap_in(
        self, parts: Sequence[RequiredPart], sentence: str, reader: ContentReader
    ) -> str | None:
        """A part that a sentence gives to another one's label, in words."""
        mentions = sorted(
            (span, number)
            for number, part in enumerate(parts)
            for span in find_mentions(part, sentence, reader)
        )
        number = self._find_swapped(sentence, mentions, self._locate_labels(sentence, reader))
        return None if number is None else f"{parts[number].text} in another's place"

    def _locate_labels(self, sentence: str, reader: ContentReader) -> list[tuple[int, int]]:
        """The start of each label in a sentence, and its part; each label's first mention."""
        found: dict[int, int] = {}
        for token, start, _ in reader.locate_tokens(sentence):
            for number, labels in enumerate(self.labels):
                if token in labels:
                    found.setdefault(number, start)
        return sorted((start, number) for number, start in found.items())

    def _find_swapped(
        self,
        sentence: str,
        mentions: list[tuple[Span, int]],
        marks: list[tuple[int, int]],
    ) -> int | None:
        if not mentions or not marks:
            return None
        stated = list(dict.fromkeys(number for _, number in mentions))
        labelled = [number for _, number in marks]
        if len(stated) == len(labelled) > 1:
            first, last = mentions[0][0][0], mentions[-1][0][0]
            if marks[-1][0] < first or last < marks[0][0]:
                return next((a for a, b in zip(stated, labelled, strict=True) if a != b), None)
        for start, end in split_clauses(sentence):
            inside = {number for (at, _), number in mentions if start <= at < end}
            here = {number for at, number in marks if start <= at < end}
            if len(inside) == 1 and here and inside.isdisjoint(here):
                return next(iter(inside))
        return None


def _list_names(reference: str) -> list[str]:
    """The names in a reference, each once."""
    runs = (run.split() for run in _NAME_RUN.findall(reference))
    names = (" ".join(word for word in run if word.lower() not in STOPWORDS) for run in runs)
    return list(dict.fromkeys(filter(None, names)))


@dataclass(frozen=True, slots=True)
class NameLabels:
    """Two names of a reference, and what it says of each of them and not of the other."""

    names: tuple[RequiredPart, ...]
    labels: PartLabels

    @classmethod
    def build(cls, reference: str, question: str, reader: ContentReader) -> "NameLabels | None":
        """The labels of two names; None if there are not two, or one has none in its clause."""
        listed = _list_names(reference)
        if len(listed) != 2:
            return None
        names = tuple(make_required_part(name, (), (), reader) for name in listed)
        found = [find_mentions(name, reference, reader) for name in names]
        if any(len(each) != 1 for each in found):
            return None
        (_, end), (start, _) = sorted(each[0] for each in found)
        if not _CLAUSE.search(reference, end, start):
            return None
        labels = PartLabels.build(names, reference, question, reader)
        return cls(names, replace(labels, asked=None)) if labels else None

    def find_swap(self, account: AnswerContents, reader: ContentReader) -> str | None:
        """A name that an answer gives what the reference says of the other one, in words."""
        swaps = (
            self.labels.find_swap_in(self.names, sentence, reader)
            for sentence in account.sentences
            if not _NEGATED.search(sentence)
        )
        return next((swap for swap in swaps if swap), None)


def cut_segments(text: str, places: list[Span]) -> list[Span]:
    """The text in one piece for each place, cut at the first clause break between two of them."""
    order = sorted(range(len(places)), key=lambda number: places[number])
    cuts = [0]
    for one, other in pairwise(order):
        between = _CLAUSE.search(text, places[one][1], places[other][0])
        cuts.append(between.end() if between else places[other][0])
    cuts.append(len(text))
    found = [(0, 0)] * len(places)
    for rank, number in enumerate(order):
        found[number] = (cuts[rank], cuts[rank + 1])
    return found


def _order_labels(
    labels: tuple[frozenset[str], ...], asked: list[tuple[str, int, int]]
) -> tuple[int, ...] | None:
    starts = [
        min((start for token, start, _ in asked if token in own), default=None) for own in labels
    ]
    if any(start is None for start in starts):
        return None
    return tuple(sorted(range(len(labels)), key=lambda number: starts[number] or 0))


_GIVE = (
    r"(?:tell(?:s|ing)?|told|inform(?:s|ed)?|warn(?:s|ed)?|ask(?:s|ed)?|remind(?:s|ed)?|assure[sd]?"
    r"|promis(?:es|ed)|giv(?:es?|en)|gave|pa(?:ys?|id)|sen(?:ds?|t)|lend(?:s|)|lent|sells?|sold"
    r"|show(?:s|ed|n)|hand(?:s|ed)|teach(?:es)?|taught|advis(?:es|ed)|invit(?:es|ed)|call(?:s|ed)"
    r"|report(?:s|ed)\sto|sa(?:ys|id)\s(?:\w+\s)?to|wr(?:ites|ote)\s(?:\w+\s)?to|promot(?:es|ed)"
    r"|replac(?:es|ed)|succeed(?:s|ed)|beat|help(?:s|ed)|owe[sd]?|order(?:s|ed)|recommend(?:s|ed)"
    r"|t(?:ook|akes?)\sover\sfrom|won\sagainst|defeat(?:s|ed)|outbid|suggest(?:s|ed)\s(?:it|this|that)\sto"
    r"|in\sdebt\sto|indebted\sto|transfer(?:s|red)|blam(?:es|ed)|thank(?:s|ed)|suggest(?:s|ed)\sto|mention(?:s|ed)\sto)"
)
_TAKE = (
    r"(?:(?:hear[sd]?|learn(?:s|ed|t)|got|gets|obtain(?:s|ed)|receiv(?:es|ed)|bought|buys|borrow(?:s|ed)"
    r"|took(?!\sover)|takes(?!\sover)|inherit(?:s|ed)|had|(?:is|are|was|were)\s(?:still\s)?due|(?:is|was)\sowed)\b(?=[^.;,]{0,60}?\bfrom\b)"
    r"|los(?:t|es)\sto|defers?\sto|answers?\sto)"
)
_TRANSFER = re.compile(rf"\b(?:(?P<give>{_GIVE})|(?P<take>{_TAKE}))\b", re.IGNORECASE)
_PASSIVE = re.compile(r"\b(?:was|were|is|are|been|being|got)\s(?:\w+ly\s)?$", re.IGNORECASE)
_BY = re.compile(r"^[^.;]{0,60}?\bby\b", re.IGNORECASE)


def find_roles(text: str, parts: Sequence[RequiredPart], reader: ContentReader) -> Span | None:
    """Which of two parts gives and which receives in a text, by number; None if it is not said."""
    mentions = sorted(
        (span, number)
        for number, part in enumerate(parts)
        for span in find_mentions(part, text, reader)
    )
    for verb in _TRANSFER.finditer(text):
        before = [number for (_, end), number in mentions if end <= verb.start()]
        after = [number for (start, _), number in mentions if start >= verb.end()]
        if not before and len(set(after)) == 2:
            roles_after = _find_roles_after(text, verb, mentions)
            if roles_after is not None:
                return roles_after
        if not before or not after or before[-1] == after[0]:
            continue
        is_passive = _PASSIVE.search(text, 0, verb.start()) and _BY.match(text[verb.end() :])
        giver, receiver = before[-1], after[0]
        if bool(is_passive) is not (verb["take"] is not None):
            return receiver, giver
        return giver, receiver
    return None


_TO = re.compile(r"\bto\s(?:the\s)?$", re.IGNORECASE)
_BY_BEFORE = re.compile(r"\bby\s(?:the\s)?$", re.IGNORECASE)


def _find_roles_after(
    text: str, verb: re.Match[str], mentions: list[tuple[Span, int]]
) -> Span | None:
    """The roles in "it was lent to one by the other"."""
    later = [(start, number) for (start, _), number in mentions if start >= verb.end()]
    giver = next((number for at, number in later if _BY_BEFORE.search(text, 0, at)), None)
    receiver = next((number for at, number in later if _TO.search(text, 0, at)), None)
    if giver is None or receiver is None or giver == receiver:
        return None
    return giver, receiver


def find_actors(reference: str, reader: ContentReader) -> tuple[RequiredPart, ...]:
    """The two persons or bodies that a reference puts into a relation; nothing if it does not."""
    if not _TRANSFER.search(reference):
        return ()
    names = _list_names(reference)
    return (
        tuple(make_required_part(name, (), (), reader) for name in names) if len(names) == 2 else ()
    )


_ASKS_GIVER = re.compile(
    r"\bwho\s(?:(?:first|had|has|also)\s)?(?:said|says|told|tells|ask\w*|suggest\w*|warn\w*|report\w*"
    r"|gave|paid|sent|broke|explain\w*|offer\w*|promis\w*|mention\w*|propos\w*|complain\w*|object\w*|announc\w*|recommend\w*|remind\w*)\b",
    re.IGNORECASE,
)
_NEAR_OBJECT = re.compile(
    r"^\s(?:(?:the|an?|his|her|their|mr|mrs|ms|dr)\.?\s){0,2}$", re.IGNORECASE
)


def is_giver_told(
    question: str, part: RequiredPart, account: AnswerContents, reader: ContentReader
) -> bool:
    """Whether the person that a question asks for as the speaker is only spoken to."""
    if not _ASKS_GIVER.search(question):
        return False
    for sentence in account.sentences:
        spans = find_mentions(part, sentence, reader)
        if len(spans) == 1 and _is_receiver(sentence, spans[0]):
            return True
    return False


_TOLD_AFTER = re.compile(
    rf"^\s(?:was|were|had been|has been|got)\s(?:\w+ly\s)?{_GIVE}\b", re.IGNORECASE
)
_HEARS_AFTER = re.compile(r"^\s(?:received|got|heard|had)\b[^.;]*\bfrom\b", re.IGNORECASE)
_OTHER_SUBJECT = re.compile(
    r"^\W*(?!(?:According|Thanks|Due|Owing|Next)\b)(?:[A-Z][\w'-]*\s)+(?:\w+\s){0,6}?"
    r"(?:to|with|about|at|against)\s(?:the\s)?$",
    re.ASCII,
)


def _is_receiver(sentence: str, span: Span) -> bool:
    """Whether a person in a sentence is the one that something is said or given to."""
    start, end = span
    if _HEARS_AFTER.match(sentence[end:]) or _TOLD_AFTER.match(sentence[end:]):
        return True
    if _OTHER_SUBJECT.match(sentence[:start]):
        return True
    return any(
        verb["give"]
        and verb.end() <= start
        and _NEAR_OBJECT.match(sentence[verb.end() : start])
        and sentence[: verb.start()].strip()
        and not _PASSIVE.search(sentence, 0, verb.start())
        for verb in _TRANSFER.finditer(sentence)
    )


_ASKS_PERSON = re.compile(r"^\W*(?:\w+\s){0,4}?(?:who|whose|whom)\b", re.IGNORECASE)


_TITLE_CASE = re.compile(r"\b[A-Z][a-z]+\b")
ACTOR_WORDS = 2
"""The least words of the question in a clause that answers it."""


def find_other_actor(
    question: str, part: RequiredPart, account: AnswerContents, reader: ContentReader
) -> str | None:
    """Another name in the clause that answers a question for a person, in words."""
    if not _ASKS_PERSON.search(question):
        return None
    asked = reader.read_phrase(question)
    text = account.text
    ranked: list[tuple[int, bool, set[str]]] = []
    own_words = {word for _, word in part.words}
    for start, end in split_clauses(text, _NEW_SUBJECT):
        clause = text[start:end].strip()
        titled = {word.lower() for word in _TITLE_CASE.findall(clause)}
        named = titled.intersection(find_names(remove_denied_names(clause))) - set(asked.row)
        named -= own_words
        shared = len(asked.content - asked.find_missing(reader.read_phrase(clause)))
        ranked.append((shared, bool(find_mentions(part, clause, reader)), named))
    own = [shared for shared, is_stated, _ in ranked if is_stated]
    others = [(shared, named) for shared, is_stated, named in ranked if not is_stated and named]
    if not own or not others or ranked[0][1]:
        return None
    shared, named = max(others, key=lambda other: other[0])
    is_about_it = shared >= ACTOR_WORDS or (shared > 0 and max(own) == 0)
    return f"{min(named)} instead" if shared > max(own) and is_about_it else None


def find_opposite(reference: str, question: str, text: str, reader: ContentReader) -> str | None:
    """A word of a text that is the opposite of one of the reference's, which it does not have."""
    if _NEGATED.search(text) or _NEGATED.search(reference):
        return None
    phrase = reader.read_phrase(reference)
    stated = reader.read_phrase(text)
    asked = reader.read_phrase(question).tokens
    news = stated.tokens - asked
    lexicon = load_lexicon()
    for word in sorted(phrase.tokens - asked):
        if word.startswith("=") or (word in STOPWORDS and word not in _DIRECTIONS):
            continue
        opposites = lexicon.find_opposites(word) & news
        if not opposites or word in stated.tokens:
            continue
        if not lexicon.find_alike(word).isdisjoint(stated.tokens):
            continue
        found = {
            opposite
            for opposite in opposites
            if (opposite not in STOPWORDS or opposite in _DIRECTIONS)
            and lexicon.find_alike(opposite).isdisjoint(phrase.tokens)
        }
        if found:
            return f"{min(found)} for {word}"
    return None


_DIRECTIONS = frozenset({"up", "down", "more", "before", "after", "over", "under", "most", "least"})
_EARLIER = frozenset({"before", "earlier", "prior", "previous"})
_LATER = frozenset({"after", "later", "follow", "afterward", "subsequ"})


def find_opposite_time(
    question: str, parts: Sequence[RequiredPart], account: AnswerContents, reader: ContentReader
) -> str | None:
    """A clause with a part that reverses the question's before or after, in words."""
    asked = reader.read_phrase(question).tokens
    sides = [side for side in (_EARLIER, _LATER) if not side.isdisjoint(asked)]
    if len(sides) != 1:
        return None
    opposite = _LATER if sides[0] is _EARLIER else _EARLIER
    text = account.text
    for start, end in split_clauses(text):
        clause = text[start:end]
        tokens = reader.read_phrase(clause).tokens
        if not tokens.isdisjoint(opposite) and tokens.isdisjoint(sides[0]):
            held = [part for part in parts if find_mentions(part, clause, reader)]
            if held and re.search(rf"{_TIME_END}\W*$", clause.strip(), re.IGNORECASE):
                return f"{held[0].text} on the other side"
    return None


_TIME_END = r"\b(?:before|earlier|after|later|afterwards)(?: (?:it|that|this|then))?"
_RANGE = re.compile(r"\bfrom\b(?P<first>.{1,40}?)\b(?:to|until|till)\b", re.IGNORECASE)


def is_range_reversed(
    parts: Sequence[RequiredPart], reference: str, text: str, reader: ContentReader
) -> bool:
    """Whether a text goes from one part to another, and the reference the other way."""
    wanted = _order_range(parts, reference, reader)
    return wanted is not None and _order_range(parts, text, reader) == wanted[::-1]


def _order_range(parts: Sequence[RequiredPart], text: str, reader: ContentReader) -> Span | None:
    match = _RANGE.search(text)
    if match is None:
        return None
    first = [n for n, part in enumerate(parts) if find_mentions(part, match["first"], reader)]
    rest = text[match.end() : match.end() + 30]
    last = [n for n, part in enumerate(parts) if find_mentions(part, rest, reader)]
    return (first[0], last[0]) if first and last and first[0] != last[0] else None


_CHOICE = re.compile(
    r"\b(?:before|after|earlier|later|sooner)\sor\s(?:before|after|earlier|later)(?:\sthan)?\b",
    re.IGNORECASE,
)
_PRONOUN_OPENS = re.compile(r"^\W*(?:it|they|he|she|that)\b", re.IGNORECASE)
_TIME_WORD = re.compile(
    r"\b(?P<before>before|prior to|ahead of|earlier than|preced\w+)\b"
    r"|\b(?P<after>after(?!wards?\b)|following|later than|since)\b"
    r"|\b(?P<then>afterwards?|later|then|subsequently|last)\b"
    r"|\b(?P<already>already|earlier|beforehand|first)\b",
    re.IGNORECASE,
)


_HAPPENING = frozenset("come happen occur take place start begin go get".split())
"""Stems of verbs that say nothing about which of two events is meant."""


def read_time_relation(question: str, text: str, reader: ContentReader) -> str | None:
    """Whether a text puts the first event of "X before or after Y" before or after the second."""
    choice = _CHOICE.search(question)
    if choice is None:
        return None
    subject = reader.read_phrase(question[: choice.start()]).content - _HAPPENING
    anchor = reader.read_phrase(question[choice.end() :]).content
    word = _TIME_WORD.search(text)
    if word is None:
        return None
    left, right = (reader.read_phrase(part) for part in (text[: word.start()], text[word.end() :]))
    reached = [
        _count_found(whole, side)
        for side in (left, right)
        for whole in (subject - anchor, anchor - subject)
    ]
    left_subject, left_anchor, right_subject, _ = reached
    if word["then"] or word["already"]:
        is_subject_late = left_subject > 0 or not left.row or bool(_PRONOUN_OPENS.match(text))
        return "after" if is_subject_late is (word["then"] is not None) else "before"
    relation = "before" if word["before"] else "after"
    if left_anchor and right_subject and not left_subject:
        relation = "after" if relation == "before" else "before"
    return relation


def _count_found(words: frozenset[str], target: Phrase) -> int:
    whole = Phrase((), frozenset(), words, frozenset())
    return len(words) - len(whole.find_missing(target))
