"""Threads: processes that start, act on entities over weeks, and bring other threads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from recall_bench.generate.life.calendar import LifeCalendar
from recall_bench.generate.life.entities import Entity, EntityLives, StateChange
from recall_bench.generate.life.facts import StateMention
from recall_bench.generate.life.names import CAUSE, flatten, holds, list_names, list_placeholders
from recall_bench.generate.life.prose import (
    FreshWriter,
    LifeScope,
    LifeText,
    SlotMark,
    TopicNames,
    capitalise_heading,
    join_texts,
)
from recall_bench.generate.life.sources import LifeProcess, LifeSources, LifeStep
from recall_bench.generate.life.value_draws import ValueDrawer
from recall_bench.generate.world.fact_values import FactValue
from recall_bench.generate.world.random_stream import RandomStream
from recall_bench.generate.world.templates import Placeholder, PlaceholderValue
from recall_bench.generate.written.slots import FactState

_STEPS_A_DAY = 7.0
"""How many steps an active day has on average."""
_PATIENCE = 12
"""Days that a start waits for a free entity."""


@dataclass(frozen=True, slots=True)
class StepMention:
    """A step that happened."""

    step: LifeStep
    day: int
    session: str
    mark: FactState
    """The state that the step's text tells first that day."""


@dataclass(slots=True, eq=False)
class LifeThread:
    """One thread: what it acts on, who is in it, what was found out, and its steps so far."""

    key: str
    process: LifeProcess
    entities: dict[str, Entity]
    people: dict[str, str]
    facts: dict[str, FactValue]
    called: list[str]
    """Its names, in the order of `called`."""
    due: int
    cause: "LifeThread | None" = None
    pending: list[LifeStep] = field(default_factory=list)
    steps: dict[str, StepMention] = field(default_factory=dict)
    mentions: dict[str, StateMention] = field(default_factory=dict)
    """Facts, roles and the cause, where they were stated first."""
    later_mentions: dict[tuple[str, str], StateMention] = field(default_factory=dict)
    """Facts and roles that were known, where a step stated them again, for questions."""
    ended: int | None = None

    @property
    def began(self) -> int:
        """The day of its first step; 0 before it."""
        return next((each.day for each in self.steps.values()), 0)

    def name_fact(self, name: str) -> str:
        """The key of one of its facts."""
        return f"{self.key}-{name}"


@dataclass(slots=True, eq=False)
class PlannedStart:
    """A thread that is to start."""

    process: LifeProcess
    due: int
    cause: LifeThread | None = None


@dataclass(frozen=True, slots=True)
class ThreadTopic:
    """The topic that a step writes."""

    session: str
    heading: str
    text: LifeText
    thread: LifeThread


class StepScope(LifeScope):
    """What placeholders mean in the text of a thread."""

    def __init__(
        self, threads: "ThreadSimulation", thread: LifeThread, step: LifeStep, names: TopicNames
    ) -> None:
        self._threads = threads
        self._thread = thread
        self._step = step
        self.names = names

    def fill(self, placeholder: Placeholder) -> PlaceholderValue:
        """The text of the placeholder."""
        name, form = placeholder.name, placeholder.form
        lives, thread = self._threads.lives, self._thread
        if name.startswith("@"):
            return lives.writer.draw_word(name[1:])
        if name in thread.entities:
            entity = thread.entities[name]
            changed = self._threads.changing.get(form.removesuffix(".old"))
            if changed is not None and changed[0] is entity and not form.endswith(".old"):
                return lives.fill_value(changed[1], "", changed[2], self.names)
            if changed is not None and changed[0] is entity:
                form = form.removesuffix(".old")
            return lives.fill_entity(entity, form, self.names)
        value = thread.facts.get(name)
        if name in thread.people:
            value = FactValue("person", thread.people[name])
        if name == CAUSE and thread.cause is not None:
            value = FactValue("phrase", thread.cause.called[0])
        if value is None:
            return PlaceholderValue("")
        return lives.fill_value(value, form, self._find_state(name, value), self.names)

    def _find_state(self, name: str, value: FactValue) -> FactState:
        """The state that a mention tells: its first, or a new one where a question rests on it."""
        thread, book = self._thread, self._threads.lives.book
        if name not in thread.mentions:
            return book.reserve(thread.name_fact(name), value)
        if any(each.fact == name and each.at == self._step.id for each in thread.process.ask):
            return book.reserve(thread.name_fact(f"{name}-at-{self._step.id}"), value)
        return thread.mentions[name].state


