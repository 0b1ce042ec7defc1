"""Answers that are computed from several passages: order, days between, counts, sums, extremes."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache
from itertools import permutations

from recall_bench.systems.reading.answer_values import (
    CODE,
    LABEL,
    LocatedAmount,
    find_amounts,
    find_current,
    find_names,
)
from recall_bench.systems.reading.passage_sentences import ReadSentence, collect_stems
from recall_bench.systems.reading.question_analysis import AskedQuestion
from recall_bench.systems.reading.sentence_ranker import find_measure, is_on_day
from recall_bench.text.text import STOPWORDS

Ranked = Sequence[tuple[ReadSentence, float]]
"""Sentences with their scores, best first."""

MOST_EVENTS = 5


def match_events(events: Sequence[str], rank: Callable[[str], Ranked]) -> list[ReadSentence] | None:
    """The sentence of each event, all from different passages if possible, with a date.

    None if an event has no sentence, or there are too many events to try every assignment.
    """
    if len(events) > MOST_EVENTS:
        return None
    best: list[dict[int, tuple[float, ReadSentence]]] = []
    for event in events:
        by_passage: dict[int, tuple[float, ReadSentence]] = {}
        for sentence, score in rank(event):
            if sentence.on is not None:
                by_passage.setdefault(sentence.passage, (score, sentence))
        if not by_passage:
            return None
        best.append(by_passage)
    passages = sorted({number for each in best for number in each})[:8]
    if len(passages) < len(best):
        return None
    missing = -1e6
    chosen = max(
        permutations(passages, len(best)),
        key=lambda places: sum(
            best[event][place][0] if place in best[event] else missing
            for event, place in enumerate(places)
        ),
    )
    found = [best[event].get(place) for event, place in enumerate(chosen)]
    return None if None in found else [pair[1] for pair in found if pair is not None]


def count_days(first: date, last: date, unit: str) -> str:
    """The time between two days, in the unit that is asked for."""
    days = abs((last - first).days)
    size = {"week": 7, "month": 30.4, "year": 365.25}.get(unit.rstrip("s"), 1)
    number = round(days / size)
    name = unit.rstrip("s") or "day"
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def select_group(asked: AskedQuestion, sentences: Sequence[ReadSentence]) -> list[ReadSentence]:
    """The sentences of the days that the question names, or all if it names none."""
    inside = [sentence for sentence in sentences if is_on_day(asked, sentence)]
    return inside if asked.spans else list(sentences)


def name_subject(sentences: Sequence[ReadSentence], passage: int) -> str:
    """What a passage is about: the code that it names most, or its heading, or its first name."""
    own = [sentence for sentence in sentences if sentence.passage == passage]
    if not own:
        return ""
    texts = (own[0].heading, *(each.text for each in own))
    codes = Counter(match[0] for text in texts for match in LABEL.finditer(text))
    if codes:
        code = codes.most_common(1)[0][0]
        kinds = Counter(
            kind[1].lower()
            for text in texts
            for kind in re.finditer(rf"([A-Za-z]+) {re.escape(code)}", text)
        )
        kind, times = kinds.most_common(1)[0] if kinds else ("", 0)
        return f"{kind} {code}" if 1 < times >= codes[code] / 2 else code
    names = [name for each in own for name in find_names(each.text)]
    return names[0] if names else own[0].heading


def count_items(asked: AskedQuestion, sentences: Sequence[ReadSentence]) -> int:
    """How many different things the passages of the group are about."""
    group = select_group(asked, sentences)
    subjects = [
        name_subject(sentences, passage)
        for passage in dict.fromkeys(each.passage for each in group)
    ]
    series = Counter(_find_series(name) for name in subjects if LABEL.search(name))
    if series:
        common = series.most_common(1)[0][0]
        subjects = [name for name in subjects if _find_series(name) == common]
        return len(set(subjects))
    return len(subjects)


def _find_series(name: str) -> str:
    """What the codes of one series share."""
    code = LABEL.search(name)
    return re.sub(r"\d+", "0", " ".join(code[0].split()[-2:])) if code else ""


def collect_amounts(
    asked: AskedQuestion, sentences: Sequence[ReadSentence], ranked: Ranked
) -> list[tuple[ReadSentence, LocatedAmount]]:
    """One amount of each passage of the group, all with the unit that fits the question best."""
    scores = {id(sentence): score for sentence, score in ranked}
    known = asked.text.lower()
    offers = [
        (value.unit, scores.get(id(each), 0.0), each, value)
        for each in select_group(asked, sentences)
        for value in find_current(find_amounts(each.text), each.text)
        if value.shown.lower() not in known
    ]
    if not offers:
        return []
    unit = max(
        dict.fromkeys(unit for unit, *_ in offers),
        key=lambda unit: _rate_unit(unit, asked, offers),
    )
    chosen: dict[int, tuple[float, ReadSentence, LocatedAmount]] = {}
    for found, score, each, value in offers:
        if found == unit and score > chosen.get(each.passage, (float("-inf"),))[0]:
            chosen[each.passage] = (score, each, value)
    return [(each, value) for _, each, value in chosen.values()]


def _rate_unit(
    unit: str,
    asked: AskedQuestion,
    offers: Sequence[tuple[str, float, ReadSentence, LocatedAmount]],
) -> float:
    """How well a unit fits: in how many passages it stands, near what is asked, and by name."""
    best: dict[int, float] = {}
    everything = len({each.passage for _, _, each, _ in offers})
    for found, score, each, _ in offers:
        if found == unit:
            best[each.passage] = max(score, best.get(each.passage, float("-inf")))
    named = bool(collect_stems(unit) & (collect_stems(asked.noun) or asked.stems))
    mean = sum(best.values()) / len(best)
    return mean + 3.0 * len(best) / everything + 2.0 * named + 2.0 * _rate_measure(unit, asked)


def _rate_measure(unit: str, asked: AskedQuestion) -> float:
    """1 for a unit of the measure that is asked for, -1 for one of another measure."""
    measure = find_measure(unit)
    if asked.measure:
        return 1.0 if measure == asked.measure else -1.0
    return -1.0 if measure and asked.noun else 0.0


def choose_extreme(
    asked: AskedQuestion, found: Sequence[tuple[ReadSentence, LocatedAmount]]
) -> tuple[ReadSentence, LocatedAmount]:
    """The largest or smallest amount; the fastest is the shortest time or the highest rate."""
    is_time = found[0][1].atom.measure != ""
    wants_least = asked.side in {"least", "fast" if is_time else "slow"}
    return (min if wants_least else max)(found, key=lambda pair: pair[1].number)


def format_sum(values: Sequence[LocatedAmount]) -> str:
    """The sum, written like its parts."""
    total = sum(value.number for value in values)
    number = f"{total:,.2f}".rstrip("0").rstrip(".") if total % 1 else f"{total:,.0f}"
    return write_amount(number, values[0])


_SIGNS = {"usd": "$", "eur": "€", "gbp": "£"}


def write_amount(number: str, like: LocatedAmount) -> str:
    """A number with the unit of another amount."""
    if not number[-1:].isdigit() or not number[:1].isdigit():
        return number
    if like.unit in _SIGNS:
        return f"{_SIGNS[like.unit]}{number}"
    if like.unit == "%":
        return f"{number}%"
    unit = like.noun or like.unit
    plural = unit if not unit or unit.endswith("s") or "/" in unit or like.noun else f"{unit}s"
    return f"{number} {plural}".strip()


def find_common(sentences: Ranked) -> tuple[str, list[ReadSentence]] | None:
    """The name or phrase that the most fitting sentences of two passages share."""
    best: tuple[float, str, list[ReadSentence]] | None = None
    listed = list(sentences)
    for place, (one, score) in enumerate(listed):
        for other, other_score in listed[place + 1 :]:
            most = score + other_score + 2.0 * len(one.text.split()) ** 0.5 + 2.0
            if one.passage == other.passage or (best is not None and most <= best[0]):
                continue
            shared = find_shared_phrase(one.text, other.text)
            if shared:
                worth = (
                    score
                    + other_score
                    + 2.0 * len(shared.split()) ** 0.5
                    + 2.0 * shared[:1].isupper()
                )
                if best is None or worth > best[0]:
                    best = (worth, shared, [one, other])
    return None if best is None else best[1:]


def find_shared_phrase(one: str, other: str) -> str:
    """The longest run of words that both texts have: a name, or three words and more."""
    words, folded = one.split(), _fold_words(one)
    other_folded, places = _fold_words(other), _locate_words(other)
    if all(word in STOPWORDS for word in places.keys() & set(folded)):
        return ""
    best = ""
    for start, word in enumerate(folded):
        for place in places.get(word, ()):
            if start and place and folded[start - 1] == other_folded[place - 1]:
                continue
            size = 1
            while (
                folded[start + size : start + size + 1]
                == other_folded[place + size : place + size + 1]
                != ()
            ):
                size += 1
            phrase = _trim(words[start : start + size])
            if _is_telling(phrase) and len(phrase.split()) > len(best.split()):
                best = phrase
    return best


@lru_cache(maxsize=4096)
def _fold_words(text: str) -> tuple[str, ...]:
    return tuple(map(_fold, text.split()))


@lru_cache(maxsize=4096)
def _locate_words(text: str) -> dict[str, list[int]]:
    """Where each word of a text stands."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(_fold_words(text)):
        places.setdefault(word, []).append(place)
    return places


def _fold(word: str) -> str:
    return word.strip(".,;:!?()\"'“”‘’").removesuffix("'s").lower() or word


def _trim(words: Sequence[str]) -> str:
    kept = list(words)
    while kept and _fold(kept[-1]) in STOPWORDS:
        kept.pop()
    while kept and _fold(kept[0]) in STOPWORDS - {"a", "an", "the"}:
        kept.pop(0)
    return " ".join(kept).strip(".,;:!?()\"'“”‘’")


def _is_telling(phrase: str) -> bool:
    words = [word for word in phrase.split() if _fold(word) not in STOPWORDS]
    has_name = any(word[:1].isupper() and not CODE.match(word) for word in words)
    return (
        len(words) >= 3
        or (has_name and len(words) >= 1 and phrase[:1].isupper())
        or (has_name and len(words) >= 2)
    )
