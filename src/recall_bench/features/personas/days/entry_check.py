"""Checks of a model's entry; every problem is a sentence for the model."""

import re
from collections.abc import Iterator
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
    if before and not _is_announcement(before):
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


def _is_announcement(text: str) -> bool:
    return "\n" not in text and text.endswith(":")


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
                *_check_length(entry, requirements),
                *_check_vocabulary(entry, requirements),
                *_check_due_values(day, requirements),
                *_check_hidden_values(entry, day, requirements),
                *_check_stale_values(day, requirements),
                *_check_dates(entry, requirements.at),
                *_check_copies(day, requirements),
            )
        )
    )
    return RejectedReply(problems) if problems else entry


def _check_length(entry: str, requirements: EntryRequirements) -> Iterator[str]:
    count, length = len(entry.split()), requirements.length
    if not length.fewest // _LENIENCY <= count <= length.most * _LENIENCY:
        yield f"it has {count} words; write {length.fewest} to {length.most}"


def _check_vocabulary(entry: str, requirements: EntryRequirements) -> Iterator[str]:
    for results in _FOREIGN.finditer(entry):
        if results[0].lower() not in requirements.material:
            yield f"it says “{results[0]}”, which nobody in the story would; say it otherwise"


def _check_due_values(day: DayLog, requirements: EntryRequirements) -> Iterator[str]:
    advice = (
        *requirements.due,
        *(atom for mention in requirements.stated for atom in mention.atoms),
    )
    index = ValueIndex([day], advice)
    for atom in requirements.due:
        if not index.find_loose_days(atom):
            yield f"{atom.shown} is missing, which belongs to what happens today; state it so"
    for statement in requirements.stated:
        for atom in statement.atoms:
            said = any(statement.about & mention.topics for mention in index.find_mentions(atom))
            if not (said or (_is_placeless(atom, statement.about) and index.find_loose_days(atom))):
                yield f"{atom.shown} is missing; state it in one sentence with what it is about"


def _is_placeless(atom: TextValue, about: frozenset[str]) -> bool:
    """Whether the value cannot be searched in sentences on a topic."""
    return not about or atom.kind in {NAME, QUOTE}


def _check_hidden_values(entry: str, day: DayLog, requirements: EntryRequirements) -> Iterator[str]:
    results = list(requirements.hidden.sure.find_in(entry))
    index = ValueIndex([day], [atom for sentence in requirements.early for atom in sentence.atoms])
    for statement in requirements.early:
        for atom in statement.atoms:
            if atom.kind == NAME:
                said = any(
                    sentence.topics & statement.about
                    for sentence in _list_sentences(day)
                    if set(list_words(sentence.text)).issuperset(atom.words)
                )
            else:
                said = any(
                    sentence.topics & statement.about for sentence in index.find_mentions(atom)
                )
            if said:
                results.append(atom)
    for atom in results:
        yield f"it says {atom.shown}, which nobody here has heard by this date; take it out"


def _list_sentences(day: DayLog) -> Iterator[SentenceMention]:
    for sentence in day.sentences:
        yield SentenceMention(
            day.number, sentence.session or "", sentence.text, f"{sentence.heading} {sentence.lead}"
        )


def _check_stale_values(day: DayLog, requirements: EntryRequirements) -> Iterator[str]:
    index = ValueIndex([day], [atom for item in requirements.stale for atom in item.atoms])
    for statement in requirements.stale:
        for atom in statement.atoms:
            for mention in index.find_mentions(atom):
                if statement.about & mention.topics and not is_superseded(atom, mention):
                    yield (
                        f"{atom.shown} is given as if it still held; leave it out, or say in the "
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
    for start, _, atom in locate_text_values(level):
        if atom.kind != DATE or (meant := _find_nearest_date(atom, today)) is None:
            continue
        before = level[max(0, start - 40) : start]
        if _TODAY.search(before) and meant != today:
            yield f"it calls {atom.shown} today; today is {format_date(today)}"
        named = _WEEKDAY_BEFORE.search(before)
        if named and not f"{meant:%A}".startswith(named[1][:3]):
            yield f"{atom.shown} is a {meant:%A}; correct the weekday or the date"


def _find_nearest_date(atom: TextValue, today: date) -> date | None:
    """The date of a value: without a year the nearest; None if there is no such date."""
    if atom.value != atom.core:
        years = [int(atom.value[:4])]
    else:
        years = [today.year - 1, today.year, today.year + 1]
    month, day = (int(part) for part in atom.core.split("-"))
    dates = []
    for year in years:
        try:
            dates.append(date(year, month, day))
        except ValueError:
            continue
    return min(dates, key=lambda each: abs((each - today).days), default=None)


def _check_copies(day: DayLog, requirements: EntryRequirements) -> Iterator[str]:
    earlier = {
        text for entry in requirements.shown for text in _list_long_sentences(DayLog(0, "", entry))
    }
    sentences = _list_long_sentences(day)
    copied = sum(text in earlier for text in sentences)
    if sentences and copied >= MAX_COPIED_SHARE * len(sentences):
        yield (
            f"{copied} of its {len(sentences)} longer sentences are those of earlier entries; tell "
            "what is new today in new words"
        )


def _list_long_sentences(day: DayLog) -> list[str]:
    return [
        sentence.text
        for sentence in day.sentences
        if len(sentence.text.split()) >= LONG_SENTENCE_WORDS
    ]