class ThreadSimulation:
    """Starts threads and writes their steps."""

    def __init__(
        self, sources: LifeSources, calendar: LifeCalendar, lives: EntityLives, seed: int
    ) -> None:
        self.lives = lives
        self.changing: dict[str, tuple[Entity, FactValue, FactState]] = {}
        """Attributes that the step being written sets: entity, new value, new state."""
        self.threads: list[LifeThread] = []
        self._sources = sources
        self._calendar = calendar
        self._writer: FreshWriter = lives.writer
        self._drawer = ValueDrawer(sources.cast, calendar)
        self._chance = RandomStream(seed, "life", "threads")
        self._processes = {each.id: each for each in sources.processes}
        self._counts = dict.fromkeys(self._processes, 0)
        self._named = {each.id: list_named_attributes(each) for each in sources.processes}
        self._alive: list[LifeThread] = []
        self._starts: list[PlannedStart] = []
        self._pace = self._find_pace()
        for process in sources.processes:
            first = 2 + self._chance.draw_below(max(2, int(process.every * self._pace)))
            self._starts.append(PlannedStart(process, first))

    def _find_pace(self) -> float:
        """By how much the intervals are stretched so that a day has the usual number of steps."""
        steps = 0.0
        for process in self._processes.values():
            steps += sum(step.chance for step in process.steps) / max(1.0, process.every)
        active = len(self._calendar.active) / self._calendar.days
        return min(3.0, max(0.4, steps / (active * _STEPS_A_DAY)))

    def start_due(self, day: int) -> None:
        """Start what is due and can start."""
        waiting: list[PlannedStart] = []
        for start in sorted(self._starts, key=lambda each: each.due):
            if start.due > day:
                waiting.append(start)
                continue
            thread = self._start(start, day)
            if thread is None:
                if start.cause is None or day - start.due < _PATIENCE:
                    waiting.append(start)
            elif start.cause is None:
                waiting.append(PlannedStart(start.process, day + self._draw_interval(start)))
        self._starts = waiting

    def _draw_interval(self, start: PlannedStart) -> int:
        mean = max(2.0, start.process.every * self._pace)
        return max(1, self._chance.draw_between(int(mean * 0.5), int(mean * 1.5)))

    def _start(self, start: PlannedStart, day: int) -> LifeThread | None:
        process = start.process
        alive = sum(each.process is process for each in self._alive)
        if start.cause is None and alive >= process.limit:
            return None
        entities = self._choose_entities(start)
        people = self._choose_people(start, entities or {})
        if entities is None or people is None:
            return None
        taken = [*people.values(), *(each.name for each in entities.values())]
        facts: dict[str, FactValue] = {}
        for name, value in process.facts.items():
            others = [each.name for each in self.lives.list_kind(value.entity or "")]
            drawn = self._drawer.draw(value, day, self._chance, entities=others, taken=taken)
            if drawn is None:
                return None
            facts[name] = drawn
        self._counts[process.id] += 1
        thread = LifeThread(
            key=f"{process.id}-{self._counts[process.id]}",
            process=process,
            entities=entities,
            people=people,
            facts=facts,
            called=[],
            due=day,
            cause=start.cause,
            pending=list(process.steps),
        )
        thread.called = self.render_called(thread)
        for entity in entities.values():
            entity.threads.add(process.id)
        self._alive.append(thread)
        self.threads.append(thread)
        return thread

    def render_called(self, thread: LifeThread) -> list[str]:
        """How people call the thread."""
        found = []
        for way in thread.process.called:
            scope = CalledScope(thread, self._sources)
            found.append(self._writer.fill_inside(way, scope))
        return found

    def _choose_entities(self, start: PlannedStart) -> dict[str, Entity] | None:
        chosen: dict[str, Entity] = {}
        for role, kind in start.process.on.items():
            inherited = []
            if start.cause is not None:
                own = start.cause.entities
                inherited = [own[role]] if role in own else [*own.values()]
                inherited = [each for each in inherited if each.kind_name == kind]
            free = [
                each
                for each in inherited or self.lives.list_kind(kind)
                if each.is_settled
                and start.process.id not in each.threads
                and each not in chosen.values()
            ]
            if not free:
                return None
            fewest = min(len(each.threads) for each in free)
            calm = [each for each in free if len(each.threads) <= fewest + 1]
            chosen[role] = self._chance.choose(calm)
        return chosen

    def _choose_people(
        self, start: PlannedStart, entities: dict[str, Entity]
    ) -> dict[str, str] | None:
        taken = {each.name for each in entities.values()}
        named = set(self._list_named(start.process, entities))
        chosen: dict[str, str] = {}
        for role, groups in start.process.people.items():
            people = [each.name for each in self._sources.cast.list_group(*flatten(groups))]
            kept = start.cause.people.get(role) if start.cause else None
            free = [each for each in people if each not in taken]
            if not free:
                return None
            # Another person than the owner that the text names, where there is a choice.
            free = [each for each in free if each not in named] or free
            chosen[role] = kept if kept in free and kept else self._chance.choose(free)
            taken.add(chosen[role])
        return chosen

    def _list_named(self, process: LifeProcess, entities: dict[str, Entity]) -> Iterator[str]:
        """The people that the texts of a process name as `{service.owner}`."""
        for role, attribute in self._named[process.id]:
            fact = entities[role].facts.get(attribute) if role in entities else None
            if fact is not None and fact.now.value.kind == "person":
                yield fact.now.value.text

    def list_due(self, day: int) -> list[LifeThread]:
        """The threads with a step due, the most overdue first."""
        found = [each for each in self._alive if each.due <= day]
        return sorted(found, key=lambda each: (each.due, each.key))

    def write_step(self, thread: LifeThread, day: int) -> ThreadTopic | None:
        """Write the next step; None if what it would set cannot change today."""
        step = thread.pending.pop(0)
        session = step.session or thread.process.session
        changes = self._prepare_changes(thread, step, day)
        if changes is None:
            self._plan_next(thread, day)
            return None
        names = TopicNames(self._sources.cast)
        scope = StepScope(self, thread, step, names)
        heading = self._write_heading(thread, step, scope)
        parts = []
        for number, part in enumerate(step.text):
            variants = [each for each in flatten(part) if thread.cause or not holds(each, CAUSE)]
            may_skip = number > 0 and not _list_shared(variants)
            parts.append(self._writer.write(variants, scope, may_skip=may_skip))
        text = join_texts(parts)
        self._record_changes(thread, changes, session)
        text = self._record_step(thread, step, day, session, text)
        self._bring(thread, step, day)
        if step.ends:
            thread.pending.clear()
        self._plan_next(thread, day)
        return ThreadTopic(session, heading, text, thread)

    def _write_heading(self, thread: LifeThread, step: LifeStep, scope: StepScope) -> str:
        variants = [
            each for each in flatten(step.heading) if thread.cause or not holds(each, CAUSE)
        ]
        names = scope.names
        scope.names = TopicNames(self._sources.cast)
        chosen = self._chance.choose(variants) if variants else thread.called[0]
        heading = self._writer.fill(chosen, scope)
        scope.names = names
        return capitalise_heading(heading)

    def _prepare_changes(
        self, thread: LifeThread, step: LifeStep, day: int
    ) -> list[tuple[StateChange, FactValue]] | None:
        self.changing = {}
        found = []
        for target, manner in step.sets.items():
            role, _, attribute = target.partition(".")
            entity = thread.entities[role]
            change = StateChange(day, entity, attribute, manner)
            if entity.facts[attribute].now.day >= day:
                return None
            value = self.lives.draw_state(change, list(thread.people.values()))
            if value is None:
                return None
            state = self.lives.book.reserve(entity.name_fact(attribute), value)
            self.changing[attribute] = entity, value, state
            found.append((change, value))
        return found

    def _record_changes(
        self, thread: LifeThread, changes: list[tuple[StateChange, FactValue]], session: str
    ) -> None:
        for change, value in changes:
            self.lives.record(change, value, session=session, thread=thread.key)
            self.lives.postpone(change.entity, change.attribute, change.day)
        self.changing = {}

    def _record_step(
        self, thread: LifeThread, step: LifeStep, day: int, session: str, text: LifeText
    ) -> LifeText:
        """Enter the step and what it tells first; its mark is a plain mention if there is one."""
        new = self._record_told(thread, step, day, session, text)
        mark, text = self._mark_step(thread, step, text, new)
        book = self.lives.book
        if mark.key == thread.name_fact(f"at-{step.id}"):
            shown = next(
                text.text[each.start : each.end] for each in text.marks if each.state == mark
            )
            value = FactValue("phrase", shown)
            book.values[mark] = shown
            mention = StateMention(state=mark, value=value, day=day, session=session)
            book.tell(mention, thread.called[0], f"{step.id} of the {thread.process.id}")
        thread.steps[step.id] = StepMention(step, day, session, mark)
        return text

    def _record_told(
        self, thread: LifeThread, step: LifeStep, day: int, session: str, text: LifeText
    ) -> list[FactState]:
        names = {
            thread.name_fact(name if name not in thread.mentions else f"{name}-at-{step.id}"): name
            for name in (*thread.facts, *thread.people, CAUSE)
        }
        new = []
        for state in dict.fromkeys(text.list_states()):
            name = names.get(state.key)
            if name is None:
                continue
            value = thread.facts.get(name) or FactValue(
                "person" if name in thread.people else "phrase",
                thread.people.get(name) or (thread.cause.called[0] if thread.cause else ""),
            )
            mention = StateMention(state=state, value=value, day=day, session=session)
            self.lives.book.tell(mention, thread.called[0], name)
            if state.key == thread.name_fact(name):
                thread.mentions[name] = mention
            else:
                thread.later_mentions[name, step.id] = mention
            new.append(state)
        return new

    def _mark_step(
        self, thread: LifeThread, step: LifeStep, text: LifeText, new: Sequence[FactState]
    ) -> tuple[FactState, LifeText]:
        own = FactState(thread.name_fact(f"at-{step.id}"))
        for number, mark in enumerate(text.marks):
            if mark.state is None:
                marks = list(text.marks)
                marks[number] = SlotMark(own, mark.start, mark.end)
                return own, LifeText(text.text, tuple(marks))
        if new:
            return new[0], text
        for number, mark in enumerate(text.marks):
            if mark.state is not None and mark.state.key.startswith(thread.key):
                marks = list(text.marks)
                marks[number] = SlotMark(own, mark.start, mark.end)
                return own, LifeText(text.text, tuple(marks))
        end = text.text.find(" ")
        first = SlotMark(own, 0, end if end > 0 else len(text.text))
        return own, LifeText(text.text, (first, *text.marks))

    def _bring(self, thread: LifeThread, step: LifeStep, day: int) -> None:
        for other, probability in step.brings.items():
            if self._chance.is_hit(probability):
                later = self._calendar.add_working_days(day, self._chance.draw_between(1, 5))
                if later is not None:
                    self._starts.append(PlannedStart(self._processes[other], later, thread))

    def _plan_next(self, thread: LifeThread, day: int) -> None:
        while thread.pending and not self._happens(thread, thread.pending[0]):
            thread.pending.pop(0)
        later = None
        if thread.pending:
            wait = self._chance.draw_between(*thread.pending[0].after)
            later = self._calendar.add_working_days(day, max(1, wait))
        if later is None:
            self._alive.remove(thread)
            if not thread.pending:
                thread.ended = day
                for entity in thread.entities.values():
                    entity.threads.discard(thread.process.id)
        else:
            thread.due = later

    def _happens(self, thread: LifeThread, step: LifeStep) -> bool:
        if not all(each in thread.steps for each in step.if_):
            return False
        if any(each in thread.steps for each in step.unless):
            return False
        return self._chance.is_hit(step.chance)


