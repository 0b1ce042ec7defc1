"""Whether the days a question names hold its answer, beyond what the lints look for."""

import re
from collections.abc import Collection, Iterator

from recall_bench.core.question import BOUNDARY, Disclosure, Evidence
from recall_bench.datasets.days import spelled
from recall_bench.generate.checks.checker import Kind, Problem
from recall_bench.generate.checks.day_words import DayWords
from recall_bench.lint.answers import AMOUNTS, INFERRED
from recall_bench.lint.asked import Asked
from recall_bench.lint.atoms import DATE, NAME, Atom
from recall_bench.lint.corpus import Corpus
from recall_bench.lint.day import NO_SESSION, Day
from recall_bench.lint.evidence import lists_window, wants_one_fact
from recall_bench.lint.index import Index
from recall_bench.lint.words import plain, topics

GUARDED = (Disclosure.REFUSE, Disclosure.PARTIAL)
"""What is expected of a question that holds something back."""

_HEADING = re.compile(r"^#{1,6}[ \t].*$", re.MULTILINE)
_MOST = 2 / 3
"""The share of an answer's words that its days should use, for people reword."""
_SOME = 1 / 2
"""The share of those that tell days apart."""
_TELLING = 3
"""Fewer such words may be the author's own."""


def holds_back(asked: Asked) -> bool:
    """Whether the answer need not be in the days, for it is one that does not tell."""
    disclosure = asked.item.truth.disclosure
    return disclosure in GUARDED or (disclosure is None and asked.category == BOUNDARY)


def unsupported(corpus: Corpus, said: DayWords, asked: Asked) -> Iterator[Problem]:
    """What the answer or its evidence says and the relevant days do not."""
    yield from _spans(corpus, asked)
    if missing := _missing_words(said, asked):
        named = ", ".join(sorted(missing)[:4])
        yield _problem(
            f"too few words of the answer stand on {spelled(asked.days)}, not even {named}; "
            "correct the answer or relevant_days",
            is_grave=True,
        )
    yield from _window(corpus, said, asked)


def holding_days(corpus: Corpus, asked: Asked) -> tuple[int, ...]:
    """The relevant days that state every value and name of the answer, in whatever spelling.

    Codes as short as Q1 are met by chance and not looked for. None if there is nothing to look
    for, or the answer is a refusal.
    """
    telling = [atom for atom in asked.atoms if atom.is_exact or atom.kind == NAME]
    if not telling or holds_back(asked):
        return ()
    found = (corpus.index.loose_days(atom) for atom in telling)
    return tuple(sorted(set(asked.days).intersection(*found)))


def _missing_words(said: DayWords, asked: Asked) -> Collection[str]:
    """Words of a free answer that its days lack, if they are too many for a rewording."""
    if asked.denies or holds_back(asked):
        return ()
    answer = topics(asked.reference) - asked.topics
    here = said.of_any(asked.days)
    missing = answer - here
    if len(missing) > (1 - _MOST) * len(answer):
        return missing
    telling = said.known(answer) - said.usual(answer)
    lost = telling - here
    is_elsewhere = len(lost) >= _TELLING and len(lost) > (1 - _SOME) * len(telling)
    return lost if is_elsewhere else ()


def _window(corpus: Corpus, said: DayWords, asked: Asked) -> Iterator[Problem]:
    """A week of relevant days for one fact, of which only some state it."""
    if holds_back(asked) or not wants_one_fact(asked) or not lists_window(asked):
        return
    if asked.atoms:
        holding = holding_days(corpus, asked)
    else:
        answer = topics(asked.reference) - asked.topics
        holding = tuple(
            day for day in asked.days if len(answer & said.of(day)) >= _MOST * len(answer)
        )
    if holding and len(holding) < len(asked.days):
        yield _problem(
            f"it lists {len(asked.days)} relevant days for one fact, and only "
            f"{spelled(holding)} {'states' if len(holding) == 1 else 'state'} it; list no others"
        )


def _spans(corpus: Corpus, asked: Asked) -> Iterator[Problem]:
    spans = [span for span in asked.item.truth.evidence if span.start is not None]
    outside = [span for span in spans if not _is_inside(corpus, span)]
    for span in outside:
        yield _problem(
            f"its evidence on day {span.day} points to characters {span.start} to {span.end}, "
            f"which are not of {span.session or 'that day'}; correct them",
            is_grave=True,
        )
    yield from _quotes(corpus, asked)
    if not spans or outside or len(spans) < len(asked.item.truth.evidence):
        return
    days = [Day(n, "", _excerpt(corpus, span)) for n, span in enumerate(spans)]
    wanted = [atom for atom in asked.exact if not _may_be_inferred(asked, atom)]
    index = Index(days, wanted)
    if absent := [atom.shown for atom in wanted if not index.loose_days(atom)]:
        yield _problem(
            f"its evidence does not hold {', '.join(absent[:3])}; point to the sentence that does",
            is_grave=True,
        )


def _may_be_inferred(asked: Asked, atom: Atom) -> bool:
    """A date may be the day's own; a count or a sum stands nowhere."""
    return atom.kind == DATE or (atom.kind in AMOUNTS and asked.category in INFERRED)


def _is_inside(corpus: Corpus, span: Evidence) -> bool:
    text = corpus.by_number[span.day].text
    start, end = span.start or 0, span.end
    if end is None or not 0 <= start < end <= len(text):
        return False
    before = Day(span.day, "", text[:start])
    session = before.headed[-1] if before.headed else NO_SESSION
    return span.session is None or session == span.session


def _excerpt(corpus: Corpus, span: Evidence) -> str:
    """What the evidence points to, from the heading it stands under on."""
    text = corpus.by_number[span.day].text
    start = span.start or 0
    headed = [each.start() for each in _HEADING.finditer(text, 0, start)]
    return text[headed[-1] if headed else start : span.end]


def _quotes(corpus: Corpus, asked: Asked) -> Iterator[Problem]:
    """Quotations that the evidence gives beside its places."""
    listed = asked.extra.get("evidence")
    for span in listed if isinstance(listed, list) else ():
        quote, day = span.get("quote"), span.get("day")
        if not isinstance(quote, str) or not isinstance(day, int):
            continue
        start, end = span.get("start"), span.get("end")
        if not _levelled(quote) or _levelled(quote) not in _levelled(
            corpus.by_number[day].text[start:end]
        ):
            yield _problem(
                f"day {day} does not say “{quote[:80]}” where its evidence quotes it; correct it",
                is_grave=True,
            )


def _levelled(text: str) -> str:
    return " ".join(plain(text).lower().split())


def _problem(message: str, *, is_grave: bool = False) -> Problem:
    return Problem(kind=Kind.SUPPORT, message=message, is_grave=is_grave)
