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
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal
from urllib.parse import quote, unquote

import msgspec

from recall_bench.core.record import Record
from recall_bench.features.histories.history_message import Participant

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
_FEWEST_KNOWN = 7
"""Digits of a participant's number that is looked for however it is written."""
_DIGIT_RUN = re.compile(r"\d(?:[ ().\-/\u00a0\u2010-\u2015]{0,3}\d){6,}")
_DATE_SHAPE = r"(?!\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}(?!\d))"
_PHONE = (
    rf"(?<![\w.,:/-])(?:\+\d|{_DATE_SHAPE}(?:00[1-9]|\(0?\d|0[1-9]))"
    r"[\d ()/\u2010-\u2012-]{5,18}\d(?!\w|[.,/:-]\d)"
    r"|(?<![\w.,/-])\d{3}-\d{3,4}-\d{4}(?!\w|-\d)"
)
_PHONE_SHAPE = re.compile(_PHONE)
_WORD = r"\w+(?:['’-]\w+)*"
_TEXT_WORD = re.compile(_WORD)
_TEXT = re.compile(
    r"(?P<url>\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s<>\"'()\[\]]+)"
    r"|(?P<address>(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)+)"
    rf"|(?P<phone>{_PHONE})"
    r"|(?P<handle>(?<!\w)@\w[\w.-]*\w)"
    r"|(?P<dotted>(?<![\w.])\w+(?:\.\w+)+)"
    rf"|(?P<word>{_WORD})"
)
_DOTTED = re.compile(r"\w\.\w")
_OWNED = re.compile(r"(.+)(['’ʼ]\w?)")
_PIECE = re.compile(r"(['’ʼ_\d-]+)")
_URL_PIECE = re.compile(r"([/?&=#;:,]+)")
_MOST_DECODINGS = 3
_URL = re.compile(
    r"(?P<scheme>[^:]+://)(?:(?P<login>[^/?#@\s]+)@)?(?P<host>[^/?#:]+)(?P<rest>.*)", re.DOTALL
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

Place = Literal["text", "URL", "label"]
"""Where a word is. Case says nothing in a URL; in a label even a common word is the name."""


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
    plain = unicodedata.normalize("NFKD", re.sub("[’ʼ]", "'", word.casefold()))
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
    _numbers: set[str] = field(default_factory=set)
    """The digits of known numbers, also without the code of the country."""
    _sizes: list[int] = field(default_factory=list)
    """How many digits those have, the most first."""
    _has_dotted: bool = False
    """Whether a handle has dots, which no word has."""
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
        humans = [
            candidate
            for candidate in people
            if not candidate.is_agent and not _is_automatic(candidate)
        ]
        texts = [*also, *(human.name for human in humans), *(h for e in humans for h in e.handles)]
        words = {fold_word(word) for text in texts for word in _list_name_words(text)}
        # An invention must not be the name of another person.
        self._taken = {*words, *self.names, *map(fold_word, self.names.values())}
        for word in sorted(words):
            if word not in self.names:
                self.names[word] = self._invent(word)
        for person in sorted(humans, key=lambda candidate: candidate.key):
            for handle in _list_handles(person):
                if key := fold_word(handle).lstrip("@"):
                    self.handles.setdefault(key, self._make_handle(person, key))
            for address in sorted(person.addresses):
                self._replace_address(address, person)
            for phone in sorted(person.phones):
                self._replace_phone(phone)
        self.counts.clear()
        self._plain.clear()
        self._numbers = {n for p in self.phones for n in _list_forms(p)}
        self._numbers.update(n for e in humans for p in e.phones for n in _list_forms(p))
        self._sizes = sorted({len(number) for number in self._numbers}, reverse=True)
        self._has_dotted = any("." in handle for handle in self.handles)
        unspaced = sorted((w for w in self.names if _CJK.search(w)), key=len, reverse=True)
        self._unspaced = re.compile("|".join(map(re.escape, unspaced))) if unspaced else None

    def replace(self, text: str) -> str:
        """The text with everything replaced that is known or has an unmistakable shape."""
        return self._replace_in(text, "text")

    def replace_label(self, label: str) -> str:
        """The name of a person or a room, in which a name is one in any case and any place."""
        return self._replace_in(label, "label")

    def rename(self, person: Participant) -> str:
        """The name to show for a participant."""
        if person.is_agent or _is_automatic(person):
            return person.label
        label = person.label
        if not any(mark.isalpha() for mark in label) and any(mark.isdigit() for mark in label):
            return self._count("phones", self._replace_phone(label))
        return self.replace_label(label)

    def _replace_in(self, text: str, place: Place) -> str:
        text = unicodedata.normalize("NFC", text)
        self._note_candidates(text)
        pieces, done = [], 0
        for start, end in self._find_numbers(text):
            pieces.append(self._replace_between(text[done:start], place))
            pieces.append(self._count("phones", self._replace_phone(text[start:end])))
            done = end
        return "".join([*pieces, self._replace_between(text[done:], place)])

    def _replace_between(self, text: str, place: Place) -> str:
        """The text, which holds no known number, with everything else replaced."""
        if not self._may_hold_names(text):
            return text
        if self._unspaced is not None:
            text = self._unspaced.sub(
                lambda found: self._count("names", self.names[found[0]]), text
            )
        return _TEXT.sub(lambda found: self._replace_match(found, place), text)

    def _find_numbers(self, text: str) -> Iterator[tuple[int, int]]:
        """Where a known number is, whatever is between its digits."""
        if not self._numbers:
            return
        for run in _DIGIT_RUN.finditer(text):
            places = [place for place in range(*run.span()) if text[place].isdigit()]
            end = run.start()
            for first, place in enumerate(places):
                is_inside = place < end or (first > 0 and places[first - 1] == place - 1)
                if is_inside or not (
                    size := self._measure_number(text, places[first : first + self._sizes[0]])
                ):
                    continue
                end = places[first + size - 1] + 1
                yield place, end

    def _measure_number(self, text: str, places: list[int]) -> int:
        """How many of the digits at these places are a known number; 0 if none is."""
        digits = "".join(text[place] for place in places)
        for size in self._sizes:
            if size <= len(places) and digits[:size] in self._numbers:
                after = places[size - 1] + 1
                return 0 if text[after : after + 1].isdigit() else size
        return 0

    def _replace_match(self, found: re.Match[str], place: Place) -> str:
        match found.lastgroup:
            case "url":
                return self._replace_url(found[0], place)
            case "address":
                return self._count("addresses", self._replace_address(found[0]))
            case "phone":
                digits = sum(mark.isdigit() for mark in found[0])
                is_phone = place != "URL" and _FEWEST_DIGITS <= digits <= _MOST_DIGITS
                return (
                    self._count("phones", self._replace_phone(found[0])) if is_phone else found[0]
                )
            case "handle":
                return self._replace_handle(found)
            case "dotted":
                return self._replace_dotted(found, place)
        return self._replace_word(found, place)

    def _replace_dotted(self, found: re.Match[str], place: Place) -> str:
        """Words with dots between them: a handle, or the name of a file or a sentence's end."""
        if (key := fold_word(found[0])) in self.handles:
            return self._count("handles", self.handles[key])
        replaced, done = "", found.start()
        for word in _TEXT_WORD.finditer(found.string, *found.span()):
            replaced += found.string[done : word.start()] + self._replace_word(word, place)
            done = word.end()
        return replaced + found.string[done : found.end()]

    def _count(self, kind: str, text: str) -> str:
        self.counts[kind] += 1
        return text

    def _replace_word(self, found: re.Match[str], place: Place) -> str:
        word = found[0]
        if word in self._plain:
            return word
        key = fold_word(word)
        is_name = key in self.names
        if key in self.handles and ((is_name and place == "URL") or re.search(r"[\d_.]", key)):
            return self._count("handles", self.handles[key])
        if is_name:
            return self._replace_name(word, found, place)
        owned = _OWNED.fullmatch(word)
        if owned is not None and fold_word(owned[1]) in self.names:
            return self._replace_name(owned[1], found, place) + owned[2]
        pieces = _split_word(word)
        names = {key for piece in pieces if (key := fold_word(piece)) in self.names}
        if not names:
            return self._note_plain(word)
        # Two names in one word are a person, whatever their case: ana_ruiz, bob-meyer.
        if len(names) > 1 and names - _WORDS - _DATES:
            place = "label"
        return "".join(
            self._replace_name(piece, found, place) if fold_word(piece) in names else piece
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
        if self._has_dotted and _DOTTED.search(text):
            return True
        return not self._plain.issuperset(_TEXT_WORD.findall(text))

    def _replace_name(self, word: str, found: re.Match[str], place: Place) -> str:
        key = fold_word(word)
        name = self.names[key]
        is_common = key in _WORDS or key in _DATES
        is_small = not word[0].isupper() and not _CJK.search(word)
        if place == "label":
            is_name = True
        elif is_small:
            is_name = (self.any_case or place == "URL") and not is_common
        else:
            is_name = not is_common or self._is_name_here(key, found)
        if not is_name:
            self.left[word] += 1
            return word
        if is_small and place != "label":
            name = name.lower()
        return self._count("names", name.upper() if word.isupper() and len(word) > 2 else name)

    def _is_name_here(self, key: str, found: re.Match[str]) -> bool:
        """Whether a word that is also a common one is a name by what is around it."""
        before, after = found.string[: found.start()][-40:], found.string[found.end() :][:40]
        previous = re.search(r"(\w+)[ \t]+\Z", before)
        following = re.match(r"[ \t]+(\w+)", after)
        beside = [neighbour[1] for neighbour in (previous, following) if neighbour]
        if any(
            neighbour[0].isupper() and fold_word(neighbour) in self.names for neighbour in beside
        ):
            return True
        return key not in _DATES and before.rstrip(" \t\"“'")[-1:] not in ("", *_SENTENCE_END)

    def _replace_handle(self, found: re.Match[str]) -> str:
        key = fold_word(found[0][1:])
        if key in self.handles:
            return self._count("handles", f"@{self.handles[key]}")
        if key in self.names:
            return self._count("names", f"@{self.names[key]}")
        # A mention of a person, written with the parts of a name: @Ana-Ruiz.
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
            invented = self._make_local_part(person, key)
            if person is None and local in self.handles:
                invented = self.handles[local]
            self.addresses[key] = f"{invented}@{domain}"
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
            prefix = 2 if phone.lstrip().startswith(("+", "00")) else 1
            self.phones[digits] = digits[:prefix] + stream[: len(digits) - prefix]
        digit = iter(self.phones[digits])
        return re.sub(r"\d", lambda _: next(digit), phone)

    def _replace_url(self, url: str, place: Place) -> str:
        parts = _URL.fullmatch(url)
        if parts is None:
            return url
        login, host, rest = parts["login"] or "", parts["host"], parts["rest"]
        if login:
            login = self._count("URL users", "user@")
        is_social = _SOCIAL.search(host) is not None
        rest = _USER_PATH.sub(lambda found: self._replace_path_user(found, is_social), rest)
        # A URL within a URL is decoded already, and another one in that is left to its depth.
        decodings = 0 if place == "URL" else _MOST_DECODINGS
        pieces = _URL_PIECE.split(rest)
        rest = "".join(self._replace_url_piece(piece, decodings) for piece in pieces)
        return f"{parts['scheme']}{login}{self._replace_domain(host)}{rest}"

    def _replace_path_user(self, found: re.Match[str], is_social: bool) -> str:
        mark, name = found["mark"], found["name"]
        key = fold_word(name)
        is_first = found.start() == 1
        if key in self.handles:
            return mark + self._count("URL users", self.handles[key])
        if mark or (is_social and is_first):
            invented = self.handles.setdefault(key, self._make_local_part(None, key))
            return mark + self._count("URL users", invented)
        return found[0]

    def _replace_url_piece(self, piece: str, decodings: int) -> str:
        """A part of a path or query; what is encoded in it is read too."""
        plain = piece
        for _ in range(decodings):
            if "%" not in plain:
                break
            plain = unquote(plain)
        replaced = self._replace_in(plain, "URL")
        if replaced == unicodedata.normalize("NFC", plain):
            return piece
        return replaced if plain == piece else quote(replaced, safe="")

    def _make_handle(self, person: Participant, key: str) -> str:
        """A handle: the person's invented name; other digits for persons without another name."""
        local = self._make_local_part(person, key)
        if key != fold_word(person.name) or not re.search(r"\d", key):
            return local
        return f"{local}{100 + int.from_bytes(self._hash(f'digits {key}'), 'big') % 900}"

    def _make_local_part(self, person: Participant | None, key: str) -> str:
        """The part of an address before the @: the person's invented name, or another one."""
        words = [] if person is None else [fold_word(w) for w in _list_name_words(person.name)]
        local = ".".join(self.names[word].lower() for word in words if word in self.names)
        return local or self._invent(f"local {key}").lower()

    def _hash(self, text: str) -> bytes:
        return hmac.new(self.seed.encode(), text.encode("utf-8", "replace"), sha256).digest()

    def _invent(self, original: str) -> str:
        """A name that can be spoken, and that no person here has."""
        for attempt in range(10_000):
            draw = self._hash(f"{original} {attempt}")
            syllables = 2 + draw[0] % 2
            name = "".join(
                _CONSONANTS[draw[2 * place + 1] % len(_CONSONANTS)]
                + _VOWELS[draw[2 * place + 2] % len(_VOWELS)]
                for place in range(syllables)
            )
            name += _ENDS[draw[-1] % len(_ENDS)]
            if name not in self._taken:
                self._taken.add(name)
                return name.capitalize()
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


def _list_handles(person: Participant) -> list[str]:
    """What a person is called in one word; a name that is no usual one is a handle too."""
    handles = set(person.handles)
    if "@" not in person.name and re.search(r"\w[_.\d]", person.name):
        handles.add(person.name)
    return sorted(
        handle for handle in handles if not re.search(r"\s", handle) and re.search(r"\w", handle)
    )


def _list_forms(phone: str) -> Iterator[str]:
    """The digits of a number as they may be written: with and without the country's code."""
    digits = re.sub(r"\D", "", phone)
    whole = digits.lstrip("0")
    for form in (digits, whole, f"0{whole}"):
        if len(form) >= _FEWEST_KNOWN:
            yield form
    if phone.lstrip().startswith(("+", "00")):
        for code in (1, 2, 3):
            if len(whole) - code > _FEWEST_DIGITS:
                yield from (whole[code:], f"0{whole[code:]}")


def _split_word(word: str) -> list[str]:
    """The word in pieces: at marks, digits, and where a capital follows a small letter."""
    pieces: list[str] = []
    for part in _PIECE.split(word):
        start = 0
        for place in range(1, len(part)):
            if part[place].isupper() and part[place - 1].islower():
                pieces.append(part[start:place])
                start = place
        pieces.append(part[start:])
    return pieces


def _list_name_words(name: str) -> list[str]:
    if "@" in name:
        return []
    return [
        word
        for word in _NAME_WORD.findall(unicodedata.normalize("NFC", name))
        if (len(word) > 1 and fold_word(word) not in _NO_NAMES) or _CJK.search(word)
    ]
