"""Topics of a memory, in forms that fit into a user's sentence, and the English grammar for it.

Topics come from the memory's hint, keywords and first sentences, never from its file name; topics
that give the file name away are dropped. Text that is not clearly of a known form is only quoted.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import PurePosixPath

from recall_bench.core.scenario import Episode, compute_story_date
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.text.sentences import read_sentences

DETERMINERS = frozenset("a an the my our your this that these those every each all both no".split())

UNCLEAR = frozenset(
    """
    another any anybody anyone anything both each either everybody everyone everything he her here
    his i it its more most neither nobody none nothing one others she some somebody someone
    something such that their there these they this those we whatever whoever you your
    """.split()
)
"""First words of a sentence that is unclear out of context."""
JOINING = frozenset(
    """
    about above after although as at because before below between by during for from how if in
    into near of on once over per since so than that though through to under unless until via what
    when where wherever whether which while who whose why with within without
    """.split()
)
_WITHIN = frozenset("about at between by for from in near of on to with".split())
"""Words allowed within a subject: *the garage by the station*."""
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
    """A statement that can follow `that`."""

    text: str
    subject: str | None
    """Its subject as within a sentence; None if it is the user."""


def strip_markup(text: str) -> str:
    """The text without Markdown, on one line, without final punctuation."""
    bare = _MARKS.sub("", _LINK.sub(r"\1", text))
    return " ".join(bare.split()).strip(" .!?;:,-–—…|>#")


class WordCasing:
    """Which words are names, learned from texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._names: dict[str, str] = {}
        small: set[str] = set()
        for text in texts:
            small.update(re.findall(r"(?<![\w-])[a-z]+\b", text))
            for name in re.findall(r"(?<=[\w,] )[A-Z][^\W\d_]*\b", text):
                self._names.setdefault(name.lower(), name)
        self._common = frozenset(small) | DETERMINERS | JOINING

    def adjust_case(self, text: str, *, is_name: bool = True) -> str:
        """The text as within a sentence: a name keeps its capital.

        `is_name` decides for words that occur nowhere else.
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
        """Capitalise every word that occurs only as a name."""
        return re.sub(r"(?<![\w-])[a-z]+\b", lambda word: self._capitalise(word[0]), text)

    def is_known(self, word: str) -> bool:
        """Whether the word occurs as a name and never in lower case."""
        return word[:1].isupper() and self._capitalise(word.lower()) == word

    def _capitalise(self, word: str) -> str:
        return word if word in self._common else self._names.get(word, word)


def convert_to_first_person(text: str) -> str | None:
    """A text about the user in the first person; None if "user" remains in it."""
    for pattern, mine in _THEIRS:
        text = pattern.sub(mine, text)
    return None if _USER.search(text) else text


def parse_claim(sentence: str, casing: WordCasing) -> EnglishClaim | None:
    """The sentence as a claim; None if it is an imperative, a fragment or not understood."""
    sentence = _USERS.sub("my", sentence, count=1) if _USERS.match(sentence) else sentence
    if match := _USER.match(sentence):
        return _parse_own_claim(sentence[match.end() :].strip())
    words = sentence.split()
    if not words or words[0].lower() in UNCLEAR | JOINING:
        return None
    for place, word in enumerate(words[: _LONGEST_SUBJECT + 1]):
        if (
            _is_verb(word, words[:place], casing)
            and place
            and not all(word.lower() in DETERMINERS for word in words[:place])
        ):
            subject = words[: place - 1] if words[place - 1] in _ADVERB else words[:place]
            if not _is_subject(subject) or place + 1 == len(words):
                return None
            # A plural is no name: `Lessons are on Wednesday`.
            is_name = not (word in _PLURAL and subject[0].endswith("s"))
            return EnglishClaim(
                text=casing.adjust_case(sentence, is_name=is_name),
                subject=casing.adjust_case(" ".join(subject), is_name=is_name),
            )
    return None


def _parse_own_claim(rest: str) -> EnglishClaim | None:
    """What follows `the user`, in the first person."""
    words = rest.split()
    place = next((n for n, word in enumerate(words) if word not in _ADVERB), len(words))
    if place + 1 >= len(words):
        return None
    verb = _convert_verb(words[place])
    # A second verb would have to be converted too, and may be no verb at all.
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
    """Whether it is a known verb, or a past tense after a known name: `Ada signed`."""
    did = word.endswith("ed") and bool(before) and all(map(casing.is_known, before))
    return word in _FINITE or did


def _is_subject(words: list[str]) -> bool:
    if not words or any(word.endswith((",", ";", ":")) for word in words):
        return False
    if any(word.lower() in JOINING - _WITHIN for word in words):
        return False
    # `Drain the queue …` is an imperative: no name precedes an article.
    is_order = len(words) > 1 and words[0].lower() not in DETERMINERS
    return not (is_order and words[1].lower() in DETERMINERS)


class TopicKind(StrEnum):
    """The form of a topic in a sentence."""

    THING = "thing"
    """A noun with its article, or a name: *the night train to Lisbon*."""
    DOING = "doing"
    """*booking a flight*."""
    WISH = "wish"
    """What comes after *I want to*: *book a flight*."""
    CASE = "case"
    """*before a release goes out*."""
    CLAIM = "claim"
    """What comes after *that*: *the rent is due on the third*."""
    MINE = "mine"
    """The same, of the user: *I prefer aisle seats*."""
    QUOTE = "quote"
    """Anything, verbatim."""


@dataclass(frozen=True, slots=True)
class MemoryTopic:
    """One topic of a memory."""

    kind: TopicKind
    text: str


SENTENCES = 4
"""Sentences of a memory that are read for statements."""
_LONGEST_CLAIM, _LONGEST_QUOTE, _LONGEST_HINT = 20, 16, 16
_FEWEST = 3
"""Fewest words of a quote."""
_AT = compute_story_date(date(2000, 1, 1), 1)
"""An episode needs a date, a memory has none."""

_PREAMBLE = re.compile(
    r"(?:always |only )?"
    r"(?:recall|remember|read|load|use|apply|consult|check|include|relevant|useful|needed)"
    r"(?: (?:this|it|the)(?: (?:memory|file|note))?)?,? "
    r"(?=(?:when|whenever|if|while|before|after|once|for|about|on|regarding|concerning|during)\b)",
    re.IGNORECASE,
)
_NO_VERB = (
    r"(?!(?:any|every|no|some)?thing\b"
    r"|(?:ceiling|during|evening|herring|king|morning|ring|sibling|spring|string|wedding|wing)\b)"
)
_WHO = r"(?:the user|user|they|someone|somebody|anyone|i|we)"
_WHEN = r"(?:when|whenever|if|while|before|after|once)"
_SPOKEN = re.compile(
    rf"{_WHEN} (?:it is|it comes to|{_WHO} (?:is |are )?"
    r"(?:ask(?:s|ing)?|mention(?:s|ing)?|talk(?:s|ing)?|speak(?:s|ing)?|discuss(?:es|ing)?|"
    r"bring(?:s|ing)? up|wonder(?:s|ing)?))"
    r"(?: for help with| for help on| about| of| for| on)? (.+)",
    re.IGNORECASE,
)
_WANTED = re.compile(
    rf"{_WHEN} {_WHO} (?:wants?|needs?|plans?|tries|is trying|is planning|decides?|has) to (.+)",
    re.IGNORECASE,
)
_DONE = re.compile(rf"{_WHEN} (?:{_WHO} (?:is|are) )?({_NO_VERB}[a-z]+ing\b.*)", re.IGNORECASE)
_CASE = re.compile(r"(?:when|whenever|if|before|after|once) .+", re.IGNORECASE)
_ABOUT = re.compile(r"(?:about|for|on|regarding|concerning|during) (.+)", re.IGNORECASE)
_GERUND = re.compile(rf"{_NO_VERB}[a-z]+ing\b")
_CUT = re.compile(r"\s*(?:[,;:(]|\s[-–—]\s).*")
_PATH = re.compile(r"memory/|\.md\b")


def extract_topics(memory: MemoryFile, casing: WordCasing) -> tuple[MemoryTopic, ...]:
    """All topics, each once, without those that give the file name away.

    A file name of one word that the memory itself uses is allowed if there is nothing else.
    """
    topics = tuple(dict.fromkeys(_iterate_topics(memory, casing)))
    topics = tuple(topic for topic in topics if not _PATH.search(topic.text))
    stem = _split_words(PurePosixPath(memory.name).stem)
    discreet = tuple(
        topic for topic in topics if not _contains_words(_split_words(topic.text), stem)
    )
    return discreet or (topics if len(stem) == 1 else ())


def learn_casing(memories: Iterable[MemoryFile]) -> WordCasing:
    """The casing in the memories' prose; keywords are always lower case."""
    return WordCasing(f"{memory.hint or ''}\n{memory.body}" for memory in memories)


