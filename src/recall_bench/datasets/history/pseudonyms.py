"""Replaces people's names, addresses, numbers and handles, each by the same invention everywhere.

An invention depends on a secret and on the original alone. Words of a name are replaced one by one:
so "Ana Ruiz", "Ana", "Ruiz, A." and "Ana's" stay consistent, and two people called Ana still share
a first name. The words come from the participants; a name that only the text mentions is not known,
so frequent pairs of capitalised words are counted as candidates for the user to look at.
"""

import hmac
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

from recall_bench.core.record import Record
from recall_bench.datasets.history.history_message import Participant

_CONSONANTS = "bdfghjklmnprstvwz"
_VOWELS = "aeiou"
_ENDS = ("", "", "n", "r", "s", "l", "m")
_NAME_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NO_NAMES = frozenset(
    "user unknown sender someone chatgpt claude assistant and und et the der die das le la les el "
    "von van de del di da den dos du zu bin ibn al dr mr mrs ms prof herr frau team support info "
    "sales service office news newsletter mail email group work home mum mom dad mama papa "
    "customer kunden gmbh ltd inc llc company bot via".split()
)
"""Words in the names of participants that are no names."""
_DATES = frozenset(
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday".split()
)
_WORDS = frozenset(
    "will mark rose grace hope joy faith bill frank art dawn rich sunny jack pat rob sue drew "
    "guy gene iris ivy jade lily olive pearl ruby summer autumn violet young king rice stone baker "
    "cook hunter fisher carter mason page park parks price reed rivers sharp short small smart "
    "snow swift walker ward waters webb west wise wood woods day best black brown gray green "
    "bell bishop bush church cross field fields ford fox hall hill house lake lane law long love "
    "major may miles noble north poole power root rush sage star storm sun ray max "
    "christian angel".split()
)
"""Names that are also common words: replaced beside another name, or inside a sentence."""
_AUTOMATIC = re.compile(
    r"(?:no-?reply|do-?not-?reply|notifications?|mailer-daemon|newsletter)", re.IGNORECASE
)
_FEWEST_DIGITS, _MOST_DIGITS = 8, 15
_DATE_SHAPE = r"(?!\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}(?!\d))"
_PHONE = (
    rf"(?<![\w.,:/-])(?:\+\d|{_DATE_SHAPE}(?:00[1-9]|\(0?\d|0[1-9]))"
    r"[\d ()/-]{5,18}\d(?!\w|[.,/:-]\d)"
    r"|(?<![\w.,/-])\d{3}-\d{3,4}-\d{4}(?!\w|-\d)"
)
_PHONE_SHAPE = re.compile(_PHONE)
_WORD = r"\w+(?:['’-]\w+)*"
_TEXT_WORD = re.compile(_WORD)
_TEXT = re.compile(
    r"(?P<url>\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s<>\"'()\[\]]+)"
    r"|(?P<address>[\w.+%-]+@[\w-]+(?:\.[\w-]+)+)"
    rf"|(?P<phone>{_PHONE})"
    r"|(?P<handle>(?<!\w)@\w[\w.-]*\w)"
    rf"|(?P<word>{_WORD})"
)
_URL = re.compile(
    r"(?P<scheme>[^:]+://)(?:(?P<login>[^/@\s]+)@)?(?P<host>[^/?#:]+)(?P<rest>.*)", re.DOTALL
)
_USER_PATH = re.compile(
    r"(?<=/)(?P<mark>@|~|in/|u/|user/|users/|people/|profile/|~?)(?P<name>[\w.%-]+)"
)
_SOCIAL = re.compile(
    r"(?:^|\.)(?:github|gitlab|twitter|x|instagram|facebook|linkedin|tiktok|medium|youtube|reddit|t|"
    r"mastodon|threads|keybase|bitbucket)\.(?:com|org|net|social|io|me)$",
    re.IGNORECASE,
)
_CANDIDATE = re.compile(r"(?<![.!?:]\s)(?<!\w)([A-ZÀ-Þ][a-zà-ÿ]{2,})\s([A-ZÀ-Þ][a-zà-ÿ]{2,})(?!\w)")
_MOST_CANDIDATES = 20_000
_MOST_PLAIN = 200_000
_SENTENCE_END = ".!?:;\n*>-•"


