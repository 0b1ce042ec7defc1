"""Problems in the sources of a world that show before it is simulated."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from recall_bench.core.errors import BenchError, Malformed
from recall_bench.features.personas.world.context import get_template
from recall_bench.features.personas.world.fact_values import BOUNDED, find_bounds_fault
from recall_bench.features.personas.world.sources import (
    KINDS,
    AuthoredArc,
    FactSlot,
    RoutineProcess,
    StepTiming,
    Variants,
    WorldSources,
)
from recall_bench.features.personas.world.templates import Placeholder
from recall_bench.text.sentences import split_sentences

MOST_CONCURRENT = 4

_KNOWN_ARC_KEYS = frozenset(
    "id type title description startDay endDay primarySession referencedSessions participants "
    "forbiddenSessions wrongDay correctedDay wrongBelief correctedBelief name called facts "
    "directives ripples".split()
)
_DIRECTIVE_KEYS = frozenset(
    "day event heading session text changes reveals forgets grants revokes when".split()
)

_SHAPES = {
    "money": r"^\W*[$£€¥]\W*\d|\d.*(?:USD|EUR|GBP)",
    "percent": r"\d.*(?:%|percent)",
    "time": r"^\d\d?:\d\d$",
    "number": r"\d",
}
"""The form of a value of each kind."""

_BUILT_IN = frozenset({"name", "today", "began", "canary", "it"})


def find_source_problems(sources: WorldSources) -> list[BenchError]:
    """Every problem that shows without simulating."""
    checker = _SourceChecker(sources)
    source_problems: list[BenchError] = []
    for process in sources.routine.processes:
        where = f"{sources.persona.id}/routine.yaml, process {process.id}"
        source_problems += [Malformed(where, problem) for problem in checker.check_process(process)]
    for arc in sources.story.arcs:
        where = f"{sources.persona.id}/{sources.arcs_name}, arc {arc.id}"
        source_problems += [Malformed(where, problem) for problem in checker.check_arc(arc)]
    where = f"{sources.persona.id}/persona.yaml"
    source_problems += [
        Malformed(where, problem) for problem in _find_nested_names(sources.persona.alternatives)
    ]
    where = f"{sources.persona.id}/{sources.arcs_name}"
    source_problems += [Malformed(where, problem) for problem in _find_crowding(sources.story.arcs)]
    source_problems += [
        Malformed(where, problem) for problem in _find_unknown_keys(sources.story_file)
    ]
    return source_problems


class _SourceChecker:
    def __init__(self, sources: WorldSources) -> None:
        self._words = {*sources.routine.words, *sources.voice.words}
        self._groups = {group for member in sources.persona.cast for group in member.groups}
        self._isolated = {session.id: session.isolated for session in sources.persona.sessions}
        self._away = sources.story.away
        self._facts = {f"{arc.id}.{name}" for arc in sources.story.arcs for name in arc.facts}
        self._cast = {member.name for member in sources.persona.cast}
        self._names = {word for name in self._cast for word in name.split()}

    def check_process(self, process: RoutineProcess) -> Iterator[str]:
        yield from self._check_session(process.session)
        told_in: dict[str, list[str]] = {}
        for step in process.steps:
            if step.session is not None:
                yield from self._check_session(step.session)
            texts = list(_flatten_variants(step.text))
            yield from self._check_texts(f"step {step.id}", texts, process.slots)
            yield from self._check_headings(step.id, step.heading, process.slots)
            yield from self._check_cues(step.id, step.when.cue if step.when else [])
            if step.did and not (step.when and step.when.cue):
                yield f"step {step.id} has `did` and no cue under `when`; add one"
            retold = {*step.changes, *step.reveals}
            for slot in _find_stated_slots(texts, process.slots) - retold:
                told_in.setdefault(slot, []).append(step.id)
        yield from _find_repeats(told_in)
        yield from self._check_texts("echoes", process.echoes, process.slots)
        yield from self._check_texts("restates", process.restates, process.slots)
        for slot in _find_stated_slots(process.echoes, process.slots):
            yield f"an echo states {slot}, which is asked about; leave the value out"
        yield from self._check_slots(process.slots, told_in)
        yield from self._check_tallies(process)
        for way in _flatten_variants([process.called, process.name]):
            for placeholder in get_template(way).placeholders:
                if placeholder.name in process.slots and process.slots[placeholder.name].ask:
                    yield f"`{way}` gives away {placeholder.name}, which is asked about"

    def check_arc(self, arc: AuthoredArc) -> Iterator[str]:
        yield from self._check_session(arc.primary_session)
        told_in: dict[str, list[str]] = {}
        for number, directive in enumerate(arc.directives):
            label = f"day {directive.day}"
            if directive.session is not None:
                yield from self._check_session(directive.session)
            if not arc.start_day <= directive.day <= arc.end_day:
                yield f"{label} lies outside the arc; move it, or the arc's ends"
            if any(first <= directive.day <= last for first, last in self._away):
                yield f"{label} is a day away; move it"
            if number and directive.day < arc.directives[number - 1].day:
                yield f"{label} comes after a later directive; put them in order"
            yield from self._check_texts(label, [directive.text], arc.facts)
            yield from self._check_headings(label, directive.heading, arc.facts)
            yield from self._check_cues(label, directive.when.cue if directive.when else [])
            retold = {*directive.changes, *directive.reveals, *directive.grants}
            for slot in _find_stated_slots([directive.text], arc.facts) - retold:
                told_in.setdefault(slot, []).append(label)
        yield from _find_repeats(told_in)
        yield from self._check_texts("ripples", arc.ripples, arc.facts)
        for slot in _find_stated_slots(arc.ripples, arc.facts):
            yield f"a ripple states {slot}, which is asked about; leave the value out"
        yield from self._check_slots(arc.facts, told_in)
        yield from self._check_people(arc)
        yield from self._check_versions(arc)
        yield from self._check_values(arc)

    def _check_people(self, arc: AuthoredArc) -> Iterator[str]:
        for name, fact in arc.facts.items():
            values = fact.is_ if isinstance(fact.is_, list) else [fact.is_]
            for person in values if fact.kind == "person" else []:
                if person is not None and person not in self._cast:
                    yield f"{name} is {person}, who is not in the cast by that full name"

    def _check_versions(self, arc: AuthoredArc) -> Iterator[str]:
        for name, fact in arc.facts.items():
            if fact.same is not None and fact.same not in self._facts:
                yield f"{name} is the same as {fact.same}, which no arc has"
            if fact.is_ is None and fact.same is None:
                yield f"{name} has no value; give it `is`"
            listed = len(fact.is_) if isinstance(fact.is_, list) else 1
            changes = sum(name in directive.changes for directive in arc.directives)
            if fact.same is None and changes >= listed:
                yield f"{name} changes {changes} times and has {listed} values under `is`"

    def _check_values(self, arc: AuthoredArc) -> Iterator[str]:
        for name, fact in arc.facts.items():
            values = fact.is_ if isinstance(fact.is_, list) else [fact.is_]
            shape = _SHAPES.get(fact.kind or "")
            for value in values if shape else []:
                if not re.search(shape or "", str(value)):
                    yield (
                        f"{name} is {value}, which is not a {fact.kind}; quote it if it has a comma"
                    )

    def _check_session(self, session: str) -> Iterator[str]:
        if session not in self._isolated:
            yield f"the session {session} is not declared in persona.yaml; correct it"

    def _check_headings(
        self, label: str, heading: Variants, slots: dict[str, FactSlot]
    ) -> Iterator[str]:
        for way in _flatten_variants([heading]):
            for placeholder in get_template(way).placeholders:
                if (
                    placeholder.name in slots
                    and slots[placeholder.name].ask
                    and not placeholder.form
                ):
                    yield f"the heading of {label} states {placeholder.name}, which is asked about"
            yield from self._check_placeholders(label, way, slots)

    def _check_texts(
        self, label: str, texts: Iterable[str], slots: dict[str, FactSlot]
    ) -> Iterator[str]:
        for text in texts:
            yield from self._check_placeholders(label, text, slots)
            for sentence in _list_filled_sentences(text):
                for placeholder in get_template(sentence).placeholders:
                    slot = slots.get(placeholder.name)
                    if slot is None or not slot.cue or _is_form(placeholder):
                        continue
                    if not _is_cue_near(sentence, placeholder, slot.cue):
                        yield (
                            f"{label} states {placeholder.name} without one of its cues "
                            f"({'; '.join(slot.cue)}): {sentence[:90]!r}"
                        )

    def _check_placeholders(
        self, label: str, text: str, slots: dict[str, FactSlot]
    ) -> Iterator[str]:
        for placeholder in get_template(text).placeholders:
            name = placeholder.name
            if name in slots or name in _BUILT_IN or name.startswith(("n:", "t:", "date:")):
                continue
            if name.startswith("@") and (name[1:] in self._words or name[1:] in self._groups):
                continue
            yield f"{label} holds {{{name}}}, which nothing defines"

    def _check_slots(
        self, slots: dict[str, FactSlot], told_in: dict[str, list[str]]
    ) -> Iterator[str]:
        for name, slot in slots.items():
            if slot.ask and not slot.cue:
                yield f"{name} is asked about and has no cue; add one"
            yield from self._check_cues(name, slot.cue)
            yield from self._check_sampling(name, slot)
            if slot.ask and name not in told_in:
                yield f"{name} is asked about and never stated"
            if slot.with_ and slot.with_ not in slots:
                yield f"{name} goes with {slot.with_}, which is not there"
            for way in (*slot.ask, *slot.then, *slot.both):
                for placeholder in get_template(way).placeholders:
                    existing = placeholder.name in slots or placeholder.name in {
                        "it",
                        "date",
                        "name",
                        "began",
                    }
                    if not existing:
                        yield (
                            f"a question for {name} holds {{{placeholder.name}}}, which nothing "
                            "defines"
                        )

    def _check_sampling(self, name: str, slot: FactSlot) -> Iterator[str]:
        if slot.same is None and slot.get_kind() not in KINDS:
            yield f"{name} has no kind; give it one, such as number or choice"
        for kind in BOUNDED:
            bounds = getattr(slot, kind)
            if bounds is not None and (fault := find_bounds_fault(kind, bounds)) is not None:
                yield f"{name}: {kind} {fault}"
        if isinstance(slot.choice, str) and slot.choice.removeprefix("@") not in self._words:
            yield f"{name} chooses from {slot.choice}, which is not a word list"
        groups = [slot.person] if isinstance(slot.person, str) else slot.person or []
        for group in groups:
            if group not in self._groups:
                yield f"{name} is a person of {group}, and no one in the cast is"

    def _check_cues(self, label: str, cues: list[str]) -> Iterator[str]:
        for cue in cues:
            for word in re.findall(r"\w+", cue):
                if word.islower() and word.capitalize() in self._names:
                    yield f"a cue of {label} writes {word} small, so no seed can rename it"

    def _check_tallies(self, process: RoutineProcess) -> Iterator[str]:
        tallies = process.tallies
        when: StepTiming | None = process.steps[0].when
        has_any = tallies.count or tallies.total or tallies.highest or tallies.lowest
        if has_any and not (when and when.cue):
            yield "has tallies, but its first step has no cue under `when`; add one"
        for slot in (*tallies.total, *tallies.highest, *tallies.lowest):
            if slot not in process.slots:
                yield f"tallies {slot}, which is not a slot"


def _find_repeats(told_in: dict[str, list[str]]) -> Iterator[str]:
    for slot, places in told_in.items():
        if len(places) > 1:
            yield f"{slot} is stated more than once, in {' and '.join(places)}; echo it instead"


def _find_unknown_keys(story: dict[str, Any]) -> Iterator[str]:
    """Keys that neither the public format nor the simulator knows: likely typos."""
    for arc in story["arcs"]:
        for key in arc.keys() - _KNOWN_ARC_KEYS:
            yield f"arc {arc['id']} has the unknown key {key}; correct it"
        for directive in arc["directives"]:
            for key in directive.keys() - _DIRECTIVE_KEYS:
                day = directive["day"]
                yield f"arc {arc['id']}, day {day} has the unknown key {key}; correct it"


def _find_nested_names(alternatives: dict[str, list[str]]) -> Iterator[str]:
    """Names that occur inside the name of another thing, so that renaming would confuse them."""
    names = [(thing, name) for thing, others in alternatives.items() for name in [thing, *others]]
    for thing, name in names:
        for other, whole in names:
            if thing != other and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", whole):
                yield f"{name}, for {thing}, is part of {whole}, for {other}; rename one"


def _find_crowding(arcs: list[AuthoredArc]) -> Iterator[str]:
    last = max((arc.end_day for arc in arcs), default=0)
    for day in range(1, last + 1):
        active = [arc.id for arc in arcs if arc.start_day <= day <= arc.end_day]
        if len(active) > MOST_CONCURRENT:
            yield f"{len(active)} arcs are active on day {day}: {', '.join(active)}"
            return


def _flatten_variants(parts: Iterable[Variants]) -> Iterator[str]:
    for part in parts:
        yield from [part] if isinstance(part, str) else part


def _find_stated_slots(texts: Iterable[str], slots: dict[str, FactSlot]) -> set[str]:
    """The asked slots whose current value one of the texts states."""
    return {
        placeholder.name
        for text in texts
        for placeholder in get_template(text).placeholders
        if placeholder.name in slots and slots[placeholder.name].ask and not _is_form(placeholder)
    }


def _is_form(placeholder: Placeholder) -> bool:
    """Whether it is a pronoun or an old value rather than the current value."""
    return placeholder.form not in {"", "full", "short"}


@cache
def _list_filled_sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text with a placeholder; the same texts are checked for many stories."""
    if "{" not in text:
        return ()
    return tuple(sentence for sentence in _split_sentences(text) if "{" in sentence)


def _split_sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n|\n(?=[->|] )", text):
        joined = " ".join(paragraph.split())
        # The splitter looks for a capital; a placeholder starts a sentence as well.
        marked = re.sub(r"(?<=[.!?] )\{", "X{", joined)
        for sentence in split_sentences(marked):
            yield re.sub(r"X\{", "{", sentence)


def _is_cue_near(sentence: str, placeholder: Placeholder, cues: list[str]) -> bool:
    form = f".{placeholder.form}" if placeholder.form else ""
    lowered = sentence.lower()
    for cue in cues:
        pattern = cue.lower().replace("_", f"{{{placeholder.name}{form}}}".lower())
        if pattern in lowered:
            return True
    return False
