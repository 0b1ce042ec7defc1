"""Entities: people, services, contracts, rooms with attributes, and when those change."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from recall_bench.generate.life.calendar import LifeCalendar
from recall_bench.generate.life.facts import MOST_STATES, FactBook, FactHistory, StateMention
from recall_bench.generate.life.names import flatten, list_placeholders
from recall_bench.generate.life.prose import (
    MENTION,
    FreshWriter,
    LifeScope,
    LifeText,
    TopicNames,
)
from recall_bench.generate.life.sources import EntityKind, LifeAttribute, LifeSources
from recall_bench.generate.life.value_draws import ValueDrawer
from recall_bench.generate.world.fact_values import FactValue
from recall_bench.generate.world.random_stream import RandomStream, ShuffleBag
from recall_bench.generate.world.templates import Placeholder, PlaceholderValue
from recall_bench.generate.written.slots import FactState
from recall_bench.generate.written.values import format_written_date

_APART = 12
"""The fewest days between two states of one attribute."""
_MISREPORTED, _RESTORED, _PASSING = 0.15, 0.14, 0.45
_SPAN_OF_SETTLING = 0.07
"""The share of the story in which the entities are introduced."""
_LEAST_SETTLING = 20
_SAME_YEAR = 150
"""Days within which a date needs no year."""


@dataclass(slots=True, eq=False)
class Entity:
    """One entity, and what has been stated about it."""

    key: str
    kind_name: str
    kind: EntityKind
    name: str
    arrives: int
    facts: dict[str, FactHistory] = field(default_factory=dict)
    """Attribute to its states; an attribute that is missing was not stated yet."""
    introduced: int | None = None
    threads: set[str] = field(default_factory=set)
    """The processes of which a thread acts on it at the moment."""

    @property
    def is_settled(self) -> bool:
        """Whether all its attributes have been stated once."""
        return len(self.facts) == len(self.kind.attributes)

    def get_value(self, attribute: str) -> FactValue:
        """The current value."""
        return self.facts[attribute].now.value

    @property
    def home(self) -> str:
        """The session in which it is introduced."""
        return next(iter(self.kind.attributes.values())).session

    def name_fact(self, attribute: str) -> str:
        """The key of the fact."""
        return f"{self.key}-{attribute}"


@dataclass(slots=True, eq=False)
class StateChange:
    """A telling of a state that is due: the first one, a revision, or a correction."""

    day: int
    entity: Entity
    attribute: str
    manner: str

    @property
    def definition(self) -> LifeAttribute:
        """The attribute."""
        return self.entity.kind.attributes[self.attribute]


@dataclass(frozen=True, slots=True)
class EntityMention:
    """A state of an attribute in the ledger."""

    entity: Entity
    attribute: str
    mention: StateMention
    thread: str | None = None
    """The key of the thread that set it."""


@dataclass(frozen=True, slots=True)
class ReasonMention:
    """Why, or by whom, a state was set, where the text says so."""

    entity: Entity
    attribute: str
    part: str
    """`why` or `who`."""
    mention: StateMention
    of: StateMention
    """The state of the attribute."""


def list_entities(sources: LifeSources, seed: int) -> list[Entity]:
    """The entities of a seed; seed 0 takes the first names."""
    found: list[Entity] = []
    for kind_name, kind in sources.entities.kinds.items():
        chance = RandomStream(seed, "life", "entities", kind_name)
        names = list(kind.names)
        if kind.people is not None:
            names = [each.name for each in sources.cast.list_group(*flatten(kind.people))]
        if seed:
            names = chance.shuffle(names)
        for number, name in enumerate(names[: kind.count]):
            is_late = kind.arrive is not None and number * 2 >= kind.count
            arrives = chance.draw_between(*kind.arrive) if kind.arrive and is_late else 1
            if kind.lives is not None:
                arrives = max(arrives, kind.lives[0])
            found.append(Entity(f"{kind_name}-{make_slug(name)}", kind_name, kind, name, arrives))
    return found


def make_slug(name: str) -> str:
    """A name as part of a key."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")
    return plain or "x"


