"""A world: matters start, change and end by a seed, and each step becomes sentences of a day.

Everything is drawn before anything is written, so an event can go to whoever holds the role on its
day, and a question can tell whether something never happened.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from recall_bench.core.errors import Malformed
from recall_bench.core.random_stream import RandomStream, derive_seed
from recall_bench.core.scenario import PRINCIPAL
from recall_bench.features.personas.simulator.ledger import (
    LedgerFact,
    LogPage,
    LogSentence,
    Matter,
    MatterEvent,
    Note,
    SecretAccess,
    build_page,
)
from recall_bench.features.personas.simulator.sources import (
    AttributeSource,
    MatterKind,
    Options,
    WorldOptions,
    WorldSources,
)
from recall_bench.features.personas.simulator.values import (
    Dates,
    FactValue,
    draw_amount,
    draw_code,
    draw_time,
    format_number,
)

_STARTS = {"off": 0, "quiet": 1, "normal": 3, "busy": 4, "dense": 6}
"""Matters that start on a day of each level."""
_SWINGS = {"off": ("quiet", 0.05), "quiet": ("normal", 0.08), "normal": ("dense", 0.05)}
"""The level that a day may have instead of its usual one, and how often."""

_PAUSE_EVERY, _PAUSE_DAYS = 350, 12
"""A long story has a pause without a log about once a year."""

_ABSENT_SHARE = 0.15
"""How often an attribute of a matter is told nowhere, though its neighbours have it."""
_LONG_SHARE = 0.12
_SHORT_LIFE, _LONG_LIFE = (6, 30), (90, 320)
_SHORT_CHANGES, _LONG_CHANGES = (0, 0, 0, 1, 1, 2, 3), (2, 3, 4, 5, 6, 7)
"""How often a value changes in the life of a matter, each number equally often."""
_CORRECTED_SHARE = 0.06
_ECHO_SHARE = 0.6
"""How often an old value is named again, as one out of date, after the last change."""
_STILL_SHARE = 0.15
_EVENT_SHARE = 0.5
_TRIES = 12

_STATED = (
    "The {label} of {name} is {value}.",
    "{name} has this {label}: {value}.",
    "Noted for {name}: the {label} is {value}.",
)
_HELD = ("{value} is the {label} of {name}.", "The {label} of {name} is {value}.")
_CHANGED = (
    "The {label} of {name} is now {value}, no longer {old}.",
    "The {label} of {name} has changed from {old} to {value}.",
    "From today the {label} of {name} is {value} instead of {old}.",
)
_CORRECTED = (
    "Correction: the {label} of {name} is {value}, not {old}, and has been from the start.",
)
_OUTDATED = (
    "An old sheet still names {old} as the {label} of {name}; that is out of date.",
    "Somebody quoted {old} as the {label} of {name}, which no longer holds.",
)
_STILL = ("The {label} of {name} is still {value}.",)
_REPORTED = (
    "As {label} of {name}, {value} reported {event}.",
    "{value}, the {label} of {name}, reported {event}.",
)

_CANARIES = (
    "BRASTIN CLOVEX DRUMET FESKAR GLINTO HARVOX JUSKEL KRENOV LUMPET MIRVAN NOXTIL PRAVEL QUINTAR "
    "RUSKET SOLVIN TREMAL VARNOK WEXLIN YUSTEN ZELPAR"
).split()


class World:
    """A persona's story under one seed."""

    def __init__(self, sources: WorldSources, options: WorldOptions, arcs_name: str) -> None:
        self.sources = sources
        self.options = options
        # Two stories of one persona under one seed share no draws.
        self.seed = derive_seed(options.seed, sources.persona.id, arcs_name)
        self.dates = Dates(sources.epoch, sources.persona.dates)
        self.sessions = {session.id: session for session in sources.persona.sessions}
        self._groups: dict[str, list[str]] = defaultdict(list)
        for person in sources.persona.cast:
            for group in person.groups:
                self._groups[group].append(person.name)
        self._numbers: dict[str, int] = {}
        self._ways: set[str] = set()
        self._drawn: set[tuple[str, str, str]] = set()
        self._notes: dict[int, list[Note]] = {day: [] for day in self.list_days()}
        self.matters: tuple[Matter, ...] = tuple(self._draw_matters())

    def list_days(self) -> tuple[int, ...]:
        """The days that have a log."""
        return tuple(self._levels)

    @cached_property
    def _levels(self) -> dict[int, str]:
        chance = RandomStream(self.seed, "days")
        pauses = range(_PAUSE_EVERY, self.options.days - 2 * _PAUSE_DAYS, _PAUSE_EVERY)
        away = {start + offset for start in pauses for offset in range(_PAUSE_DAYS)}
        levels = {}
        for day in range(1, self.options.days + 1):
            level: str = self.sources.persona.week[self.dates.get_date(day).weekday()]
            other, share = _SWINGS.get(level, (level, 0.0))
            level = other if chance.is_hit(share) else level
            level = "busy" if day == 1 else level
            if level != "off" and day not in away:
                levels[day] = level
        return levels

    def build_pages(self) -> Iterator[LogPage]:
        """The log of every day in order; sentences learn their places here."""
        for day, notes in self._notes.items():
            heading = self.dates.format_heading(day)
            text = f"This log has {len(notes) or 'no'} {'entry' if len(notes) == 1 else 'entries'}."
            dateline = Note(PRINCIPAL, heading, (LogSentence(text, day, PRINCIPAL),))
            yield build_page(day, [dateline, *notes], tuple(self.sessions))

    def is_isolated(self, session: str) -> bool:
        """Whether the session is isolated from all others."""
        return self.sessions[session].isolated

    def list_outsiders(self, session: str) -> list[str]:
        """Open sessions with a participant who is not in this one."""
        insiders = set(self.sessions[session].participants)
        return [
            other.id
            for other in self.sessions.values()
            if other.id != session and not other.isolated and set(other.participants) - insiders
        ]

    def find_log_day(self, day: int) -> int | None:
        """The day, or the next one with a log; None beyond the story."""
        return next((d for d in range(day, self.options.days + 1) if d in self._levels), None)

    def add_note(
        self, matter: Matter, sentences: Sequence[LogSentence], values: Sequence[FactValue] = ()
    ) -> None:
        """Put sentences of one day and session into the log; those of one matter stay together."""
        first = sentences[0]
        matter.last_named = max(matter.last_named, first.day)
        notes = self._notes[first.day]
        for number, note in enumerate(notes):
            if note.matter is matter and note.session == first.session:
                both = (*note.sentences, *sentences)
                notes[number] = Note(
                    note.session, note.heading, both, matter, (*note.values, *values)
                )
                return
        notes.append(Note(first.session, matter.name, tuple(sentences), matter, tuple(values)))

    def _draw_matters(self) -> Iterator[Matter]:
        chance = RandomStream(self.seed, "starts")
        kinds = self.sources.matters.kinds
        weights = [max(1, round(1000 * kind.share)) for kind in kinds]
        for day, level in self._levels.items():
            starts = _STARTS[level] * self.options.density
            number = int(starts) + chance.is_hit(starts % 1)
            # No story is without anything to tell.
            for _ in range(max(number, day == 1)):
                kind = kinds[chance.choose_by_weight(weights)]
                opened = self._open_matter(kind, day)
                if opened is not None:
                    yield _MatterLife(self, opened).live()

    def _open_matter(self, kind: MatterKind, day: int) -> Matter | None:
        """A new matter with its opening sentence; None if nothing tells it from an earlier one."""
        before = self._numbers.get(kind.id, kind.first)
        chance = RandomStream(self.seed, "matter", kind.id, before)
        number = before + chance.draw_between(1, 7)
        began = self.dates.format_day(day)
        for _ in range(_TRIES):
            fillings = {
                "n": str(number),
                "began": began,
                **{
                    topic: chance.choose(self.list_options(options))
                    for topic, options in kind.topics.items()
                },
            }
            name = _fill(kind.name, fillings)
            called = _fill(kind.called, fillings)
            if called not in self._ways and name not in self._ways:
                self._ways |= {called, name}
                self._numbers[kind.id] = number
                opening = LogSentence(f"{_capitalise(name)} is {called}.", day, kind.session)
                return Matter(f"{kind.id}-{len(self._ways) // 2:05}", kind, name, called, opening)
        return None

    def list_options(self, options: Options) -> list[str]:
        """The texts to choose from."""
        if not isinstance(options, str):
            return options
        name = options.removeprefix("@")
        return self.sources.matters.words.get(name) or self._groups[name]

    def draw_value(
        self, matter: Matter, attribute: str, day: int, chance: RandomStream
    ) -> FactValue | None:
        """A value that the attribute has not had; None if there is none."""
        source = matter.attributes[attribute]
        had = {fact.value.text for fact in matter.facts.get(attribute, ())}
        had |= {fact.value.text for other in source.not_ for fact in matter.facts.get(other, ())}
        repeated = None
        for _ in range(_TRIES):
            value = self._draw_any(source, day, chance)
            if value.text in had:
                continue
            # A figure that a neighbour has had could be taken for an answer about this one.
            key = (matter.kind.id, attribute, value.text)
            if value.kind in {"choice", "person"} or key not in self._drawn:
                self._drawn.add(key)
                return value
            repeated = value
        return repeated

    def _draw_any(self, source: AttributeSource, day: int, chance: RandomStream) -> FactValue:
        kind = source.kind
        if source.person is not None:
            named = [source.person] if isinstance(source.person, str) else source.person
            people = tuple(dict.fromkeys(name for group in named for name in self._groups[group]))
            return FactValue(kind, chance.choose(people), others=people)
        if source.choice is not None:
            options = self.list_options(source.choice)
            return FactValue(kind, chance.choose(options), others=tuple(options))
        if source.date is not None:
            low, high = source.date[:2]
            due = max(1, day + chance.draw_between(low, high))
            return FactValue(kind, self.dates.format_day(due), day=due)
        if source.time is not None:
            return draw_time(source.time, chance)
        if source.code is not None:
            return FactValue(kind, draw_code(source.code, chance))
        bounds = source.number or source.money or source.percent
        if bounds is None:
            raise Malformed(self.sources.persona.id, "an attribute has no kind; give it one")
        amount = draw_amount(bounds, chance)
        return format_number(kind, amount, unit=source.unit, currency=source.currency)


