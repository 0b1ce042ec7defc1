"""Checks of the dialogues of a written edition: each says what the log of its day says."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle
from typing import Any

from recall_bench.core.errors import Malformed
from recall_bench.core.languages import count_words, get_language
from recall_bench.datasets.transcripts import parse_markdown_turns
from recall_bench.generate.written.rendering import RenderedEdition
from recall_bench.generate.written.sources import WrittenDay, WrittenSources

_TURNS = (4, 24)
"""The number of turns a dialogue may have."""
_WORDS = (60, 1200)
"""The number of words a dialogue may have."""

Fault = tuple[str, str]
"""Where, and what is wrong."""


def find_dialogue_faults(sources: WrittenSources) -> Iterator[Fault]:
    """What is wrong with the dialogues, slots aside. An edition has none, or one for each day."""
    logs = {day.day: day for day in sources.days}
    dialogues = {dialogue.day for dialogue in sources.dialogues}
    if dialogues and (missing := sorted(set(logs) - dialogues)):
        yield "dialogues", f"there is none for days {', '.join(map(str, missing))}"
    for dialogue in sources.dialogues:
        log = logs.get(dialogue.day)
        if log is None:
            yield f"{dialogue.file}, line 1", "this day has no log"
            continue
        yield from _find_shape_faults(dialogue, sources)
        yield from _find_content_faults(dialogue, log)


def find_lost_answers(
    edition: RenderedEdition, entries: Iterable[Mapping[str, Any]]
) -> Iterator[Fault]:
    """Parts of answers that stand in the evidence and not in the dialogue of the same day."""
    for entry in entries:
        for span in entry["evidence"]:
            day = span["day"]
            if day not in edition.dialogues:
                continue
            sentence = edition.texts[day][span["start"] : span["end"]].casefold()
            dialogue = edition.dialogues[day].casefold()
            for atom in entry["atoms"] or ():
                if atom.casefold() in sentence and atom.casefold() not in dialogue:
                    yield (
                        f"dialogues/{day:04}.md",
                        f"“{atom}”, an answer to “{entry['question']}”, is not in it",
                    )


def _find_shape_faults(dialogue: WrittenDay, sources: WrittenSources) -> Iterator[Fault]:
    where = f"{dialogue.file}, line 1"
    try:
        turns = parse_markdown_turns(dialogue.text.strip() + "\n", dialogue.file)
    except Malformed as problem:
        yield where, str(problem)
        return
    if not _TURNS[0] <= len(turns) <= _TURNS[1]:
        yield where, f"it has {len(turns)} turns; write {_TURNS[0]} to {_TURNS[1]}"
    expected = zip(turns, cycle(("user", "assistant")), strict=False)
    if any(turn.speaker != speaker for turn, speaker in expected):
        yield where, "the turns do not alternate, user first"
    if any(not turn.text for turn in turns):
        yield where, "a turn is empty"
    if turns and not turns[0].text.startswith("[session: "):
        yield where, "the first turn does not begin with [session: …]"
    words = count_words(dialogue.text, get_language(sources.story.language))
    if not _WORDS[0] <= words <= _WORDS[1]:
        yield where, f"it has {words} words; write {_WORDS[0]} to {_WORDS[1]}"


def _find_content_faults(dialogue: WrittenDay, log: WrittenDay) -> Iterator[Fault]:
    """It has the sessions, the states and the dates of the log, each state in its session."""
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
