"""What the writer of a session's entry may know on a day.

A value is hidden while it occurs only in later events, later beliefs, arcs that have not started or
isolated sessions. It is known as soon as a past event holds it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from recall_bench.core.scenario import compute_story_date
from recall_bench.features.personas.day_log import format_date
from recall_bench.features.personas.days.day_plan import find_phase, is_secret
from recall_bench.stories.persona_story import Arc, Persona, Session
from recall_bench.text.sentences import split_sentences
from recall_bench.text.text_values import (
    CODE,
    MONEY,
    NAME,
    NUMBER,
    PERCENT,
    QUOTE,
    TextValue,
    find_claims,
    find_text_values,
    list_words,
    normalise_text,
)

_NAMED_BY_TITLE = frozenset({"project", "incident", "learning", "relationship"})
"""Types of arcs whose title names their subject; that of a decision or correction may name its
outcome."""

_SURE = frozenset({MONEY, PERCENT, CODE, QUOTE})
"""Kinds of values that do not occur by chance."""

_ARTICLE = re.compile(r"\A(?:The|An?)\b")
_CAPITAL = re.compile(r"\b[A-Z][^\W_]*")

_Key = tuple[str, str]


@dataclass(frozen=True)
class HiddenValues:
    """The values and names that a session must not know on a day."""

    atoms: tuple[TextValue, ...]

    def find_in(self, text: str) -> tuple[TextValue, ...]:
        """The hidden values in a text, in any spelling."""
        level = normalise_text(text)
        results = [
            self._by_value[key]
            for atom in find_text_values(level)
            if (key := _make_key(atom)) in self._by_value
        ]
        names = frozenset(word.lower() for word in _CAPITAL.findall(level))
        flat = " ".join(level.lower().split())
        results += [
            atom
            for atom, needed in self._by_words
            if (atom.value in flat if atom.kind == QUOTE else needed <= names)
        ]
        return tuple(dict.fromkeys(results))

    @cached_property
    def sure(self) -> "HiddenValues":
        """The values that a text cannot hold by chance."""
        return HiddenValues(tuple(atom for atom in self.atoms if atom.kind in _SURE))

    @cached_property
    def _by_value(self) -> dict[_Key, TextValue]:
        return {_make_key(atom): atom for atom in self.atoms if atom.kind not in {NAME, QUOTE}}

    @cached_property
    def _by_words(self) -> tuple[tuple[TextValue, frozenset[str]], ...]:
        results = (atom for atom in self.atoms if atom.kind in {NAME, QUOTE})
        return tuple((atom, needed) for atom in results if (needed := frozenset(atom.words)))


class HiddenValueFinder:
    """Finds the hidden values of every day and session.

    The content of persona.yaml is known from the first day, except corrected beliefs.
    """

    def __init__(self, persona: Persona, arcs: tuple[Arc, ...], isolated: frozenset[str]) -> None:
        self._arcs = arcs
        self._isolated = isolated
        self._values: dict[str, tuple[TextValue, ...]] = {}
        self._words: dict[str, frozenset[str]] = {}
        self._background = tuple(text for text in _list_identity_texts(persona) if text)

    def find_hidden(self, session: Session, day: int) -> HiddenValues:
        """The values that the session must not know on that day."""
        happened: list[str] = []
        subjects: list[str] = []
        later: list[str] = []
        corrected: list[str] = []
        for arc in self._arcs:
            beliefs = [text for text in (arc.wrong_belief, arc.corrected_belief) if text]
            if is_secret(arc, session, self._isolated):
                later += [arc.title, arc.description, *beliefs]
                later += (directive.event for directive in arc.directives)
                continue
            happened += list_past_events(arc, day)
            later += (directive.event for directive in arc.directives if directive.day > day)
            if arc.wrong_belief and (arc.wrong_day is None or arc.wrong_day > day):
                later.append(arc.wrong_belief)
            if is_public(arc, day):
                subjects += [arc.title] if arc.type in _NAMED_BY_TITLE else []
                continue
            later += [arc.title, arc.description]
            corrected += [arc.corrected_belief] if arc.corrected_belief else []
        keys = {_make_key(value) for value in self._list_values(happened)}
        usual = keys | {_make_key(value) for value in self._list_values(self._background)}
        named = [self._split_words(text) for text in (*self._background, *happened, *subjects)]
        hidden: dict[_Key, TextValue] = {}
        for texts, excepted in ((later, usual), (corrected, keys)):
            for value in self._list_values(texts):
                # A name is known if one of the texts holds it in full.
                is_given = value.kind == NAME and any(
                    words.issuperset(value.words) for words in named
                )
                if _make_key(value) not in excepted and not is_given:
                    hidden[_make_key(value)] = value
        return HiddenValues(tuple(hidden.values()))

    def _split_words(self, text: str) -> frozenset[str]:
        if text not in self._words:
            self._words[text] = frozenset(list_words(normalise_text(text)))
        return self._words[text]

    def _list_values(self, texts: Iterable[str]) -> Iterator[TextValue]:
        for text in texts:
            if text not in self._values:
                # A name after a leading article would be taken for the first word of a sentence.
                level = _ARTICLE.sub(lambda article: article[0].lower(), text)
                self._values[text] = tuple(
                    value
                    for value in find_claims(level)
                    # A single first word of a text may be any word.
                    if value.is_exact
                    or (
                        value.kind == NAME
                        and (" " in value.shown or not level.startswith(value.shown))
                    )
                )
            yield from self._values[text]


def list_past_events(arc: Arc, day: int) -> Iterator[str]:
    """The events and beliefs of an arc up to a day."""
    for directive in arc.directives:
        if directive.day <= day and arc.is_active(directive.day):
            yield directive.event
    if arc.wrong_belief and arc.wrong_day is not None and arc.wrong_day <= day:
        yield arc.wrong_belief
    if arc.corrected_belief and arc.corrected_day is not None and arc.corrected_day <= day:
        yield arc.corrected_belief


def is_correction(arc: Arc) -> bool:
    """Whether the arc corrects a belief."""
    return arc.type == "correction" or arc.corrected_belief is not None


def is_public(arc: Arc, day: int) -> bool:
    """Whether title and description are known: those of a correction from its correction on."""
    if is_correction(arc):
        return arc.corrected_day is not None and arc.corrected_day <= day
    return arc.start_day <= day


def _make_key(atom: TextValue) -> _Key:
    """The same for all spellings of a value; numbers with different units differ."""
    return atom.kind, atom.value if atom.kind in {NUMBER, NAME, QUOTE} else atom.core


def _list_identity_texts(persona: Persona) -> Iterator[str]:
    yield from (persona.name, persona.role, persona.domain, persona.affiliation or "")
    yield from (persona.profile, persona.communication_style)
    if persona.principal:
        yield from (persona.principal.name, persona.principal.role, persona.principal.profile or "")
    for member in persona.cast:
        yield f"{member.name}, {member.role}"
    for session in persona.sessions:
        yield from session.participants
    yield from persona.shared_knowledge


_NOTE = re.compile(r"\b(?:arcs?|corpus|recency[- ]bias)\b", re.IGNORECASE)
"""Marks a sentence for story authors."""

_MAX_CAST = 40
_MAX_EVENTS = 20


def describe_persona(persona: Persona, hidden: HiddenValues) -> str:
    """The agent, its principal and the people around them."""
    lines = [f"{persona.name}, {persona.role}. Field: {persona.domain}."]
    if persona.affiliation:
        lines.append(f"Works at {persona.affiliation}, with a team of {persona.team_size}.")
    lines.append(remove_hidden(persona.profile, hidden))
    lines.append(f"How {persona.name} writes: {remove_hidden(persona.communication_style, hidden)}")
    if persona.principal:
        served = f"{persona.principal.name}, {persona.principal.role}."
        lines.append(
            f"Serves {served} {remove_hidden(persona.principal.profile or '', hidden)}".rstrip()
        )
    existing = [item for item in persona.cast if not hidden.find_in(f"{item.name}, {item.role}")]
    if existing:
        lines.append("People and agents around:")
        lines += [f"- {item.name} ({item.kind}): {item.role}" for item in existing[:_MAX_CAST]]
    shared = [text for text in persona.shared_knowledge if not hidden.find_in(text)]
    if shared:
        lines.append("Known to everybody:")
        lines += [f"- {text}" for text in shared]
    return "\n".join(line for line in lines if line)


def describe_session(session: Session) -> str:
    """The session of the entry."""
    kind = "a conversation of two" if session.kind == "1to1" else "a group"
    lines = [f"{session.id}: {kind}."]
    if session.participants:
        lines.append(f"Taking part: {', '.join(session.participants)}.")
    if session.sensitive_topics:
        lines.append("Confidential, for this conversation alone:")
        lines += [f"- {topic}" for topic in session.sensitive_topics]
    return "\n".join(lines)


def describe_thread(arc: Arc, day: int, epoch: date, hidden: HiddenValues) -> str | None:
    """What is known of an arc on a day; None if nothing."""
    thread = []
    if is_public(arc, day):
        if not hidden.find_in(arc.title):
            thread.append(f"{arc.title} ({arc.type})")
        sentences = split_sentences(remove_hidden(arc.description, hidden))
        if text := " ".join(item for item in sentences if not _NOTE.search(item)):
            thread.append(text)
    thread += _describe_beliefs(arc, day, epoch)
    past = sorted(
        (item for item in arc.directives if item.day < day and arc.is_active(item.day)),
        key=lambda directive: directive.day,
    )
    if past:
        thread.append("Earlier:")
    thread += (f"- {_format_day(epoch, item.day)}: {item.event}" for item in past[-_MAX_EVENTS:])
    today = [directive.event for directive in arc.directives if directive.day == day]
    if today:
        thread.append("Today:")
    thread += (f"- {event}" for event in today)
    if not thread:
        return None
    people = [name for name in arc.participants if not hidden.find_in(name)]
    if people:
        thread.append(f"Concerned: {', '.join(people)}.")
    thread.append(f"How far it is: {find_phase(arc, day)}.")
    return "\n".join(thread)


def remove_hidden(text: str, hidden: HiddenValues) -> str:
    """The sentences of a text without hidden values."""
    whole = " ".join(text.split())
    return " ".join(sentence for sentence in split_sentences(whole) if not hidden.find_in(sentence))


def _describe_beliefs(arc: Arc, day: int, epoch: date) -> Iterator[str]:
    if not is_correction(arc):
        return
    wrong = arc.wrong_belief if arc.wrong_day is not None and arc.wrong_day <= day else None
    if arc.corrected_day is None or day < arc.corrected_day:
        if wrong:
            opening = "From today everybody takes" if arc.wrong_day == day else "Everybody takes"
            yield f"{opening} this for a fact, and nobody doubts it: {wrong}"
        return
    if wrong and arc.corrected_day == day:
        yield f"Until today everybody believed: {wrong}"
    elif wrong:
        yield f"Until {_format_day(epoch, arc.corrected_day)} everybody believed, wrongly: {wrong}"
    if arc.corrected_belief and arc.corrected_day == day:
        yield f"Today it turns out, and holds from now on: {arc.corrected_belief}"
    elif arc.corrected_belief:
        yield f"Known since {_format_day(epoch, arc.corrected_day)}: {arc.corrected_belief}"


def _format_day(epoch: date, day: int) -> str:
    return format_date(compute_story_date(epoch, day).date())
