"""Who does what a question for a person asks about, in an answer: that person, or another one."""

import re
from collections.abc import Iterator
from functools import lru_cache

from recall_bench.judging.offline.contents import ContentReader
from recall_bench.judging.offline.lexicon import load_lexicon
from recall_bench.judging.offline.relations import Span, find_mentions
from recall_bench.judging.offline.required_part import TITLES, RequiredPart
from recall_bench.text.text import STOPWORDS, load_stemmer

_ASKED_VERB = re.compile(
    r"^\W*(?:(?:and|but|so|then)\s)?who\s(?:(?:first|also|had|has|have|was|is|would|will|did|really|later)\s)*(?P<verb>[a-z]+)",
    re.IGNORECASE,
)
_ASKED_NOUN = re.compile(r"^\W*whose\s(?P<noun>[a-z]+)", re.IGNORECASE)
_COUNTER_VERBS = (
    ("ask", "answer repli respond"),
    ("tell say announc mention report break explain inform warn", "hear learn read"),
    (
        "suggest propos recommend offer want advis request",
        "oppos reject refus declin resist object accept receiv",
    ),
    ("object oppos", "support propos suggest welcom back"),
    ("give send pay hand lend sell bring", "receiv get borrow buy"),
    ("find spot notic catch discov", "miss overlook"),
)
"""What the other side of an exchange does; stems."""
_NAME = re.compile(r"\b[A-Z][a-z]+(?:[ -][A-Z][a-z]+)*\b")
_BREAK = re.compile(
    r"[;:.!?](?=\s|$)|\n|,\s|\s(?:and|but|while|whereas|when|after|because|since)\s"
)
_PASSIVE = re.compile(r"\b(?:was|were|been|being|got)\s(?:\w+\s)?$", re.IGNORECASE)
_BY = re.compile(r"^[^.;]{0,40}?\bby\s(?:the\s)?", re.IGNORECASE)
_OWN = re.compile(
    r"\b(?:it|that|this|[Tt]he \w+)\s(?:was|is)\s(?P<name>[A-Z][a-z]+(?:\s[A-Z][a-z]+)*)'s?\W*$"
)


_NOUN = re.compile(r"(?:ions?|als?|ments?|ers?)$", re.IGNORECASE)
_OWNER = re.compile(r"(?P<name>[A-Z][a-z]+(?:\s[A-Z][a-z]+)*)'s?\s(?:\w+\s)?$")


@lru_cache(maxsize=2048)
def find_asked_verbs(question: str) -> tuple[frozenset[str], frozenset[str]]:
    """The stems of what is asked about, and of what the other side does; empty if no one is."""
    owned = _ASKED_NOUN.match(question)
    if owned is not None:
        return frozenset({_reduce(owned["noun"])}), frozenset()
    match = _ASKED_VERB.search(question)
    if match is None or match["verb"].lower() in STOPWORDS:
        return frozenset(), frozenset()
    stem = _reduce(match["verb"])
    counter: set[str] = set()
    for asked, others in _COUNTER_VERBS:
        if stem in asked.split():
            counter.update(others.split())
    asked_verbs = {stem, *load_lexicon().find_same(stem)} - counter
    return frozenset(asked_verbs), frozenset(counter)


def _reduce(word: str) -> str:
    stem: str = load_stemmer().stemWord(word.lower())
    return load_lexicon().forms.get(word.lower(), load_lexicon().forms.get(stem, stem))


def _is_common(word: str) -> bool:
    """Whether it is a word of the language, which a capital at the start makes no name."""
    return (
        _reduce(word) in load_lexicon() or load_stemmer().stemWord(word.lower()) in load_lexicon()
    )


def find_other_speaker(
    question: str, part: RequiredPart, text: str, reader: ContentReader
) -> str | None:
    """Another person who does what is asked about, in words; None if the right one does it too."""
    asked, counter = find_asked_verbs(question)
    if not asked:
        return None
    is_noun = _ASKED_NOUN.match(question) is not None
    others: list[str] = []
    for start, end in _split(text):
        clause = text[start:end]
        spans = find_mentions(part, clause, reader)
        owner = _OWN.search(clause)
        if owner is not None:
            if any(first <= owner.start("name") < last for first, last in spans):
                return None
            others.append(owner["name"])
        for word, first, last in reader.locate_tokens(clause):
            # The reader writes "promized", as it does "realized".
            stem = word if "iz" not in word else word.replace("iz", "is")
            if stem not in asked and stem not in counter:
                continue
            subject = _find_subject(clause, (first, last), is_noun=is_noun)
            if subject is None:
                if stem in asked and _is_done_to(clause, (first, last), spans):
                    return f"{part.text} as the one it is done to"
                continue
            is_part = any(begin < subject[1] and subject[0] < stop for begin, stop in spans)
            if is_part and stem in asked:
                return None
            if is_part is (stem in counter):
                others.append(clause[slice(*subject)])
    return f"{others[0]} instead" if others else None


def _split(text: str) -> Iterator[Span]:
    start = 0
    for match in _BREAK.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _find_subject(clause: str, verb: Span, *, is_noun: bool) -> Span | None:
    """The name of the one who does it: before the verb, or after "by"; the owner of a noun."""
    if is_noun or _NOUN.search(clause, verb[0], verb[1]):
        owner = _OWNER.search(clause, 0, verb[0])
        return owner.span("name") if owner else None
    if _PASSIVE.search(clause, 0, verb[0]):
        agent = _BY.match(clause[verb[1] :])
        if agent is None:
            return None
        name = _NAME.match(clause, verb[1] + agent.end())
        return name.span() if name else None
    names = [
        match.span()
        for match in _NAME.finditer(clause, 0, verb[0])
        if match[0].lower() not in STOPWORDS
        and match[0].lower() not in TITLES
        and (clause[: match.start()].strip() or " " in match[0] or not _is_common(match[0]))
    ]
    return names[-1] if names else None


_ADDRESSED = re.compile(r"(?:^|\s)(?:we|I|you)\s(?:(?:had|have|also|then)\s)?$", re.IGNORECASE)


def _is_done_to(clause: str, verb: Span, spans: list[Span]) -> bool:
    """Whether "we" or "you" do it, and the person is named after that."""
    is_ours = _ADDRESSED.search(clause, 0, verb[0]) is not None
    return is_ours and any(
        start >= verb[1] and not _FROM.search(clause, 0, start) for start, _ in spans
    )


_FROM = re.compile(r"\b(?:from|by|since|because|that)\s(?:the\s)?$", re.IGNORECASE)


_OBJECT = re.compile(
    r"\b(?:did|do|does|should|must|can|may|will|would)\s(?:I|you|we|he|she|they|[A-Z][\w'-]+)\s"
    r"(?P<verb>[a-z]+)\s(?P<object>[A-Z][\w-]+)"
)


def is_object_exchanged(
    question: str, part: RequiredPart, text: str, reader: ContentReader
) -> bool:
    """Whether an answer does to the right one what the question says was done to another.

    "Whom did I tell Ida to ask?" is not answered by "You told Ben to ask Ida".
    """
    match = _OBJECT.search(question)
    if match is None:
        return False
    verb, given = _reduce(match["verb"]), match["object"]
    if part.value is not None or given.lower() in part.text.lower():
        return False
    spans = find_mentions(part, text, reader)
    for stem, _, last in reader.locate_tokens(text):
        if stem != verb or text.startswith(f" {given}", last):
            continue
        if any(start == last + 1 for start, _ in spans) and given in text:
            return True
    return False