def _iterate_topics(memory: MemoryFile, casing: WordCasing) -> Iterator[MemoryTopic]:
    for line in (memory.hint or "").splitlines():
        hinted = _parse_hint(strip_markup(line), casing)
        if hinted is not None:
            yield hinted
    yield from _pair_keywords(memory.keywords, casing)
    for sentence in _select_sentences(memory.body):
        yield from _parse_statement(sentence, casing)


def _parse_hint(hint: str, casing: WordCasing) -> MemoryTopic | None:
    """The hint as a topic; None if it is not understood."""
    is_users = re.search(r"\b(?:user|they)\b", hint, re.IGNORECASE) is not None
    results = _match_hint(re.split(r"[:;]| [-–—] ", _PREAMBLE.sub("", hint, count=1))[0])
    text: str | None = casing.adjust_case(strip_markup(results.text), is_name=False)
    if text and is_users:
        text = convert_to_first_person(text)
    if text and len(text.split()) > _LONGEST_HINT:
        text = strip_markup(re.split(r"\s*[,(]|\s+(?:or|and)\s", text, maxsplit=1)[0])
    least = _FEWEST if results.kind is TopicKind.CASE else 1
    return (
        MemoryTopic(results.kind, text)
        if text and least <= len(text.split()) <= _LONGEST_HINT
        else None
    )


