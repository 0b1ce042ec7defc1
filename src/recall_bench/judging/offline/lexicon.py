"""Which words mean the same, and which the opposite: a lexicon made from WordNet 3.0.

Words are stems, a verb with its particle ("turn down") is one word. Two words are alike if they
name one concept, or if one comes near to a concept that the other names. Verbs and nouns of growth
and decline, which WordNet keeps apart, are alike too. `benchmarks/lexicon.py` makes the file; its
licence is in `LICENSE.wordnet`.
"""

import gzip
from collections import defaultdict
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files

from recall_bench.text.text import load_stemmer

LEXICON_FILE = "lexicon.txt.gz"
PARTICLES = frozenset(
    "up down off out over away back in on through along aside forward around together apart".split()
)

_UP = (
    "rise increase grow growth climb raise gain up higher more boost jump surge upward upwards "
    "above"
    " lift expand enlarge extend longer bigger larger greater go_up"
)
_DOWN = (
    "fall decrease decline drop reduce reduction lower cut shrink loss lose down less fewer dip"
    " downward downwards below halve shorten shorter smaller sink slump go_down bring_down"
)
_OPPOSITE_GROUPS = (
    (_UP, _DOWN),
    (
        "before earlier prior previously precede ahead bring_forward",
        "after later afterwards subsequently follow put_back push_back",
    ),
    (
        "approve accept allow permit agree grant authorise authorize pass endorse okay adopt",
        "reject refuse decline deny forbid ban prohibit veto turn_down disallow object oppose",
    ),
    (
        "favor support back endorse approve welcome want wish",
        "against oppose object reject disapprove resist",
    ),
    (
        "like love enjoy fan fond welcome please happy glad",
        "dislike hate detest reject disapprove unhappy",
    ),
    ("leave depart exit quit resign", "stay remain"),
    ("win victory succeed success pass beat", "lose defeat fail failure"),
    ("better improve recover", "worse worsen deteriorate"),
    ("like happy pleased glad love", "dislike unhappy hate displease annoy"),
    ("arrive come enter join", "leave depart go exit quit"),
    ("add include", "remove exclude drop omit"),
    ("start begin open launch", "end stop finish close cease"),
    ("keep retain", "discard scrap abolish"),
    ("profit surplus credit", "loss deficit debit"),
    ("more", "less fewer"), ("most", "least fewest"), ("high", "low"),
    ("hot warm heat", "cold cool"),
    ("early", "late"), ("old", "young"), ("minimum", "maximum"), ("left", "right"),
    ("north", "south"), ("east", "west"),
    ("buy purchase", "sell"), ("lend", "borrow"), ("give pay send", "receive get"),
    ("near close nearer closer", "far farther further distant"),
    ("inside in", "outside"), ("public", "private"), ("full", "empty"), ("cheap", "expensive"),
)  # fmt: skip
_CONTRARY_GROUPS = (
    ("against oppose object resist", "favor support welcome"),
    ("accept approve", "reject refuse decline turn_down"),
    ("rise increase grow raise climb higher", "fall decrease decline drop reduce lower cut shrink"),
    ("put_off postpone delay defer push_back put_back", "bring_forward advance"),
    ("lose", "get_back win gain regain recover earn"),
    ("full occupied used", "free empty unused spare"),
    ("stay remain", "take_off remove"),
    ("profit surplus", "loss deficit"),
    ("gain earn", "loss lose"),
    ("late", "early"),
    ("overpay", "underpay"),
    ("spend", "save"),
    ("add", "remove deduct subtract"),
)
"""Words that cannot both be said of one change: "brought forward" is not "put off"."""
_STANCE_GROUPS = 2
"""The first groups are stances of a person; the others are changes and states."""
_RANK_GROUPS = (
    ("first", "last"),
    ("more higher greater bigger larger", "less lower fewer smaller"),
    ("most highest", "least lowest fewest"),
    ("longer", "shorter"),
    ("earlier sooner", "later"),
    ("above", "below"),
)
"""Words that cannot both be said of one thing in one comparison."""
_ALIKE_GROUPS = 6
"""The first groups are also lists of words that are alike; the others are only opposites."""