class PseudonymMap(Record, frozen=True, kw_only=True):
    """What was replaced by what. It undoes the pseudonyms, so it is kept apart."""

    version: int = 1
    seed: str
    names: dict[str, str] = msgspec.field(default_factory=dict)
    addresses: dict[str, str] = msgspec.field(default_factory=dict)
    handles: dict[str, str] = msgspec.field(default_factory=dict)
    phones: dict[str, str] = msgspec.field(default_factory=dict)
    domains: dict[str, str] = msgspec.field(default_factory=dict)


def fold_word(word: str) -> str:
    """A word without case and accents."""
    plain = unicodedata.normalize("NFKD", word.casefold().replace("’", "'"))
    return "".join(mark for mark in plain if not unicodedata.combining(mark))


@dataclass(slots=True)
class Pseudonymiser:
    """Replaces in texts, and counts."""

    seed: str
    any_case: bool = False
    with_domains: bool = False
    names: dict[str, str] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    handles: dict[str, str] = field(default_factory=dict)
    phones: dict[str, str] = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    """Replacements by kind."""
    left: Counter[str] = field(default_factory=Counter)
    """Words that equal a name, and were left because of their case or place."""
    candidates: Counter[str] = field(default_factory=Counter)
    """Pairs of capitalised words that may be names of people who take no part."""
    _taken: set[str] = field(default_factory=set)
    _unspaced: re.Pattern[str] | None = None
    _plain: set[str] = field(default_factory=set)
    """Words that are no names: most of a text, so they are looked up once."""

    @classmethod
    def from_map(
        cls, known: PseudonymMap, *, any_case: bool, with_domains: bool
    ) -> "Pseudonymiser":
        """One that goes on with the pseudonyms of a map."""
        return cls(
            seed=known.seed,
            any_case=any_case,
            with_domains=with_domains,
            names=dict(known.names),
            addresses=dict(known.addresses),
            handles=dict(known.handles),
            phones=dict(known.phones),
            domains=dict(known.domains),
        )

    def make_map(self) -> PseudonymMap:
        """The map so far."""
        return PseudonymMap(
            seed=self.seed,
            names=dict(sorted(self.names.items())),
            addresses=dict(sorted(self.addresses.items())),
            handles=dict(sorted(self.handles.items())),
            phones=dict(sorted(self.phones.items())),
            domains=dict(sorted(self.domains.items())),
        )

    def learn_people(self, people: Iterable[Participant], also: Collection[str] = ()) -> None:
        """Learn the names, addresses, handles and numbers of the participants, and more names."""
        humans = [each for each in people if not each.is_agent and not _is_automatic(each)]
        texts = [*also, *(each.name for each in humans), *(h for e in humans for h in e.handles)]
        words = {fold_word(word) for text in texts for word in _list_name_words(text)}
        # An invention must not be the name of somebody else.
        self._taken = {*words, *self.names, *map(fold_word, self.names.values())}
        for word in sorted(words):
            if word not in self.names:
                self.names[word] = self._invent(word)
        for person in sorted(humans, key=lambda each: each.key):
            for handle in sorted(person.handles):
                if not re.search(r"\s", handle) and (key := fold_word(handle).lstrip("@")):
                    self.handles.setdefault(key, self._make_local_part(person, key))
            for address in sorted(person.addresses):
                self._replace_address(address, person)
            for phone in sorted(person.phones):
                self._replace_phone(phone)
        self.counts.clear()
        self._plain.clear()
        unspaced = sorted((w for w in self.names if _CJK.search(w)), key=len, reverse=True)
        self._unspaced = re.compile("|".join(map(re.escape, unspaced))) if unspaced else None

    def replace(self, text: str) -> str:
        """The text with everything replaced that is known or has an unmistakable shape."""
        self._note_candidates(text)
        if not self._may_hold_names(text):
            return text
        if self._unspaced is not None:
            text = self._unspaced.sub(
                lambda found: self._count("names", self.names[found[0]]), text
            )
        return _TEXT.sub(self._replace_match, text)

    def rename(self, person: Participant) -> str:
        """The name to show for a participant, whatever its case."""
        if person.is_agent or _is_automatic(person):
            return person.label
        if not person.name or "@" in person.label or person.label in person.phones:
            return self.replace(person.label)

        def replace_part(part: re.Match[str]) -> str:
            made = self.names.get(fold_word(part[0]))
            return part[0] if made is None else self._count("names", made)

        return _NAME_WORD.sub(replace_part, person.name)

    def _replace_match(self, found: re.Match[str]) -> str:
        match found.lastgroup:
            case "url":
                return self._replace_url(found[0])
            case "address":
                return self._count("addresses", self._replace_address(found[0]))
            case "phone":
                digits = sum(mark.isdigit() for mark in found[0])
                is_phone = _FEWEST_DIGITS <= digits <= _MOST_DIGITS
                return (
                    self._count("phones", self._replace_phone(found[0])) if is_phone else found[0]
                )
            case "handle":
                return self._replace_handle(found)
        return self._replace_word(found)

    def _count(self, kind: str, text: str) -> str:
        self.counts[kind] += 1
        return text

    def _replace_word(self, found: re.Match[str]) -> str:
        word = found[0]
        if word in self._plain:
            return word
        key = fold_word(word)
        if key in self.handles and re.search(r"[\d_.]", key):
            return self._count("handles", self.handles[key])
        if key in self.names:
            return self._replace_name(word, key, found)
        owned = re.fullmatch(r"(.+)(['’]\w?)", word)
        if owned is not None and (key := fold_word(owned[1])) in self.names:
            return self._replace_name(owned[1], key, found) + owned[2]
        pieces = re.split(r"(['’-])", word)
        if not any(fold_word(piece) in self.names for piece in pieces):
            return self._note_plain(word)
        return "".join(
            self._replace_name(piece, fold_word(piece), found)
            if fold_word(piece) in self.names
            else piece
            for piece in pieces
        )

    def _note_plain(self, word: str) -> str:
        if len(self._plain) < _MOST_PLAIN:
            self._plain.add(word)
        return word

    def _may_hold_names(self, text: str) -> bool:
        """Whether a text needs a closer look; most texts of a large history do not."""
        if "@" in text or "://" in text or _PHONE_SHAPE.search(text):
            return True
        return not self._plain.issuperset(_TEXT_WORD.findall(text))

    def _replace_name(self, word: str, key: str, found: re.Match[str]) -> str:
        name = self.names[key]
        if not word[0].isupper() and not _CJK.search(word):
            if not self.any_case or key in _WORDS or key in _DATES:
                self.left[word] += 1
                return word
            return self._count("names", name.lower())
        if (key in _DATES or key in _WORDS) and not self._is_name_here(key, found):
            self.left[word] += 1
            return word
        return self._count("names", name.upper() if word.isupper() and len(word) > 2 else name)

    def _is_name_here(self, key: str, found: re.Match[str]) -> bool:
        """Whether a word that is also a common one is a name by what is around it."""
        before, after = found.string[: found.start()][-40:], found.string[found.end() :][:40]
        previous = re.search(r"(\w+)[ \t]+\Z", before)
        following = re.match(r"[ \t]+(\w+)", after)
        beside = [each[1] for each in (previous, following) if each]
        if any(each[0].isupper() and fold_word(each) in self.names for each in beside):
            return True
        return key not in _DATES and before.rstrip(" \t\"“'")[-1:] not in ("", *_SENTENCE_END)

    def _replace_handle(self, found: re.Match[str]) -> str:
        key = fold_word(found[0][1:])
        if key in self.handles:
            return self._count("handles", f"@{self.handles[key]}")
        if key in self.names:
            return self._count("names", f"@{self.names[key]}")
        # A mention of somebody, written with the parts of a name: @Ana-Ruiz.
        return "@" + _NAME_WORD.sub(
            lambda part: (
                self._count("names", self.names[fold_word(part[0])])
                if fold_word(part[0]) in self.names
                else part[0]
            ),
            found[0][1:],
        )

    def _replace_address(self, address: str, person: Participant | None = None) -> str:
        key = address.lower()
        if key not in self.addresses:
            local, _, domain = key.rpartition("@")
            made = self._make_local_part(person, key)
            if person is None and local in self.handles:
                made = self.handles[local]
            self.addresses[key] = f"{made}@{domain}"
        local, _, domain = self.addresses[key].rpartition("@")
        return f"{local}@{self._replace_domain(domain)}"

    def _replace_domain(self, domain: str) -> str:
        if not self.with_domains:
            return domain
        key = domain.lower().removeprefix("www.")
        if key not in self.domains:
            self.domains[key] = f"{self._invent(f'domain {key}').lower()}.example"
        return self._count("domains", self.domains[key])

    def _replace_phone(self, phone: str) -> str:
        digits = re.sub(r"\D", "", phone)
        if digits not in self.phones:
            stream = str(int.from_bytes(self._hash(f"phone {digits}"), "big"))[3:]
            kept = 2 if phone.lstrip().startswith(("+", "00")) else 1
            self.phones[digits] = digits[:kept] + stream[: len(digits) - kept]
        made = iter(self.phones[digits])
        return re.sub(r"\d", lambda _: next(made), phone)

    def _replace_url(self, url: str) -> str:
        parts = _URL.fullmatch(url)
        if parts is None:
            return url
        login, host, rest = parts["login"] or "", parts["host"], parts["rest"]
        if login:
            login = self._count("URL users", "user@")
        is_social = _SOCIAL.search(host) is not None
        rest = _USER_PATH.sub(lambda found: self._replace_path_user(found, is_social), rest)
        return f"{parts['scheme']}{login}{self._replace_domain(host)}{rest}"

    def _replace_path_user(self, found: re.Match[str], is_social: bool) -> str:
        mark, name = found["mark"], found["name"]
        key = fold_word(name)
        is_first = found.start() == 1
        if key in self.handles:
            return mark + self._count("URL users", self.handles[key])
        if mark or (is_social and is_first):
            made = self.handles.setdefault(key, self._make_local_part(None, key))
            return mark + self._count("URL users", made)
        return found[0]

    def _make_local_part(self, person: Participant | None, key: str) -> str:
        """The part of an address before the @: the person's invented name, or another one."""
        words = [] if person is None else [fold_word(w) for w in _list_name_words(person.name)]
        made = ".".join(self.names[word].lower() for word in words if word in self.names)
        return made or self._invent(f"local {key}").lower()

    def _hash(self, text: str) -> bytes:
        return hmac.new(self.seed.encode(), text.encode("utf-8", "replace"), sha256).digest()

    def _invent(self, original: str) -> str:
        """A name that can be spoken, and that is nobody's here."""
        for attempt in range(10_000):
            draw = self._hash(f"{original} {attempt}")
            syllables = 2 + draw[0] % 2
            made = "".join(
                _CONSONANTS[draw[2 * place + 1] % len(_CONSONANTS)]
                + _VOWELS[draw[2 * place + 2] % len(_VOWELS)]
                for place in range(syllables)
            )
            made += _ENDS[draw[-1] % len(_ENDS)]
            if made not in self._taken:
                self._taken.add(made)
                return made.capitalize()
        raise AssertionError("there are more syllables than names")

    def _note_candidates(self, text: str) -> None:
        for first, second in _CANDIDATE.findall(text):
            if fold_word(first) in self.names or fold_word(second) in self.names:
                continue
            if first.lower() not in _DATES and second.lower() not in _DATES:
                self.candidates[f"{first} {second}"] += 1
        if len(self.candidates) > _MOST_CANDIDATES:
            self.candidates = Counter(dict(self.candidates.most_common(_MOST_CANDIDATES // 2)))


def _is_automatic(person: Participant) -> bool:
    return any(_AUTOMATIC.match(address) for address in person.addresses)


def _list_name_words(name: str) -> list[str]:
    if "@" in name:
        return []
    return [
        word
        for word in _NAME_WORD.findall(name)
        if (len(word) > 1 and fold_word(word) not in _NO_NAMES) or _CJK.search(word)
    ]
