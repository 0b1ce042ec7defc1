"""Checks of the dialogues of a written edition: each has the content of the log of its day."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from recall_bench.core.errors import Malformed
from recall_bench.core.languages import Language, count_words, get_language
from recall_bench.datasets.transcripts import parse_markdown_turns
from recall_bench.generate.dialogue_shape import find_shape_faults
from recall_bench.generate.written.renderer import RenderedEdition
from recall_bench.generate.written.sources import WrittenDay, WrittenSources
from recall_bench.metrics.planted_strings import contains

_MAX_TURNS = 24
_WORDS = (60, 1200)
"""The least and the greatest number of words of a dialogue."""
_SPEAKER = re.compile(r"^([A-Z][\w'’-]*)(?: [A-Z][\w'’-]*)?(?::| here\b)", re.MULTILINE)
"""A name at the beginning of a line of a user: `Freya: …`, `Freya Lindholt here. …`"""
_USER_TURN = re.compile(
    r"^\*\*User:\*\*$(.*?)(?=^\*\*Assistant:\*\*$|\Z)", re.MULTILINE | re.DOTALL
)

Fault = tuple[str, str]
"""Where, and what is wrong."""


def find_dialogue_faults(sources: WrittenSources) -> Iterator[Fault]:
    """Find the faults of the dialogues, except in slots. An edition has none, or one a day."""
    logs = {day.day: day for day in sources.days}
    dialogues = {dialogue.day for dialogue in sources.dialogues}
    if dialogues and (missing := sorted(set(logs) - dialogues)):
        yield "dialogues", f"there is none for days {', '.join(map(str, missing))}"
    for dialogue in sources.dialogues:
        log = logs.get(dialogue.day)
        if log is None:
            yield f"{dialogue.file}, line 1", "this day has no log"
            continue
        yield from _find_text_faults(dialogue, sources)
        yield from _find_content_faults(dialogue, log)
        yield from _find_speaker_faults(dialogue, sources)


def find_lost_answers(
    edition: RenderedEdition, entries: Iterable[Mapping[str, Any]]
) -> Iterator[Fault]:
    """Find parts of answers that are in the evidence and not in the dialogue of the same day."""
    language = get_language(edition.sources.story.language)
    for entry in entries:
        for span in entry["evidence"]:
            day = span["day"]
            if day not in edition.dialogues:
                continue
            sentence = edition.texts[day][span["start"] : span["end"]]
            dialogue = edition.dialogues[day]
            for atom in entry["atoms"] or ():
                is_stated = _contains(sentence, atom, language)
                if is_stated and not _contains(dialogue, atom, language):
                    yield (
                        f"dialogues/{day:04}.md",
                        f"“{atom}”, an answer to “{entry['question']}”, is not in it",
                    )


def _contains(text: str, atom: str, language: Language) -> bool:
    """Whether the text has the atom as whole words: 4 is not in 14."""
    return contains(text, atom) if language.is_spaced else atom in text


def _find_text_faults(dialogue: WrittenDay, sources: WrittenSources) -> Iterator[Fault]:
    where = f"{dialogue.file}, line 1"
    try:
        turns = parse_markdown_turns(dialogue.text.strip() + "\n", dialogue.file)
    except Malformed as problem:
        yield where, str(problem)
        return
    for fault in find_shape_faults(turns, _MAX_TURNS):
        yield where, fault
    if turns and not turns[0].text.startswith("[session: "):
        yield where, "the first turn does not begin with [session: …]"
    words = count_words(dialogue.text, get_language(sources.story.language))
    if not _WORDS[0] <= words <= _WORDS[1]:
        yield where, f"it has {words} words; write {_WORDS[0]} to {_WORDS[1]}"


def _find_content_faults(dialogue: WrittenDay, log: WrittenDay) -> Iterator[Fault]:
    """Find sessions, states and dates of the log that the dialogue lacks, or has beside them.

    A state belongs to the session in which the log has it.
    """
    sessions, wanted = dialogue.sessions, log.sessions
    for name in sorted(set(wanted) - set(sessions)):
        yield f"{dialogue.file}, line 1", f"nothing is said in session {name}"
    for name in sorted(set(sessions) - set(wanted)):
        yield f"{dialogue.file}, line 1", f"the log of the day has no session {name}"
    for state, session in sorted(log.statements - dialogue.statements, key=str):
        yield f"{dialogue.file}, line 1", f"{state} is told in session {session} of the log"
    dates = {slot.day for slot in log.slots if slot.day is not None}
    for slot in dialogue.slots:
        where = str(dialogue.locate(slot.start))
        if slot.definition is not None:
            yield where, f"a dialogue defines no value; write {{{slot.state}}}"
        elif slot.day is not None and slot.day not in dates:
            yield where, f"the log of the day has no date @{slot.day}"
        elif slot.state is not None:
            session = dialogue.find_session(slot.start)
            if (slot.state, session) not in log.statements:
                yield where, f"{slot.state} is not told in session {session} of the log"


def _find_speaker_faults(dialogue: WrittenDay, sources: WrittenSources) -> Iterator[Fault]:
    """Find speakers who do not take part in the group in which they are named.

    In a session of one person no speaker is named: `Freya: …` is a topic there.
    """
    members = {
        session.id: {word for name in session.participants for word in name.split()}
        for session in sources.persona.sessions
        if len(session.participants) > 1
    }
    known = {word for name in sources.people for word in name.split()}
    for turn in _USER_TURN.finditer(dialogue.text):
        for speaker in _SPEAKER.finditer(dialogue.text, *turn.span(1)):
            session = dialogue.find_session(speaker.start())
            if speaker[1] in known - members.get(session or "", known):
                where = str(dialogue.locate(speaker.start()))
                yield where, f"{speaker[1]} speaks, and does not take part in session {session}"