class CalledScope(LifeScope):
    """What placeholders mean in a question: full names, no slots."""

    def __init__(self, thread: LifeThread, sources: LifeSources) -> None:
        self.names = TopicNames(sources.cast)
        self._thread = thread

    def fill(self, placeholder: Placeholder) -> PlaceholderValue:
        """The text of the placeholder."""
        name, form = placeholder.name, placeholder.form
        thread = self._thread
        if name in thread.people:
            return self.names.fill_person(thread.people[name], form, None)
        if name in thread.entities:
            entity = thread.entities[name]
            if entity.kind.people is not None:
                return self.names.fill_person(entity.name, form, None)
            return PlaceholderValue(entity.name)
        value = thread.facts[name]
        if value.kind == "person":
            return self.names.fill_person(value.text, form, None)
        return PlaceholderValue(value.text)


def list_named_attributes(process: LifeProcess) -> list[tuple[str, str]]:
    """Roles and attributes that the texts of a process name, such as `{service.owner}`."""
    texts = [text for step in process.steps for part in step.text for text in flatten(part)]
    found = {
        (each.name, each.form.partition(".")[0])
        for text in texts
        for each in list_placeholders(text)
        if each.name in process.on and each.form
    }
    return sorted(found)


def _list_shared(variants: Sequence[str]) -> set[str]:
    """What every variant of a part tells; nothing if the part only adds a remark."""
    named = [{name for name in list_names(text) if not name.startswith("@")} for text in variants]
    return set.intersection(*named) if named else set()
