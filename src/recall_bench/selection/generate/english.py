"""As much English grammar as it takes to say a memory's words in a sentence of one's own.

Whatever is not plainly of a known form is not understood, and can still be quoted.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

DETERMINERS = frozenset("a an the my our your this that these those every each all both no".split())

UNCLEAR = frozenset(
    """
    another any anybody anyone anything both each either everybody everyone everything he her here
    his i it its more most neither nobody none nothing one others she some somebody someone
    something such that their there these they this those we whatever whoever you your
    """.split()
)
"""What a sentence begins with that means nobody out of its place."""
JOINING = frozenset(
    """
    about above after although as at because before below between by during for from how if in
    into near of on once over per since so than that though through to under unless until via what
    when where wherever whether which while who whose why with within without
    """.split()
)
_WITHIN = frozenset("about at between by for from in near of on to with".split())
"""What may stand within a subject: *the garage by the station*."""
_BE = {"is": "am", "are": "am", "was": "was", "were": "was", "has": "have", "does": "do"}
_MODAL = frozenset("can cannot could had may might must should will would".split())
_ADVERB = frozenset(
    """
    almost already also always currently generally never now often only really still usually
    """.split()
)
_VERBS = frozenset(
    """
    agreed asked asks became began believes belongs bought came carries chose closes comes contains
    costs covers decided drinks drives eats ends enjoys expects failed feels finds gave gets gives
    goes handles happened hates helps holds hopes includes involves keeps knows left lies likes
    lives loses loves made marries means meets moved moves needs opens owns pays planned plans
    plays prefers promised provides reads recommends refuses remains reports requires runs said
    says sees sells sends serves sits sleeps speaks spends stands started starts stays stopped
    stores studies suggests supports takes teaches tends thinks told took travels tries uses visits
    wanted wants wears went works writes
    """.split()
)
_FINITE = _VERBS | _BE.keys() | _MODAL | {"have", "do", "am"}
_PLURAL = frozenset("are were have do".split())
_LONGEST_SUBJECT = 6
_SECOND_VERB = re.compile(rf",? (?:and|but|or)(?: (?:{'|'.join(sorted(_ADVERB))}))* [a-z]+s\b.*")

_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}(?!\w)|~~")
_USER = re.compile(r"(?:the )?user\b", re.IGNORECASE)
_USERS = re.compile(r"\b(?:the )?user['’]s\b", re.IGNORECASE)
_THEIRS = (
    (_USERS, "my"),
    (re.compile(r"\btheir\b"), "my"),
    (re.compile(r"\bthemselves\b"), "myself"),
    (re.compile(r"\btheirs\b"), "mine"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnglishClaim:
    """A statement that can stand after `that`."""

    text: str
    subject: str | None
    """Whom or what it is about, as it stands within a sentence; None where that is the user."""


def strip_markup(text: str) -> str:
    """The text without marks of markdown, on one line, with nothing at its end but words."""
    bare = _MARKS.sub("", _LINK.sub(r"\1", text))
    return " ".join(bare.split()).strip(" .!?;:,-–—…|>#")


class WordCasing:
    """Which words are names, as far as some texts show."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._names: dict[str, str] = {}
        small: set[str] = set()
        for text in texts:
            small.update(re.findall(r"(?<![\w-])[a-z]+\b", text))
            for name in re.findall(r"(?<=[\w,] )[A-Z][^\W\d_]*\b", text):
                self._names.setdefault(name.lower(), name)
        self._common = frozenset(small) | DETERMINERS | JOINING

    def adjust_case(self, text: str, *, is_name: bool = True) -> str:
        """The text as it stands within a sentence: a name keeps its capital.

        `is_name` says what a word is taken for that is seen nowhere else.
        """
        first = text.split(" ", 1)[0]
        small = first.lower()
        word = re.sub(r"['’]s$", "", small)
        if not first[:1].isupper() or first[1:] != small[1:] or first == "I":
            return text
        if word in self._common or (word not in self._names and not is_name and word == small):
            return small + text[len(first) :]
        return text

    def capitalise_names(self, text: str) -> str:
        """The text with a capital for every word that is only seen as a name."""
        return re.sub(r"(?<![\w-])[a-z]+\b", lambda word: self._capitalise(word[0]), text)

    def is_known(self, word: str) -> bool:
        """Whether the word is seen as a name, and never in small letters."""
        return word[:1].isupper() and self._capitalise(word.lower()) == word

    def _capitalise(self, word: str) -> str:
        return word if word in self._common else self._names.get(word, word)