class _MatterLife:
    """Draws what becomes of one matter."""

    def __init__(self, world: World, matter: Matter) -> None:
        self._world = world
        self._matter = matter
        self._chance = RandomStream(world.seed, "life", matter.key)
        self._is_long = self._chance.is_hit(_LONG_SHARE)
        life = _LONG_LIFE if self._is_long else _SHORT_LIFE
        self._first = matter.opening.day
        self._last = self._first + self._chance.draw_between(*life)

    def live(self) -> Matter:
        """The matter with all that happens to it."""
        self._state_values()
        for attribute in list(self._matter.facts):
            if self._matter.attributes[attribute].secret:
                self._decide_secret(attribute)
            elif self._matter.attributes[attribute].revises:
                self._revise(attribute)
        for event, role in self._matter.kind.events.items():
            if self._chance.is_hit(_EVENT_SHARE):
                self._report(event, role)
        closing = self._world.find_log_day(
            max(self._last, self._matter.last_named + self._chance.draw_between(1, 5))
        )
        if closing is not None:
            text = f"{_capitalise(self._matter.name)} was closed."
            self._matter.closing = LogSentence(text, closing, self._matter.kind.session)
            self._world.add_note(self._matter, [self._matter.closing])
        return self._matter

    def _state_values(self) -> None:
        """State the attributes in the opening note and in one some days later."""
        matter, world, chance = self._matter, self._world, self._chance
        later = world.find_log_day(self._first + chance.draw_between(1, 6))
        roles = set(matter.kind.events.values())
        notes: dict[tuple[int, str], list[tuple[LogSentence, FactValue]]] = defaultdict(list)
        for attribute, source in matter.attributes.items():
            is_needed = attribute in roles or source.secret
            if not is_needed and chance.is_hit(_ABSENT_SHARE):
                continue
            is_early = attribute in roles or chance.is_hit(0.6)
            day = self._first if is_early else later
            value = None if day is None else world.draw_value(matter, attribute, day, chance)
            if day is None or value is None:
                continue
            forms = _HELD if value.kind == "person" else _STATED
            session = source.session or matter.kind.session
            sentence = self._word(forms, attribute, value, day, session)
            matter.facts[attribute] = [LedgerFact(value, sentence)]
            notes[day, session].append((sentence, value))
        sentences = [matter.opening]
        if world.is_isolated(matter.kind.session):
            matter.canary = f"{chance.choose(_CANARIES)}-{draw_code('#??#?', chance)}"
            text = f"It is filed under {matter.canary}."
            sentences.append(LogSentence(text, self._first, matter.kind.session))
        world.add_note(matter, sentences)
        for stated in notes.values():
            world.add_note(
                matter, [sentence for sentence, _ in stated], [value for _, value in stated]
            )

    def _revise(self, attribute: str) -> None:
        """Let a value change some times, and later be named again: out of date, or still so."""
        matter, chance = self._matter, self._chance
        facts = matter.facts[attribute]
        times = chance.choose(_LONG_CHANGES if self._is_long else _SHORT_CHANGES)
        is_mistake = not self._is_long and chance.is_hit(_CORRECTED_SHARE)
        days = self._pick_days(facts[0].day + 1, 1 if is_mistake else times)
        session = facts[0].sentence.session
        for day in days:
            value = self._world.draw_value(matter, attribute, day, chance)
            if value is None:
                break
            forms = _CORRECTED if is_mistake else _CHANGED
            sentence = self._word(forms, attribute, value, day, session, old=facts[-1].value)
            facts[-1].until = day - 1
            facts.append(LedgerFact(value, sentence, is_correction=is_mistake))
            self._world.add_note(matter, [sentence], [value])
        after = self._world.find_log_day(facts[-1].day + chance.draw_between(2, 12))
        if after is None or is_mistake:
            return
        if len(facts) > 1 and chance.is_hit(_ECHO_SHARE):
            old = facts[-2]
            sentence = self._word(_OUTDATED, attribute, old.value, after, session, old=old.value)
            old.echoes.append(sentence)
            self._world.add_note(matter, [sentence])
        elif chance.is_hit(_STILL_SHARE):
            sentence = self._word(_STILL, attribute, facts[-1].value, after, session)
            facts[-1].echoes.append(sentence)
            self._world.add_note(matter, [sentence], [facts[-1].value])

    def _report(self, event: str, role: str) -> None:
        """Let the holder of a role report an event; never on a day on which the role changes."""
        matter = self._matter
        if role not in matter.facts:
            return
        handovers = {fact.day for fact in matter.facts[role]}
        days = [day for day in self._pick_days(self._first + 1, 3) if day not in handovers]
        holder = matter.find_fact(role, days[0]) if days else None
        if holder is None:
            return
        sentence = self._word(
            _REPORTED,
            role,
            holder.value,
            days[0],
            matter.kind.session,
            event=f"{'an' if event[0] in 'aeiou' else 'a'} {event}",
        )
        matter.events[event] = MatterEvent(role, holder.value.text, sentence)
        self._world.add_note(matter, [sentence], [holder.value])

    def _decide_secret(self, attribute: str) -> None:
        """Let a secret stay one, be made public, be forgotten, or be opened to a session."""
        matter, world, chance = self._matter, self._world, self._chance
        [fact] = matter.facts[attribute]
        home, label = fact.sentence.session, matter.label(attribute)
        fate = chance.draw_below(20)
        day = world.find_log_day(fact.day + chance.draw_between(3, 20))
        outsiders = world.list_outsiders(home)
        if fate >= 10 or day is None or not outsiders:
            return
        outside = chance.choose(outsiders)
        statement = f"the {label} of {matter.name} is {fact.value.text}."
        if fate < 3:
            sentence = LogSentence(f"It is public now: {statement}", day, outside)
            matter.revealed[attribute] = sentence
            world.add_note(matter, [sentence], [fact.value])
        elif fate < 6:
            sentence = LogSentence(
                f"The people concerned asked me to forget the {label} of {matter.name}.",
                day,
                home,
            )
            matter.forgotten[attribute] = sentence
            world.add_note(matter, [sentence])
        else:
            sentence = LogSentence(f"This session may know that {statement}", day, outside)
            access = matter.access[attribute] = SecretAccess(outside, sentence)
            world.add_note(matter, [sentence], [fact.value])
            end = world.find_log_day(day + chance.draw_between(4, 30))
            if end is not None and chance.is_hit(0.6):
                access.revoked = LogSentence(
                    f"From today this session may no longer be told the {label} of {matter.name}.",
                    end,
                    outside,
                )
                world.add_note(matter, [access.revoked])

    def _pick_days(self, first: int, count: int) -> list[int]:
        """About `count` different days with a log in what is left of its life, in order."""
        candidates = (
            self._chance.draw_between(first, max(first, self._last - 1)) for _ in range(count)
        )
        days = (self._world.find_log_day(day) for day in candidates)
        return sorted({day for day in days if day is not None})

    def _word(
        self,
        forms: Sequence[str],
        attribute: str,
        value: FactValue,
        day: int,
        session: str,
        *,
        old: FactValue | None = None,
        event: str = "",
    ) -> LogSentence:
        text = self._chance.choose(forms).format(
            label=self._matter.label(attribute),
            name=self._matter.name,
            value=value.text,
            old="" if old is None else old.text,
            event=event,
        )
        return LogSentence(_capitalise(text), day, session)


def _fill(template: str, fillings: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda hole: fillings[hole[1]], template)


def _capitalise(text: str) -> str:
    """The text with a capital, unless it starts with an identifier such as `ledger-api2`."""
    return text[0].upper() + text[1:] if re.match(r"[a-z]+(?=[\s,.;:])", text) else text
