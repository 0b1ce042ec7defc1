"""What the author of a session's entry is told about the persona, the session and its threads.

Whatever is not known on that day is left out, sentence by sentence.
"""

import re
from collections.abc import Iterator
from datetime import date

from recall_bench.core.history import compute_story_date
from recall_bench.core.sentences import split_sentences
from recall_bench.datasets.identity import Persona, Session
from recall_bench.datasets.story import Arc
from recall_bench.generate.days.pacing import find_phase
from recall_bench.generate.days.secrecy import HiddenValues, is_correction, is_public

_NOTE = re.compile(r"\b(?:arcs?|corpus|recency[- ]bias)\b", re.IGNORECASE)
"""Marks a sentence that one author of stories writes to another."""

_MAX_CAST = 40
_MAX_EVENTS = 20


def format_date(at: date) -> str:
    """A date with its weekday, as people say it."""
    return f"{at:%A}, {at.day} {at:%B %Y}"


def describe_persona(persona: Persona, unsaid: HiddenValues) -> str:
    """Who keeps the log, for whom, and who else there is."""
    lines = [f"{persona.name}, {persona.role}. Field: {persona.domain}."]
    if persona.affiliation:
        lines.append(f"Works at {persona.affiliation}, with a team of {persona.team_size}.")
    lines.append(remove_hidden(persona.profile, unsaid))
    lines.append(f"How {persona.name} writes: {remove_hidden(persona.communication_style, unsaid)}")
    if persona.principal:
        served = f"{persona.principal.name}, {persona.principal.role}."
        lines.append(
            f"Serves {served} {remove_hidden(persona.principal.profile or '', unsaid)}".rstrip()
        )
    known = [each for each in persona.cast if not unsaid.find_in(f"{each.name}, {each.role}")]
    if known:
        lines.append("People and agents around:")
        lines += [f"- {each.name} ({each.kind}): {each.role}" for each in known[:_MAX_CAST]]
    shared = [text for text in persona.shared_knowledge if not unsaid.find_in(text)]
    if shared:
        lines.append("Known to everybody:")
        lines += [f"- {text}" for text in shared]
    return "\n".join(line for line in lines if line)


def describe_session(session: Session) -> str:
    """The conversation that is logged."""
    kind = "a conversation of two" if session.kind == "1to1" else "a group"
    lines = [f"{session.id}: {kind}."]
    if session.participants:
        lines.append(f"Taking part: {', '.join(session.participants)}.")
    if session.sensitive_topics:
        lines.append("Confidential, for this conversation alone:")
        lines += [f"- {topic}" for topic in session.sensitive_topics]
    return "\n".join(lines)


def describe_thread(arc: Arc, day: int, epoch: date, unsaid: HiddenValues) -> str | None:
    """What is known of an arc on a day; None if nothing is."""
    known = [
        *_describe_arc(arc, day, unsaid),
        *_describe_beliefs(arc, day, epoch),
        *_list_earlier_events(arc, day, epoch),
    ]
    today = [each.event for each in arc.directives if each.day == day]
    if today:
        known.append("Today:")
        known += [f"- {event}" for event in today]
    if not known:
        return None
    people = [name for name in arc.participants if not unsaid.find_in(name)]
    if people:
        known.append(f"Concerned: {', '.join(people)}.")
    known.append(f"How far it is: {find_phase(arc, day)}.")
    return "\n".join(known)


def remove_hidden(text: str, unsaid: HiddenValues) -> str:
    """The sentences of a text that give away nothing."""
    whole = " ".join(text.split())
    return " ".join(sentence for sentence in split_sentences(whole) if not unsaid.find_in(sentence))


def _describe_arc(arc: Arc, day: int, unsaid: HiddenValues) -> Iterator[str]:
    if not is_public(arc, day):
        return
    if not unsaid.find_in(arc.title):
        yield f"{arc.title} ({arc.type})"
    sentences = split_sentences(remove_hidden(arc.description, unsaid))
    if told := " ".join(each for each in sentences if not _NOTE.search(each)):
        yield told


def _describe_beliefs(arc: Arc, day: int, epoch: date) -> Iterator[str]:
    if not is_correction(arc):
        return
    wrong = arc.wrong_belief if arc.wrong_day is not None and arc.wrong_day <= day else None
    if arc.corrected_day is None or day < arc.corrected_day:
        if wrong:
            held = "From today everybody takes" if arc.wrong_day == day else "Everybody takes"
            yield f"{held} this for a fact, and nobody doubts it: {wrong}"
        return
    if wrong and arc.corrected_day == day:
        yield f"Until today everybody believed: {wrong}"
    elif wrong:
        yield f"Until {_format_day(epoch, arc.corrected_day)} everybody believed, wrongly: {wrong}"
    if arc.corrected_belief and arc.corrected_day == day:
        yield f"Today it turns out, and holds from now on: {arc.corrected_belief}"
    elif arc.corrected_belief:
        yield f"Known since {_format_day(epoch, arc.corrected_day)}: {arc.corrected_belief}"


def _list_earlier_events(arc: Arc, day: int, epoch: date) -> Iterator[str]:
    past = [each for each in arc.directives if each.day < day and arc.is_active(each.day)]
    if past:
        yield "Earlier:"
        past.sort(key=lambda each: each.day)
        for each in past[-_MAX_EVENTS:]:
            yield f"- {_format_day(epoch, each.day)}: {each.event}"


def _format_day(epoch: date, day: int) -> str:
    return format_date(compute_story_date(epoch, day).date())