class EntityScope(LifeScope):
    """What placeholders mean when a state of an entity is stated."""

    def __init__(self, lives: "EntityLives", entity: Entity, names: TopicNames) -> None:
        self.lives = lives
        self.entity = entity
        self.names = names
        self.own: dict[str, tuple[FactValue, FactState | None]] = {}
        """`value`, `old`, `who`, `why`, with the states they tell."""

    def fill(self, placeholder: Placeholder) -> PlaceholderValue:
        """The text of the placeholder."""
        name, form = placeholder.name, placeholder.form
        if name.startswith("@"):
            return self.lives.writer.draw_word(name[1:])
        if name == "it":
            return self.lives.fill_entity(self.entity, form, self.names)
        if name in self.own:
            value, state = self.own[name]
            return self.lives.fill_value(value, form, state, self.names)
        return self.lives.fill_entity(self.entity, f"{name}.{form}" if form else name, self.names)


class EntityLives:
    """The entities of a story, their schedule, and the telling of their states."""

    def __init__(
        self, sources: LifeSources, calendar: LifeCalendar, writer: FreshWriter, seed: int
    ) -> None:
        self.writer = writer
        self.today = 1
        self.book = FactBook()
        self.entities = list_entities(sources, seed)
        self.log: list[EntityMention] = []
        self.reasons: list[ReasonMention] = []
        self._sources = sources
        self._calendar = calendar
        self._drawer = ValueDrawer(sources.cast, calendar)
        self._seed = seed
        self._chance = RandomStream(seed, "life", "states")
        self._reasons: dict[str, ShuffleBag] = {}
        self._due: dict[int, list[StateChange]] = {}
        self._plan_first_states()

    def list_kind(self, kind: str) -> list[Entity]:
        """The entities of a kind that the story has introduced."""
        return [each for each in self.entities if each.kind_name == kind and each.introduced]

    def _plan_first_states(self) -> None:
        """Spread the introductions over the first weeks, a few entities a day."""
        settling = max(_LEAST_SETTLING, round(self._calendar.days * _SPAN_OF_SETTLING))
        early = [each for each in self.entities if each.arrives <= settling]
        # What another entity names is introduced before it.
        ranks = {name: rank for rank, name in enumerate(self._order_kinds())}
        order = sorted(
            self._chance.shuffle(early), key=lambda each: ranks[each.kind_name] * 4 // len(ranks)
        )
        for number, entity in enumerate(order):
            day = 1 + number * settling // max(1, len(order))
            self._plan_introduction(entity, max(day, entity.arrives))
        for entity in self.entities:
            if entity.arrives > settling:
                self._plan_introduction(entity, entity.arrives)

    def _order_kinds(self) -> list[str]:
        """Kinds so that one comes after those that its attributes name."""
        kinds = self._sources.entities.kinds
        found: list[str] = []

        def visit(name: str, path: tuple[str, ...]) -> None:
            if name in found or name in path:
                return
            for attribute in kinds[name].attributes.values():
                if attribute.value.entity in kinds:
                    visit(attribute.value.entity, (*path, name))
            found.append(name)

        for name in kinds:
            visit(name, ())
        return found

    def _plan_introduction(self, entity: Entity, day: int) -> None:
        at = self._calendar.find_active(day)
        for number, attribute in enumerate(entity.kind.attributes):
            # Two attributes on the first day, the others in the days after it.
            due = at if at is None or number < 2 else self._calendar.find_active(at + number)
            if due is not None:
                self._add(StateChange(due, entity, attribute, "set"))

    def _add(self, change: StateChange) -> None:
        self._due.setdefault(change.day, []).append(change)

    def take_due(self, day: int) -> list[StateChange]:
        """The tellings that are due today."""
        return self._due.pop(day, [])

    def _plan_revisions(self, entity: Entity, attribute: str, day: int) -> None:
        definition = entity.kind.attributes[attribute]
        chance = RandomStream(self._seed, "life", "revisions", entity.name_fact(attribute))
        wanted = chance.draw_between(*definition.revisions)
        last = self._calendar.days - 8
        if entity.kind.lives is not None:
            last = min(last, entity.kind.lives[1])
        first = day + _APART + 6
        if not wanted or first > last:
            return
        width = (last - first) / wanted
        reached = day
        has_misreport = False
        for number in range(wanted):
            drawn = first + int(width * number) + chance.draw_below(max(1, int(width)))
            at = self._calendar.find_active(max(drawn, reached + _APART))
            if at is None or at > last:
                break
            manner = self._draw_manner(definition, chance, is_free=not has_misreport)
            self._add(StateChange(at, entity, attribute, manner))
            reached = at
            if manner == "misreported":
                has_misreport = True
                later = self._calendar.add_working_days(at, chance.draw_between(3, 9))
                if later is not None:
                    self._add(StateChange(later, entity, attribute, "corrected"))
                    reached = later

    def _draw_manner(
        self, definition: LifeAttribute, chance: RandomStream, *, is_free: bool
    ) -> str:
        tell = definition.tell
        if is_free and tell.misreported and chance.is_hit(_MISREPORTED):
            return "misreported"
        if tell.restored and chance.is_hit(_RESTORED):
            return "restored"
        if tell.passing and (not tell.announced or chance.is_hit(_PASSING)):
            return "passing"
        return "announced"

    def _list_held(self, entity: Entity, attribute: str) -> set[str]:
        """The values of other entities of the kind now; with those that a wrong report hides."""
        others = [
            each.facts[attribute]
            for each in self.entities
            if each.kind_name == entity.kind_name and each is not entity and attribute in each.facts
        ]
        return {
            state.value.text
            for fact in others
            for state in fact.states[-2 if fact.now.manner == "misreported" else -1 :]
        }

    def draw_state(self, change: StateChange, taken: Collection[str] = ()) -> FactValue | None:
        """The value that the change brings, none of `taken`; None if there is no room for one."""
        entity, definition = change.entity, change.definition
        chance = RandomStream(
            self._seed, "life", "value", entity.name_fact(change.attribute), change.day
        )
        others = [each.name for each in self.list_kind(definition.value.entity or "")]
        held = self._list_held(entity, change.attribute) if definition.distinct else set()
        limits = {"entities": others, "taken": [entity.name, *taken, *sorted(held)]}
        fact = entity.facts.get(change.attribute)
        if fact is None or change.manner == "set":
            if fact is not None or change.manner != "set":
                return None
            return self._drawer.draw_first(
                definition.value, change.day, chance, definition.moves, **limits
            )
        had = self._list_values(fact, change)
        if not had or change.manner == "restored":
            earlier = [each for each in had[:-1] if each.text not in {had[-1].text, *held}]
            return earlier[-1] if earlier and definition.moves == "any" else None
        if change.manner == "corrected" and chance.is_hit(0.5):
            # The truth is what it was before the wrong report, else a new value.
            return had[-1]
        drawn = self._drawer.draw_next(
            definition.value, change.day, chance, had, definition.moves, **limits
        )
        is_refuted = drawn is not None and drawn.text == fact.now.value.text
        return had[-1] if is_refuted else drawn

    def _list_values(self, fact: FactHistory, change: StateChange) -> list[FactValue]:
        """The values so far, the true one last; none if the change has no place now."""
        is_correcting = fact.now.manner == "misreported"
        room = MOST_STATES - len(fact.states) - (change.manner == "misreported")
        if room < 1 or is_correcting != (change.manner == "corrected"):
            return []
        had = [each.value for each in fact.states]
        return [*had[:-2], had[-1], had[-2]] if is_correcting else had

    def tell(self, change: StateChange, names: TopicNames) -> LifeText | None:
        """The sentence that tells a change that is due; None if it cannot happen."""
        value = self.draw_state(change)
        if value is None:
            return self._tell_otherwise(change, names)
        wordings = getattr(change.definition.tell, change.manner)
        scope = EntityScope(self, change.entity, names)
        state = self.book.reserve(change.entity.name_fact(change.attribute), value)
        fact = change.entity.facts.get(change.attribute)
        scope.own["value"] = value, state
        if fact is not None:
            scope.own["old"] = fact.now.value, fact.now.state
        parts = {
            part: (reason, self.book.reserve(f"{state.key}-{part}", reason))
            for part, reason in self._draw_reasons(change, value).items()
        }
        scope.own.update(parts)
        known = [each for each in wordings if self._can_fill(each, change.entity)]
        text = self.writer.write(known or wordings, scope)
        mention = self.record(change, value)
        self._record_reasons(change, mention, parts, text)
        return text

    def _tell_otherwise(self, change: StateChange, names: TopicNames) -> LifeText | None:
        """A restoration without an earlier value is an ordinary change; a first state may wait."""
        if change.manner == "set" and change.attribute not in change.entity.facts:
            later = self._calendar.add_working_days(change.day, 2)
            if later is not None:
                self._add(StateChange(later, change.entity, change.attribute, "set"))
            return None
        if change.manner != "restored":
            return None
        other = "announced" if change.definition.tell.announced else "passing"
        return self.tell(StateChange(change.day, change.entity, change.attribute, other), names)

    def record(
        self,
        change: StateChange,
        value: FactValue,
        *,
        session: str | None = None,
        thread: str | None = None,
    ) -> StateMention:
        """Enter a state that was stated into the ledger, and plan what follows the first one."""
        entity, definition = change.entity, change.definition
        is_first = change.attribute not in entity.facts
        mention = StateMention(
            state=self.book.reserve(entity.name_fact(change.attribute), value),
            value=value,
            day=change.day,
            session=session or definition.session,
            manner=change.manner,
        )
        what = f"{definition.what or change.attribute} of a {entity.kind.called}"
        entity.facts[change.attribute] = self.book.tell(mention, entity.name, what)
        self.log.append(EntityMention(entity, change.attribute, mention, thread))
        if is_first:
            self._plan_revisions(entity, change.attribute, change.day)
        return mention

    def _record_reasons(
        self,
        change: StateChange,
        of: StateMention,
        parts: dict[str, tuple[FactValue, FactState]],
        text: LifeText,
    ) -> None:
        """Enter the reasons that the text tells."""
        for part, (reason, state) in parts.items():
            if state not in text.list_states():
                continue
            mention = StateMention(state=state, value=reason, day=of.day, session=of.session)
            shown = change.definition.what or change.attribute
            self.book.tell(mention, change.entity.name, f"{part} of the {shown}")
            self.reasons.append(ReasonMention(change.entity, change.attribute, part, mention, of))

    def postpone(self, entity: Entity, attribute: str, day: int) -> None:
        """Drop what was planned for an attribute soon after a thread has set it."""
        for at in range(day, day + _APART):
            for change in self._due.get(at, [])[:]:
                if change.entity is entity and change.attribute == attribute:
                    self._due[at].remove(change)

    def _draw_reasons(self, change: StateChange, value: FactValue) -> dict[str, FactValue]:
        definition = change.definition
        found: dict[str, FactValue] = {}
        if definition.why:
            label = f"{change.entity.kind_name}.{change.attribute}"
            bag = self._reasons.get(label)
            if bag is None:
                bag = self._reasons[label] = ShuffleBag(
                    len(definition.why), RandomStream(self._seed, "life", "why", label)
                )
            found["why"] = FactValue(
                "phrase", definition.why[bag.draw()], others=tuple(definition.why)
            )
        if definition.who:
            people = [
                each.name
                for each in self._sources.cast.list_group(*flatten(definition.who))
                if each.name not in (value.text, change.entity.name)
            ]
            if people:
                found["who"] = FactValue(
                    "person", self._chance.choose(people), others=tuple(people)
                )
        return found

    def fill_entity(self, entity: Entity, form: str, names: TopicNames) -> PlaceholderValue:
        """An entity's name, or the current value of an attribute."""
        is_person = entity.kind.people is not None
        attribute, _, rest = form.partition(".")
        if attribute not in entity.kind.attributes:
            if is_person:
                filled = names.fill_person(entity.name, form, None)
                return PlaceholderValue(filled.text, states=MENTION if not form else None)
            return PlaceholderValue(entity.name, states=MENTION)
        fact = entity.facts.get(attribute)
        if fact is None:
            return PlaceholderValue("")
        if rest == "old":
            before = fact.states[-2] if len(fact.states) > 1 else fact.now
            return self.fill_value(before.value, "", before.state, names)
        # On its first day a state has a sentence of its own, which is what questions rest on.
        state = fact.now.state if fact.now.day < self.today else None
        return self.fill_value(fact.now.value, rest, state, names)

    def fill_value(
        self, value: FactValue, form: str, state: FactState | None, names: TopicNames
    ) -> PlaceholderValue:
        """A value; the place of a person's full name, and of any other value, is a slot."""
        if value.kind == "person":
            is_new = state is not None and not (self.book.is_told(state) or str(state) in names.met)
            is_met = value.text in names.met
            names.met.add(str(state))
            return names.fill_person(value.text, form, state if is_new or not is_met else None)
        text = value.text
        if value.day is not None and abs(value.day - self.today) < _SAME_YEAR:
            text = format_written_date(self._calendar.dates, value.day)
        return PlaceholderValue(text, states=str(state) if state else None)

    def list_recallable(self, day: int) -> Iterator[StateChange]:
        """Attributes whose value may be mentioned again."""
        for entity in self.entities:
            for attribute, fact in entity.facts.items():
                definition = entity.kind.attributes[attribute]
                is_old = fact.now.day < day - 20 and fact.now.manner != "misreported"
                if definition.tell.recalled and is_old:
                    yield StateChange(day, entity, attribute, "recalled")

    def recall(self, change: StateChange, names: TopicNames) -> LifeText:
        """A sentence that mentions the current value again."""
        scope = EntityScope(self, change.entity, names)
        now = change.entity.facts[change.attribute].now
        scope.own["value"] = now.value, now.state
        return self.writer.write(change.definition.tell.recalled, scope)

    def introduce(self, entity: Entity, day: int, names: TopicNames) -> LifeText:
        """The sentence in which an entity is mentioned first; it may tell attributes."""
        entity.introduced = day
        session = entity.home
        scope = EntityScope(self, entity, names)
        for attribute, definition in entity.kind.attributes.items():
            value = self.draw_state(StateChange(day, entity, attribute, "set"))
            if value is not None and definition.session in (session, "principal"):
                scope.own[attribute] = value, self.book.reserve(entity.name_fact(attribute), value)
        wordings = [each for each in entity.kind.intro if self._can_fill(each, entity, scope.own)]
        text = self.writer.write(wordings, scope)
        for attribute, (value, state) in scope.own.items():
            if state in text.list_states():
                change = StateChange(day, entity, attribute, "set")
                self.record(change, value, session=session)
        return text

    def _can_fill(self, wording: str, entity: Entity, known: Collection[str] = ()) -> bool:
        """Whether a wording names no attribute that was not stated yet."""
        for placeholder in list_placeholders(wording):
            is_own = placeholder.name == "it"
            attribute = placeholder.form.partition(".")[0] if is_own else placeholder.name
            if attribute not in entity.kind.attributes or attribute in entity.facts:
                continue
            if is_own or attribute not in known:
                return False
        return True