def convert_to_first_person(text: str) -> str | None:
    """What is said of the user, as the user would say it; None if the user remains in it."""
    for pattern, mine in _THEIRS:
        text = pattern.sub(mine, text)
    return None if _USER.search(text) else text


def parse_claim(sentence: str, casing: WordCasing) -> EnglishClaim | None:
    """The sentence as a claim; None if it is an order, a fragment or not understood."""
    sentence = _USERS.sub("my", sentence, count=1) if _USERS.match(sentence) else sentence
    if told := _USER.match(sentence):
        return _parse_own_claim(sentence[told.end() :].strip())
    words = sentence.split()
    if not words or words[0].lower() in UNCLEAR | JOINING:
        return None
    for place, word in enumerate(words[: _LONGEST_SUBJECT + 1]):
        if (
            _is_verb(word, words[:place], casing)
            and place
            and not _is_only_determiners(words[:place])
        ):
            subject = words[: place - 1] if words[place - 1] in _ADVERB else words[:place]
            if not _is_subject(subject) or place + 1 == len(words):
                return None
            # What are several is no name: `Lessons are on Wednesday`.
            is_name = not (word in _PLURAL and subject[0].endswith("s"))
            return EnglishClaim(
                text=casing.adjust_case(sentence, is_name=is_name),
                subject=casing.adjust_case(" ".join(subject), is_name=is_name),
            )
    return None


def _parse_own_claim(rest: str) -> EnglishClaim | None:
    """What follows `the user`, said by the user."""
    words = rest.split()
    place = next((n for n, word in enumerate(words) if word not in _ADVERB), len(words))
    if place + 1 >= len(words):
        return None
    verb = _convert_verb(words[place])
    # What may be another verb would have to be said of me too, and may be no verb.
    mine = convert_to_first_person(_SECOND_VERB.sub("", " ".join(words[place + 1 :])))
    if verb is None or mine is None:
        return None
    return EnglishClaim(text=" ".join(["I", *words[:place], verb, mine]), subject=None)


def _convert_verb(verb: str) -> str | None:
    if verb in _BE:
        return _BE[verb]
    if verb in _MODAL or verb.endswith("ed"):
        return verb
    if re.fullmatch(r"[a-z]+ies", verb):
        return verb[:-3] + "y"
    if re.fullmatch(r"[a-z]+(?:ss|sh|ch|x|zz|o)es", verb):
        return verb[:-2]
    if re.fullmatch(r"[a-z]{2,}[^s']s", verb):
        return verb[:-1]
    return verb if verb in _VERBS else None


def _is_verb(word: str, before: list[str], casing: WordCasing) -> bool:
    """Whether it is one we know, or what somebody known by name did: `Ada signed`."""
    did = word.endswith("ed") and bool(before) and all(map(casing.is_known, before))
    return word in _FINITE or did


def _is_only_determiners(subject: list[str]) -> bool:
    return all(word.lower() in DETERMINERS for word in subject)


def _is_subject(words: list[str]) -> bool:
    if not words or any(word.endswith((",", ";", ":")) for word in words):
        return False
    if any(word.lower() in JOINING - _WITHIN for word in words):
        return False
    # `Drain the queue …` is an order: no name stands before an article.
    is_order = len(words) > 1 and words[0].lower() not in DETERMINERS
    return not (is_order and words[1].lower() in DETERMINERS)