def _match_hint(hint: str) -> MemoryTopic:
    if results := _WANTED.fullmatch(hint):
        return MemoryTopic(TopicKind.WISH, results[1])
    if results := _SPOKEN.fullmatch(hint) or _DONE.fullmatch(hint) or _ABOUT.fullmatch(hint):
        if wish := re.fullmatch(r"(?:how )?to (.+)", results[1]):
            return MemoryTopic(TopicKind.WISH, wish[1])
        return MemoryTopic(
            TopicKind.DOING if _GERUND.match(results[1]) else TopicKind.THING, results[1]
        )
    return MemoryTopic(TopicKind.CASE if _CASE.fullmatch(hint) else TopicKind.THING, hint)


def _pair_keywords(keywords: tuple[str, ...], casing: WordCasing) -> Iterator[MemoryTopic]:
    """The keywords in pairs; a single one only if there is no other."""
    words = [
        casing.capitalise_names(strip_markup(word))
        for word in keywords
        if re.search(r"[^\W\d_]", word)
    ]
    for one, two in zip(words[0::2], words[1::2], strict=False):
        yield MemoryTopic(TopicKind.THING, f"{one} and {two}")
    if len(words) == 1:
        yield MemoryTopic(TopicKind.THING, words[0])


def _select_sentences(body: str) -> list[str]:
    """The first sentences without headings and tables; unclear ones only if there are no others."""
    if not body.strip():
        return []
    sentences = read_sentences(Episode(id="memory", day=1, at=_AT, text=body))
    texts = [strip_markup(sentence.text) for sentence in sentences]
    prose = [text for text in texts if "|" not in text]
    telling = [text for text in prose if len(re.findall(r"[^\W\d_]+", text)) >= _FEWEST]
    clear = [text for text in telling if text.split()[0].lower() not in UNCLEAR]
    return (clear or telling)[:SENTENCES]


def _parse_statement(sentence: str, casing: WordCasing) -> Iterator[MemoryTopic]:
    is_whole = sentence.split(maxsplit=1)[0].lower() not in JOINING
    clause = _CUT.sub("", sentence) if is_whole else sentence
    parts = (clause, sentence) if len(clause.split()) > _FEWEST else (sentence,)
    for part in parts:
        claim = parse_claim(part, casing) if len(part.split()) <= _LONGEST_CLAIM else None
        if claim is not None:
            yield MemoryTopic(
                TopicKind.MINE if claim.subject is None else TopicKind.CLAIM, claim.text
            )
            if claim.subject is not None:
                yield MemoryTopic(TopicKind.THING, claim.subject)
            return
    quote = next((part for part in reversed(parts) if len(part.split()) <= _LONGEST_QUOTE), None)
    quote = quote or " ".join(sentence.split()[: _LONGEST_QUOTE - 4]) + " …"
    yield MemoryTopic(TopicKind.QUOTE, re.sub('["“”]', "'", quote))


def _split_words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _contains_words(words: list[str], sought: list[str]) -> bool:
    """Whether the words contain the sought ones in a row."""
    length = len(sought)
    return bool(sought) and any(
        words[place : place + length] == sought for place in range(len(words) - length + 1)
    )
