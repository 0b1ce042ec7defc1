"""Checks of a model's entry; every problem is a sentence for the model."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date

from recall_bench.features.personas.day_log import format_date
from recall_bench.features.personas.days.entry_prompt import EntryRequirements
from recall_bench.features.personas.model_reply import RejectedReply
from recall_bench.stories.lint.history_checks import is_superseded
from recall_bench.stories.lint.value_index import DayLog, SentenceMention, ValueIndex
from recall_bench.stories.text_dates import find_text_date
from recall_bench.text.text_values import (
    DATE,
    NAME,
    QUOTE,
    TextValue,
    list_words,
    locate_text_values,
    normalise_text,
)

_FENCE = re.compile(r"(`{3,}|~{3,})[\w-]*[ \t]*")
_MAX_LINES_BEFORE_FENCE = 2
"""Lines allowed before a fence."""
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:[\w-]+:[^\n]*\n)*---[ \t]*(?:\n|\Z)")
_SESSION = re.compile(r"^#{1,6}[ \t]*session:(.*)$", re.IGNORECASE | re.MULTILINE)
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)\Z")
_EDGES = " \t#"
"""Stripped from headings in code: in a pattern it would backtrack."""
_LEVEL = 3


def extract_entry(reply: str, session: str) -> str | RejectedReply:
    """The entry in a reply, or why there is none.

    A surrounding fence, front matter, an announcing line and the session's own heading are removed;
    higher headings become topics.
    """
    if "\0" in reply or any("\ud800" <= char <= "\udfff" for char in reply):
        return RejectedReply(("it holds characters that are no text; write plain text",))
    text = reply.replace("\r\n", "\n").replace("\r", "\n").strip("\ufeff \t\n")
    text = _strip_fence(text)
    text = _FRONT_MATTER.sub("", text, count=1)
    named = (name.lstrip(" \t").rstrip(_EDGES) for name in _SESSION.findall(text))
    strange = [name for name in named if name != session]
    if strange:
        problem = (
            f"it has a heading for the session {strange[0]}; write the entry of {session} alone"
        )
        return RejectedReply((problem,))
    topics = _split_topics(_SESSION.sub("", text))
    before, filled = topics[0][1], [(name, body) for name, body in topics[1:] if body]
    if not filled:
        return RejectedReply(("it has no topic: begin with a line `### topic` and tell it below",))
    is_announcement = "\n" not in before and before.endswith(":")
    if before and not is_announcement:
        return RejectedReply(("text stands before the first `###` line; put it under a topic",))
    return "\n\n".join(f"### {name}\n{body}" for name, body in filled)


def _strip_fence(text: str) -> str:
    """The content of a fence around the whole reply, but for a line or two before it."""
    lines = text.split("\n")
    before = 0
    for place, line in enumerate(lines[:-1]):
        if opening := _FENCE.fullmatch(line):
            is_closed = lines[-1] == opening[1]
            return "\n".join(lines[place + 1 : -1]).strip() if is_closed else text
        before += bool(line)
        if line.startswith("#") or before > _MAX_LINES_BEFORE_FENCE:
            break
    return text


def _split_topics(text: str) -> list[tuple[str, str]]:
    """The heading and body of each topic; the first has no heading."""
    results: list[tuple[str, list[str]]] = [("", [])]
    is_code = False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        heading = None if is_code else _HEADING.match(line)
        name = heading[2].rstrip(_EDGES) if heading and len(heading[1]) <= _LEVEL else ""
        if name:
            results.append((name, []))
        else:
            results[-1][1].append(line.rstrip())
    return [(name, "\n".join(lines).strip()) for name, lines in results]


_LENIENCY = 5
"""The factor by which an entry may be shorter or longer than requested."""
LONG_SENTENCE_WORDS = 6
MAX_COPIED_SHARE = 0.5
"""A reply that repeats more of the longer sentences word for word is refused."""

_FOREIGN = re.compile(
    r"\b(?:days? #?\d{1,4}|checkpoints?|benchmarks?|personas?|story arcs?"
    r"|as an AI language model)\b",
    re.IGNORECASE,
)
"""Words of the benchmark that do not belong into a story."""
_TODAY = re.compile(r"\btoday\b[\s,:(]*(?:is|being|on)?[\s,(]*(?:\w+day,?\s)?\Z", re.IGNORECASE)
_WEEKDAY_BEFORE = re.compile(r"\b(Mon|Tues?|Wed|Thu|Thurs|Fri|Sat|Sun)[a-z]*\.?,?\s(?:the\s)?\Z")


def check_entry(reply: str, requirements: EntryRequirements) -> str | RejectedReply:
    """The entry in a reply, or everything that is wrong with it."""
    entry = extract_entry(reply, requirements.session)
    if isinstance(entry, RejectedReply):
        return entry
    day = DayLog(
        requirements.day, requirements.session, f"# session: {requirements.session}\n\n{entry}\n"
    )
    problems = tuple(
        dict.fromkeys(
            (
                *_check_words(entry, day, requirements),
                *_check_due_values(day, requirements),
                *_check_hidden_values(entry, day, requirements),
                *_check_stale_values(day, requirements),
                *_check_dates(entry, requirements.at),
            )
        )
    )
    return RejectedReply(problems) if problems else entry


def _check_words(entry: str, day: DayLog, requirements: EntryRequirements) -> Iterator[str]:
    """The length, words of the benchmark, and sentences of earlier entries."""
    count, length = len(entry.split()), requirements.length
    if not length.fewest // _LENIENCY <= count <= length.most * _LENIENCY:
        yield f"it has {count} words; write {length.fewest} to {length.most}"
    for match in _FOREIGN.finditer(entry):
        if match[0].lower() not in requirements.material:
            yield f"it says “{match[0]}”, which nobody in the story would; say it otherwise"
    earlier = {
        text for shown in requirements.shown for text in _list_long_sentences(DayLog(0, "", shown))
    }
    sentences = _list_long_sentences(day)
    copied = sum(text in earlier for text in sentences)
    if sentences and copied >= MAX_COPIED_SHARE * len(sentences):
        yield (
            f"{copied} of its {len(sentences)} longer sentences are those of earlier entries; tell "
            "what is new today in new words"
        )


def _list_long_sentences(day: DayLog) -> list[str]:
    texts = (sentence.text for sentence in day.sentences)
    return [text for text in texts if len(text.split()) >= LONG_SENTENCE_WORDS]


def _check_due_values(day: DayLog, requirements: EntryRequirements) -> Iterator[str]:
    stated = [(item.about, value) for item in requirements.stated for value in item.atoms]
    index = ValueIndex([day], (*requirements.due, *(value for _, value in stated)))
    for value in requirements.due:
        if not index.find_loose_days(value):
            yield f"{value.shown} is missing, which belongs to what happens today; state it so"
    for about, value in stated:
        # Names and quotations cannot be searched in sentences on a topic.
        is_placeless = not about or value.kind in {NAME, QUOTE}
        is_told = any(about & mention.topics for mention in index.find_mentions(value))
        if not (is_told or (is_placeless and index.find_loose_days(value))):
            yield f"{value.shown} is missing; state it in one sentence with what it is about"


def _check_hidden_values(entry: str, day: DayLog, requirements: EntryRequirements) -> Iterator[str]:
    leaks = list(requirements.hidden.sure.find_in(entry))
    early = [(item.about, value) for item in requirements.early for value in item.atoms]
    index = ValueIndex([day], [value for _, value in early])
    for about, value in early:
        mentions: Iterable[SentenceMention] = index.find_mentions(value)
        if value.kind == NAME:
            mentions = (
                SentenceMention(
                    day.number,
                    sentence.session or "",
                    sentence.text,
                    f"{sentence.heading} {sentence.lead}",
                )
                for sentence in day.sentences
                if set(list_words(sentence.text)).issuperset(value.words)
            )
        if any(mention.topics & about for mention in mentions):
            leaks.append(value)
    for value in leaks:
        yield f"it says {value.shown}, which nobody here has heard by this date; take it out"


def _check_stale_values(day: DayLog, requirements: EntryRequirements) -> Iterator[str]:
    stale = [(item.about, value) for item in requirements.stale for value in item.atoms]
    index = ValueIndex([day], [value for _, value in stale])
    for about, value in stale:
        for mention in index.find_mentions(value):
            if about & mention.topics and not is_superseded(value, mention):
                yield (
                    f"{value.shown} is given as if it still held; leave it out, or say in the "
                    "same sentence that it is no longer so"
                )


def _check_dates(entry: str, today: date) -> Iterator[str]:
    own = find_text_date(entry)
    if own is not None and own != today:
        yield (
            f"it opens with {format_date(own)} as if that were its date; today is "
            f"{format_date(today)}: correct it, or name the other date further down"
        )
    level = normalise_text(entry)
    for start, _, value in locate_text_values(level):
        if value.kind != DATE or (meant := _find_nearest_date(value, today)) is None:
            continue
        before = level[max(0, start - 40) : start]
        if _TODAY.search(before) and meant != today:
            yield f"it calls {value.shown} today; today is {format_date(today)}"
        named = _WEEKDAY_BEFORE.search(before)
        if named and not f"{meant:%A}".startswith(named[1][:3]):
            yield f"{value.shown} is a {meant:%A}; correct the weekday or the date"


def _find_nearest_date(value: TextValue, today: date) -> date | None:
    """The date of a value: without a year the nearest; None if there is no such date."""
    has_year = value.value != value.core
    years = [int(value.value[:4])] if has_year else range(today.year - 1, today.year + 2)
    month, day = (int(part) for part in value.core.split("-"))
    dates = []
    for year in years:
        with suppress(ValueError):
            dates.append(date(year, month, day))
    return min(dates, key=lambda at: abs((at - today).days), default=None)