class Lexicon:
    """The words of the lexicon, expanded when asked for."""

    def __init__(self, text: str) -> None:
        entries, _, forms = text.partition("\n\n")
        self._entries = {line.partition("\t")[0]: line for line in entries.split("\n") if line}
        self.forms = _parse_forms(forms)
        self._named: dict[str, list[str]] = defaultdict(list)
        self._near: dict[str, list[str]] = defaultdict(list)
        for word, line in self._entries.items():
            own, near, _ = _split_entry(line)
            for concept in own:
                self._named[concept].append(word)
            for concept in near:
                self._near[concept].append(word)
        self._alike, self._opposed = _index_groups(_OPPOSITE_GROUPS)
        self._contrary = _index_groups(_CONTRARY_GROUPS)[1]
        self._contrary_ranks = _index_groups(_RANK_GROUPS)[1]
        self._contrary_stances = _index_groups(_CONTRARY_GROUPS[:_STANCE_GROUPS])[1]
        self.find_alike = lru_cache(maxsize=8192)(self._find_alike)
        self.find_same = lru_cache(maxsize=8192)(self._find_same)
        self.find_opposites = lru_cache(maxsize=8192)(self._find_opposites)

    def __contains__(self, word: str) -> bool:
        return word in self._entries

    def _find_alike(self, word: str) -> frozenset[str]:
        """The stems that mean about the same as a stem, without itself."""
        line = self._entries.get(word)
        found = set(self._alike.get(word, ()))
        if line is not None:
            own, near, _ = _split_entry(line)
            for concept in own:
                found.update(self._named[concept])
                found.update(self._near[concept])
            for concept in near:
                found.update(self._named[concept])
        return frozenset(found - {word}) - self._find_opposites(word)

    def _find_same(self, word: str) -> frozenset[str]:
        """The stems that name one concept with a stem, and are not merely near to it."""
        line = self._entries.get(word)
        found = set(self._alike.get(word, ()))
        for concept in _split_entry(line)[0] if line is not None else ():
            found.update(self._named[concept])
        return frozenset(found - {word}) - self._find_opposites(word)

    def find_contrary(self, word: str, *, of_stances: bool = False) -> frozenset[str]:
        """The stems that turn round what a stem says of a change, a state or a person's stance."""
        contrary = self._contrary_stances if of_stances else self._contrary
        return frozenset(contrary.get(word, ())).union(self._contrary_ranks.get(word, ()))

    def _find_opposites(self, word: str) -> frozenset[str]:
        """The stems that mean the opposite of a stem."""
        line = self._entries.get(word)
        found = set(self._opposed.get(word, ()))
        if line is not None:
            for concept in _split_entry(line)[2]:
                found.update(self._named[concept])
        return frozenset(found - {word})


def _parse_forms(lines: str) -> dict[str, str]:
    return dict(line.split("\t", 1) for line in lines.split("\n") if line)


def _split_entry(line: str) -> tuple[list[str], list[str], list[str]]:
    parts = line.split("\t")
    own, near, opposite = (
        parts[place].split() if len(parts) > place else [] for place in (1, 2, 3)
    )
    return own, near, opposite


def _index_groups(
    groups: Sequence[tuple[str, str]],
) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    stem = load_stemmer().stemWord
    alike, opposed = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for number, sides in enumerate(groups):
        one, other = (
            {
                " ".join((stem(verb), particle)) if particle else stem(verb)
                for verb, _, particle in (word.partition("_") for word in side.split())
            }
            for side in sides
        )
        for words, others in ((one, other), (other, one)):
            for word in words:
                opposed[word] |= others - words
                if number < _ALIKE_GROUPS:
                    alike[word] |= words
    return alike, opposed


@cache
def load_lexicon() -> Lexicon:
    """The lexicon shipped with the package."""
    raw = files(__package__ or "").joinpath(LEXICON_FILE).read_bytes()
    return Lexicon(gzip.decompress(raw).decode())
